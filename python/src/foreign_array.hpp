#pragma once

#include "arraybridge/array.hpp"
#include "arraybridge/python/python.hpp"

namespace arraybridge::extension {

// `_arraybridge.ForeignArray`: an array of a library of C++ as a Python object, which speaks DLPack.

/// The array inside, borrowed; null for an object of another type.
const Array* foreign_array(PyObject* object) noexcept;

/// A new reference. Throws what Python raises.
PyObject* make_foreign_array(Array array);

/// Adds the type to the module. False with a Python error set.
bool add_foreign_array_type(PyObject* module);

}  // namespace arraybridge::extension
