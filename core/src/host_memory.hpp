#pragma once

#include <cstddef>

#include "arraybridge/tensor_view.hpp"

namespace arraybridge {

/// A fresh block of at least `bytes` bytes, aligned to `copy_alignment`, and to a huge page when it is large: the first
/// touch of a large block then costs one fault per 2 MiB and not one per 4 KiB. Throws std::bad_alloc.
Owner allocate_host_memory(std::size_t bytes);

}  // namespace arraybridge
