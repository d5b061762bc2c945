#pragma once

#include <dlpack/dlpack.h>

#include <cstdint>
#include <string>

#include "arraybridge/exchange.hpp"
#include "arraybridge/manifest.hpp"
#include "arraybridge/tensor_view.hpp"
#include "arraybridge/visibility.hpp"

namespace arraybridge {

/// Whether a tensor description makes sense at all: 0 <= ndim <= 64, extents not negative, a dtype with bits and lanes,
/// no overflow in its size nor in strides times extents, null data only when it has no elements. Says what is wrong.
ARRAYBRIDGE_API Decline check_well_formed(const DLTensor& tensor);

/// Likewise for a tensor from elsewhere, whose DLPack major version is looked at first.
ARRAYBRIDGE_API Decline check_well_formed(const DLManagedTensorVersioned& tensor);

/// Whether the library that `manifest` describes can wrap this well-formed tensor as it is: its dtype, rank, strides,
/// alignment, and memory that may not be written to. Says what it cannot take and why.
ARRAYBRIDGE_API Decline check_importable(const TensorView& tensor, const Manifest& manifest);

/// Likewise for a tensor whose dtype the library is known to have.
ARRAYBRIDGE_API Decline check_layout(const TensorView& tensor, const Manifest& manifest);

}  // namespace arraybridge
