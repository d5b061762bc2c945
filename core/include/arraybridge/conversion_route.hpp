#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "arraybridge/device.hpp"
#include "arraybridge/exchange.hpp"
#include "arraybridge/registry.hpp"
#include "arraybridge/visibility.hpp"

namespace arraybridge {

/// How an array gets from one library and device to another, first choice first.
enum class Mechanism : std::uint8_t {
    stays_in_place,      ///< same library and device: the very object is the result
    device_move,         ///< same library, another device
    dlpack,              ///< the target wraps the source's memory
    shared_host_buffer,  ///< likewise in main memory, with NumPy on one side
    host_copy,           ///< the values are copied in or through main memory
};

/// "stays in place", "device move", "dlpack", "shared host buffer", "host copy".
ARRAYBRIDGE_API std::string_view label(Mechanism mechanism) noexcept;

/// Whether the two libraries share main memory by default: then a conversion tries that first. Reads one byte.
ARRAYBRIDGE_API bool shares_host_memory(const LibraryEntry& source, const LibraryEntry& target) noexcept;

/// The mechanisms that can carry an array between two libraries and devices, first choice first. Known from manifests
/// and devices alone: no library is loaded and no array is looked at.
class ARRAYBRIDGE_API ConversionRoute {
public:
    static ConversionRoute between(const LibraryEntry& source, const Device& source_device, const LibraryEntry& target,
                                   const Device& target_device, CopyMode copy = CopyMode::as_needed) noexcept;

    /// What is tried, in order. Never empty, except under CopyMode::never where nothing can be shared.
    std::span<const Mechanism> candidates() const noexcept { return candidates_; }

    /// How far the two libraries share main memory: why a shared route may not be among the candidates.
    Sharing sharing() const noexcept { return sharing_; }

private:
    constexpr ConversionRoute(std::span<const Mechanism> candidates, Sharing sharing) noexcept
        : candidates_(candidates), sharing_(sharing) {}

    std::span<const Mechanism> candidates_;  // one of a few constant lists
    Sharing sharing_;
};

}  // namespace arraybridge
