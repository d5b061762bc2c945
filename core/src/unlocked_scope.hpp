#pragma once

#include <cstdint>

#include "arraybridge/registry.hpp"

namespace arraybridge {

/// For long work on plain memory: gives up Python's global lock, if this thread holds it, so that other threads run.
class UnlockedScope {
public:
    /// Below this many bytes the hand-over costs more than it gives.
    static constexpr std::int64_t worthwhile_bytes = std::int64_t{1} << 20U;

    explicit UnlockedScope(std::int64_t bytes)
        : runtime_(bytes < worthwhile_bytes ? nullptr : Registry::instance().runtime("python")) {
        if (runtime_ != nullptr && runtime_->release_lock != nullptr) token_ = runtime_->release_lock();
    }
    UnlockedScope(const UnlockedScope&) = delete;
    UnlockedScope& operator=(const UnlockedScope&) = delete;
    ~UnlockedScope() {
        if (token_ != nullptr) runtime_->restore_lock(token_);
    }

private:
    const Runtime* runtime_;
    void* token_ = nullptr;
};

}  // namespace arraybridge
