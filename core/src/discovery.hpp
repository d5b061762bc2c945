#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "arraybridge/registry.hpp"
#include "manifest_reader.hpp"

/// Where manifests are found: each function reads one kind of source. docs/discovery.md has the rules.
namespace arraybridge {

/// One manifest of a source, good or broken.
struct Discovered {
    Source source;
    std::filesystem::path path;
    ManifestReading reading;
};

/// Takes what is found, one after the other.
using TakeDiscovered = std::function<void(Discovered)>;

/// Reads the elements of ARRAYBRIDGE_PLUGIN_PATH: manifests, folders of plugins, folders of such folders.
void read_plugin_path(const std::vector<std::filesystem::path>& elements, const TakeDiscovered& take);

/// Reads the folder that holds plugin folders; there need be no such folder.
void read_plugin_folder(const std::filesystem::path& folder, Source source, const TakeDiscovered& take);

/// Reads what the Python packages in `new_folders` announce; `all_folders` is where their files are looked for.
void read_packages(const std::vector<std::filesystem::path>& new_folders,
                   const std::vector<std::filesystem::path>& all_folders, const TakeDiscovered& take);

/// <folder of libarraybridge>/arraybridge/plugins
std::filesystem::path find_own_plugins();

}  // namespace arraybridge
