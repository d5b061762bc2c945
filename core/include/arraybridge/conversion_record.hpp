#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "arraybridge/conversion_route.hpp"
#include "arraybridge/device.hpp"
#include "arraybridge/visibility.hpp"

namespace arraybridge {

/// One conversion that moved, copied or wrapped data.
struct ConversionRecord {
    std::string source_library;
    Device source_device;
    std::string target_library;
    Device target_device;
    Mechanism mechanism = Mechanism::stays_in_place;  ///< what was done; "shared" only if the addresses agree
    std::int64_t nbytes = 0;                          ///< size of the elements, in bytes
    double seconds = 0;

    /// The mechanisms tried before, and why each could not carry this array.
    std::vector<std::pair<Mechanism, std::string>> declined;
};

/// Receives a record of each conversion that `convert` carries out while it is installed. A conversion that stays in
/// place writes none. A language binding has observers of its own, which see the conversions of that language.
class ARRAYBRIDGE_API ConversionObserver {
public:
    virtual ~ConversionObserver();
    virtual void record(const ConversionRecord& record) = 0;

    /// Whether an observer is installed in this thread.
    static ConversionObserver* current() noexcept;
};

/// Installs an observer in the calling thread for the life of this object. Scopes nest; the innermost one observes.
class ARRAYBRIDGE_API ObserverScope {
public:
    explicit ObserverScope(ConversionObserver& observer) noexcept;
    ObserverScope(const ObserverScope&) = delete;
    ObserverScope& operator=(const ObserverScope&) = delete;
    ~ObserverScope();

private:
    ConversionObserver* previous_;
};

}  // namespace arraybridge
