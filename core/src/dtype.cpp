#include "arraybridge/dtype.hpp"

#include <array>

namespace arraybridge {

namespace {

using detail::dtype_table;
using detail::NamedDType;

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
    for (const NamedDType& entry : dtype_table) {
        if (entry.name == name) return DType{entry.code, entry.bits};
    }
    return std::nullopt;
}

std::string DType::name() const {
    if (const int position = index(); position >= 0)
        return std::string(dtype_table[static_cast<std::size_t>(position)].name);
    std::string text = std::to_string(code()) + ":" + std::to_string(bits());
    if (lanes() != 1) text += "x" + std::to_string(lanes());
    return text;
}

std::string DTypeSet::names() const {
    std::string text;
    for (std::size_t i = 0; i < dtype_table.size(); ++i) {
        if (((bits_ >> i) & 1U) == 0) continue;
        if (!text.empty()) text += ", ";
        text += dtype_table[i].name;
    }
    return text;
}

std::optional<DType> widened(DType dtype, const DTypeSet& available) noexcept {
    const int position = dtype.index();
    const Family family = family_of(dtype.code());
    if (position < 0 || family == Family::other) return std::nullopt;
    std::optional<DType> best;
    for (const NamedDType& candidate : dtype_table) {
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
