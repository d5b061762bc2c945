#pragma once

#include "arraybridge/python/python.hpp"
#include "bound.hpp"

namespace arraybridge::extension {

/// Which library made the object, told by its type and the types that it derives from. Null if none did. Loads nothing.
/// `detectable_only` leaves out libraries that are never an answer of `detect_memory_type`.
Bound* library_of(PyObject* object, bool detectable_only);

}  // namespace arraybridge::extension
