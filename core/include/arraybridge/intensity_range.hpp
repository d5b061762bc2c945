#pragma once

#include <optional>

#include "arraybridge/dtype.hpp"

namespace arraybridge {

/// Where `ArrayLibrary::scale_dtype` puts intensities in an integer dtype: the smallest at `-offset`, the largest at
/// `scale - offset`, clamped to `[lowest, highest]`.
struct IntensityRange {
    double scale;
    double offset;
    double lowest;
    double highest;
};

/// The range of an integer dtype; empty for one that has none, into which intensities go as fractions from 0 to 1 and
/// are cast.
constexpr std::optional<IntensityRange> intensity_range(DType dtype) noexcept {
    if (dtype == DType::uint8()) return IntensityRange{255.0, 0.0, 0.0, 255.0};
    if (dtype == DType::uint16()) return IntensityRange{65535.0, 0.0, 0.0, 65535.0};
    if (dtype == DType::uint32()) return IntensityRange{4294967295.0, 0.0, 0.0, 4294967295.0};
    // The upper end stays 128 short, so that rounding to float32 cannot carry a value over the end of the dtype.
    if (dtype == DType::int16()) return IntensityRange{65535.0, 32768.0, -32768.0, 32767.0 - 128.0};
    if (dtype == DType::int32()) return IntensityRange{4294967295.0, 2147483648.0, -2147483648.0, 2147483647.0 - 128.0};
    return std::nullopt;
}

/// Whether float intensities are spread when they become `dtype`: an integer stored in whole bytes.
constexpr bool takes_spread_intensities(DType dtype) noexcept {
    return (dtype.code() == kDLInt || dtype.code() == kDLUInt) && dtype.bits() >= 8;
}

}  // namespace arraybridge
