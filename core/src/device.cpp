#include "arraybridge/device.hpp"

#include <mutex>
#include <unordered_set>

namespace arraybridge {

namespace {

/// The names of named devices. Nodes of the set never move, so an address stands for a text for good.
const std::string* intern(std::string_view name) {
    struct Names {
        std::mutex mutex;
        std::unordered_set<std::string> texts;
    };
    static Names& names = *new Names;  // outlives every static destructor that may still hold a device
    const std::lock_guard lock(names.mutex);
    return &*names.texts.emplace(name).first;
}

}  // namespace

Device Device::named(std::string_view name) { return Device{DeviceKind::named, 0, intern(name)}; }

std::string_view Device::name() const noexcept { return name_ == nullptr ? std::string_view{} : *name_; }

std::string label(const Device& device) {
    switch (device.kind()) {
        case DeviceKind::host:
            return "host";
        case DeviceKind::accelerator:
            return "accelerator:" + std::to_string(device.index());
        case DeviceKind::named:
            break;
    }
    return "device:" + std::string(device.name());
}

}  // namespace arraybridge
