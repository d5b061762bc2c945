#include <gtest/gtest.h>

#include <arraybridge/error.hpp>
#include <arraybridge/legacy.hpp>
#include <thread>
#include <utility>

#include "tensors.hpp"

using namespace arraybridge;
using namespace arraybridge_test;

namespace {

const Layout plane = make_layout("plane", {2, 3}, {-3, 1});

/// A tensor in the struct of before DLPack 1.0, as a library that knows no other makes it.
struct LegacyExport {
    DLManagedTensor tensor{};
    TensorView view;

    static DLManagedTensor* make(std::atomic<int>& released) {
        auto* made = new LegacyExport;
        made->view = make_tensor(plane, DType::float32(), released);
        made->tensor.dl_tensor = made->view.dlpack();
        made->tensor.manager_ctx = made;
        made->tensor.deleter = [](DLManagedTensor* self) { delete static_cast<LegacyExport*>(self->manager_ctx); };
        return &made->tensor;
    }
};

ManagedTensor make_managed(std::atomic<int>& released, std::uint32_t flags = 0) {
    TensorView view = make_tensor(plane, DType::float32(), released);
    view.flags = flags;
    return ManagedTensor(std::move(view));
}

}  // namespace

TEST(FromLegacy, ReleasesOnce) {
    std::atomic<int> released{0};
    {
        const ManagedTensor tensor = from_legacy(LegacyExport::make(released), false);
        EXPECT_EQ(released, 0);
    }
    EXPECT_EQ(released, 1);
}

TEST(FromLegacy, ReleasesFromAnotherThreadToo) {
    std::atomic<int> released{0};
    ManagedTensor tensor = from_legacy(LegacyExport::make(released), false);
    std::thread([moved = std::move(tensor)]() mutable { moved.reset(); }).join();
    EXPECT_EQ(released, 1);
}

TEST(FromLegacy, ANullDeleterIsNotCalled) {
    std::atomic<int> released{0};
    TensorView view = make_tensor(plane, DType::float32(), released);
    DLManagedTensor borrowed{view.dlpack(), nullptr, nullptr};
    {
        const ManagedTensor tensor = from_legacy(&borrowed, false);
    }
    EXPECT_EQ(released, 0);
}

TEST(FromLegacy, SaysTheSameInTheNewerStruct) {
    std::atomic<int> released{0};
    DLManagedTensor* legacy = LegacyExport::make(released);
    const void* data = legacy->dl_tensor.data;
    const TensorView view = from_legacy(legacy, false).into_view(HOST);
    EXPECT_EQ(view.dlpack().data, data);
    EXPECT_EQ(Extents(view.shape().begin(), view.shape().end()), plane.shape);
    EXPECT_EQ(Extents(view.strides().begin(), view.strides().end()), plane.strides);
    EXPECT_EQ(view.dtype(), DType::float32());
}

TEST(FromLegacy, IsReadOnlyWhereTheSourcesArraysAreImmutable) {
    std::atomic<int> released{0};
    EXPECT_TRUE(from_legacy(LegacyExport::make(released), true).into_view(HOST).is_read_only());
    EXPECT_FALSE(from_legacy(LegacyExport::make(released), false).into_view(HOST).is_read_only());
}

TEST(FromLegacy, RefusesWhatIsNotWellFormedAndReleasesIt) {
    for (const std::int32_t ndim : {-1, 65, 1000000000}) {
        std::atomic<int> released{0};
        DLManagedTensor* legacy = LegacyExport::make(released);
        legacy->dl_tensor.ndim = ndim;
        EXPECT_THROW(from_legacy(legacy, false), InvalidTensor) << ndim;
        EXPECT_EQ(released, 1);
    }
}

TEST(ToLegacy, ReleasesOnce) {
    std::atomic<int> released{0};
    DLManagedTensor* legacy = to_legacy(make_managed(released), false);
    EXPECT_EQ(released, 0);
    legacy->deleter(legacy);
    EXPECT_EQ(released, 1);
}

TEST(ToLegacy, SaysTheSameInTheOlderStruct) {
    std::atomic<int> released{0};
    ManagedTensor tensor = make_managed(released);
    const void* data = tensor->dl_tensor.data;
    const ManagedTensor again = from_legacy(to_legacy(std::move(tensor), false), false);
    EXPECT_EQ(again->dl_tensor.data, data);
    EXPECT_EQ(Extents(again->dl_tensor.shape, again->dl_tensor.shape + 2), plane.shape);
    EXPECT_EQ(Extents(again->dl_tensor.strides, again->dl_tensor.strides + 2), plane.strides);
}

TEST(ToLegacy, ReadOnlyMemoryGoesOnlyToImmutableArrays) {
    std::atomic<int> released{0};
    EXPECT_THROW(to_legacy(make_managed(released, tensor_read_only), false), CannotShare);
    EXPECT_EQ(released, 1) << "a refused tensor is released";
    DLManagedTensor* legacy = to_legacy(make_managed(released, tensor_read_only), true);
    legacy->deleter(legacy);
    legacy = to_legacy(make_managed(released), true);
    legacy->deleter(legacy);
    EXPECT_EQ(released, 3);
}
