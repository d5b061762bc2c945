#pragma once

#include <cstddef>
#include <optional>

#include "arraybridge/tensor_view.hpp"
#include "arraybridge/visibility.hpp"

namespace arraybridge {

/// Memory that we allocate starts at a multiple of this, so that any library can share it on the next hop.
inline constexpr std::size_t copy_alignment = 64;

/// The values of a tensor in main memory, any strides, as a fresh compact row-major tensor that owns its memory.
/// The language runtime's lock need not be held. Throws std::bad_alloc, and
/// UnsupportedArray for elements narrower than a byte that share one (a padded dtype has `tensor_padded`).
ARRAYBRIDGE_API TensorView copy_on_host(const TensorView& source);

/// A read-only mapping of a file (`tensor_file_backed`) mapped once more, privately: the result is writable, what is
/// written to it stays in this process, and no page is copied before that. Empty where the system cannot do it or the
/// file behind the mapping is not reachable any more.
ARRAYBRIDGE_API std::optional<TensorView> map_privately(const TensorView& source);

}  // namespace arraybridge
