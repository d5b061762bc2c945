#pragma once

#include <string>

#include "arraybridge/python/python.hpp"
#include "bound.hpp"

namespace arraybridge::extension {

/// Which library made the object, told by its type and the types that it derives from. Null if none did. Loads nothing.
/// `detectable_only` leaves out libraries that are never an answer of `detect_memory_type`.
Bound* library_of(PyObject* object, bool detectable_only);

/// The module that a type says it is of; empty for one that does not say, or whose metaclass raises when asked.
std::string module_of(PyTypeObject* type);

/// Throws PythonError: ValueError that no known library made the object.
[[noreturn]] void throw_unknown_type(PyObject* object);

}  // namespace arraybridge::extension
