#include <gtest/gtest.h>

#include <atomic>
#include <type_traits>
#include <utility>

#include "tensors.hpp"

using namespace arraybridge;
using namespace arraybridge_test;

static_assert(!std::is_copy_constructible_v<Owner> && std::is_nothrow_move_constructible_v<Owner>);
static_assert(!std::is_copy_constructible_v<TensorView> && std::is_nothrow_move_constructible_v<TensorView>);

namespace {

bool points_into(const TensorView& view, const std::int64_t* extents) {
    const auto* begin = reinterpret_cast<const char*>(&view);
    const auto* place = reinterpret_cast<const char*>(extents);
    return place >= begin && place < begin + sizeof(TensorView);
}

}  // namespace

TEST(Owner, ReleasesOnce) {
    std::atomic<int> released{0};
    {
        Owner first = CountedMemory::make(8, released);
        Owner second = std::move(first);
        EXPECT_FALSE(first);
        EXPECT_TRUE(second);
        Owner third;
        third = std::move(second);
        EXPECT_EQ(released, 0);
        third.reset();
        EXPECT_EQ(released, 1);
        third.reset();
    }
    EXPECT_EQ(released, 1);
}

TEST(Owner, AnAssignmentReleasesWhatWasThere) {
    std::atomic<int> first_released{0};
    std::atomic<int> second_released{0};
    Owner owner = CountedMemory::make(8, first_released);
    owner = CountedMemory::make(8, second_released);
    EXPECT_EQ(first_released, 1);
    EXPECT_EQ(second_released, 0);
    Owner& same = owner;
    owner = std::move(same);
    EXPECT_TRUE(owner);
    EXPECT_EQ(second_released, 0);
}

TEST(Owner, WhatWasTakenIsTheCallers) {
    std::atomic<int> released{0};
    void* object = nullptr;
    {
        Owner owner = CountedMemory::make(8, released);
        EXPECT_TRUE(owner.is(&CountedMemory::release));
        object = owner.take();
        EXPECT_FALSE(owner);
    }
    EXPECT_EQ(released, 0);
    CountedMemory::release(object);
    EXPECT_EQ(released, 1);
}

TEST(TensorView, IsEmptyAtFirst) {
    const TensorView view;
    EXPECT_EQ(view.data(), nullptr);
    EXPECT_EQ(view.ndim(), 0);
    EXPECT_FALSE(view.owner);
    EXPECT_EQ(view.device, HOST);
}

TEST(TensorView, MovesItsOwnExtentsAlong) {
    std::atomic<int> released{0};
    for (const Layout& layout : every_layout()) {
        SCOPED_TRACE(layout.name);
        TensorView first = make_tensor(layout, DType::int32(), released);
        const auto expected = naive_bytes(first);
        TensorView second = std::move(first);
        TensorView third;
        third = std::move(second);
        EXPECT_TRUE(points_into(third, third.shape().data()));
        EXPECT_TRUE(points_into(third, third.strides().data()));
        EXPECT_EQ(Extents(third.shape().begin(), third.shape().end()), layout.shape);
        EXPECT_EQ(Extents(third.strides().begin(), third.strides().end()), layout.strides);
        EXPECT_EQ(naive_bytes(third), expected);
        EXPECT_EQ(first.ndim(), 0);  // NOLINT(bugprone-use-after-move): what was moved from is empty
        EXPECT_EQ(first.data(), nullptr);
    }
    EXPECT_EQ(released, static_cast<int>(every_layout().size()));
}

TEST(TensorView, LeavesBorrowedExtentsWhereTheyAre) {
    std::int64_t shape[] = {2, 3};
    std::int64_t strides[] = {3, 1};
    TensorView view;
    view.dlpack().ndim = 2;
    view.dlpack().shape = shape;
    view.dlpack().strides = strides;
    TensorView moved = std::move(view);
    EXPECT_EQ(moved.shape().data(), shape);
    EXPECT_EQ(moved.strides().data(), strides);
}

TEST(TensorView, OwnedExtentsOutliveTheArray) {
    Extents shape{2, 3};
    TensorView view;
    view.dlpack().ndim = 2;
    view.dlpack().shape = shape.data();
    view.own_extents();
    TensorView moved = std::move(view);
    shape.assign({-1, -1});
    EXPECT_EQ(Extents(moved.shape().begin(), moved.shape().end()), (Extents{2, 3}));
    EXPECT_TRUE(moved.strides().empty());
    moved.own_extents();
    EXPECT_EQ(Extents(moved.shape().begin(), moved.shape().end()), (Extents{2, 3}));
}

TEST(TensorView, AnAssignmentReleasesWhatWasThere) {
    std::atomic<int> first_released{0};
    std::atomic<int> second_released{0};
    const Layout layout = make_layout("vector", {3}, {1});
    TensorView view = make_tensor(layout, DType::int8(), first_released);
    view = make_tensor(layout, DType::int8(), second_released);
    EXPECT_EQ(first_released, 1);
    TensorView& same = view;
    view = std::move(same);
    EXPECT_EQ(second_released, 0);
    EXPECT_EQ(view.size(), 3);
}

TEST(TensorView, CountsElementsAndBytes) {
    std::atomic<int> released{0};
    for (const Layout& layout : every_layout()) {
        const TensorView view = make_tensor(layout, DType::int16(), released);
        EXPECT_EQ(view.size(), product(layout.shape)) << layout.name;
        EXPECT_EQ(view.nbytes(), 2 * product(layout.shape)) << layout.name;
    }
}

TEST(TensorView, DataCountsTheByteOffset) {
    char bytes[8] = {};
    TensorView view;
    view.dlpack().data = bytes;
    view.dlpack().byte_offset = 5;
    EXPECT_EQ(view.data(), bytes + 5);
}

TEST(TensorView, KnowsWhatIsContiguous) {
    std::atomic<int> released{0};
    const auto contiguous = [&released](Extents shape, Extents strides) {
        return make_tensor(make_layout("", std::move(shape), std::move(strides)), DType::int8(), released)
            .is_contiguous();
    };
    EXPECT_TRUE(contiguous({}, {}));
    EXPECT_TRUE(contiguous({2, 3}, {3, 1}));
    EXPECT_FALSE(contiguous({2, 3}, {1, 2}));
    EXPECT_FALSE(contiguous({2, 3}, {4, 1}));
    EXPECT_FALSE(contiguous({2, 3}, {-3, 1}));
    EXPECT_FALSE(contiguous({2, 3}, {0, 1}));
    // A step that is never taken does not matter.
    EXPECT_TRUE(contiguous({1, 3}, {-77, 1}));
    EXPECT_TRUE(contiguous({2, 1}, {1, 0}));
    EXPECT_TRUE(contiguous({2, 0}, {5, -3}));
    EXPECT_TRUE(contiguous({0, 2}, {1, 5}));
}

TEST(TensorView, WithoutStridesItIsContiguous) {
    std::int64_t shape[] = {2, 3};
    TensorView view;
    view.dlpack().ndim = 2;
    view.dlpack().shape = shape;
    EXPECT_TRUE(view.is_contiguous());
    EXPECT_TRUE(view.strides().empty());
}
