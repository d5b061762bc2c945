#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "arraybridge/visibility.hpp"

namespace arraybridge {

/// The three kinds of places an array can live.
enum class DeviceKind : std::uint8_t {
    host = 0,         ///< main memory, pinned memory included
    accelerator = 1,  ///< a CUDA, ROCm or OpenCL GPU, by the number its library gives it
    named = 2,        ///< anything else a library reports: an OpenCL CPU device, "mps:0", "tpu:0"
};

/// One place where array data can live. A value: two words, trivially copyable, equal when kind and number or name
/// agree.
///
/// Accelerator numbers belong to one library; the same number in two libraries need not be the same hardware.
class ARRAYBRIDGE_API Device {
public:
    /// Main memory.
    constexpr Device() noexcept = default;

    static constexpr Device host() noexcept { return {}; }

    /// The accelerator that its library numbers `index`, counted from 0.
    static constexpr Device accelerator(std::int32_t index) noexcept {
        return Device{DeviceKind::accelerator, index, nullptr};
    }

    /// The device that a library calls `name`. The text is interned: it is kept for the life of the process.
    static Device named(std::string_view name);

    constexpr DeviceKind kind() const noexcept { return kind_; }
    constexpr bool is_host() const noexcept { return kind_ == DeviceKind::host; }

    /// The accelerator's number; 0 for any other kind.
    constexpr std::int32_t index() const noexcept { return index_; }

    /// The name of a named device; empty for any other kind.
    std::string_view name() const noexcept;

    friend constexpr bool operator==(const Device&, const Device&) noexcept = default;

private:
    constexpr Device(DeviceKind kind, std::int32_t index, const std::string* name) noexcept
        : kind_(kind), index_(index), name_(name) {}

    DeviceKind kind_ = DeviceKind::host;
    std::int32_t index_ = 0;
    const std::string* name_ = nullptr;  // interned: one address for one text
};

inline constexpr Device HOST = Device::host();

/// "host", "accelerator:0" or "device:NAME": how records and messages name a device.
ARRAYBRIDGE_API std::string label(const Device& device);

}  // namespace arraybridge

template <>
struct std::hash<arraybridge::Device> {
    std::size_t operator()(const arraybridge::Device& device) const noexcept {
        // The name is interned, so the address of its text identifies it.
        const auto name = std::hash<const void*>{}(device.name().data());
        return (static_cast<std::size_t>(device.kind()) << 32U) ^ static_cast<std::size_t>(device.index()) ^ name;
    }
};
