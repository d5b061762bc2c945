#pragma once

#include "arraybridge/python/python.hpp"

namespace arraybridge::python {

/// Leaves a reference for the interpreter to give up, from a thread that Python does not know.
void defer_release(PyObject* object) noexcept;

/// In the child of a fork nobody will answer what the parent asked for.
void forget_drain_request() noexcept;

}  // namespace arraybridge::python
