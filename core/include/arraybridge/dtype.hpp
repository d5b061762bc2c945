#pragma once

#include <dlpack/dlpack.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "arraybridge/detail/dtype_table.hpp"
#include "arraybridge/visibility.hpp"

namespace arraybridge {

/// The type of one array element, as DLPack describes it: a type code, its width in bits, and lanes (always 1 here).
class ARRAYBRIDGE_API DType {
public:
    constexpr DType() noexcept : DType(kDLFloat, 32) {}
    constexpr explicit DType(DLDataType value) noexcept : word_(std::bit_cast<std::uint32_t>(value)) {}
    constexpr DType(DLDataTypeCode code, std::uint8_t bits) noexcept
        : word_(std::bit_cast<std::uint32_t>(DLDataType{static_cast<std::uint8_t>(code), bits, 1})) {}

    static constexpr DType boolean() noexcept { return {kDLBool, 8}; }
    static constexpr DType int8() noexcept { return {kDLInt, 8}; }
    static constexpr DType int16() noexcept { return {kDLInt, 16}; }
    static constexpr DType int32() noexcept { return {kDLInt, 32}; }
    static constexpr DType int64() noexcept { return {kDLInt, 64}; }
    static constexpr DType uint8() noexcept { return {kDLUInt, 8}; }
    static constexpr DType uint16() noexcept { return {kDLUInt, 16}; }
    static constexpr DType uint32() noexcept { return {kDLUInt, 32}; }
    static constexpr DType uint64() noexcept { return {kDLUInt, 64}; }
    static constexpr DType float16() noexcept { return {kDLFloat, 16}; }
    static constexpr DType float32() noexcept { return {kDLFloat, 32}; }
    static constexpr DType float64() noexcept { return {kDLFloat, 64}; }
    static constexpr DType bfloat16() noexcept { return {kDLBfloat, 16}; }
    static constexpr DType complex32() noexcept { return {kDLComplex, 32}; }
    static constexpr DType complex64() noexcept { return {kDLComplex, 64}; }
    static constexpr DType complex128() noexcept { return {kDLComplex, 128}; }

    /// The dtype that NumPy or ml_dtypes calls `name` ("float32", "bool", "bfloat16", "float8_e4m3fn"); empty if
    /// unknown.
    static std::optional<DType> parse(std::string_view name) noexcept;

    /// The name that `parse` reads; "code:bits" in digits for a combination that has none.
    std::string name() const;

    constexpr DLDataType dlpack() const noexcept { return std::bit_cast<DLDataType>(word_); }
    constexpr std::uint8_t code() const noexcept { return dlpack().code; }
    constexpr std::uint8_t bits() const noexcept { return dlpack().bits; }
    constexpr std::uint16_t lanes() const noexcept { return dlpack().lanes; }

    /// Size of one element in bytes. A type narrower than a byte counts as one, the way NumPy stores it.
    constexpr std::size_t itemsize() const noexcept { return ((static_cast<std::size_t>(bits()) * lanes()) + 7) / 8; }

    /// What the address of an element has to be a multiple of, in bytes: its size, or that of one part of a complex.
    constexpr std::size_t alignment() const noexcept { return code() == kDLComplex ? itemsize() / 2 : itemsize(); }

    /// Position in the table of named dtypes, below 64: the bit that stands for it in a `DTypeSet`; -1 for no name.
    [[gnu::always_inline]] constexpr int index() const noexcept {
        if (lanes() != 1 || code() > 31) return -1;
        return detail::dtype_index[detail::dtype_key(code(), bits())];
    }

    friend constexpr bool operator==(DType, DType) noexcept = default;

private:
    // One word: a struct of bytes would be written in pieces and read as a whole, which stalls every conversion.
    std::uint32_t word_;
};

/// A set of named dtypes.
class ARRAYBRIDGE_API DTypeSet {
public:
    constexpr DTypeSet() noexcept = default;

    void insert(DType dtype) noexcept {
        if (const int index = dtype.index(); index >= 0) bits_ |= std::uint64_t{1} << index;
    }
    bool contains(DType dtype) const noexcept {
        const int index = dtype.index();
        return index >= 0 && ((bits_ >> index) & 1U) != 0;
    }
    constexpr bool empty() const noexcept { return bits_ == 0; }

    /// The names in the order of the table, separated by ", ".
    std::string names() const;

    friend constexpr bool operator==(const DTypeSet&, const DTypeSet&) noexcept = default;

private:
    std::uint64_t bits_ = 0;
};

/// The narrowest dtype of `available` that is wider than `dtype`, of the same kind, and holds each of its values
/// exactly (float16 to float32, complex32 to complex64, int16 to int32, uint16 to uint32); empty if there is none.
ARRAYBRIDGE_API std::optional<DType> widened(DType dtype, const DTypeSet& available) noexcept;

}  // namespace arraybridge
