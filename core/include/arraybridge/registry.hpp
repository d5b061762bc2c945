#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "arraybridge/array_library.hpp"
#include "arraybridge/manifest.hpp"
#include "arraybridge/visibility.hpp"

namespace arraybridge {

/// A manifest or plugin that cannot be used, and why.
struct Problem {
    std::string name;            ///< of the library; the folder's name if the manifest does not get that far
    std::filesystem::path path;  ///< of the manifest, or of the source that could not be read
    std::string reason;          ///< with a line or a JSON pointer where there is one
    bool shadowed = false;       ///< nothing is wrong with it; an earlier source already has the name
};

/// Where a manifest was found.
enum class Source : std::uint8_t {
    plugin_path,  ///< the environment variable ARRAYBRIDGE_PLUGIN_PATH
    own,          ///< beside libarraybridge
    package,      ///< an entry point of an installed Python package
    user,         ///< $XDG_DATA_HOME/arraybridge/plugins
    program,      ///< added by the running program
};

ARRAYBRIDGE_API std::string_view label(Source source) noexcept;

/// One library that the registry knows: its manifest and, from its first use on, its object. Has one address for good.
class ARRAYBRIDGE_API LibraryEntry {
public:
    LibraryEntry(const LibraryEntry&) = delete;
    LibraryEntry& operator=(const LibraryEntry&) = delete;

    const Manifest& manifest() const noexcept { return manifest_; }
    const std::string& name() const noexcept { return manifest_.name; }
    Source source() const noexcept { return source_; }

    /// A small number: its place in the order of discovery.
    std::uint32_t id() const noexcept { return id_; }

    /// The library if it was used before, else null. Loads nothing.
    ArrayLibrary* loaded() const noexcept { return library_.load(std::memory_order_acquire); }

    /// The library, loading its shared object and its framework on first use. Threads that race for the first use each
    /// make one and the first to finish is kept; a failure is not remembered, so that the next call tries again.
    /// Throws PluginError, NotInstalled, or what the framework raised.
    ArrayLibrary& library() const {
        if (ArrayLibrary* ready = loaded()) [[likely]]
            return *ready;
        return load();
    }

private:
    friend class Registry;
    using Factory = std::function<std::unique_ptr<ArrayLibrary>(const LibraryEntry&)>;

    LibraryEntry(Manifest manifest, Source source, std::uint32_t id, Factory factory)
        : id_(id), source_(source), manifest_(std::move(manifest)), factory_(std::move(factory)) {}

    ArrayLibrary& load() const;

    // One cache line for all that a conversion reads: these and the first fields of the manifest.
    alignas(64) mutable std::atomic<ArrayLibrary*> library_{nullptr};
    const std::uint32_t id_;
    const Source source_;
    const Manifest manifest_;
    const Factory factory_;  // empty: the shared object's own
};

/// What a language runtime offers to plugins that are written for it.
struct Runtime {
    std::string name;     ///< "python"
    std::string version;  ///< "cpython-311"

    /// Called around dlopen: gives up the runtime's global lock, if the calling thread holds it, and takes it back.
    void* (*release_lock)() = nullptr;
    void (*restore_lock)(void* token) = nullptr;
};

/// Every library there is, found through manifests. One per process, never destroyed.
///
/// Looking up an entry reads manifests and loads nothing. Sources are read in order and no further than needed: a name
/// that the plugin path or arraybridge itself has costs no scan of installed packages. Thread-safe; a known name is
/// found without a lock.
class ARRAYBRIDGE_API Registry {
public:
    static Registry& instance();

    Registry(const Registry&) = delete;
    Registry& operator=(const Registry&) = delete;

    /// The library called `name`, loaded on first use. Throws UnknownLibrary, which lists the names there are, or what
    /// made the library unusable.
    ArrayLibrary& named(std::string_view name) { return entry(name).library(); }

    /// What is known of `name` without loading it. Throws UnknownLibrary, or ManifestError if it has a broken manifest.
    const LibraryEntry& entry(std::string_view name);

    /// Likewise; null if there is none. Throws ManifestError if it has a broken manifest.
    const LibraryEntry* find(std::string_view name);

    /// The listed libraries (those whose manifest has a `listing`, in that order) and then the others that were asked
    /// for by name so far, in the order of that.
    std::vector<const LibraryEntry*> all();

    /// Every entry of every source.
    std::vector<const LibraryEntry*> everything();

    /// What could not be used so far, after reading every source.
    std::vector<Problem> problems();

    /// Adds a library that the running program brings. Throws ManifestError if the name is taken.
    const LibraryEntry& add(Manifest manifest,
                            std::function<std::unique_ptr<ArrayLibrary>(const LibraryEntry&)> factory);

    /// Tells which folders hold installed Python packages (sys.path). Takes effect for sources not read yet; call it
    /// again when the path has changed.
    void set_package_paths(std::vector<std::filesystem::path> paths);

    /// Announces that the process has a language runtime. The first announcement of a name is kept.
    void provide(const Runtime& runtime);

    /// The announced runtime of that name, or null.
    const Runtime* runtime(std::string_view name) const noexcept;

    /// The folders of the plugins that come with arraybridge, beside the shared object of the core.
    std::filesystem::path own_plugins() const;

    /// Counts additions: unchanged means that `all()` and `everything()` would give the same again.
    std::uint64_t generation() const noexcept;

private:
    friend class LibraryEntry;
    Registry();
    ~Registry() = delete;

    void report(Problem problem);

    struct State;
    State* state_;
};

}  // namespace arraybridge
