#include "arraybridge/array.hpp"

#include "arraybridge/array_library.hpp"
#include "arraybridge/error.hpp"

namespace arraybridge {

Array Array::adopt(ArrayLibrary& library, NativeArray native) {
    if (!native) return Array{};
    try {
        auto* block = new Block;
        block->library = &library;
        block->native = native;
        return Array{block};
    } catch (...) {
        library.release(native);
        throw;
    }
}

Array Array::share(ArrayLibrary& library, NativeArray native) {
    if (!native) return Array{};
    const CallScope scope(library);
    library.retain(native);
    return adopt(library, native);
}

void Array::reset() noexcept {
    Block* block = std::exchange(block_, nullptr);
    if (block == nullptr || block->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    block->library->release(block->native);
    delete block;
}

TensorView Array::view() const {
    if (block_ == nullptr) throw UnsupportedArray("there is no array to view");
    const CallScope scope(library());
    TensorView view;
    if (const Decline declined = library().export_tensor(native(), {.copy = CopyMode::never}, view)) {
        throw CannotShare(declined.reason());
    }
    view.own_extents();  // the memory may outlive the array that says how it lies
    return view;
}

}  // namespace arraybridge
