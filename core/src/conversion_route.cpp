#include "arraybridge/conversion_route.hpp"

#include <algorithm>
#include <atomic>

namespace arraybridge {

namespace {

/// What two manifests say about a pair of libraries.
struct Pair {
    Sharing sharing;
    bool with_numpy;  // on one side: then the shared mechanism has another name
};

Pair read_pair(const LibraryEntry& source, const LibraryEntry& target) {
    const Sharing out = source.manifest().exports_to(target.name());
    const Sharing in = target.manifest().imports_from(source.name());
    return {std::min(out, in), source.name() == "numpy" || target.name() == "numpy"};
}

// Both sides' statements are looked up by name once per pair; after that a conversion reads one byte.
constexpr std::size_t remembered = 64;
std::array<std::array<std::atomic<std::uint8_t>, remembered>, remembered> pairs{};

Pair pair_of(const LibraryEntry& source, const LibraryEntry& target) {
    constexpr std::uint8_t known = 0x80;
    constexpr std::uint8_t numpy = 0x40;
    if (source.id() >= remembered || target.id() >= remembered) return read_pair(source, target);
    std::atomic<std::uint8_t>& cell = pairs[source.id()][target.id()];
    const std::uint8_t seen = cell.load(std::memory_order_relaxed);
    if ((seen & known) != 0) [[likely]] return {static_cast<Sharing>(seen & 0x0F), (seen & numpy) != 0};
    const Pair pair = read_pair(source, target);
    cell.store(static_cast<std::uint8_t>(known | (pair.with_numpy ? numpy : 0) | static_cast<std::uint8_t>(pair.sharing)),
               std::memory_order_relaxed);
    return pair;
}

}  // namespace

std::string_view label(Mechanism mechanism) noexcept {
    switch (mechanism) {
        case Mechanism::stays_in_place:
            return "stays in place";
        case Mechanism::device_move:
            return "device move";
        case Mechanism::dlpack:
            return "dlpack";
        case Mechanism::shared_host_buffer:
            return "shared host buffer";
        case Mechanism::host_copy:
            break;
    }
    return "host copy";
}

ConversionRoute ConversionRoute::between(const LibraryEntry& source, const Device& source_device,
                                         const LibraryEntry& target, const Device& target_device,
                                         CopyMode copy) noexcept {
    ConversionRoute route;
    if (&source == &target) {
        route.sharing_ = Sharing::by_default;
        const bool same_place = source_device == target_device;
        if (same_place && copy != CopyMode::always) route.append(Mechanism::stays_in_place);
        if (same_place && copy == CopyMode::always) {
            route.append(source_device.is_host() ? Mechanism::host_copy : Mechanism::device_move);
        }
        if (!same_place && copy != CopyMode::never) route.append(Mechanism::device_move);
        return route;
    }
    const bool on_host = source_device.is_host();
    const Pair pair = on_host ? pair_of(source, target) : Pair{Sharing::by_default, false};
    const bool described = target.manifest().dlpack_import_from.contains(source_device.kind()) &&
                           source.manifest().dlpack_export_from.contains(source_device.kind());
    route.sharing_ = described ? pair.sharing : Sharing::never;
    const Sharing needed = copy == CopyMode::never ? Sharing::on_request : Sharing::by_default;
    // An accelerator's memory can be wrapped and then moved on within the target, but that is no sharing.
    const bool same_kind = source_device.kind() == target_device.kind();
    if (copy != CopyMode::always && route.sharing_ >= needed && same_kind) {
        route.append(on_host && pair.with_numpy ? Mechanism::shared_host_buffer : Mechanism::dlpack);
    }
    if (copy != CopyMode::never) route.append(Mechanism::host_copy);
    return route;
}

}  // namespace arraybridge
