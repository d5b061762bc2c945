#include <gtest/gtest.h>

#include <arraybridge/validate.hpp>
#include <cstdint>
#include <limits>
#include <string>

#include "tensors.hpp"

using namespace arraybridge;
using namespace arraybridge_test;

namespace {

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

/// A description of memory that nobody looks at.
struct Description {
    Extents shape;
    Extents strides;
    DLTensor tensor{};

    explicit Description(Extents extents, Extents steps = {}) : shape(std::move(extents)), strides(std::move(steps)) {
        tensor.data = this;
        tensor.device = {kDLCPU, 0};
        tensor.dtype = DType::float32().dlpack();
        tensor.ndim = static_cast<std::int32_t>(shape.size());
        tensor.shape = shape.data();
        tensor.strides = strides.empty() ? nullptr : strides.data();
    }
    Description(const Description&) = delete;
    Description& operator=(const Description&) = delete;
};

std::string problem_of(const DLTensor& tensor) {
    const Decline bad = check_well_formed(tensor);
    return bad ? bad.reason() : "";
}

std::string problem_of(Extents shape, Extents strides = {}) {
    const Description description(std::move(shape), std::move(strides));
    return problem_of(description.tensor);
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Manifest manifest_of(const std::string& imports) {
    return Manifest::parse(R"({"schema_version": 1, "name": "library", "display_name": "The library",
        "devices": ["host"], "dtypes": ["float32", "int8", "complex128"], "imports": )" +
                               imports + R"(, "plugin": {"shared_object": "lib.so", "abi": "1.0", "stamp": "any"}})",
                           "/program/manifest.json");
}

std::string refusal(const Layout& layout, const std::string& imports, DType dtype = DType::float32(),
                    std::size_t offset = 0, std::uint32_t flags = 0) {
    std::atomic<int> released{0};
    TensorView view = make_tensor(layout, dtype, released, offset);
    view.flags |= flags;
    const Decline declined = check_importable(view, manifest_of(imports));
    return declined ? declined.reason() : "";
}

const Layout vector = make_layout("vector", {8}, {1});

}  // namespace

TEST(WellFormed, EveryLayoutIs) {
    std::atomic<int> released{0};
    for (const Layout& layout : every_layout()) {
        for (const detail::NamedDType& named : detail::dtype_table) {
            const TensorView view = make_tensor(layout, DType(named.code, named.bits), released);
            EXPECT_EQ(problem_of(view.dlpack()), "") << layout.name << " of " << named.name;
        }
    }
}

TEST(WellFormed, AxesAreZeroTo64) {
    Description description(Extents(65, 1));
    for (const std::int32_t ndim :
         {-1, 65, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()}) {
        description.tensor.ndim = ndim;
        EXPECT_TRUE(contains(problem_of(description.tensor), std::to_string(ndim) + " axes")) << ndim;
    }
    for (const std::int32_t ndim : {0, 64}) {
        description.tensor.ndim = ndim;
        EXPECT_EQ(problem_of(description.tensor), "");
    }
}

TEST(WellFormed, ExtentsAreNotNegative) {
    for (const std::int64_t extent : {std::int64_t{-1}, least}) {
        EXPECT_TRUE(contains(problem_of({2, extent}), "negative extent"));
        EXPECT_TRUE(contains(problem_of({2, extent}), "(2, " + std::to_string(extent) + ")"));
        // Also where another axis is empty or where its size would not fit.
        EXPECT_TRUE(contains(problem_of({0, extent}), "negative extent"));
        EXPECT_TRUE(contains(problem_of({huge, huge, extent}, {huge, huge, huge}), "negative extent"));
        EXPECT_TRUE(contains(problem_of({extent, extent}), "negative extent"));
    }
}

TEST(WellFormed, TheSizeFits) {
    EXPECT_TRUE(contains(problem_of({huge}), "64 bits"));
    EXPECT_TRUE(contains(problem_of({huge, huge}), "64 bits"));
    EXPECT_TRUE(contains(problem_of({std::int64_t{1} << 32, std::int64_t{1} << 32}), "64 bits"));
    EXPECT_TRUE(contains(problem_of({huge / 4 + 1}), "64 bits"));
    EXPECT_EQ(problem_of({huge / 4}), "");
    // A product that comes out small again.
    EXPECT_TRUE(contains(problem_of({std::int64_t{1} << 32, std::int64_t{1} << 32, 1}), "64 bits"));
    EXPECT_TRUE(contains(problem_of({3, (std::int64_t{1} << 62) + 1, 4}), "64 bits"));
}

TEST(WellFormed, AnEmptyTensorsExtentsCanBeMultiplied) {
    EXPECT_EQ(problem_of(Extents{0}), "");
    EXPECT_EQ(problem_of({huge, 0}), "");
    EXPECT_EQ(problem_of({0, huge}, {1, 1}), "");
    // Whoever does so in the order of the axes, or against it, must not overflow before coming to zero.
    EXPECT_TRUE(contains(problem_of({huge, huge, 0}), "64 bits"));
    EXPECT_TRUE(contains(problem_of({0, huge, huge}), "64 bits"));
}

TEST(WellFormed, TheReachFits) {
    EXPECT_TRUE(contains(problem_of({2}, {huge}), "64 bits"));
    EXPECT_TRUE(contains(problem_of({2}, {least}), "64 bits"));
    EXPECT_TRUE(contains(problem_of({3}, {least}), "64 bits"));
    EXPECT_TRUE(contains(problem_of({3}, {huge / 2 + 1}), "64 bits"));
    EXPECT_TRUE(contains(problem_of({2}, {huge / 4 + 1}), "64 bits"));
    EXPECT_TRUE(contains(problem_of({2}, {least / 4 - 1}), "64 bits"));
    EXPECT_EQ(problem_of({2}, {huge / 4}), "");
    EXPECT_EQ(problem_of({2}, {-(huge / 4)}), "");
    // Each axis fits, their sum does not, forward or backward.
    EXPECT_TRUE(contains(problem_of({2, 2}, {huge / 4, huge / 4}), "64 bits"));
    EXPECT_TRUE(contains(problem_of({2, 2}, {-(huge / 4), -(huge / 4)}), "64 bits"));
    // Opposite directions do not cancel.
    EXPECT_TRUE(contains(problem_of({2, 2, 2, 2}, {huge / 4, -(huge / 4), huge / 4, -(huge / 4)}), "64 bits"));
    EXPECT_EQ(problem_of({2, 2}, {huge / 4, -(huge / 4)}), "");
}

TEST(WellFormed, AStepThatIsNeverTakenMayBeAny) {
    EXPECT_EQ(problem_of({1, 1}, {huge, least}), "");
    EXPECT_EQ(problem_of(Extents{0}, {huge}), "");
}

TEST(WellFormed, ADtypeHasBitsAndLanes) {
    Description description({2});
    description.tensor.dtype = {kDLFloat, 0, 1};
    EXPECT_TRUE(contains(problem_of(description.tensor), "0 bits"));
    description.tensor.dtype = {kDLFloat, 32, 0};
    EXPECT_TRUE(contains(problem_of(description.tensor), "0 lanes"));
    description.tensor.dtype = {255, 255, 65535};
    EXPECT_EQ(problem_of(description.tensor), "");
    description.shape = {huge / 65535};
    EXPECT_TRUE(contains(problem_of(description.tensor), "64 bits"));
}

TEST(WellFormed, ElementsHaveData) {
    Description description({2, 3});
    description.tensor.data = nullptr;
    EXPECT_TRUE(contains(problem_of(description.tensor), "no data"));
    description.shape = {2, 0};
    EXPECT_EQ(problem_of(description.tensor), "");
    description.tensor.ndim = 0;
    EXPECT_TRUE(contains(problem_of(description.tensor), "no data"));
}

TEST(WellFormed, AxesHaveAShape) {
    Description description({2});
    description.tensor.shape = nullptr;
    EXPECT_TRUE(contains(problem_of(description.tensor), "no shape"));
    description.tensor.ndim = 0;
    EXPECT_EQ(problem_of(description.tensor), "");
}

TEST(WellFormed, AnotherMajorVersionIsNotReadAnyFurther) {
    DLManagedTensorVersioned tensor{};
    for (const std::uint32_t major : {0U, 2U, 4000000000U}) {
        tensor.version = {major, 7};
        tensor.dl_tensor.ndim = -1;
        const Decline bad = check_well_formed(tensor);
        ASSERT_TRUE(bad);
        EXPECT_TRUE(contains(bad.reason(), "DLPack version " + std::to_string(major) + ".7"));
    }
    tensor.version = {1, 99};
    EXPECT_TRUE(contains(check_well_formed(tensor).reason(), "axes"));
}

TEST(Importable, NamesTheDtypesThereAre) {
    EXPECT_EQ(refusal(vector, "{}", DType::float16()),
              "The library has no dtype float16; it has int8, float32, complex128");
    EXPECT_EQ(refusal(vector, "{}"), "");
}

TEST(Importable, AxesAreCounted) {
    const Layout plane = make_layout("plane", {2, 3}, {3, 1});
    EXPECT_EQ(refusal(plane, R"({"max_ndim": 1})"), "The library takes at most 1 axes, not 2");
    EXPECT_EQ(refusal(plane, R"({"max_ndim": 2})"), "");
    EXPECT_EQ(refusal(make_layout("", {}, {}), R"({"max_ndim": 0})"), "");
}

TEST(Importable, StridesAreThoseItTakes) {
    for (const Layout& layout : every_layout()) {
        SCOPED_TRACE(layout.name);
        std::atomic<int> released{0};
        const bool contiguous = make_tensor(layout, DType::float32(), released).is_contiguous();
        bool backward = false;  // along an axis where a step is taken
        for (std::size_t axis = 0; axis < layout.shape.size(); ++axis) {
            backward |= layout.shape[axis] > 1 && layout.strides[axis] < 0;
        }
        EXPECT_EQ(refusal(layout, R"({"strides": "any"})"), "");
        EXPECT_EQ(refusal(layout, R"({"strides": "compact"})").empty(), contiguous);
        EXPECT_EQ(refusal(layout, R"({"strides": "non_negative"})").empty(), !backward);
    }
}

TEST(Importable, AddressesAreAligned) {
    EXPECT_EQ(refusal(vector, R"({"alignment": 64})"), "");
    EXPECT_EQ(refusal(vector, R"({"alignment": 64})", DType::float32(), 32),
              "The library needs memory that starts at a multiple of 64 bytes");
    EXPECT_EQ(refusal(vector, R"({"alignment": 32})", DType::float32(), 32), "");
    // An element's own alignment counts also where the library asks for none.
    EXPECT_NE(refusal(vector, "{}", DType::float32(), 2), "");
    EXPECT_EQ(refusal(vector, "{}", DType::float32(), 4), "");
    EXPECT_EQ(refusal(vector, "{}", DType::int8(), 3), "");
    const Layout empty = make_layout("empty", {0}, {1});
    EXPECT_EQ(refusal(empty, R"({"alignment": 64})", DType::float32(), 3), "");
}

TEST(Importable, ReadOnlyMemoryGoesWhereItStaysSo) {
    EXPECT_TRUE(contains(refusal(vector, "{}", DType::float32(), 0, tensor_read_only), "read-only"));
    EXPECT_EQ(refusal(vector, R"({"read_only": true})", DType::float32(), 0, tensor_read_only), "");
}
