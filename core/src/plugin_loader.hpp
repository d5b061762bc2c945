#pragma once

#include <memory>

#include "arraybridge/array_library.hpp"
#include "arraybridge/registry.hpp"

namespace arraybridge {

/// Loads the shared object of the entry's manifest, which stays loaded for good, and makes its library. What can be
/// compared before the object is loaded is compared first. Throws PluginError for an object that is refused or cannot
/// be loaded; an Error that the plugin throws while it makes the library passes through.
std::unique_ptr<ArrayLibrary> load_plugin(const LibraryEntry& entry);

}  // namespace arraybridge
