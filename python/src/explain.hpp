#pragma once

#include "arraybridge/python/object.hpp"

namespace arraybridge::extension {

/// What `convert` would do with these arguments, as the tuple that arraybridge.explanation unpacks. Throws.
python::Object explain(PyObject* data, PyObject* to, PyObject* device, PyObject* copy);

}  // namespace arraybridge::extension
