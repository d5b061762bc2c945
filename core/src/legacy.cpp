#include "arraybridge/legacy.hpp"

#include <memory>

#include "arraybridge/error.hpp"
#include "arraybridge/validate.hpp"

namespace arraybridge {

namespace {

struct LegacyDeleter {
    void operator()(DLManagedTensor* tensor) const noexcept {
        if (tensor->deleter != nullptr) tensor->deleter(tensor);
    }
};

void release_legacy(void* object) noexcept { LegacyDeleter{}(static_cast<DLManagedTensor*>(object)); }

/// The older struct, and the tensor that it stands in front of.
struct LegacyEnvelope {
    DLManagedTensor front{};
    ManagedTensor tensor;
};

}  // namespace

ManagedTensor from_legacy(DLManagedTensor* tensor, bool immutable) {
    std::unique_ptr<DLManagedTensor, LegacyDeleter> guard(tensor);
    if (const Decline bad = check_well_formed(tensor->dl_tensor)) throw InvalidTensor(bad.reason());
    TensorView view;
    view.dlpack() = tensor->dl_tensor;
    view.flags = immutable ? tensor_read_only : 0U;
    view.owner = Owner{guard.release(), &release_legacy};
    return ManagedTensor{std::move(view)};
}

DLManagedTensor* to_legacy(ManagedTensor tensor, bool consumer_is_immutable) {
    if ((tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0 && !consumer_is_immutable) {
        throw CannotShare(
            "read-only memory cannot go to a library that reads only DLPack from before 1.0 and has mutable "
            "arrays: that struct has no read-only flag");
    }
    auto envelope = std::make_unique<LegacyEnvelope>();
    envelope->tensor = std::move(tensor);
    envelope->front.dl_tensor = envelope->tensor->dl_tensor;
    envelope->front.manager_ctx = envelope.get();
    envelope->front.deleter = [](DLManagedTensor* self) { delete static_cast<LegacyEnvelope*>(self->manager_ctx); };
    return &envelope.release()->front;
}

}  // namespace arraybridge
