#include "registry_state.hpp"

#include <algorithm>
#include <utility>

namespace arraybridge {

namespace {

namespace fs = std::filesystem;

bool same(const Problem& a, const Problem& b) { return a.name == b.name && a.path == b.path && a.reason == b.reason; }

}  // namespace

bool is_listed(const LibraryEntry& entry) noexcept {
    const Source source = entry.source();
    return entry.manifest().listing.has_value() && source != Source::package && source != Source::user;
}

const Registry::State::Slot* Registry::State::look_up(std::string_view name) {
    const Snapshot* known = snapshot.load(std::memory_order_acquire);
    if (const auto found = known->by_name.find(name); found != known->by_name.end()) return found->second;
    if (known->complete) return nullptr;

    const std::lock_guard lock(mutex);
    do {
        if (const auto found = by_name.find(name); found != by_name.end()) return found->second;
    } while (read_next_source());
    return nullptr;
}

void Registry::State::note_use(const Slot& slot) {
    if (slot.was_asked_for.load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(mutex);
    if (slot.was_asked_for.exchange(true) || is_listed(*slot.entry)) return;
    used.push_back(slot.entry.get());
    generation.fetch_add(1, std::memory_order_release);
}

void Registry::State::read_first_sources() {
    if (!read_first_) read_next_source();
}

void Registry::State::read_every_source() {
    while (read_next_source()) {
    }
}

const LibraryEntry& Registry::State::insert(Manifest manifest, Source source, LibraryEntry::Factory factory) {
    Slot& slot = slots.emplace_back();
    const auto id = static_cast<std::uint32_t>(slots.size() - 1);
    slot.entry.reset(new LibraryEntry(std::move(manifest), source, id, std::move(factory)));
    by_name.emplace(slot.entry->name(), &slot);
    return *slot.entry;
}

void Registry::State::publish() {
    auto next = std::make_unique<Snapshot>();
    next->by_name = by_name;
    next->entries.reserve(slots.size());
    for (const Slot& slot : slots) next->entries.push_back(slot.entry.get());
    next->complete = is_complete();
    next->previous.reset(snapshot.load(std::memory_order_relaxed));
    snapshot.store(next.release(), std::memory_order_release);
    generation.fetch_add(1, std::memory_order_release);
}

void Registry::State::add_problem(Problem problem) {
    const auto known = [&](const Problem& other) { return same(problem, other); };
    if (std::none_of(problems.begin(), problems.end(), known)) problems.push_back(std::move(problem));
}

const DiscoverySettings& Registry::State::settings() {
    if (!settings_) settings_ = read_discovery_settings(runs_with_elevated_privileges());
    return *settings_;
}

/// Reads one more stage of the sources; false if there is none left.
bool Registry::State::read_next_source() {
    const auto take_it = [this](Discovered found) { take(std::move(found)); };
    if (!read_first_) {
        read_first_ = true;
        read_plugin_path(settings().plugin_path, take_it);
        read_plugin_folder(own_plugins, Source::own, take_it);
    } else if (!read_next_packages()) {
        if (read_user_) return false;
        read_user_ = true;
        if (!settings().user_folder.empty()) read_plugin_folder(settings().user_folder, Source::user, take_it);
    }
    publish();
    return true;
}

bool Registry::State::read_next_packages() {
    std::vector<fs::path> unread;
    for (const fs::path& path : package_paths) {
        if (read_package_paths_.insert(path).second) unread.push_back(path);
    }
    if (unread.empty()) return false;
    read_packages(unread, package_paths, [this](Discovered found) { take(std::move(found)); });
    return true;
}

void Registry::State::take(Discovered found) {
    const std::string& name = found.reading.name;
    if (!settings().filter.admits(name)) return;
    if (!found.reading.manifest) return take_broken(found);
    const auto winner = by_name.find(name);
    if (winner == by_name.end()) {
        insert(*std::move(found.reading.manifest), found.source, {});
        return;
    }
    const fs::path& path = winner->second->entry->manifest().path;
    if (path == found.path) return;  // one manifest, found through two sources
    add_problem({name, found.path, "is shadowed by " + path.string(), true});
}

void Registry::State::take_broken(const Discovered& broken_one) {
    const ManifestReading& reading = broken_one.reading;
    broken.try_emplace(reading.name, manifest_message(broken_one.path, reading.reason));
    add_problem({reading.name, broken_one.path, reading.reason, false});
}

bool Registry::State::is_complete() const {
    const auto was_read = [&](const fs::path& path) { return read_package_paths_.contains(path); };
    return read_first_ && read_user_ && std::all_of(package_paths.begin(), package_paths.end(), was_read);
}

}  // namespace arraybridge
