#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace arraybridge {

/// A manifest that an installed Python package announces as an entry point of the group "arraybridge.plugins".
struct PackageManifest {
    std::string name;                 ///< of the entry point
    std::filesystem::path announced;  ///< the entry_points.txt
    std::filesystem::path manifest;   ///< empty if it cannot be found
    std::string reason;               ///< why it cannot
};

/// One line "name = package:relative/manifest.json" of an entry_points.txt.
struct EntryPoint {
    std::string name;
    std::string value;
};

/// The entry points of the group "arraybridge.plugins" in the text of an entry_points.txt.
std::vector<EntryPoint> parse_entry_points(std::string_view text);

/// What the packages announce whose metadata lies in `metadata_folders`. A package is looked for in every one of
/// `package_folders`, as Python would on sys.path; nothing is imported.
std::vector<PackageManifest> find_package_manifests(const std::vector<std::filesystem::path>& metadata_folders,
                                                    const std::vector<std::filesystem::path>& package_folders);

}  // namespace arraybridge
