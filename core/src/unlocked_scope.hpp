#pragma once

#include "arraybridge/registry.hpp"

namespace arraybridge {

/// Gives up a language runtime's global lock for a while, if this thread holds it: for long work that touches nothing
/// of the runtime. Does nothing without a runtime, or with one that has no such lock.
class UnlockedScope {
public:
    explicit UnlockedScope(const Runtime* runtime)
        : runtime_(runtime != nullptr && runtime->release_lock != nullptr ? runtime : nullptr) {
        if (runtime_ != nullptr) token_ = runtime_->release_lock();
    }
    UnlockedScope(const UnlockedScope&) = delete;
    UnlockedScope& operator=(const UnlockedScope&) = delete;
    ~UnlockedScope() {
        if (runtime_ != nullptr && runtime_->restore_lock != nullptr) runtime_->restore_lock(token_);
    }

private:
    const Runtime* runtime_;
    void* token_ = nullptr;
};

}  // namespace arraybridge
