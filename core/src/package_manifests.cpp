#include "package_manifests.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "text_file.hpp"
#include "text_rules.hpp"

namespace arraybridge {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view group = "arraybridge.plugins";
constexpr std::uintmax_t max_entry_points_bytes = 1U << 20U;

std::string_view trimmed(std::string_view text) noexcept {
    constexpr std::string_view blanks = " \t\r\f\v";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// The metadata folders of the distributions in `folder`, in a fixed order. A folder that cannot be read has none:
/// sys.path regularly names folders that do not exist, and archives.
std::vector<fs::path> metadata_in(const fs::path& folder) {
    std::vector<fs::path> found;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
        const std::string_view name = entry->path().native();
        if (name.ends_with(".dist-info") || name.ends_with(".egg-info")) found.push_back(entry->path());
    }
    std::sort(found.begin(), found.end());
    return found;
}

/// The file that "package:relative/manifest.json" names, or a reason why there is none.
void resolve(std::string_view value, const std::vector<fs::path>& folders, PackageManifest& result) {
    const std::size_t colon = value.find(':');
    const std::string_view package = trimmed(value.substr(0, colon));
    const std::string_view relative = colon == std::string_view::npos ? "" : trimmed(value.substr(colon + 1));
    if (!text_rules::dotted.holds(package) || !text_rules::relative_path.holds(relative)) {
        result.reason = "the entry point '" + result.name + "' is '" + std::string(value) +
                        "'; it has to be 'package:relative/path/to/manifest.json'";
        return;
    }
    std::string below(package);
    std::replace(below.begin(), below.end(), '.', '/');
    for (const fs::path& folder : folders) {
        fs::path candidate = folder / below / relative;
        std::error_code error;
        if (fs::exists(candidate, error)) {
            result.manifest = std::move(candidate);
            return;
        }
    }
    result.reason = "the entry point '" + result.name + "' names '" + std::string(value) +
                    "', but no folder of the package path has that file";
}

void read_metadata(const fs::path& metadata, const std::vector<fs::path>& package_folders,
                   std::vector<PackageManifest>& found) {
    const fs::path file = metadata / "entry_points.txt";
    try {
        const auto text = read_text_file(file, max_entry_points_bytes);
        if (!text || text->find(group) == std::string::npos) return;
        for (EntryPoint& entry_point : parse_entry_points(*text)) {
            PackageManifest result{std::move(entry_point.name), file, {}, {}};
            resolve(entry_point.value, package_folders, result);
            found.push_back(std::move(result));
        }
    } catch (const std::runtime_error& error) {
        found.push_back({metadata.stem().string(), file, {}, error.what()});
    }
}

}  // namespace

std::vector<EntryPoint> parse_entry_points(std::string_view text) {
    std::vector<EntryPoint> found;
    bool in_group = false;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = trimmed(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty() || line.front() == '#' || line.front() == ';') continue;
        if (line.front() == '[') {
            in_group = line.back() == ']' && trimmed(line.substr(1, line.size() - 2)) == group;
            continue;
        }
        const std::size_t equals = line.find('=');
        if (!in_group || equals == std::string_view::npos) continue;
        // A value may end in extras, "package:file [extra]", which say nothing about where the file is.
        const std::string_view value = line.substr(equals + 1);
        found.push_back(
            {std::string(trimmed(line.substr(0, equals))), std::string(trimmed(value.substr(0, value.find('['))))});
    }
    return found;
}

std::vector<PackageManifest> find_package_manifests(const std::vector<fs::path>& metadata_folders,
                                                    const std::vector<fs::path>& package_folders) {
    std::vector<PackageManifest> found;
    for (const fs::path& folder : metadata_folders) {
        for (const fs::path& metadata : metadata_in(folder)) read_metadata(metadata, package_folders, found);
    }
    return found;
}

}  // namespace arraybridge
