#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arraybridge/device.hpp"
#include "arraybridge/dtype.hpp"
#include "arraybridge/visibility.hpp"

namespace arraybridge {

/// Whether memory in main memory is shared with another library.
enum class Sharing : std::uint8_t {
    never,       ///< the libraries cannot share
    on_request,  ///< only when the caller asks for it with CopyMode::never
    by_default,  ///< unless the caller asks for a copy
};

/// Which strides a library can take over.
enum class StrideSupport : std::uint8_t {
    compact,       ///< row-major without gaps
    non_negative,  ///< any step of zero or more elements
    any,           ///< negative steps too
};

/// The interpreter or runtime that a plugin needs in its process before its shared object may be loaded.
struct RuntimeRequirement {
    std::string name;     ///< "python"; empty for a plugin that needs none
    std::string version;  ///< for Python: implementation and version, "cpython-311"
};

/// A set of device kinds.
class DeviceKinds {
public:
    constexpr void insert(DeviceKind kind) noexcept {
        bits_ |= static_cast<std::uint8_t>(1U << static_cast<unsigned>(kind));
    }
    constexpr bool contains(DeviceKind kind) const noexcept {
        return ((bits_ >> static_cast<unsigned>(kind)) & 1U) != 0;
    }
    constexpr bool only(DeviceKind kind) const noexcept { return bits_ == 1U << static_cast<unsigned>(kind); }
    constexpr bool empty() const noexcept { return bits_ == 0; }

private:
    std::uint8_t bits_ = 0;
};

/// What a library says about itself that can be known without loading it. Read from `manifest.json`, whose JSON Schema
/// is installed as `share/arraybridge/manifest.schema.json`; docs/manifest.md describes each field.
struct ARRAYBRIDGE_API Manifest {
    /// The newest `schema_version` this core reads.
    static constexpr int schema_version = 1;

    /// A file above this many bytes, or nested deeper than this, is refused unread.
    static constexpr std::uintmax_t max_bytes = 1U << 20U;
    static constexpr int max_depth = 16;

    /// Reads and validates a manifest file. Throws ManifestError with the path and a line or a JSON pointer.
    static Manifest read(const std::filesystem::path& path);

    /// Reads a manifest from text. `path` is where its relative paths start and what messages name.
    static Manifest parse(std::string_view text, const std::filesystem::path& path);

    // What every conversion looks at comes first and lies close together.

    DeviceKinds device_kinds;        ///< where it can place arrays
    DeviceKinds dlpack_import_from;  ///< device kinds whose memory it can wrap
    DeviceKinds dlpack_export_from;  ///< device kinds whose memory it can describe
    bool legacy_dlpack = false;      ///< speaks only the struct of before DLPack 1.0
    std::uint32_t alignment = 1;     ///< bytes; what it needs of an imported address, besides the dtype's own alignment
    StrideSupport strides = StrideSupport::compact;
    bool imports_read_only = false;  ///< can hold memory that nobody may write to
    bool mutable_arrays = true;      ///< its arrays can be written to
    std::int32_t max_ndim = 64;
    DTypeSet dtypes;  ///< upper bound of what it has

    std::filesystem::path path;  ///< the manifest file
    std::string name;            ///< what the library is asked for by: "torch"
    std::string display_name;    ///< what people call it: "PyTorch"
    std::optional<int> listing;  ///< place among the libraries that are always listed; none: joins on first use
    std::filesystem::path shared_object;  ///< absolute; inside the manifest's folder
    std::uint32_t abi_major = 0;          ///< of the core it was built against
    std::uint32_t abi_minor = 0;
    std::string stamp;  ///< of the compiler and standard library it was built with, see `plugin.hpp`
    RuntimeRequirement runtime;

    std::string import_module;  ///< what is imported: "torch"; empty for a library of C++ only
    std::vector<std::string>
        array_modules;  ///< top-level modules whose objects are its arrays: import_module and aliases
    std::vector<std::string> array_types;  ///< exact types, "package.module.Type", for a module that has others too
    bool detected = true;                  ///< whether it is ever an answer of `detect_memory_type`
    std::string distribution;              ///< what pip calls it
    std::string extra;                     ///< the extra of the arraybridge package that installs it; may be empty
    std::string minimum_version;           ///< oldest version that works; may be empty
    std::vector<std::pair<std::string, std::string>> environment;  ///< variables set, unless set already, before import

    std::map<std::string, Sharing, std::less<>> export_sharing;  ///< by partner; "*" is everybody else
    std::map<std::string, Sharing, std::less<>> import_sharing;

    std::vector<std::string> roles;         ///< names of Python role classes its library object is an instance of
    std::vector<std::string> operations;    ///< the operations of `ArrayLibrary` and `ArrayMath` that it has
    std::vector<std::string> oom_messages;  ///< what its out-of-memory errors say, in lower case
    std::vector<std::string>
        oom_exceptions;  ///< attribute paths of its out-of-memory exceptions, "cuda.OutOfMemoryError"

    /// How memory of an array in main memory is shared with `partner`, as far as this side decides.
    Sharing exports_to(std::string_view partner) const;
    Sharing imports_from(std::string_view partner) const;

    /// The JSON text this was read from.
    std::string text;
};

}  // namespace arraybridge
