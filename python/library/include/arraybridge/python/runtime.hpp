#pragma once

#include "arraybridge/visibility.hpp"

namespace arraybridge::python {

/// Tells the registry that this process has a Python interpreter, and how the GIL is given up around long work. For a
/// program that embeds Python, once it has started it; `import arraybridge` does the same. With the GIL held; any
/// number of times. Throws PythonError.
ARRAYBRIDGE_API void provide_runtime();

}  // namespace arraybridge::python
