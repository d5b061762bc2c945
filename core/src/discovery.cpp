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

bool read_one(const fs::path& manifest, Source source, const TakeDiscovered& take) {
    auto reading = read_manifest(manifest);
    if (!reading) return false;
    take({source, manifest, *std::move(reading)});
    return true;
}

Discovered broken(Source source, const fs::path& path, std::string name, std::string reason) {
    return {source, path, {std::nullopt, std::move(name), std::move(reason)}};
}

/// Reads the manifest of each folder in `folder`, in the order of their names: the order in which a file system lists
/// them must not decide which library is found.
void read_subfolders(const fs::path& folder, Source source, const TakeDiscovered& take) {
    std::vector<fs::path> subfolders;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
        std::error_code ignored;
        if (entry->is_directory(ignored)) subfolders.push_back(entry->path());
    }
    if (error) take(broken(source, folder, folder.filename().string(), "cannot be read: " + error.message()));
    const auto by_text = [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); };
    std::sort(subfolders.begin(), subfolders.end(), by_text);
    for (const fs::path& subfolder : subfolders) read_one(subfolder / manifest_name, source, take);
}

void read_element(fs::path element, const TakeDiscovered& take) {
    if (!element.has_filename()) element = element.parent_path();  // "folder/" and "folder" are one
    std::error_code error;
    const auto status = fs::status(element, error);
    if (status.type() == fs::file_type::directory) {
        const bool is_plugin = read_one(element / manifest_name, Source::plugin_path, take);
        if (!is_plugin) read_subfolders(element, Source::plugin_path, take);
    } else if (!read_one(element, Source::plugin_path, take)) {
        take(broken(Source::plugin_path, element, element.filename().string(),
                    "ARRAYBRIDGE_PLUGIN_PATH names it, but there is no such file or folder"));
    }
}

}  // namespace

void read_plugin_path(const std::vector<fs::path>& elements, const TakeDiscovered& take) {
    for (const fs::path& element : elements) read_element(element, take);
}

void read_plugin_folder(const fs::path& folder, Source source, const TakeDiscovered& take) {
    std::error_code error;
    if (fs::is_directory(folder, error)) read_subfolders(folder, source, take);
}

void read_packages(const std::vector<fs::path>& new_folders, const std::vector<fs::path>& all_folders,
                   const TakeDiscovered& take) {
    for (PackageManifest& package : find_package_manifests(new_folders, all_folders)) {
        if (package.manifest.empty()) {
            take(broken(Source::package, package.announced, package.name, package.reason));
            continue;
        }
        auto reading = read_manifest(package.manifest);
        if (!reading) continue;  // it has gone since it was found
        if (reading->manifest && reading->name != package.name) {
            *reading = {std::nullopt, package.name,
                        "is announced as '" + package.name + "' by " + package.announced.string() +
                            ", but calls itself '" + reading->name + "'"};
        }
        take({Source::package, package.manifest, *std::move(reading)});
    }
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
