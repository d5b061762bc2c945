#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "arraybridge/manifest.hpp"

namespace arraybridge {

/// What came of reading one manifest.
struct ManifestReading {
    std::optional<Manifest> manifest;  ///< empty if it is broken
    std::string name;                  ///< its name, if reading got that far, else the name of its folder
    std::string reason;                ///< what is wrong, with "line:column" or a JSON pointer where there is one
};

/// Reads the manifest file at `path`; empty if there is no such file. Whatever else is wrong is in the reading.
std::optional<ManifestReading> read_manifest(const std::filesystem::path& path);

/// Likewise for a text. `path` is where its relative paths start.
ManifestReading parse_manifest(std::string text, const std::filesystem::path& path);

/// "PATH: REASON" or "PATH:LINE:COLUMN: REASON": the message of a ManifestError.
std::string manifest_message(const std::filesystem::path& path, const std::string& reason);

}  // namespace arraybridge
