#include <gtest/gtest.h>

#include <arraybridge/error.hpp>
#include <arraybridge/host_copy.hpp>
#include <cstring>

#include "tensors.hpp"

using namespace arraybridge;
using namespace arraybridge_test;

namespace {

/// One dtype of each width that a dtype has.
const std::vector<DType> widths{DType::uint8(), DType::bfloat16(), DType::float32(), DType::complex64(),
                                DType::complex128()};

void expect_copy_of(const TensorView& source) {
    const TensorView copy = copy_on_host(source);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(copy.data()) % copy_alignment, 0U);
    EXPECT_TRUE(std::equal(copy.shape().begin(), copy.shape().end(), source.shape().begin(), source.shape().end()));
    EXPECT_EQ(copy.dtype(), source.dtype());
    EXPECT_EQ(copy.device, HOST);
    EXPECT_TRUE(copy.is_contiguous());
    EXPECT_EQ(copy.strides().size(), source.shape().size());
    EXPECT_TRUE(copy.owner);
    EXPECT_EQ(copy.flags & tensor_copied, 0U | tensor_copied);
    EXPECT_FALSE(copy.is_read_only());
    const auto expected = naive_bytes(source);
    ASSERT_EQ(static_cast<std::size_t>(copy.nbytes()), expected.size());
    if (!expected.empty()) {
        EXPECT_EQ(std::memcmp(copy.data(), expected.data(), expected.size()), 0);
    }
}

}  // namespace

TEST(HostCopy, IsRightForEveryWidthAndLayout) {
    std::atomic<int> released{0};
    for (const Layout& layout : every_layout()) {
        for (const DType dtype : widths) {
            SCOPED_TRACE(layout.name + " of " + dtype.name());
            TensorView source = make_tensor(layout, dtype, released);
            source.flags |= tensor_read_only;
            expect_copy_of(source);
        }
    }
}

TEST(HostCopy, IsRightAtAnyAddress) {
    std::atomic<int> released{0};
    for (const std::size_t offset : {1, 2, 3, 7, 13, 63}) {
        for (const DType dtype : widths) {
            SCOPED_TRACE(std::to_string(offset) + " bytes off, " + dtype.name());
            expect_copy_of(make_tensor(make_layout("vector", {100}, {1}), dtype, released, offset));
            expect_copy_of(make_tensor(make_layout("reversed", {100}, {-1}), dtype, released, offset));
            expect_copy_of(make_tensor(make_layout("transposed", {37, 41}, {1, 37}), dtype, released, offset));
        }
    }
}

TEST(HostCopy, ATensorWithoutStridesIsCompact) {
    std::atomic<int> released{0};
    TensorView source = make_tensor(make_layout("cube", {3, 4, 5}, {20, 5, 1}), DType::int32(), released);
    source.dlpack().strides = nullptr;
    expect_copy_of(source);
}

TEST(HostCopy, EveryOrderOfFourAxes) {
    std::atomic<int> released{0};
    std::vector<std::size_t> order{0, 1, 2, 3};
    const Extents stored{3, 5, 2, 7};
    const Extents steps = row_major(stored);
    do {
        Extents shape;
        Extents strides;
        for (const std::size_t axis : order) {
            shape.push_back(stored[axis]);
            // Every second axis runs backward.
            strides.push_back(axis % 2 == 0 ? steps[axis] : -steps[axis]);
        }
        expect_copy_of(make_tensor(make_layout("", shape, strides), DType::float32(), released));
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST(HostCopy, IsRightWhenThreadsShareTheWork) {
    // Large enough for several threads; the extents are no multiples of a tile or of a thread's share.
    std::atomic<int> released{0};
    const std::vector<Layout> large{
        make_layout("contiguous", {3, 700, 601}, row_major({3, 700, 601})),
        make_layout("transposed", {1201, 1003}, {1, 1201}),
        make_layout("transposed, backward", {1201, 1003}, {-1, 1201}),
        make_layout("gaps", {1201, 1003}, {2006, 2}),
        make_layout("broadcast", {1201, 1003}, {0, 1}),
        make_layout("axes reversed", {31, 53, 211, 4}, column_major({31, 53, 211, 4})),
        make_layout("few long rows", {2, 600001}, {1, 2}),
    };
    for (const Layout& layout : large) {
        SCOPED_TRACE(layout.name);
        expect_copy_of(make_tensor(layout, DType::complex64(), released));
    }
    expect_copy_of(make_tensor(make_layout("transposed", {1801, 1503}, {1, 1801}), DType::float32(), released));
    expect_copy_of(make_tensor(make_layout("transposed", {801, 803}, {1, 801}), DType::complex128(), released));
}

TEST(HostCopy, KeepsNothingOfTheSource) {
    std::atomic<int> released{0};
    TensorView source = make_tensor(make_layout("vector", {5}, {1}), DType::float64(), released);
    const auto expected = naive_bytes(source);
    const TensorView copy = copy_on_host(source);
    source = TensorView{};
    EXPECT_EQ(released, 1);
    EXPECT_EQ(naive_bytes(copy), expected);
    std::memset(copy.data(), 0, expected.size());  // it is ours to write to
}

TEST(HostCopy, KeepsElementsThatTakeAByteEach) {
    std::atomic<int> released{0};
    const DType int4 = DType::parse("int4").value();
    const TensorView source = make_tensor(make_layout("vector", {5}, {1}), int4, released);
    ASSERT_NE(source.flags & tensor_padded, 0U);
    EXPECT_NE(copy_on_host(source).flags & tensor_padded, 0U);
    expect_copy_of(source);
}

TEST(HostCopy, RefusesElementsThatShareAByte) {
    std::atomic<int> released{0};
    TensorView source = make_tensor(make_layout("vector", {6}, {1}), DType::parse("int4").value(), released);
    source.flags = 0;
    EXPECT_THROW(copy_on_host(source), UnsupportedArray);
}
