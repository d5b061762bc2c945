#include "arraybridge/conversion_record.hpp"

namespace arraybridge {

namespace {
thread_local ConversionObserver* current_observer = nullptr;
}

ConversionObserver::~ConversionObserver() = default;

ConversionObserver* ConversionObserver::current() noexcept { return current_observer; }

ObserverScope::ObserverScope(ConversionObserver& observer) noexcept : previous_(current_observer) {
    current_observer = &observer;
}

ObserverScope::~ObserverScope() { current_observer = previous_; }

}  // namespace arraybridge
