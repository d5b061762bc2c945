#include "arraybridge/manifest.hpp"

#include <array>
#include <exception>
#include <limits>
#include <system_error>

#include "arraybridge/error.hpp"
#include "arraybridge/version.hpp"
#include "manifest_reader.hpp"
#include "manifest_value.hpp"
#include "text_file.hpp"
#include "text_rules.hpp"

namespace arraybridge {

namespace {

namespace fs = std::filesystem;
namespace rules = text_rules;

// In the order of their enumerations.
constexpr std::array<std::string_view, 3> device_kinds{"host", "accelerator", "named"};
constexpr std::array<std::string_view, 3> sharings{"never", "on_request", "by_default"};
constexpr std::array<std::string_view, 3> stride_supports{"compact", "non_negative", "any"};

constexpr std::array<std::string_view, 20> operations{
    "max",          "min",    "mean",        "sum",          "astype",           "reshape",     "broadcast_to",
    "ones_like",    "assign", "logical_and", "stack_arrays", "normalize_planes", "scale_dtype", "to_numpy",
    "prepend_axis", "ones",   "outer",       "floor",        "linspace",         "from_numpy"};

/// Reads the texts of a list into `out`, if the list is there.
void read_texts(const ManifestValue& section, std::string_view key, const TextRule& rule,
                std::vector<std::string>& out) {
    const auto list = section.optional(key);
    if (!list) return;
    for (const ManifestValue& value : list->texts(rule)) out.push_back(value.text(rule));
}

DeviceKinds read_device_kinds(const ManifestValue& list) {
    DeviceKinds kinds;
    for (const ManifestValue& value : list.texts(rules::any)) {
        kinds.insert(static_cast<DeviceKind>(value.choice(device_kinds)));
    }
    return kinds;
}

void read_identity(const ManifestValue& root, Manifest& manifest) {
    const ManifestValue version = root.required("schema_version");
    const int given = version.integer(1, std::numeric_limits<int>::max());
    if (given > Manifest::schema_version) {
        version.fail("schema version " + std::to_string(given) + " is newer than " +
                     std::to_string(Manifest::schema_version) +
                     ", the newest that arraybridge " ARRAYBRIDGE_VERSION " reads; update arraybridge to use '" +
                     manifest.name + "'");
    }
    manifest.display_name = root.required("display_name").text(rules::printable);
    if (const auto listing = root.optional("listing")) {
        manifest.listing = listing->integer(0, std::numeric_limits<int>::max());
    }
}

void read_framework(const ManifestValue& root, Manifest& manifest) {
    const auto framework = root.optional("framework");
    if (!framework) return;
    framework->expect_object({"module", "distribution", "extra", "minimum_version", "environment"});
    manifest.import_module = framework->required("module").text(rules::dotted);
    if (const auto value = framework->optional("distribution"))
        manifest.distribution = value->text(rules::distribution);
    if (const auto value = framework->optional("extra")) manifest.extra = value->text(rules::distribution);
    if (const auto value = framework->optional("minimum_version"))
        manifest.minimum_version = value->text(rules::version);
    if (const auto variables = framework->optional("environment")) {
        for (const auto& [variable, value] : variables->members(rules::identifier)) {
            manifest.environment.emplace_back(variable, value.text(rules::any));
        }
    }
}

void read_arrays(const ManifestValue& root, Manifest& manifest) {
    if (!manifest.import_module.empty()) {
        manifest.array_modules.push_back(manifest.import_module.substr(0, manifest.import_module.find('.')));
    }
    const auto arrays = root.optional("arrays");
    if (!arrays) return;
    arrays->expect_object({"modules", "types", "detected"});
    std::vector<std::string> modules;
    read_texts(*arrays, "modules", rules::identifier, modules);
    for (std::string& module : modules) {
        if (manifest.array_modules.empty() || module != manifest.array_modules.front()) {
            manifest.array_modules.push_back(std::move(module));
        }
    }
    read_texts(*arrays, "types", rules::qualified, manifest.array_types);
    if (const auto detected = arrays->optional("detected")) manifest.detected = detected->boolean();
}

void read_dlpack(const ManifestValue& root, Manifest& manifest) {
    const auto dlpack = root.optional("dlpack");
    if (!dlpack) return;
    dlpack->expect_object({"import", "export", "legacy"});
    if (const auto kinds = dlpack->optional("import")) manifest.dlpack_import_from = read_device_kinds(*kinds);
    if (const auto kinds = dlpack->optional("export")) manifest.dlpack_export_from = read_device_kinds(*kinds);
    if (const auto legacy = dlpack->optional("legacy")) manifest.legacy_dlpack = legacy->boolean();
}

void read_host_memory(const ManifestValue& root, Manifest& manifest) {
    const auto host_memory = root.optional("host_memory");
    if (!host_memory) return;
    host_memory->expect_object({"export", "import"});
    for (const auto& [key, table] :
         {std::pair{"export", &manifest.export_sharing}, {"import", &manifest.import_sharing}}) {
        const auto partners = host_memory->optional(key);
        if (!partners) continue;
        for (const auto& [partner, value] : partners->members(rules::partner)) {
            table->emplace(partner, static_cast<Sharing>(value.choice(sharings)));
        }
    }
}

void read_imports(const ManifestValue& root, Manifest& manifest) {
    const auto imports = root.optional("imports");
    if (!imports) return;
    imports->expect_object({"alignment", "strides", "read_only", "max_ndim"});
    if (const auto alignment = imports->optional("alignment")) {
        const int bytes = alignment->integer(1, 4096);
        if ((bytes & (bytes - 1)) != 0) alignment->fail(std::to_string(bytes) + " is not a power of two");
        manifest.alignment = static_cast<std::uint32_t>(bytes);
    }
    if (const auto strides = imports->optional("strides")) {
        manifest.strides = static_cast<StrideSupport>(strides->choice(stride_supports));
    }
    if (const auto read_only = imports->optional("read_only")) manifest.imports_read_only = read_only->boolean();
    if (const auto ndim = imports->optional("max_ndim")) manifest.max_ndim = ndim->integer(0, 64);
}

void read_abilities(const ManifestValue& root, Manifest& manifest) {
    const ManifestValue devices = root.required("devices");
    manifest.device_kinds = read_device_kinds(devices);
    if (manifest.device_kinds.empty()) devices.fail("lists no device kind; a library has at least one");
    const ManifestValue dtypes = root.required("dtypes");
    for (const ManifestValue& value : dtypes.texts(rules::any)) {
        const auto dtype = DType::parse(value.text(rules::any));
        if (!dtype) value.fail("is not a dtype; they are named as NumPy and ml_dtypes do, 'float32', 'bfloat16'");
        manifest.dtypes.insert(*dtype);
    }
    if (manifest.dtypes.empty()) dtypes.fail("lists no dtype; a library has at least one");

    if (const auto value = root.optional("mutable")) manifest.mutable_arrays = value->boolean();
    read_texts(root, "roles", rules::identifier, manifest.roles);
    if (const auto list = root.optional("operations")) {
        for (const ManifestValue& value : list->texts(rules::any)) {
            manifest.operations.emplace_back(operations[value.choice(operations)]);
        }
    }
}

void read_out_of_memory(const ManifestValue& root, Manifest& manifest) {
    const auto section = root.optional("out_of_memory");
    if (!section) return;
    section->expect_object({"messages", "exceptions"});
    read_texts(*section, "messages", rules::printable, manifest.oom_messages);
    read_texts(*section, "exceptions", rules::dotted, manifest.oom_exceptions);
}

/// Whether `object`, with every symbolic link followed, still lies below `folder`.
bool stays_inside(const fs::path& object, const fs::path& folder) {
    std::error_code error;
    const fs::path real_folder = fs::canonical(folder, error);
    if (error) return true;  // there is nothing yet that could lead elsewhere
    const fs::path real_object = fs::weakly_canonical(object, error);
    if (error) return false;
    const auto inside = real_object.lexically_relative(real_folder);
    return !inside.empty() && *inside.begin() != "..";
}

void read_plugin(const ManifestValue& root, Manifest& manifest) {
    const ManifestValue plugin = root.required("plugin");
    plugin.expect_object({"shared_object", "abi", "stamp", "runtime"});

    const ManifestValue object = plugin.required("shared_object");
    const std::string& relative = object.text(rules::relative_path);
    const fs::path folder = manifest.path.parent_path();
    manifest.shared_object = folder / relative;
    std::error_code error;
    // A plain file right in the folder, which is nearly every plugin there is, needs no second look.
    const bool needs_look =
        relative.find('/') != std::string::npos || fs::is_symlink(fs::symlink_status(manifest.shared_object, error));
    if (needs_look && !stays_inside(manifest.shared_object, folder)) {
        object.fail("'" + relative + "' leads outside the manifest's folder through a symbolic link");
    }

    const std::string& abi = plugin.required("abi").text(rules::abi);
    manifest.abi_major = static_cast<std::uint32_t>(std::stoul(abi));
    manifest.abi_minor = static_cast<std::uint32_t>(std::stoul(abi.substr(abi.find('.') + 1)));
    manifest.stamp = plugin.required("stamp").text(rules::printable);
    if (const auto runtime = plugin.optional("runtime")) {
        runtime->expect_object({"name", "version"});
        manifest.runtime.name = runtime->required("name").text(rules::name);
        manifest.runtime.version = runtime->required("version").text(rules::printable);
    }
}

void read_everything(const Json& document, Manifest& manifest, std::string& name) {
    const ManifestValue root(document);
    root.expect_object();
    // The name comes first, so that it is known what is broken, and the version before the keys, of which a newer
    // schema has more.
    name = manifest.name = root.required("name").text(rules::name);
    read_identity(root, manifest);
    root.expect_object({"schema_version", "name", "display_name", "listing", "arrays", "framework", "devices", "dlpack",
                        "host_memory", "imports", "mutable", "dtypes", "roles", "operations", "out_of_memory",
                        "plugin"});
    read_framework(root, manifest);
    read_arrays(root, manifest);
    read_dlpack(root, manifest);
    read_host_memory(root, manifest);
    read_imports(root, manifest);
    read_abilities(root, manifest);
    read_out_of_memory(root, manifest);
    read_plugin(root, manifest);
}

std::string folder_name(const fs::path& manifest) { return manifest.parent_path().filename().string(); }

/// A message that quotes a manifest may be as long as that.
std::string shortened(std::string text) {
    constexpr std::size_t enough = 500;
    if (text.size() <= enough) return text;
    std::size_t end = enough;
    while ((static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80) --end;  // not inside a character
    return text.erase(end) + "...";
}

fs::path make_absolute(const fs::path& path) {
    return path.is_absolute() ? path : fs::absolute(path).lexically_normal();
}

Manifest manifest_or_throw(ManifestReading reading, const fs::path& path) {
    if (!reading.manifest) throw ManifestError(manifest_message(path, reading.reason));
    return *std::move(reading.manifest);
}

Sharing look_up(const std::map<std::string, Sharing, std::less<>>& table, std::string_view partner) {
    auto found = table.find(partner);
    if (found == table.end()) found = table.find(std::string_view("*"));
    return found == table.end() ? Sharing::never : found->second;
}

}  // namespace

ManifestReading parse_manifest(std::string text, const fs::path& path) {
    ManifestReading reading{Manifest{}, {}, {}};
    reading.manifest->path = path;
    try {
        if (text.size() > Manifest::max_bytes) {
            throw JsonError("is larger than " + std::to_string(Manifest::max_bytes) + " bytes");
        }
        read_everything(parse_strict_json(text, Manifest::max_depth), *reading.manifest, reading.name);
        reading.manifest->text = std::move(text);
    } catch (const JsonError& error) {
        reading.manifest.reset();
        if (reading.name.empty()) reading.name = folder_name(path);
        reading.reason = shortened(error.what());
    }
    return reading;
}

std::optional<ManifestReading> read_manifest(const fs::path& path) {
    try {
        auto text = read_text_file(path, Manifest::max_bytes);
        if (!text) return std::nullopt;
        return parse_manifest(*std::move(text), path);
    } catch (const std::runtime_error& error) {
        return ManifestReading{std::nullopt, folder_name(path), error.what()};
    }
}

std::string manifest_message(const fs::path& path, const std::string& reason) {
    const bool has_position = !reason.empty() && reason.front() >= '0' && reason.front() <= '9';
    return path.string() + (has_position ? ":" : ": ") + reason;
}

Manifest Manifest::read(const fs::path& path) {
    const fs::path full = make_absolute(path);
    auto reading = read_manifest(full);
    if (!reading) throw ManifestError(manifest_message(full, "there is no such file"));
    return manifest_or_throw(*std::move(reading), full);
}

Manifest Manifest::parse(std::string_view text, const fs::path& path) {
    const fs::path full = make_absolute(path);
    return manifest_or_throw(parse_manifest(std::string(text), full), full);
}

Sharing Manifest::exports_to(std::string_view partner) const { return look_up(export_sharing, partner); }

Sharing Manifest::imports_from(std::string_view partner) const { return look_up(import_sharing, partner); }

}  // namespace arraybridge
