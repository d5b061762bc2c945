#pragma once

#include <exception>
#include <string_view>

#include "arraybridge/error.hpp"
#include "arraybridge/python/error.hpp"
#include "arraybridge/python/python.hpp"

namespace arraybridge::extension {

/// Makes the C++ exception that is being handled the current Python exception, each kind as its own Python class.
/// To be called in a catch block.
void set_error() noexcept;

/// Likewise as MemoryConversionError between the two named libraries, caused by what `set_error` would have set. What
/// must reach the caller as it is (out of memory, an interrupt, an exit) does.
void set_conversion_error(std::string_view source, std::string_view target) noexcept;

/// The result of `body`; null with a Python error set if it throws.
template <class Body>
PyObject* guarded(const Body& body) noexcept {
    try {
        return body();
    } catch (...) {
        set_error();
        return nullptr;
    }
}

}  // namespace arraybridge::extension
