#pragma once

#include <array>
#include <cstddef>

#include "arraybridge/python/python.hpp"

namespace arraybridge::extension {

/// Interns the names; true, or false with a Python error set.
bool intern_names(const char* const* names, PyObject** interned, std::size_t count);

/// Puts keyword arguments to their places; false with TypeError set.
bool place_keywords(const char* function, PyObject* const* interned, std::size_t count, PyObject* const* values,
                    PyObject* keywords, PyObject** places);

/// False with TypeError set.
bool report_arguments(const char* function, const char* const* names, std::size_t required, std::size_t positional,
                      Py_ssize_t given, PyObject* const* places);

/// The parameters of a function that is called the vectorcall way. The first `Required` have no default, the first
/// `positional` may be given without a name. Parsing allocates nothing; a name is compared by its address first.
template <std::size_t Count>
class Parameters {
public:
    constexpr Parameters(const char* function, std::array<const char*, Count> names, std::size_t required,
                         std::size_t positional)
        : function_(function), names_(names), required_(required), positional_(positional) {}

    /// Fills in `places`, null for what was not given. False with TypeError set.
    bool parse(PyObject* const* values, Py_ssize_t given, PyObject* keywords, std::array<PyObject*, Count>& places) {
        const auto count = static_cast<std::size_t>(given);
        if (count > positional_) return report(given, places);
        for (std::size_t i = 0; i < count; ++i) places[i] = values[i];
        if (keywords != nullptr) {
            if (interned_[0] == nullptr && !intern_names(names_.data(), interned_.data(), Count)) return false;
            if (!place_keywords(function_, interned_.data(), Count, values + given, keywords, places.data()))
                return false;
        }
        for (std::size_t i = count; i < required_; ++i) {
            if (places[i] == nullptr) return report(given, places);
        }
        return true;
    }

private:
    bool report(Py_ssize_t given, const std::array<PyObject*, Count>& places) {
        return report_arguments(function_, names_.data(), required_, positional_, given, places.data());
    }

    const char* function_;
    std::array<const char*, Count> names_;
    std::size_t required_;
    std::size_t positional_;
    std::array<PyObject*, Count> interned_{};
};

}  // namespace arraybridge::extension
