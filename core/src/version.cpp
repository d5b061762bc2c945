#include "arraybridge/version.hpp"

#include "arraybridge/plugin.hpp"

namespace arraybridge {

const char* version() noexcept { return ARRAYBRIDGE_VERSION; }

const void* core_identity() noexcept {
    // Internal to this shared object, so that no other copy of the library can stand in for it.
    static const char anchor = 0;
    return &anchor;
}

const void* core_throw_function() noexcept { return ARRAYBRIDGE_THROW_FUNCTION; }

}  // namespace arraybridge
