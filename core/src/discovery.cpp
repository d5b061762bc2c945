#include "discovery.hpp"

#include <algorithm>
#include <boost/dll/runtime_symbol_info.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "arraybridge/plugin.hpp"
#include "package_manifests.hpp"

namespace arraybridge {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view manifest_name = "manifest.json";

bool read_one(const fs::path& manifest, Source source, std::vector<Discovered>& found) {
    auto reading = read_manifest(manifest);
    if (!reading) return false;
    found.push_back({source, manifest, *std::move(reading)});
    return true;
}

void add_broken(Source source, const fs::path& path, std::string name, std::string reason,
                std::vector<Discovered>& found) {
    found.push_back({source, path, {std::nullopt, std::move(name), std::move(reason)}});
}

/// Reads the manifest of each folder in `folder`, in the order of their names: the order in which a file system lists
/// them must not decide which library is found.
void read_subfolders(const fs::path& folder, Source source, std::vector<Discovered>& found) {
    std::vector<fs::path> subfolders;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
        std::error_code ignored;
        if (entry->is_directory(ignored)) subfolders.push_back(entry->path());
    }
    if (error) {
        add_broken(source, folder, folder.filename().string(), "cannot be read: " + error.message(), found);
    }
    std::sort(subfolders.begin(), subfolders.end());
    for (const fs::path& subfolder : subfolders) read_one(subfolder / manifest_name, source, found);
}

void read_element(fs::path element, std::vector<Discovered>& found) {
    if (!element.has_filename()) element = element.parent_path();  // "folder/" and "folder" are one
    std::error_code error;
    const auto status = fs::status(element, error);
    if (!fs::exists(status)) {
        add_broken(Source::plugin_path, element, element.filename().string(),
                   "ARRAYBRIDGE_PLUGIN_PATH names it, but " + (error && status.type() != fs::file_type::not_found
                                                                   ? "it cannot be read: " + error.message()
                                                                   : "there is no such file or folder"),
                   found);
    } else if (!fs::is_directory(status)) {
        read_one(element, Source::plugin_path, found);
    } else if (!read_one(element / manifest_name, Source::plugin_path, found)) {
        read_subfolders(element, Source::plugin_path, found);
    }
}

}  // namespace

std::vector<Discovered> read_plugin_path(const std::vector<fs::path>& elements) {
    std::vector<Discovered> found;
    for (const fs::path& element : elements) read_element(element, found);
    return found;
}

std::vector<Discovered> read_plugin_folder(const fs::path& folder, Source source) {
    std::vector<Discovered> found;
    std::error_code error;
    if (fs::is_directory(folder, error)) read_subfolders(folder, source, found);
    return found;
}

std::vector<Discovered> read_packages(const std::vector<fs::path>& new_folders,
                                      const std::vector<fs::path>& all_folders) {
    std::vector<Discovered> found;
    for (PackageManifest& package : find_package_manifests(new_folders, all_folders)) {
        if (package.manifest.empty()) {
            add_broken(Source::package, package.announced, package.name, package.reason, found);
        } else if (read_one(package.manifest, Source::package, found)) {
            ManifestReading& reading = found.back().reading;
            if (reading.manifest && reading.name != package.name) {
                reading.reason = "is announced as '" + package.name + "' by " + package.announced.string() +
                                 ", but calls itself '" + reading.name + "'";
                reading.name = package.name;
                reading.manifest.reset();
            }
        }
    }
    return found;
}

fs::path find_own_plugins() {
    const fs::path below = fs::path("arraybridge") / "plugins";
    std::error_code error;
    const fs::path core = fs::absolute(boost::dll::symbol_location_ptr(core_identity(), error), error);
    if (error) return {};
    fs::path own = core.parent_path() / below;
    if (fs::exists(own, error)) return own;
    // The library may be a link to where it was installed together with its plugins.
    const fs::path real = fs::canonical(core, error);
    return error ? own : real.parent_path() / below;
}

}  // namespace arraybridge
