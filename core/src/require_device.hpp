#pragma once

#include "arraybridge/array_library.hpp"
#include "arraybridge/device.hpp"

namespace arraybridge {

/// Asks the framework for its devices.
void ask_for_device(ArrayLibrary& library, const Device& device);

/// Throws DeviceUnavailable, naming the devices there are, unless `library` has `device`. Inside a call scope.
inline void require_device_of(ArrayLibrary& library, const Device& device) {
    // Main memory needs no question to the framework: the manifest says whether it is there.
    if (device.is_host() && library.manifest().device_kinds.contains(DeviceKind::host)) [[likely]]
        return;
    ask_for_device(library, device);
}

}  // namespace arraybridge
