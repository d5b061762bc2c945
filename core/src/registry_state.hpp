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

/// One name of the registry.
struct RegistrySlot {
    std::unique_ptr<const LibraryEntry> entry;
    mutable std::atomic<bool> was_asked_for{false};
};

/// The names that were known at one moment. Never changed once it is published, and never freed, so that a name is
/// found without a lock.
struct RegistrySnapshot {
    std::unordered_map<std::string_view, const RegistrySlot*> by_name;
    std::vector<const LibraryEntry*> in_order;
    bool complete = false;  ///< every source was read
    std::unique_ptr<const RegistrySnapshot> previous;
};

/// What the registry knows, and how far it has read.
struct Registry::State {
    State() : snapshot(new RegistrySnapshot) {}

    /// The slot of a known name, reading as many sources as it takes; null if no source has it.
    const RegistrySlot* look_up(std::string_view name);

    /// Makes sure that the plugin path and our own plugins, or every source, were read. To be called with the lock.
    void read_first_sources();
    void read_all_sources();

    /// Adds one entry that no source has yet. To be called with the lock, before `publish`.
    const LibraryEntry& add(Manifest manifest, Source source, LibraryEntry::Factory factory);

    /// Makes what was added visible. To be called with the lock.
    void publish();

    void report(Problem problem);
    void remember_use(const RegistrySlot& slot);

    std::atomic<const RegistrySnapshot*> snapshot;
    std::atomic<std::uint64_t> generation{0};

    std::mutex mutex;  // guards all that follows; never held while a plugin, a runtime or a callback runs

    std::deque<RegistrySlot> slots;
    std::vector<const LibraryEntry*> asked_for;  // those that are not listed, in the order of their first use
    std::vector<Problem> problems;
    std::map<std::string, std::string, std::less<>> broken;  // names of manifests that could not be read: the message

    std::vector<std::filesystem::path> package_paths;
    std::set<std::filesystem::path> read_package_paths;
    bool read_first = false;
    bool read_user = false;
    std::optional<DiscoverySettings> settings;

private:
    const DiscoverySettings& environment();
    std::vector<std::filesystem::path> unread_package_paths() const;
    bool read_next_source();
    void take(std::vector<Discovered> found);
    void take_one(Discovered found);
    const RegistrySlot* slot_of(std::string_view name) const;

    friend class Registry;
};

}  // namespace arraybridge
