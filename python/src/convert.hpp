#pragma once

#include "arraybridge/device.hpp"
#include "arraybridge/exchange.hpp"
#include "arraybridge/python/python.hpp"
#include "bound.hpp"

namespace arraybridge::extension {

/// The conversion itself, reported to the observer of this context if there is one. A new reference; throws.
PyObject* convert_between(PyObject* data, Bound& source, Bound& target, const Device& device, CopyMode copy);

/// Where `convert` puts an array when no device was named: where `like` is, if there is one; else where the source is,
/// if the target has that device; else on the target's first device.
Device default_device(PyObject* data, Bound& source, Bound& target, PyObject* like);

/// What `to` asks for: a library, and the array it was asked for with ("like this one"), if any.
struct Target {
    Bound* library;
    PyObject* like;  // borrowed
};
Target target_from(PyObject* to);

/// The library of an array that is to be converted. Throws PythonError (ValueError) if none made it.
Bound& source_of(PyObject* data);

/// Adds convert_memory, convert and detect_memory_type to the module. False with a Python error set.
bool add_conversion_functions(PyObject* module);

}  // namespace arraybridge::extension
