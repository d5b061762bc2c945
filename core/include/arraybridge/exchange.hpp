#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "arraybridge/device.hpp"
#include "arraybridge/dtype.hpp"

namespace arraybridge {

/// What a conversion may do with memory.
enum class CopyMode : std::uint8_t {
    as_needed,  ///< share where the two libraries share by default and the array allows it, else copy (`copy=None`)
    never,      ///< share or fail (`copy=False`)
    always,     ///< share nothing with the source (`copy=True`)
};

/// Why something was not done. One null pointer when it was done, which is nearly always.
class [[nodiscard]] Decline {
public:
    Decline() noexcept = default;
    explicit Decline(std::string reason) : reason_(std::make_unique<const std::string>(std::move(reason))) {}

    /// True when the step was declined.
    explicit operator bool() const noexcept { return reason_ != nullptr; }

    /// Precondition: it was declined.
    const std::string& reason() const noexcept { return *reason_; }

private:
    std::unique_ptr<const std::string> reason_;
};

/// A stream of the device the data is on, as the array API standard numbers it: -1 asks for no synchronisation,
/// 1 is CUDA's legacy default stream, 2 its per-thread default stream, anything above 2 an address of a stream
/// (https://data-apis.org/array-api/latest/API_specification/generated/array_api.array.__dlpack__.html).
/// `no_stream` says that there is none: host memory.
using Stream = std::int64_t;
inline constexpr Stream no_stream = 0;
inline constexpr Stream unsynchronised_stream = -1;

/// What an importer needs of an export.
struct ExportRequest {
    /// Whether the exporter may (as_needed), must not (never) or must (always) make fresh memory.
    CopyMode copy = CopyMode::as_needed;

    /// Bring the data to main memory first. A library whose arrays are on an accelerator then copies.
    bool to_host = false;

    /// The stream on which the consumer will read; the exporter orders its own work before it.
    Stream consumer_stream = no_stream;

    /// The newest DLPack major and minor version that the consumer reads.
    std::uint32_t dlpack_major = 1;
    std::uint32_t dlpack_minor = 3;
};

/// What is known about a tensor that is to be imported.
struct ImportRequest {
    /// Where the result has to be. A tensor in main memory may be asked for on an accelerator: the importer uploads it.
    Device device;

    /// Whether the importer may copy: not when the caller asked for shared memory.
    CopyMode copy = CopyMode::as_needed;

    /// The stream on which the data was produced; the importer orders its reads after it.
    Stream producer_stream = no_stream;
};

}  // namespace arraybridge
