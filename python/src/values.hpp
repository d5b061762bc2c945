#pragma once

#include <string_view>

#include "arraybridge/array_library.hpp"
#include "arraybridge/device.hpp"
#include "arraybridge/dtype.hpp"
#include "arraybridge/exchange.hpp"
#include "arraybridge/python/object.hpp"
#include "arraybridge/python/python.hpp"

namespace arraybridge::extension {

/// Gets the classes of arraybridge.devices. Throws what the import raises.
void load_device_classes();

/// The one object of arraybridge.devices.HOST.
extern PyObject* host_object;

Device slow_device_from(PyObject* object);

/// The device that an object of arraybridge.devices stands for. Throws PythonError (TypeError) for anything else.
inline Device device_from(PyObject* object) {
    if (object == host_object) [[likely]]
        return HOST;
    return slow_device_from(object);
}

python::Object device_to_python(const Device& device);

/// None, False and True of `copy=`. Throws PythonError (TypeError) for anything else.
CopyMode copy_mode_from(PyObject* object);

/// A dtype as callers spell it: a name, a NumPy dtype or scalar type, a Python type, a framework's dtype. Throws
/// PythonError (TypeError).
DType dtype_from(PyObject* object);

/// None for all axes, an integer, or a sequence of them.
Axes axes_from(PyObject* object);

/// An integer or a sequence of them.
Shape shape_from(PyObject* object);

Slice slice_from(PyObject* object);

}  // namespace arraybridge::extension
