#pragma once

/// Python's C interface, the same way in every file of arraybridge.

#if !defined(PY_SSIZE_T_CLEAN)
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>
