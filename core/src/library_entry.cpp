#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "arraybridge/error.hpp"
#include "arraybridge/registry.hpp"
#include "plugin_loader.hpp"

namespace arraybridge {

namespace {

/// Keeps, for good, the libraries that came second in a race for the first use: somebody may have seen one already.
void keep(std::unique_ptr<ArrayLibrary> library) {
    static auto* const mutex = new std::mutex;
    static auto* const kept = new std::vector<std::unique_ptr<ArrayLibrary>>;
    const std::lock_guard lock(*mutex);
    kept->push_back(std::move(library));
}

std::unique_ptr<ArrayLibrary> not_null(std::unique_ptr<ArrayLibrary> library, const LibraryEntry& entry) {
    if (library == nullptr) throw PluginError("the factory of the library '" + entry.name() + "' answered null");
    return library;
}

}  // namespace

ArrayLibrary& LibraryEntry::load() const try {
    std::unique_ptr<ArrayLibrary> made = factory_ ? not_null(factory_(*this), *this) : load_plugin(*this);
    ArrayLibrary* published = nullptr;
    if (library_.compare_exchange_strong(published, made.get(), std::memory_order_acq_rel, std::memory_order_acquire)) {
        return *made.release();
    }
    keep(std::move(made));
    return *published;
} catch (const PluginError& error) {
    Registry::instance().report({name(), manifest_.path, error.what(), false});
    throw;
}

}  // namespace arraybridge
