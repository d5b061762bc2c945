#include "plugin_loader.hpp"

#include <boost/dll/runtime_symbol_info.hpp>
#include <boost/dll/shared_library.hpp>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include "arraybridge/error.hpp"
#include "arraybridge/plugin.hpp"
#include "unlocked_scope.hpp"

#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

namespace arraybridge {

namespace {

namespace dll = boost::dll;

[[noreturn]] void refuse(const Manifest& manifest, const std::string& reason) {
    throw PluginError("the plugin '" + manifest.name + "' (" + manifest.shared_object.string() + ") " + reason);
}

std::string abi_text(std::uint32_t major, std::uint32_t minor) {
    return std::to_string(major) + "." + std::to_string(minor);
}

std::string quoted(const char* text) { return text == nullptr ? "nothing" : "'" + std::string(text) + "'"; }

// ----- what the manifest tells, before anything is loaded -----

void check_abi(const Manifest& manifest, std::uint32_t major, std::uint32_t minor) {
    if (major == ARRAYBRIDGE_ABI_MAJOR && minor <= ARRAYBRIDGE_ABI_MINOR) return;
    refuse(manifest,
           "was built for version " + abi_text(major, minor) + " of arraybridge's binary interface; this is " +
               abi_text(ARRAYBRIDGE_ABI_MAJOR, ARRAYBRIDGE_ABI_MINOR) +
               (major < ARRAYBRIDGE_ABI_MAJOR ? ". Build or install a newer version of the plugin"
                                              : ". Update arraybridge, or install an older version of the plugin"));
}

void check_stamp(const Manifest& manifest, std::string_view stamp) {
    if (stamp == ARRAYBRIDGE_STAMP) return;
    refuse(manifest, "was built for the C++ ABI '" + std::string(stamp) +
                         "'; this process has '" ARRAYBRIDGE_STAMP
                         "'. Build it with the compiler settings of arraybridge");
}

/// The runtime that the plugin needs; null if it needs none.
const Runtime* check_runtime(const Manifest& manifest) {
    const auto& [name, version] = manifest.runtime;
    if (name.empty()) return nullptr;
    const Runtime* runtime = Registry::instance().runtime(name);
    if (runtime == nullptr) {
        const bool python = name == "python";
        refuse(manifest,
               "needs " + (python ? "Python (" + version + ")" : "the runtime '" + name + "' (" + version + ")") +
                   ", which this process does not have" +
                   (python ? ". Import arraybridge from Python, or link the program with arraybridge::python" : ""));
    }
    if (runtime->version != version) {
        refuse(manifest, "was built for '" + version + "'; this process runs '" + runtime->version +
                             "'. Install the plugin for this one");
    }
    return runtime;
}

void check_object_is_there(const Manifest& manifest) {
    std::error_code error;
    const auto status = std::filesystem::status(manifest.shared_object, error);
    if (status.type() == std::filesystem::file_type::not_found)
        refuse(manifest, "has no shared object: there is no such file");
    if (!std::filesystem::is_regular_file(status)) {
        refuse(manifest, error ? "cannot be looked at: " + error.message() : "is not a regular file");
    }
}

// ----- loading -----

/// What dlopen says is wrong, without what Boost.DLL wraps around it.
std::string loader_message(const std::exception& error) {
    constexpr std::string_view before = "(dlerror system message: ";
    std::string_view text = error.what();
    const std::size_t begin = text.find(before);
    if (begin == std::string_view::npos) return std::string(text);
    text.remove_prefix(begin + before.size());
    return std::string(text.substr(0, text.rfind(')')));
}

/// Every object that was loaded. They are never unloaded, which many frameworks would not survive; a refused one stays
/// too, unused.
class LoadedObjects {
public:
    static LoadedObjects& instance() {
        static auto* const objects = new LoadedObjects;
        return *objects;
    }

    const dll::shared_library& load(const Manifest& manifest, const Runtime* runtime) {
        if (const auto* known = find(manifest.shared_object)) return *known;
        dll::shared_library object;
        {
            // dlopen takes the loader's lock, under which another thread's static constructors may be waiting for the
            // runtime's.
            const UnlockedScope unlocked(runtime);
            try {
                object.load(manifest.shared_object, dll::load_mode::rtld_now | dll::load_mode::rtld_local);
            } catch (const std::system_error& error) {
                refuse(manifest, "cannot be loaded on this machine: " + loader_message(error));
            }
        }
        const std::lock_guard lock(mutex_);
        // Of two threads that loaded the same object, the later one's handle is one reference too many, and goes.
        return objects_.try_emplace(manifest.shared_object, std::move(object)).first->second;
    }

private:
    const dll::shared_library* find(const std::filesystem::path& path) {
        const std::lock_guard lock(mutex_);
        const auto found = objects_.find(path);
        return found == objects_.end() ? nullptr : &found->second;
    }

    std::mutex mutex_;
    std::map<std::filesystem::path, dll::shared_library> objects_;
};

// ----- what the object tells, before any C++ object crosses -----

const PluginDescriptor& read_descriptor(const Manifest& manifest, const dll::shared_library& object) {
    if (!object.has(plugin_symbol)) {
        refuse(manifest, "is not a plugin of arraybridge: it does not export '" + std::string(plugin_symbol) +
                             "'. The macro ARRAYBRIDGE_PLUGIN defines it");
    }
    const PluginDescriptor* descriptor = object.get<const PluginDescriptor*()>(plugin_symbol)();
    if (descriptor == nullptr) refuse(manifest, "describes itself as null");
    return *descriptor;
}

std::string object_of(const void* address) {
    std::error_code error;
    const auto path = dll::symbol_location_ptr(address, error);
    return error ? "an unknown place" : path.string();
}

void check_descriptor(const Manifest& manifest, const PluginDescriptor& descriptor) {
    // The major version comes first: it decides what the fields after it mean.
    check_abi(manifest, descriptor.abi_major, descriptor.abi_minor);
    check_stamp(manifest, descriptor.stamp == nullptr ? "" : descriptor.stamp);
    if (descriptor.name == nullptr || descriptor.name != manifest.name) {
        refuse(manifest, "calls itself " + quoted(descriptor.name) + ", its manifest '" + manifest.name + "'");
    }
    if (descriptor.runtime == nullptr || descriptor.runtime != manifest.runtime.version) {
        refuse(manifest, "was built for the runtime " + quoted(descriptor.runtime) + ", its manifest says '" +
                             manifest.runtime.version + "'");
    }
    if (descriptor.core != core_identity()) {
        refuse(manifest, "is bound to another libarraybridge, at " + object_of(descriptor.core) + "; this one is at " +
                             object_of(core_identity()) + ". A process has one");
    }
    if (descriptor.throw_function != core_throw_function()) {
        refuse(manifest, "throws exceptions through another C++ runtime, at " + object_of(descriptor.throw_function) +
                             ". Do not link libstdc++ or libgcc statically into it");
    }
    if (descriptor.create == nullptr) refuse(manifest, "has no function that makes its library");
}

/// Runs the plugin's own code.
std::unique_ptr<ArrayLibrary> create(const LibraryEntry& entry, const PluginDescriptor& descriptor) {
    std::unique_ptr<ArrayLibrary> library;
    try {
        library.reset(descriptor.create(entry));
    } catch (const Error&) {
        throw;  // not installed, or what a framework raised
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& error) {
        refuse(entry.manifest(), "could not make its library: " + std::string(error.what()));
#if defined(__GLIBCXX__)
    } catch (const abi::__forced_unwind&) {
        throw;  // the thread is being cancelled, and may not be kept from it
#endif
    } catch (...) {
        refuse(entry.manifest(), "could not make its library: it threw something that is not a std::exception");
    }
    if (library == nullptr) refuse(entry.manifest(), "made no library: its factory answered null");
    return library;
}

}  // namespace

std::unique_ptr<ArrayLibrary> load_plugin(const LibraryEntry& entry) {
    const Manifest& manifest = entry.manifest();
    check_object_is_there(manifest);
    check_abi(manifest, manifest.abi_major, manifest.abi_minor);
    check_stamp(manifest, manifest.stamp);
    const Runtime* runtime = check_runtime(manifest);
    const dll::shared_library& object = LoadedObjects::instance().load(manifest, runtime);
    const PluginDescriptor& descriptor = read_descriptor(manifest, object);
    check_descriptor(manifest, descriptor);
    return create(entry, descriptor);
}

}  // namespace arraybridge
