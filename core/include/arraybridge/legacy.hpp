#pragma once

#include <dlpack/dlpack.h>

#include "arraybridge/managed_tensor.hpp"
#include "arraybridge/visibility.hpp"

namespace arraybridge {

/// Wraps the struct that DLPack used before 1.0 (TensorFlow and jaxlib export no other). It has no read-only flag, so
/// the caller says whether the source's arrays are immutable. Takes `tensor` over, also when it throws: InvalidTensor
/// if it is not well-formed.
ARRAYBRIDGE_API ManagedTensor from_legacy(DLManagedTensor* tensor, bool immutable);

/// The older struct around a tensor, for a consumer that reads no other. A read-only tensor may go only to a consumer
/// whose arrays are immutable (`consumer_is_immutable`): throws CannotShare otherwise. The caller owns the result.
ARRAYBRIDGE_API DLManagedTensor* to_legacy(ManagedTensor tensor, bool consumer_is_immutable);

}  // namespace arraybridge
