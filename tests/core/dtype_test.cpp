#include <gtest/gtest.h>

#include <arraybridge/dtype.hpp>
#include <set>
#include <string>
#include <vector>

using namespace arraybridge;

namespace {

DType dtype(std::string_view name) { return DType::parse(name).value(); }

DTypeSet set_of(const std::vector<std::string_view>& names) {
    DTypeSet set;
    for (const std::string_view name : names) set.insert(dtype(name));
    return set;
}

std::string widened_name(std::string_view name, const std::vector<std::string_view>& available) {
    const auto wider = widened(dtype(name), set_of(available));
    return wider ? wider->name() : "none";
}

}  // namespace

static_assert(sizeof(DType) == sizeof(DLDataType));

TEST(DType, NamesAndCombinationsCorrespond) {
    std::set<int> places;
    for (const detail::NamedDType& named : detail::dtype_table) {
        const auto parsed = DType::parse(named.name);
        ASSERT_TRUE(parsed.has_value()) << named.name;
        EXPECT_EQ(parsed->name(), named.name);
        EXPECT_EQ(*parsed, DType(named.code, named.bits));
        places.insert(parsed->index());
    }
    EXPECT_EQ(places.size(), detail::dtype_table.size());
    EXPECT_EQ(*places.begin(), 0);
}

TEST(DType, OtherCombinationsHaveNoPlace) {
    std::size_t named = 0;
    for (unsigned code = 0; code < 256; ++code) {
        for (unsigned bits = 0; bits < 256; ++bits) {
            const DType one(DLDataType{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1});
            if (one.index() < 0) continue;
            ++named;
            EXPECT_EQ(DType::parse(one.name()), one) << code << ":" << bits;
        }
    }
    EXPECT_EQ(named, detail::dtype_table.size());
}

TEST(DType, LanesHaveNoPlaceButAName) {
    const DType four(DLDataType{kDLFloat, 32, 4});
    EXPECT_EQ(four.index(), -1);
    EXPECT_EQ(four.name(), "2:32x4");
    EXPECT_EQ(four.itemsize(), 16U);
    EXPECT_EQ(DType(DLDataType{kDLOpaqueHandle, 64, 1}).name(), "3:64");
    EXPECT_EQ(DType(DLDataType{kDLInt, 24, 1}).index(), -1);
}

TEST(DType, UnknownNamesAreNotParsed) {
    for (const std::string_view name : {"", "float", "Float32", "float32 ", "float128", "object", "int3", "2:32"}) {
        EXPECT_FALSE(DType::parse(name).has_value()) << name;
    }
}

TEST(DType, SizesAreInBytes) {
    EXPECT_EQ(DType::boolean().itemsize(), 1U);
    EXPECT_EQ(DType::complex128().itemsize(), 16U);
    EXPECT_EQ(DType::bfloat16().itemsize(), 2U);
    EXPECT_EQ(dtype("float8_e4m3fn").itemsize(), 1U);
    EXPECT_EQ(dtype("float6_e2m3fn").itemsize(), 1U);
    EXPECT_EQ(dtype("int4").itemsize(), 1U);
    EXPECT_EQ(dtype("int1").itemsize(), 1U);
    EXPECT_EQ(DType(DLDataType{255, 255, 65535}).itemsize(), (255U * 65535U + 7U) / 8U);
}

TEST(DTypeSet, HoldsWhatWasPutIn) {
    DTypeSet set;
    EXPECT_TRUE(set.empty());
    EXPECT_EQ(set.names(), "");
    set.insert(DType::float64());
    set.insert(DType::boolean());
    set.insert(DType(DLDataType{kDLFloat, 32, 4}));
    EXPECT_EQ(set.names(), "bool, float64");
    EXPECT_TRUE(set.contains(DType::boolean()));
    EXPECT_FALSE(set.contains(DType::float32()));
    EXPECT_FALSE(set.contains(DType(DLDataType{kDLFloat, 64, 2})));
    EXPECT_EQ(set, set_of({"float64", "bool"}));
}

TEST(DTypeSet, KnowsItsLastPlace) {
    DTypeSet set;
    for (const detail::NamedDType& named : detail::dtype_table) set.insert(dtype(named.name));
    for (const detail::NamedDType& named : detail::dtype_table) EXPECT_TRUE(set.contains(dtype(named.name)));
}

TEST(Widened, IsTheNarrowestWiderOneOfItsKind) {
    EXPECT_EQ(widened_name("float16", {"float64", "float32"}), "float32");
    EXPECT_EQ(widened_name("float16", {"float64"}), "float64");
    EXPECT_EQ(widened_name("bfloat16", {"float16", "float32"}), "float32");
    EXPECT_EQ(widened_name("complex32", {"complex64", "complex128"}), "complex64");
    EXPECT_EQ(widened_name("int8", {"int64", "int16"}), "int16");
    EXPECT_EQ(widened_name("int4", {"int8"}), "int8");
    EXPECT_EQ(widened_name("uint16", {"uint64", "uint32"}), "uint32");
}

TEST(Widened, NeverChangesAValue) {
    // Each of these could hold some of the values, not all of them.
    EXPECT_EQ(widened_name("float8_e5m2", {"float16", "bfloat16"}), "none");
    EXPECT_EQ(widened_name("float8_e8m0fnu", {"float16", "bfloat16"}), "none");
    EXPECT_EQ(widened_name("float16", {"bfloat16", "float16"}), "none");
    EXPECT_EQ(widened_name("int64", {"float64", "uint64", "int32"}), "none");
    EXPECT_EQ(widened_name("int8", {"uint16"}), "none");
    EXPECT_EQ(widened_name("float64", {"complex128", "float32"}), "none");
}

TEST(Widened, KeepsTheKind) {
    EXPECT_EQ(widened_name("bool", {"uint8", "int8", "int64"}), "none");
    EXPECT_EQ(widened_name("uint8", {"int16", "int32"}), "none");
    EXPECT_FALSE(widened(DType(DLDataType{kDLOpaqueHandle, 8, 1}), set_of({"int64"})).has_value());
    EXPECT_FALSE(widened(DType::float16(), DTypeSet{}).has_value());
}
