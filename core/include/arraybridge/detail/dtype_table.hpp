#pragma once

#include <dlpack/dlpack.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace arraybridge::detail {

struct NamedDType {
    std::string_view name;
    DLDataTypeCode code;
    std::uint8_t bits;
};

/// Every dtype that has a name: NumPy's and ml_dtypes'. Its place here is its bit in a DTypeSet: additions go to the
/// end.
inline constexpr std::array<NamedDType, 32> dtype_table{{
    {"bool", kDLBool, 8},
    {"int8", kDLInt, 8},
    {"int16", kDLInt, 16},
    {"int32", kDLInt, 32},
    {"int64", kDLInt, 64},
    {"uint8", kDLUInt, 8},
    {"uint16", kDLUInt, 16},
    {"uint32", kDLUInt, 32},
    {"uint64", kDLUInt, 64},
    {"float16", kDLFloat, 16},
    {"float32", kDLFloat, 32},
    {"float64", kDLFloat, 64},
    {"bfloat16", kDLBfloat, 16},
    {"complex32", kDLComplex, 32},
    {"complex64", kDLComplex, 64},
    {"complex128", kDLComplex, 128},
    {"float8_e3m4", kDLFloat8_e3m4, 8},
    {"float8_e4m3", kDLFloat8_e4m3, 8},
    {"float8_e4m3b11fnuz", kDLFloat8_e4m3b11fnuz, 8},
    {"float8_e4m3fn", kDLFloat8_e4m3fn, 8},
    {"float8_e4m3fnuz", kDLFloat8_e4m3fnuz, 8},
    {"float8_e5m2", kDLFloat8_e5m2, 8},
    {"float8_e5m2fnuz", kDLFloat8_e5m2fnuz, 8},
    {"float8_e8m0fnu", kDLFloat8_e8m0fnu, 8},
    {"float6_e2m3fn", kDLFloat6_e2m3fn, 6},
    {"float6_e3m2fn", kDLFloat6_e3m2fn, 6},
    {"float4_e2m1fn", kDLFloat4_e2m1fn, 4},
    {"int4", kDLInt, 4},
    {"uint4", kDLUInt, 4},
    {"int2", kDLInt, 2},
    {"uint2", kDLUInt, 2},
    {"int1", kDLInt, 1},
}};

/// Where a code and a width are looked up: 32 codes of 16 widths each.
constexpr std::size_t dtype_key(std::uint32_t code, std::uint32_t bits) noexcept {
    // The added bit makes no width of no bits: place 10 has no dtype.
    const auto exponent = static_cast<std::uint32_t>(std::countr_zero(bits | 1024U));
    const std::uint32_t width = bits == 6 ? 9 : (bits & (bits - 1)) == 0 ? exponent : 10;
    return ((code & 31U) << 4U) | (width & 15U);
}

constexpr std::array<std::int8_t, 512> make_dtype_index() {
    std::array<std::int8_t, 512> index{};
    index.fill(-1);
    for (std::size_t i = 0; i < dtype_table.size(); ++i) {
        index[dtype_key(dtype_table[i].code, dtype_table[i].bits)] = static_cast<std::int8_t>(i);
    }
    return index;
}

/// Place in the table by key; -1 for a combination that has no name. No branch, no search: it is on every array's way.
inline constexpr std::array<std::int8_t, 512> dtype_index = make_dtype_index();

}  // namespace arraybridge::detail
