#include "arraybridge/conversion_route.hpp"

#include <algorithm>
#include <array>
#include <atomic>

namespace arraybridge {

namespace {

/// What two manifests say about a pair of libraries.
struct Pair {
    Sharing sharing;  // of main memory
    bool with_numpy;  // on one side: then the shared mechanism has another name
};

/// Whether the target can wrap what the source describes on this kind of device.
bool is_described(const LibraryEntry& source, const LibraryEntry& target, DeviceKind kind) {
    return target.manifest().dlpack_import_from.contains(kind) && source.manifest().dlpack_export_from.contains(kind);
}

Pair read_pair(const LibraryEntry& source, const LibraryEntry& target) {
    const bool described = is_described(source, target, DeviceKind::host);
    const Sharing out = source.manifest().exports_to(target.name());
    const Sharing in = target.manifest().imports_from(source.name());
    return {described ? std::min(out, in) : Sharing::never, source.name() == "numpy" || target.name() == "numpy"};
}

// Both sides' statements are looked up by name once per pair; after that a conversion reads one byte.
constexpr std::size_t remembered = 64;
std::array<std::array<std::atomic<std::uint8_t>, remembered>, remembered> pairs{};

Pair pair_of(const LibraryEntry& source, const LibraryEntry& target) {
    constexpr std::uint8_t known = 0x80;
    constexpr std::uint8_t numpy = 0x40;
    if ((source.id() | target.id()) >= remembered) return read_pair(source, target);
    std::atomic<std::uint8_t>& cell = pairs[source.id()][target.id()];
    const std::uint8_t seen = cell.load(std::memory_order_relaxed);
    if ((seen & known) != 0) [[likely]]
        return {static_cast<Sharing>(seen & 0x0F), (seen & numpy) != 0};
    const Pair pair = read_pair(source, target);
    cell.store(
        static_cast<std::uint8_t>(known | (pair.with_numpy ? numpy : 0) | static_cast<std::uint8_t>(pair.sharing)),
        std::memory_order_relaxed);
    return pair;
}

constexpr std::array buffer_then_copy{Mechanism::shared_host_buffer, Mechanism::host_copy};
constexpr std::array dlpack_then_copy{Mechanism::dlpack, Mechanism::host_copy};
constexpr std::array stays{Mechanism::stays_in_place};
constexpr std::array moves{Mechanism::device_move};
constexpr std::array copies{Mechanism::host_copy};

/// Within one library.
std::span<const Mechanism> within(const Device& source_device, const Device& target_device, CopyMode copy) {
    if (source_device != target_device) return copy == CopyMode::never ? std::span<const Mechanism>{} : moves;
    if (copy != CopyMode::always) return stays;
    return source_device.is_host() ? std::span<const Mechanism>(copies) : moves;
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

bool shares_host_memory(const LibraryEntry& source, const LibraryEntry& target) noexcept {
    return pair_of(source, target).sharing == Sharing::by_default;
}

ConversionRoute ConversionRoute::between(const LibraryEntry& source, const Device& source_device,
                                         const LibraryEntry& target, const Device& target_device,
                                         CopyMode copy) noexcept {
    if (&source == &target) return {within(source_device, target_device, copy), Sharing::by_default};
    const DeviceKind kind = source_device.kind();
    const Pair pair = pair_of(source, target);
    const Sharing sharing = kind == DeviceKind::host             ? pair.sharing
                            : is_described(source, target, kind) ? Sharing::by_default
                                                                 : Sharing::never;
    const Sharing needed = copy == CopyMode::never ? Sharing::on_request : Sharing::by_default;
    // What lies on another kind of device has to be copied there: that is no sharing.
    const bool shared = copy != CopyMode::always && sharing >= needed && kind == target_device.kind();
    const bool copied = copy != CopyMode::never;
    const std::array<Mechanism, 2>& best_first =
        pair.with_numpy && kind == DeviceKind::host ? buffer_then_copy : dlpack_then_copy;
    return {{best_first.data() + (shared ? 0 : 1), best_first.data() + (copied ? 2 : 1)}, sharing};
}

}  // namespace arraybridge
