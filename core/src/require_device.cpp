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

void ask_for_device(ArrayLibrary& library, const Device& device) {
    const std::vector<Device> available = library.devices();
    if (std::find(available.begin(), available.end(), device) != available.end()) return;
    throw DeviceUnavailable(library.manifest().display_name + " device " + label(device) +
                            " is unavailable; available devices are " + as_tuple(available));
}

}  // namespace arraybridge
