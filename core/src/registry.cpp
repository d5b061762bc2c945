#include "arraybridge/registry.hpp"

#include <algorithm>
#include <utility>

#include "arraybridge/error.hpp"
#include "registry_state.hpp"

namespace arraybridge {

namespace {

/// A text the way Python's repr shows it.
std::string python_repr(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    const bool double_quotes = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
    const char quote = double_quotes ? '"' : '\'';
    std::string repr(1, quote);
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == quote || c == '\\') {
            repr += {'\\', c};
        } else if (c == '\n' || c == '\r' || c == '\t') {
            repr += {'\\', c == '\n' ? 'n' : c == '\r' ? 'r' : 't'};
        } else if (byte < 0x20 || byte == 0x7f) {
            repr += {'\\', 'x', digits[byte >> 4U], digits[byte & 15U]};
        } else {
            repr += c;
        }
    }
    return repr + quote;
}

std::string unknown_name_message(std::string_view name, const std::vector<const LibraryEntry*>& entries) {
    std::vector<std::string> known;
    known.reserve(entries.size());
    for (const LibraryEntry* entry : entries) known.push_back(entry->name());
    std::sort(known.begin(), known.end());
    std::string list;
    for (const std::string& one : known) list += (list.empty() ? "" : ", ") + python_repr(one);
    return python_repr(name) + " is not a registered array library. Available: [" + list + "]";
}

}  // namespace

std::string_view label(Source source) noexcept {
    switch (source) {
        case Source::plugin_path:
            return "plugin path";
        case Source::own:
            return "own";
        case Source::package:
            return "package";
        case Source::user:
            return "user";
        case Source::program:
            return "program";
    }
    return "unknown";
}

Registry::Registry() : state_(new State) {}

Registry& Registry::instance() {
    // Never destroyed: threads, and objects with static lifetime, may use it until the very end of the process.
    static auto* const registry = new Registry;
    return *registry;
}

const LibraryEntry* Registry::find(std::string_view name) {
    if (const State::Slot* slot = state_->look_up(name)) {
        state_->note_use(*slot);
        return slot->entry.get();
    }
    const std::lock_guard lock(state_->mutex);
    if (const auto broken = state_->broken.find(name); broken != state_->broken.end())
        throw ManifestError(broken->second);
    return nullptr;
}

const LibraryEntry& Registry::entry(std::string_view name) {
    if (const LibraryEntry* found = find(name)) return *found;
    throw UnknownLibrary(unknown_name_message(name, everything()));
}

std::vector<const LibraryEntry*> Registry::all() {
    const std::lock_guard lock(state_->mutex);
    state_->read_first_sources();
    std::vector<const LibraryEntry*> listed;
    for (const State::Slot& slot : state_->slots) {
        if (is_listed(*slot.entry)) listed.push_back(slot.entry.get());
    }
    const auto earlier = [](const LibraryEntry* a, const LibraryEntry* b) {
        return a->manifest().listing < b->manifest().listing;
    };
    std::stable_sort(listed.begin(), listed.end(), earlier);
    listed.insert(listed.end(), state_->used.begin(), state_->used.end());
    return listed;
}

std::vector<const LibraryEntry*> Registry::everything() {
    const std::lock_guard lock(state_->mutex);
    state_->read_every_source();
    return state_->snapshot.load(std::memory_order_relaxed)->entries;
}

std::vector<Problem> Registry::problems() {
    const std::lock_guard lock(state_->mutex);
    state_->read_every_source();
    return state_->problems;
}

const LibraryEntry& Registry::add(Manifest manifest,
                                  std::function<std::unique_ptr<ArrayLibrary>(const LibraryEntry&)> factory) {
    const std::lock_guard lock(state_->mutex);
    state_->read_every_source();
    if (const auto taken = state_->by_name.find(manifest.name); taken != state_->by_name.end()) {
        throw ManifestError("the name '" + manifest.name + "' is taken by " +
                            taken->second->entry->manifest().path.string());
    }
    const LibraryEntry& added = state_->insert(std::move(manifest), Source::program, std::move(factory));
    state_->publish();
    return added;
}

void Registry::set_package_paths(std::vector<std::filesystem::path> paths) {
    // The empty element of sys.path is the current folder: what happens to lie there installs no plugins.
    std::erase_if(paths, [](const std::filesystem::path& path) { return !path.is_absolute(); });
    const std::lock_guard lock(state_->mutex);
    if (state_->package_paths == paths) return;
    state_->package_paths = std::move(paths);
    state_->publish();
}

void Registry::provide(const Runtime& runtime) {
    const std::lock_guard lock(state_->mutex);
    if (this->runtime(runtime.name) != nullptr) return;
    const auto* first = state_->runtimes.load(std::memory_order_relaxed);
    state_->runtimes.store(new State::RuntimeNode{runtime, first}, std::memory_order_release);
}

const Runtime* Registry::runtime(std::string_view name) const noexcept {
    const auto* node = state_->runtimes.load(std::memory_order_acquire);
    while (node != nullptr && node->runtime.name != name) node = node->next;
    return node == nullptr ? nullptr : &node->runtime;
}

std::filesystem::path Registry::own_plugins() const { return state_->own_plugins; }

std::uint64_t Registry::generation() const noexcept { return state_->generation.load(std::memory_order_acquire); }

void Registry::report(Problem problem) {
    const std::lock_guard lock(state_->mutex);
    state_->add_problem(std::move(problem));
}

}  // namespace arraybridge
