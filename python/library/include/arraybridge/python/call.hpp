#pragma once

#include <span>
#include <string_view>

#include "arraybridge/array_library.hpp"
#include "arraybridge/python/error.hpp"
#include "arraybridge/python/object.hpp"
#include "arraybridge/visibility.hpp"

namespace arraybridge::python {

// Calls into Python for everything that is not a hot path. With the GIL held; each throws what Python raises.

ARRAYBRIDGE_API Object attribute(PyObject* object, const char* name);

/// The attribute, or nothing if there is none.
ARRAYBRIDGE_API Object optional_attribute(PyObject* object, const char* name);

/// Whether the attribute (or the result of the method) is true.
ARRAYBRIDGE_API bool true_attribute(PyObject* object, const char* name);
ARRAYBRIDGE_API bool true_method(PyObject* object, const char* name);

ARRAYBRIDGE_API bool is_instance(PyObject* object, PyObject* type);

template <class... Arguments>
Object call(PyObject* function, Arguments... arguments) {
    PyObject* stack[] = {nullptr, arguments...};
    return checked(
        PyObject_Vectorcall(function, stack + 1, sizeof...(arguments) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

template <class... Arguments>
Object call_method(PyObject* object, const char* name, Arguments... arguments) {
    return call(attribute(object, name).get(), arguments...);
}

/// A call with one keyword argument after the positional ones.
ARRAYBRIDGE_API Object call_with(PyObject* function, std::span<PyObject* const> arguments, const char* keyword,
                                 PyObject* value);

ARRAYBRIDGE_API Object to_text(std::string_view text);
ARRAYBRIDGE_API Object to_tuple(std::span<const std::int64_t> numbers);

/// None for all axes, a number for one, a tuple for more.
ARRAYBRIDGE_API Object to_axis(const Axes& axes);

ARRAYBRIDGE_API Object to_slice(const Slice& slice);

/// The tuple's entries; throws if one is not an integer.
ARRAYBRIDGE_API Shape to_shape(PyObject* sequence);

}  // namespace arraybridge::python
