#include "arguments.hpp"

#include <string>

namespace arraybridge::extension {

namespace {

/// The place of a keyword: by address for the interned names that a call site uses, else by its text.
std::size_t place_of(PyObject* keyword, PyObject* const* interned, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        if (interned[i] == keyword) return i;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (PyUnicode_Compare(interned[i], keyword) == 0) return i;
    }
    return count;
}

}  // namespace

bool intern_names(const char* const* names, PyObject** interned, std::size_t count) {
    for (std::size_t i = count; i-- > 0;) {  // the first name last: it says that all are there
        interned[i] = PyUnicode_InternFromString(names[i]);
        if (interned[i] == nullptr) return false;
    }
    return true;
}

bool place_keywords(const char* function, PyObject* const* interned, std::size_t count, PyObject* const* values,
                    PyObject* keywords, PyObject** places) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keywords); ++i) {
        PyObject* keyword = PyTuple_GET_ITEM(keywords, i);
        const std::size_t place = place_of(keyword, interned, count);
        if (place == count) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", function, keyword);
            return false;
        }
        if (places[place] != nullptr) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", function, keyword);
            return false;
        }
        places[place] = values[i];
    }
    return true;
}

bool report_arguments(const char* function, const char* const* names, std::size_t required, std::size_t positional,
                      Py_ssize_t given, PyObject* const* places) {
    if (static_cast<std::size_t>(given) > positional) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zu positional arguments but %zd were given", function, positional,
                     given);
        return false;
    }
    std::string missing;
    for (std::size_t i = 0; i < required; ++i) {
        if (places[i] != nullptr) continue;
        if (!missing.empty()) missing += ", ";
        missing += "'" + std::string(names[i]) + "'";
    }
    PyErr_Format(PyExc_TypeError, "%s() missing required arguments: %s", function, missing.c_str());
    return false;
}

}  // namespace arraybridge::extension
