#pragma once

#include "arraybridge/visibility.hpp"

/// The version of the library, as pip and CMake know it.
#define ARRAYBRIDGE_VERSION "0.6.0"

/// The binary interface between the core and a plugin. The major number is in the SONAME: it changes when a published
/// virtual table or struct changes. The minor number grows with every addition that an older plugin need not know.
#define ARRAYBRIDGE_ABI_MAJOR 1
#define ARRAYBRIDGE_ABI_MINOR 0

namespace arraybridge {

/// The version of the libarraybridge that is loaded, which may be newer than the headers a program was compiled with.
ARRAYBRIDGE_API const char* version() noexcept;

}  // namespace arraybridge
