#include <gtest/gtest.h>

#include <arraybridge/managed_tensor.hpp>
#include <type_traits>
#include <utility>

#include "tensors.hpp"

using namespace arraybridge;
using namespace arraybridge_test;

static_assert(!std::is_copy_constructible_v<ManagedTensor>);
static_assert(std::is_nothrow_move_constructible_v<ManagedTensor>);

namespace {

const Layout plane = make_layout("plane", {2, 3}, {3, 1});

ManagedTensor make_managed(std::atomic<int>& released) {
    return ManagedTensor(make_tensor(plane, DType::float32(), released));
}

/// That every step that is taken is the layout's, and every other one that of a compact tensor.
void expect_same_steps(const DLTensor& tensor, const Layout& layout) {
    const Extents compact = row_major(layout.shape);
    for (std::size_t axis = 0; axis < layout.shape.size(); ++axis) {
        const bool is_taken = layout.shape[axis] > 1 && product(layout.shape) != 0;
        EXPECT_EQ(tensor.strides[axis], (is_taken ? layout.strides : compact)[axis]) << "axis " << axis;
    }
}

}  // namespace

TEST(ManagedTensor, ReleasesOnce) {
    std::atomic<int> released{0};
    {
        ManagedTensor first = make_managed(released);
        ManagedTensor second = std::move(first);
        EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): what was moved from is empty
        ManagedTensor third;
        third = std::move(second);
        ManagedTensor& same = third;
        third = std::move(same);
        EXPECT_TRUE(third);
        EXPECT_EQ(released, 0);
    }
    EXPECT_EQ(released, 1);
}

TEST(ManagedTensor, AnAssignmentReleasesWhatWasThere) {
    std::atomic<int> first_released{0};
    std::atomic<int> second_released{0};
    ManagedTensor tensor = make_managed(first_released);
    tensor = make_managed(second_released);
    EXPECT_EQ(first_released, 1);
    EXPECT_EQ(second_released, 0);
    tensor.reset();
    tensor.reset();
    EXPECT_EQ(second_released, 1);
}

TEST(ManagedTensor, WhatWasReleasedIsTheCallers) {
    std::atomic<int> released{0};
    DLManagedTensorVersioned* raw = make_managed(released).release();
    EXPECT_EQ(released, 0);
    raw->deleter(raw);
    EXPECT_EQ(released, 1);
}

TEST(ManagedTensor, ANullDeleterIsNotCalled) {
    DLManagedTensorVersioned borrowed{};
    borrowed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    {
        const ManagedTensor tensor(&borrowed);
    }
    {
        const TensorView view = ManagedTensor(&borrowed).into_view(HOST);
    }
}

TEST(ManagedTensor, HasItsOwnExtents) {
    std::atomic<int> released{0};
    for (const Layout& layout : every_layout()) {
        SCOPED_TRACE(layout.name);
        TensorView view = make_tensor(layout, DType::int16(), released);
        const auto expected = naive_bytes(view);
        const void* data = view.data();
        const ManagedTensor tensor(std::move(view));
        view = TensorView{};
        EXPECT_EQ(tensor->version.major, static_cast<std::uint32_t>(DLPACK_MAJOR_VERSION));
        const DLTensor& described = tensor->dl_tensor;
        EXPECT_EQ(Extents(described.shape, described.shape + described.ndim), layout.shape);
        expect_same_steps(described, layout);
        EXPECT_EQ(static_cast<char*>(described.data) + described.byte_offset, data);
    }
    EXPECT_EQ(released, static_cast<int>(every_layout().size()));
}

TEST(ManagedTensor, SaysTheStridesOfATensorThatHadNone) {
    std::atomic<int> released{0};
    TensorView view = make_tensor(make_layout("cube", {2, 3, 4}, {12, 4, 1}), DType::int8(), released);
    view.dlpack().strides = nullptr;
    const ManagedTensor tensor(std::move(view));
    EXPECT_EQ(Extents(tensor->dl_tensor.strides, tensor->dl_tensor.strides + 3), (Extents{12, 4, 1}));
}

TEST(ManagedTensor, FlagsSurviveTheWayThere) {
    std::atomic<int> released{0};
    for (const std::uint32_t flags :
         {0U, 0U | tensor_read_only, 0U | tensor_copied, 0U | tensor_padded, 0U | tensor_read_only | tensor_copied}) {
        TensorView view = make_tensor(plane, DType::float32(), released);
        view.flags = flags;
        ManagedTensor tensor(std::move(view));
        EXPECT_EQ((tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0, (flags & tensor_read_only) != 0);
        EXPECT_EQ((tensor->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0, (flags & tensor_copied) != 0);
        EXPECT_EQ((tensor->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0, (flags & tensor_padded) != 0);
        EXPECT_EQ(std::move(tensor).into_view(HOST).flags, flags);
    }
    // That a file is behind the memory is known only inside one process and one conversion.
    TensorView mapped = make_tensor(plane, DType::float32(), released);
    mapped.flags = tensor_read_only | tensor_file_backed;
    ManagedTensor tensor(std::move(mapped));
    EXPECT_EQ(std::move(tensor).into_view(HOST).flags, 0U | tensor_read_only);
}

TEST(ManagedTensor, AViewOfItKeepsTheMemory) {
    std::atomic<int> released{0};
    {
        TensorView view = make_managed(released).into_view(Device::accelerator(2));
        EXPECT_EQ(view.device, Device::accelerator(2));
        EXPECT_EQ(naive_bytes(view).size(), 24U);
        const ManagedTensor again(std::move(view));
        EXPECT_EQ(released, 0);
    }
    EXPECT_EQ(released, 1);
}
