#pragma once

#include "arraybridge/array_library.hpp"
#include "arraybridge/device.hpp"

namespace arraybridge {

/// Throws DeviceUnavailable, naming the devices there are, unless `library` has `device`. Inside a call scope.
void require_device_of(ArrayLibrary& library, const Device& device);

}  // namespace arraybridge
