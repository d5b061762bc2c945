#pragma once

#include "arraybridge/visibility.hpp"

namespace arraybridge::python {

/// Gives up the GIL for long work that touches no Python object, and takes it back: what `Runtime` wants of Python.
/// `release_gil` answers null, and keeps things as they are, if this thread does not hold the GIL or the interpreter is
/// shutting down. The interpreter does not shut down in between.
ARRAYBRIDGE_API void* release_gil() noexcept;
ARRAYBRIDGE_API void restore_gil(void* token) noexcept;

}  // namespace arraybridge::python
