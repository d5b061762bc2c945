#pragma once

#include <filesystem>
#include <vector>

#include "name_filter.hpp"

namespace arraybridge {

/// What the environment says about where libraries are found.
struct DiscoverySettings {
    std::vector<std::filesystem::path> plugin_path;  ///< ARRAYBRIDGE_PLUGIN_PATH, without its empty elements
    std::filesystem::path user_folder;               ///< plugins of this user; empty if there is no such place
    NameFilter filter;                               ///< ARRAYBRIDGE_SELECT and ARRAYBRIDGE_DISABLE
};

/// Whether the process has more rights than the user who started it, so that what that user says cannot be trusted.
bool runs_with_elevated_privileges() noexcept;

/// Reads the environment; nothing of it counts for a process with `elevated_privileges`.
DiscoverySettings read_discovery_settings(bool elevated_privileges);

}  // namespace arraybridge
