#include "arraybridge/validate.hpp"

#include <algorithm>
#include <string>

namespace arraybridge {

namespace {

Decline check_extents(const DLTensor& tensor) {
    for (std::int32_t axis = 0; axis < tensor.ndim; ++axis) {
        if (tensor.shape[axis] < 0) {
            return Decline{"axis " + std::to_string(axis) + " has the extent " + std::to_string(tensor.shape[axis]) +
                           "; an extent cannot be negative"};
        }
    }
    return {};
}

/// Number of elements; -1 on overflow.
std::int64_t element_count(const DLTensor& tensor) {
    std::int64_t count = 1;
    bool overflow = false;
    for (std::int32_t axis = 0; axis < tensor.ndim; ++axis) {
        if (tensor.shape[axis] == 0) return 0;
        overflow |= __builtin_mul_overflow(count, tensor.shape[axis], &count);
    }
    return overflow ? -1 : count;
}

/// Whether the byte distance from the first element to any other fits into an int64.
bool reach_fits(const DLTensor& tensor, std::int64_t itemsize) {
    if (tensor.strides == nullptr) return true;  // compact: the reach is the size, checked before
    std::int64_t forward = 0;
    std::int64_t backward = 0;
    for (std::int32_t axis = 0; axis < tensor.ndim; ++axis) {
        std::int64_t reach = 0;
        if (__builtin_mul_overflow(tensor.shape[axis] - 1, tensor.strides[axis], &reach)) return false;
        std::int64_t& side = reach < 0 ? backward : forward;
        if (__builtin_add_overflow(side, reach, &side)) return false;
    }
    std::int64_t bytes = 0;
    return !__builtin_mul_overflow(forward, itemsize, &bytes) && !__builtin_mul_overflow(backward, itemsize, &bytes);
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
    for (const std::int64_t stride : tensor.strides()) {
        if (stride < 0) return false;
    }
    return true;
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
    if (Decline bad = check_extents(tensor)) return bad;
    const std::int64_t count = element_count(tensor);
    if (count == 0) return {};
    const auto itemsize = static_cast<std::int64_t>(DType{tensor.dtype}.itemsize());
    std::int64_t bytes = 0;
    if (count < 0 || __builtin_mul_overflow(count, itemsize, &bytes)) {
        return Decline{"a tensor's size in bytes does not fit into 64 bits"};
    }
    if (!reach_fits(tensor, itemsize)) return Decline{"a tensor's strides reach further than 64 bits of address"};
    if (tensor.data == nullptr) return Decline{"a tensor with elements has no data"};
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
    const std::size_t alignment = std::max<std::size_t>(manifest.alignment, tensor.dtype().itemsize());
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
