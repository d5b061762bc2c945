#include "arraybridge/tensor_view.hpp"

#include <algorithm>

namespace arraybridge {

TensorView::TensorView(TensorView&& other) noexcept : tensor_{} { take_from(other); }

TensorView& TensorView::operator=(TensorView&& other) noexcept {
    if (this != &other) take_from(other);
    return *this;
}

void TensorView::take_from(TensorView& other) noexcept {
    flags = other.flags;
    owner = std::move(other.owner);
    device = other.device;
    tensor_ = other.tensor_;
    if (other.tensor_.shape == other.shape_storage_.data()) tensor_.shape = keep(other.tensor_.shape, shape_storage_);
    if (other.tensor_.strides == other.stride_storage_.data()) {
        tensor_.strides = keep(other.tensor_.strides, stride_storage_);
    }
    other.tensor_ = DLTensor{};
}

void TensorView::own_extents() noexcept {
    if (tensor_.shape != nullptr) tensor_.shape = keep(tensor_.shape, shape_storage_);
    if (tensor_.strides != nullptr) tensor_.strides = keep(tensor_.strides, stride_storage_);
}

std::int64_t* TensorView::keep(const std::int64_t* extents, std::array<std::int64_t, max_ndim>& storage) noexcept {
    if (extents != storage.data()) std::copy_n(extents, tensor_.ndim, storage.begin());
    return storage.data();
}

std::int64_t TensorView::size() const noexcept {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape()) count *= extent;
    return count;
}

bool TensorView::is_contiguous() const noexcept {
    if (tensor_.strides == nullptr) return true;
    std::int64_t expected = 1;
    bool compact = true;
    for (std::int32_t axis = tensor_.ndim - 1; axis >= 0; --axis) {
        const std::int64_t extent = tensor_.shape[axis];
        if (extent == 0) return true;  // no elements: nothing lies anywhere
        // The step along an axis with one element is never taken.
        if (extent != 1 && tensor_.strides[axis] != expected) compact = false;
        expected *= extent;
    }
    return compact;
}

Device device_from_dlpack(DLDevice device) {
    switch (device.device_type) {
        case kDLCPU:
        case kDLCUDAHost:
        case kDLROCMHost:
            return HOST;
        case kDLCUDA:
        case kDLCUDAManaged:
        case kDLROCM:
        case kDLOpenCL:
            return Device::accelerator(device.device_id);
        case kDLMetal:
            return Device::named("mps:" + std::to_string(device.device_id));
        default:
            return Device::named("dlpack:" + std::to_string(static_cast<int>(device.device_type)) + ":" +
                                 std::to_string(device.device_id));
    }
}

}  // namespace arraybridge
