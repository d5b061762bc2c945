#pragma once

#include "arraybridge/python/python.hpp"

// One table of NumPy's C functions for this plugin, filled in by numpy_library.cpp. The plugin is compiled against
// NumPy 2 and runs with 1.23 and later.
#define PY_ARRAY_UNIQUE_SYMBOL arraybridge_numpy_api
#if !defined(ARRAYBRIDGE_NUMPY_DEFINES_API)
#define NO_IMPORT_ARRAY
#endif
#define NPY_NO_DEPRECATED_API NPY_1_23_API_VERSION
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION
#include <numpy/arrayobject.h>
