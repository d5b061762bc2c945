#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "arraybridge/registry.hpp"
#include "discovery.hpp"
#include "discovery_settings.hpp"

namespace arraybridge {

/// What the registry knows and how far it has read.
///
/// A known name is found in an immutable snapshot, without a lock. Whatever changes happens under one mutex, which is
/// never held while a plugin or a language runtime runs, and ends in a new snapshot.
struct Registry::State {
    struct Slot {
        std::unique_ptr<const LibraryEntry> entry;
        mutable std::atomic<bool> was_asked_for{false};
    };

    using Index = std::unordered_map<std::string_view, const Slot*>;

    /// The names that were known at one moment. Older ones are kept: a thread may still be looking at one.
    struct Snapshot {
        Index by_name;
        std::vector<const LibraryEntry*> entries;  // in the order of discovery
        bool complete = false;                     // no source is left to read
        std::unique_ptr<const Snapshot> previous;
    };

    struct RuntimeNode {
        Runtime runtime;
        const RuntimeNode* next;
    };

    /// The slot of `name`, reading no more sources than it takes; null if none has it.
    const Slot* look_up(std::string_view name);

    /// Notes that a library joins those that `all()` answers.
    void note_use(const Slot& slot);

    // ----- to be called with the lock -----

    void read_first_sources();
    void read_every_source();
    const LibraryEntry& insert(Manifest manifest, Source source, LibraryEntry::Factory factory);
    void publish();
    void add_problem(Problem problem);

    const std::filesystem::path own_plugins = find_own_plugins();  // found early: the current folder may change
    std::atomic<const Snapshot*> snapshot{new Snapshot};
    std::atomic<const RuntimeNode*> runtimes{nullptr};
    std::atomic<std::uint64_t> generation{0};

    std::mutex mutex;  // guards all that follows
    std::deque<Slot> slots;
    Index by_name;
    std::vector<const LibraryEntry*> used;  // not listed, but asked for: in the order of that
    std::vector<Problem> problems;
    std::map<std::string, std::string, std::less<>> broken;  // what a ManifestError says, by the name of its library
    std::vector<std::filesystem::path> package_paths;

private:
    const DiscoverySettings& settings();
    bool read_next_source();
    bool read_next_packages();
    void take(Discovered found);
    void take_broken(const Discovered& broken_one);
    bool is_complete() const;

    std::optional<DiscoverySettings> settings_;  // read when first needed, so that a program may set the environment
    std::set<std::filesystem::path> read_package_paths_;
    bool read_first_ = false;
    bool read_user_ = false;
};

/// Whether `all()` answers the entry before anybody asked for it. Packages and the user's folder do not count: what
/// is listed must not depend on whether somebody made the registry read that far.
bool is_listed(const LibraryEntry& entry) noexcept;

}  // namespace arraybridge
