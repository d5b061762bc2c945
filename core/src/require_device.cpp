#include "require_device.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "arraybridge/error.hpp"

namespace arraybridge {

namespace {

/// The labels the way Python writes a tuple of strings: these messages are read by Python users.
std::string as_tuple(const std::vector<Device>& devices) {
    std::string text = "(";
    for (const Device& device : devices) {
        if (text.size() > 1) text += ", ";
        text += "'" + label(device) + "'";
    }
    return text + (devices.size() == 1 ? ",)" : ")");
}

}  // namespace

void require_device_of(ArrayLibrary& library, const Device& device) {
    // Main memory needs no question to the framework: the manifest says whether it is there.
    if (device.is_host() && library.manifest().device_kinds.contains(DeviceKind::host)) return;
    const std::vector<Device> available = library.devices();
    if (std::find(available.begin(), available.end(), device) != available.end()) return;
    throw DeviceUnavailable(library.manifest().display_name + " device " + label(device) +
                            " is unavailable; available devices are " + as_tuple(available));
}

}  // namespace arraybridge
