#include "arraybridge/dtype.hpp"

#include <array>

namespace arraybridge {

namespace {

struct NamedDType {
    std::string_view name;
    DLDataTypeCode code;
    std::uint8_t bits;
};

// The names are NumPy's and ml_dtypes'. A dtype's place here is its bit in a DTypeSet, so additions go to the end.
constexpr std::array<NamedDType, 32> table{{
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

/// table index + 1 by code and width: what makes `DType::index` a load and not a search.
constexpr auto make_index() {
    std::array<std::array<std::uint8_t, 9>, 32> index{};
    for (std::size_t i = 0; i < table.size(); ++i) {
        const std::uint8_t bits = table[i].bits;
        const std::size_t width = bits == 128 ? 8 : bits == 64 ? 7 : bits == 32 ? 6 : bits == 16 ? 5 : bits == 8 ? 4
                                : bits == 6 ? 3 : bits == 4 ? 2 : bits == 2 ? 1 : 0;
        index[static_cast<std::size_t>(table[i].code)][width] = static_cast<std::uint8_t>(i + 1);
    }
    return index;
}
constexpr auto index_of = make_index();

constexpr int width_class(std::uint8_t bits) noexcept {
    switch (bits) {
        case 1:
            return 0;
        case 2:
            return 1;
        case 4:
            return 2;
        case 6:
            return 3;
        case 8:
            return 4;
        case 16:
            return 5;
        case 32:
            return 6;
        case 64:
            return 7;
        case 128:
            return 8;
        default:
            return -1;
    }
}

/// What the values of a dtype are: only within one family can a wider dtype hold a narrower one's values as they are.
enum class Family { boolean, signed_integer, unsigned_integer, real, complex, other };

Family family_of(std::uint8_t code) noexcept {
    switch (code) {
        case kDLBool:
            return Family::boolean;
        case kDLInt:
            return Family::signed_integer;
        case kDLUInt:
            return Family::unsigned_integer;
        case kDLFloat:
        case kDLBfloat:
        case kDLFloat8_e3m4:
        case kDLFloat8_e4m3:
        case kDLFloat8_e4m3b11fnuz:
        case kDLFloat8_e4m3fn:
        case kDLFloat8_e4m3fnuz:
        case kDLFloat8_e5m2:
        case kDLFloat8_e5m2fnuz:
        case kDLFloat8_e8m0fnu:
        case kDLFloat6_e2m3fn:
        case kDLFloat6_e3m2fn:
        case kDLFloat4_e2m1fn:
            return Family::real;
        case kDLComplex:
            return Family::complex;
        default:
            return Family::other;
    }
}

}  // namespace

std::optional<DType> DType::parse(std::string_view name) noexcept {
    for (const NamedDType& entry : table) {
        if (entry.name == name) return DType{entry.code, entry.bits};
    }
    return std::nullopt;
}

int DType::index() const noexcept {
    const int width = width_class(value_.bits);
    if (value_.lanes != 1 || value_.code >= index_of.size() || width < 0) return -1;
    return static_cast<int>(index_of[value_.code][static_cast<std::size_t>(width)]) - 1;
}

std::string DType::name() const {
    if (const int position = index(); position >= 0) return std::string(table[static_cast<std::size_t>(position)].name);
    std::string text = std::to_string(value_.code) + ":" + std::to_string(value_.bits);
    if (value_.lanes != 1) text += "x" + std::to_string(value_.lanes);
    return text;
}

std::string DTypeSet::names() const {
    std::string text;
    for (std::size_t i = 0; i < table.size(); ++i) {
        if (((bits_ >> i) & 1U) == 0) continue;
        if (!text.empty()) text += ", ";
        text += table[i].name;
    }
    return text;
}

std::optional<DType> widened(DType dtype, const DTypeSet& available) noexcept {
    const int position = dtype.index();
    const Family family = family_of(dtype.code());
    if (position < 0 || family == Family::other) return std::nullopt;
    std::optional<DType> best;
    for (const NamedDType& candidate : table) {
        const DType wider{candidate.code, candidate.bits};
        // Some narrow floats have exponents that float16 lacks: a real dtype counts as wider only from float32 on.
        const bool holds = family_of(wider.code()) == family && wider.bits() > dtype.bits() &&
                           (family != Family::real || wider.bits() >= 32);
        if (!holds || !available.contains(wider)) continue;
        if (!best || wider.bits() < best->bits()) best = wider;
    }
    return best;
}

}  // namespace arraybridge
