#include "arraybridge/validate.hpp"

#include <algorithm>
#include <string>

namespace arraybridge {

namespace {

/// How far a tensor reaches, found in one pass: every array that crosses goes through here.
struct Reach {
    std::int64_t count;     // elements, or where an axis is empty what the other axes would hold
    std::int64_t forward;   // elements from the first one to the furthest after it
    std::int64_t backward;  // and before it, negative
    bool negative_extent;
    bool empty;
    bool overflow;
};

Reach reach_of(const DLTensor& tensor) {
    std::int64_t count = 1;
    std::int64_t forward = 0;
    std::int64_t backward = 0;
    bool negative = false;
    bool empty = false;
    bool overflow = false;
    for (std::int32_t axis = 0; axis < tensor.ndim; ++axis) {
        const std::int64_t extent = tensor.shape[axis];
        negative |= extent < 0;
        empty |= extent == 0;
        overflow |= __builtin_mul_overflow(count, extent + (extent == 0 ? 1 : 0), &count);
        if (tensor.strides == nullptr) continue;  // compact: its size says it all
        std::int64_t step = 0;
        overflow |= __builtin_mul_overflow(extent - 1, tensor.strides[axis], &step);
        overflow |= __builtin_add_overflow(forward, std::max<std::int64_t>(step, 0), &forward);
        overflow |= __builtin_add_overflow(backward, std::min<std::int64_t>(step, 0), &backward);
    }
    return {count, forward, backward, negative, empty, overflow};
}

/// Whether as many elements fit into 63 bits of address.
bool bytes_fit(std::int64_t elements, std::int64_t itemsize) {
    std::int64_t bytes = 0;
    return !__builtin_mul_overflow(elements, itemsize, &bytes);
}

bool strides_fit(const TensorView& tensor, StrideSupport support) {
    switch (support) {
        case StrideSupport::any:
            return true;
        case StrideSupport::compact:
            return tensor.is_contiguous();
        case StrideSupport::non_negative:
            break;
    }
    // The step along an axis with one element is never taken, and without elements none is.
    for (std::size_t axis = 0; axis < tensor.strides().size(); ++axis) {
        if (tensor.strides()[axis] < 0 && tensor.shape()[axis] > 1) return tensor.size() == 0;
    }
    return true;
}

std::string text_of_shape(const DLTensor& tensor) {
    std::string text = "(";
    for (std::int32_t axis = 0; axis < tensor.ndim; ++axis) {
        text += (axis == 0 ? "" : ", ") + std::to_string(tensor.shape[axis]);
    }
    return text + ")";
}

std::string_view needed_strides(StrideSupport support) {
    return support == StrideSupport::compact ? "row-major memory without gaps" : "strides that are not negative";
}

}  // namespace

Decline check_well_formed(const DLTensor& tensor) {
    if (tensor.ndim < 0 || tensor.ndim > max_ndim) {
        return Decline{"a tensor has " + std::to_string(tensor.ndim) + " axes; 0 to 64 are possible"};
    }
    if (tensor.dtype.bits == 0 || tensor.dtype.lanes == 0) {
        return Decline{"a tensor's dtype has " + std::to_string(tensor.dtype.bits) + " bits and " +
                       std::to_string(tensor.dtype.lanes) + " lanes; both must be 1 or more"};
    }
    if (tensor.ndim > 0 && tensor.shape == nullptr) return Decline{"a tensor with axes has no shape"};
    const Reach reach = reach_of(tensor);
    if (reach.negative_extent) return Decline{"a tensor has a negative extent: its shape is " + text_of_shape(tensor)};
    const auto itemsize = static_cast<std::int64_t>(DType{tensor.dtype}.itemsize());
    // An empty tensor too: whoever multiplies its extents must not overflow on the way to zero.
    if (reach.overflow || (!reach.empty && (!bytes_fit(reach.count, itemsize) || !bytes_fit(reach.forward, itemsize) ||
                                            !bytes_fit(reach.backward, itemsize)))) {
        return Decline{"a tensor's size or strides reach further than 64 bits of address: its shape is " +
                       text_of_shape(tensor)};
    }
    if (tensor.data == nullptr && !reach.empty) return Decline{"a tensor with elements has no data"};
    return {};
}

Decline check_well_formed(const DLManagedTensorVersioned& tensor) {
    if (tensor.version.major != DLPACK_MAJOR_VERSION) {
        return Decline{"a tensor comes in DLPack version " + std::to_string(tensor.version.major) + "." +
                       std::to_string(tensor.version.minor) + "; versions 1.x can be read"};
    }
    return check_well_formed(tensor.dl_tensor);
}

Decline check_importable(const TensorView& tensor, const Manifest& manifest) {
    if (!manifest.dtypes.contains(tensor.dtype())) {
        return Decline{manifest.display_name + " has no dtype " + tensor.dtype().name() + "; it has " +
                       manifest.dtypes.names()};
    }
    return check_layout(tensor, manifest);
}

Decline check_layout(const TensorView& tensor, const Manifest& manifest) {
    const std::string& library = manifest.display_name;
    if (tensor.ndim() > manifest.max_ndim) {
        return Decline{library + " takes at most " + std::to_string(manifest.max_ndim) + " axes, not " +
                       std::to_string(tensor.ndim())};
    }
    if (!strides_fit(tensor, manifest.strides)) {
        return Decline{library + " needs " + std::string(needed_strides(manifest.strides))};
    }
    const std::size_t alignment = std::max<std::size_t>(manifest.alignment, tensor.dtype().alignment());
    const auto address = reinterpret_cast<std::uintptr_t>(tensor.data());
    // Both are powers of two, and so is the greater one.
    if ((address & (alignment - 1)) != 0 && tensor.size() != 0) {
        return Decline{library + " needs memory that starts at a multiple of " + std::to_string(alignment) + " bytes"};
    }
    if (tensor.is_read_only() && !manifest.imports_read_only) {
        return Decline{"the memory is read-only and " + library + " cannot keep it so"};
    }
    return {};
}

}  // namespace arraybridge
