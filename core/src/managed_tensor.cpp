#include "arraybridge/managed_tensor.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace arraybridge {

namespace {

std::uint64_t to_dlpack_flags(std::uint32_t flags) noexcept {
    std::uint64_t result = 0;
    if ((flags & tensor_read_only) != 0) result |= DLPACK_FLAG_BITMASK_READ_ONLY;
    if ((flags & tensor_copied) != 0) result |= DLPACK_FLAG_BITMASK_IS_COPIED;
    if ((flags & tensor_padded) != 0) result |= DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
    return result;
}

std::uint32_t from_dlpack_flags(std::uint64_t flags) noexcept {
    std::uint32_t result = 0;
    if ((flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0) result |= tensor_read_only;
    if ((flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0) result |= tensor_copied;
    if ((flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0) result |= tensor_padded;
    return result;
}

void release_managed_tensor(void* object) noexcept {
    auto* tensor = static_cast<DLManagedTensorVersioned*>(object);
    if (tensor->deleter != nullptr) tensor->deleter(tensor);
}

/// The strides of a compact tensor.
void make_compact(DLTensor& tensor) {
    std::int64_t step = 1;
    for (std::int32_t axis = tensor.ndim - 1; axis >= 0; --axis) {
        tensor.strides[axis] = step;
        step *= tensor.shape[axis];
    }
}

/// Who has a reference to an envelope's tensor.
enum class Holder : std::uint8_t { both, importer, caller };

}  // namespace

/// One allocation: this header, then the extents and the strides of the tensor.
struct Envelope::State {
    DLManagedTensorVersioned tensor{};
    std::atomic<Holder> holder{Holder::importer};
    bool compact = false;
    Owner owner;

    std::int64_t* extents() noexcept { return reinterpret_cast<std::int64_t*>(this + 1); }
};

Envelope::State* Envelope::make_state(TensorView&& view) {
    const DLTensor& source = view.dlpack();
    const auto ndim = static_cast<std::size_t>(source.ndim);
    void* memory = std::malloc(sizeof(State) + 2 * ndim * sizeof(std::int64_t));
    if (memory == nullptr) throw std::bad_alloc();
    auto* state = new (memory) State;
    DLTensor& tensor = state->tensor.dl_tensor;
    tensor = source;
    tensor.shape = state->extents();
    tensor.strides = tensor.shape + ndim;
    // Steps that are never taken are made those of a compact tensor, for importers that cannot bear a negative one.
    std::int64_t count = 1;
    bool compact = true;
    const bool without_strides = source.strides == nullptr;
    for (std::size_t axis = ndim; axis-- > 0;) {
        const std::int64_t extent = source.shape[axis];
        tensor.shape[axis] = extent;
        const std::int64_t stride = without_strides || extent <= 1 ? count : source.strides[axis];
        tensor.strides[axis] = stride;
        compact &= stride == count;
        count *= extent;
    }
    state->compact = compact;
    if (count == 0) make_compact(tensor);
    state->tensor.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    state->tensor.manager_ctx = state;
    state->tensor.deleter = &delete_by_importer;
    state->tensor.flags = to_dlpack_flags(view.flags);
    state->owner = std::move(view.owner);
    return state;
}

void Envelope::destroy(State* state) noexcept {
    state->~State();
    std::free(state);
}

void Envelope::delete_by_importer(DLManagedTensorVersioned* tensor) noexcept {
    auto* state = static_cast<State*>(tensor->manager_ctx);
    // Once the caller has let go nobody else looks at the holder: a load is enough, and that is how nearly all end.
    if (state->holder.load(std::memory_order_acquire) == Holder::importer ||
        state->holder.exchange(Holder::caller, std::memory_order_acq_rel) == Holder::importer) {
        destroy(state);
    }
}

Envelope::Envelope(TensorView&& view) : state_(make_state(std::move(view))), tensor_(&state_->tensor) {
    state_->holder.store(Holder::both, std::memory_order_relaxed);
}

Envelope::Envelope(ManagedTensor tensor) : Envelope(std::move(tensor).into_view(HOST)) {}

void Envelope::import_kept() noexcept {
    succeeded_ = true;
    if (importer_released()) return;  // it copied after all, and the destructor does the rest
    state_->holder.store(Holder::importer, std::memory_order_release);
    state_ = nullptr;
}

void Envelope::leave_out_plain_strides() noexcept {
    if (!state_->compact) return;
    tensor_->version = {1, 1};
    tensor_->dl_tensor.strides = nullptr;
}

Envelope::~Envelope() {
    if (state_ == nullptr) return;
    const bool alone = state_->holder.exchange(Holder::importer, std::memory_order_acq_rel) == Holder::caller;
    // After a failure an importer that did not call the deleter never will.
    if (alone || !succeeded_) destroy(state_);
}

void Envelope::give_back(TensorView& view) noexcept { view.owner = std::move(state_->owner); }

bool Envelope::importer_released() const noexcept {
    return state_ != nullptr && state_->holder.load(std::memory_order_acquire) == Holder::caller;
}

ManagedTensor::ManagedTensor(TensorView&& view) : tensor_(&Envelope::make_state(std::move(view))->tensor) {}

TensorView ManagedTensor::into_view(Device device) && {
    TensorView view;
    view.dlpack() = tensor_->dl_tensor;
    view.flags = from_dlpack_flags(tensor_->flags);
    view.device = device;
    view.owner = Owner{release(), &release_managed_tensor};
    return view;
}

}  // namespace arraybridge
