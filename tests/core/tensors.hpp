#pragma once

#include <gtest/gtest.h>

#include <arraybridge/tensor_view.hpp>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

// Tensors to test with: of every dtype, in every layout, and with a count of how often their memory was let go.

namespace arraybridge_test {

using namespace arraybridge;

using Extents = std::vector<std::int64_t>;

/// Memory that counts its releases where the test can see them, and is gone after the first.
class CountedMemory {
public:
    /// An owner of `bytes` bytes whose address is `offset` past a multiple of 64.
    static Owner make(std::size_t bytes, std::atomic<int>& released, std::size_t offset = 0) {
        auto* memory = new CountedMemory(released);
        memory->block_ = static_cast<std::byte*>(std::aligned_alloc(64, (bytes + offset + 64) / 64 * 64));
        if (memory->block_ == nullptr) throw std::bad_alloc();
        memory->data_ = memory->block_ + offset;
        return Owner(memory, &release);
    }

    static void release(void* object) noexcept {
        auto* memory = static_cast<CountedMemory*>(object);
        memory->released_.fetch_add(1);
        std::free(memory->block_);
        delete memory;
    }

    static std::byte* data(const Owner& owner) { return static_cast<CountedMemory*>(owner.object())->data_; }

private:
    explicit CountedMemory(std::atomic<int>& released) : released_(released) {}

    std::atomic<int>& released_;
    std::byte* block_ = nullptr;
    std::byte* data_ = nullptr;
};

/// Where the elements of a tensor lie: extents, steps in elements, and the place of the first element in a block of
/// `room` elements.
struct Layout {
    std::string name;
    Extents shape;
    Extents strides;
    std::int64_t first = 0;
    std::int64_t room = 0;
};

inline std::int64_t product(const Extents& shape) {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

inline Extents row_major(const Extents& shape) {
    Extents strides(shape.size());
    std::int64_t step = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        strides[axis] = step;
        step *= shape[axis];
    }
    return strides;
}

inline Extents column_major(const Extents& shape) {
    Extents strides(shape.size());
    std::int64_t step = 1;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        strides[axis] = step;
        step *= shape[axis];
    }
    return strides;
}

/// Row-major steps with gaps: every axis is stored `factor` times as long as it is seen.
inline Extents with_gaps(const Extents& shape, std::int64_t factor) {
    Extents stored = shape;
    for (std::int64_t& extent : stored) extent *= factor;
    Extents strides = row_major(stored);
    for (std::int64_t& stride : strides) stride *= factor;
    return strides;
}

/// A layout whose block is just as large as its elements reach.
inline Layout make_layout(std::string name, Extents shape, Extents strides) {
    Layout layout{std::move(name), std::move(shape), std::move(strides), 0, 1};
    if (product(layout.shape) == 0) return layout;
    for (std::size_t axis = 0; axis < layout.shape.size(); ++axis) {
        const std::int64_t distance = (layout.shape[axis] - 1) * layout.strides[axis];
        layout.room += std::abs(distance);
        if (distance < 0) layout.first -= distance;
    }
    return layout;
}

/// The ways an array can lie in memory, each with a name.
inline std::vector<Layout> every_layout() {
    const Extents cube{3, 4, 5};
    const Extents ten_axes{2, 1, 3, 2, 1, 2, 2, 1, 2, 3};
    Extents many_axes(64, 1);
    many_axes[3] = many_axes[40] = many_axes[63] = 3;
    return {
        make_layout("no axes", {}, {}),
        make_layout("vector", {7}, {1}),
        make_layout("contiguous", cube, row_major(cube)),
        make_layout("column-major", cube, column_major(cube)),
        make_layout("transposed", {70, 40}, {1, 70}),
        make_layout("two axes swapped", {4, 3, 5}, {5, 20, 1}),
        make_layout("gaps", cube, with_gaps(cube, 2)),
        make_layout("every third", {9}, {3}),
        make_layout("reversed", {7}, {-1}),
        make_layout("rows reversed", cube, {-20, 5, 1}),
        make_layout("all reversed", cube, {-20, -5, -1}),
        make_layout("columns reversed with gaps", cube, {40, 10, -2}),
        make_layout("broadcast rows", {6, 5}, {0, 1}),
        make_layout("broadcast columns", {6, 5}, {1, 0}),
        make_layout("broadcast whole", {6, 5}, {0, 0}),
        make_layout("overlapping windows", {6, 3}, {1, 1}),
        make_layout("one element in many axes", {1, 1, 1}, {100, -7, 0}),
        make_layout("empty vector", {0}, {1}),
        make_layout("empty plane", {3, 0, 2}, {0, 2, 1}),
        make_layout("ten axes", ten_axes, row_major(ten_axes)),
        make_layout("ten axes, column-major", ten_axes, column_major(ten_axes)),
        make_layout("64 axes", many_axes, row_major(many_axes)),
        make_layout("64 axes, column-major", many_axes, column_major(many_axes)),
    };
}

/// A tensor in a layout, with bytes that differ from element to element.
inline TensorView make_tensor(const Layout& layout, DType dtype, std::atomic<int>& released, std::size_t offset = 0) {
    const std::size_t itemsize = dtype.itemsize();
    const std::size_t bytes = static_cast<std::size_t>(layout.room) * itemsize;
    TensorView view;
    view.owner = CountedMemory::make(bytes, released, offset);
    std::byte* data = CountedMemory::data(view.owner);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>((i * 31 + i / 251) & 0xFFU);
    DLTensor& tensor = view.dlpack();
    tensor.data = data;
    tensor.byte_offset = static_cast<std::uint64_t>(layout.first) * itemsize;
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<std::int32_t>(layout.shape.size());
    tensor.dtype = dtype.dlpack();
    std::copy(layout.shape.begin(), layout.shape.end(), view.shape_storage().begin());
    std::copy(layout.strides.begin(), layout.strides.end(), view.stride_storage().begin());
    tensor.shape = view.shape_storage().data();
    tensor.strides = view.stride_storage().data();
    if (dtype.bits() < 8) view.flags |= tensor_padded;
    return view;
}

/// The bytes of the elements in row-major order, gathered one by one.
inline std::vector<std::byte> naive_bytes(const TensorView& view) {
    const Extents shape(view.shape().begin(), view.shape().end());
    const Extents compact = row_major(shape);
    const auto itemsize = static_cast<std::int64_t>(view.dtype().itemsize());
    std::vector<std::byte> bytes(static_cast<std::size_t>(product(shape) * itemsize));
    for (std::int64_t element = 0; element < product(shape); ++element) {
        std::int64_t rest = element;
        std::int64_t place = 0;
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            place += rest / compact[axis] * (view.strides().empty() ? compact[axis] : view.strides()[axis]);
            rest %= compact[axis];
        }
        std::memcpy(bytes.data() + element * itemsize, static_cast<std::byte*>(view.data()) + place * itemsize,
                    static_cast<std::size_t>(itemsize));
    }
    return bytes;
}

}  // namespace arraybridge_test
