#include "arraybridge/host_copy.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

#include "arraybridge/error.hpp"
#include "host_memory.hpp"

namespace arraybridge {

namespace {

/// From this many bytes on a second thread earns more than it costs to start.
constexpr std::int64_t bytes_per_thread = std::int64_t{4} << 20U;

/// One axis of a copy: extent, and steps in bytes on both sides.
struct Axis {
    std::int64_t extent;
    std::int64_t from;
    std::int64_t to;
};

/// What is to be copied, reduced to as few axes as describe it; the last axis is the innermost of the destination.
struct Plan {
    std::array<Axis, max_ndim> axes;
    int count = 0;
    std::int64_t itemsize = 1;
};

/// Drops axes of one element and joins neighbours that are one run on both sides.
Plan make_plan(const TensorView& source) {
    Plan plan;
    plan.itemsize = static_cast<std::int64_t>(source.dtype().itemsize());
    const auto shape = source.shape();
    const auto strides = source.strides();
    std::int64_t step = plan.itemsize;
    std::array<Axis, max_ndim> reversed;  // innermost first
    int count = 0;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        const std::int64_t extent = shape[axis];
        if (extent == 1) continue;
        const Axis next{extent, strides.empty() ? step : strides[axis] * plan.itemsize, step};
        step *= extent;
        if (count > 0 &&
            reversed[static_cast<std::size_t>(count - 1)].from * reversed[static_cast<std::size_t>(count - 1)].extent ==
                next.from) {
            reversed[static_cast<std::size_t>(count - 1)].extent *= extent;
        } else {
            reversed[static_cast<std::size_t>(count++)] = next;
        }
    }
    std::reverse_copy(reversed.begin(), reversed.begin() + count, plan.axes.begin());
    plan.count = count;
    return plan;
}

/// Copies one row element by element; `Item` is an unsigned stand-in of the item's size.
template <class Item>
void copy_row(const char* from, std::int64_t from_step, char* to, std::int64_t to_step, std::int64_t extent) {
    for (std::int64_t i = 0; i < extent; ++i) {
        std::memcpy(to + i * to_step, from + i * from_step, sizeof(Item));
    }
}

struct Item128 {
    std::uint64_t words[2];
};

using RowCopy = void (*)(const char*, std::int64_t, char*, std::int64_t, std::int64_t);

RowCopy row_copy_for(std::int64_t itemsize) {
    switch (itemsize) {
        case 1:
            return &copy_row<std::uint8_t>;
        case 2:
            return &copy_row<std::uint16_t>;
        case 4:
            return &copy_row<std::uint32_t>;
        case 8:
            return &copy_row<std::uint64_t>;
        case 16:
            return &copy_row<Item128>;
        default:
            return nullptr;
    }
}

/// Side of a square tile: two tiles of the widest items stay in the first-level cache.
constexpr std::int64_t tile = 32;

/// Copies the two innermost axes. Where the source runs along the outer one, tiles keep both sides in the cache.
void copy_plane(const char* from, char* to, const Axis& outer, const Axis& inner, std::int64_t itemsize, RowCopy row) {
    if (inner.from == itemsize) {
        for (std::int64_t i = 0; i < outer.extent; ++i) {
            std::memcpy(to + i * outer.to, from + i * outer.from, static_cast<std::size_t>(inner.extent * itemsize));
        }
        return;
    }
    const bool transposed = std::abs(outer.from) < std::abs(inner.from);
    const std::int64_t rows = transposed ? tile : outer.extent;
    const std::int64_t columns = transposed ? tile : inner.extent;
    for (std::int64_t i0 = 0; i0 < outer.extent; i0 += rows) {
        const std::int64_t i1 = std::min(i0 + rows, outer.extent);
        for (std::int64_t j0 = 0; j0 < inner.extent; j0 += columns) {
            const std::int64_t width = std::min(columns, inner.extent - j0);
            for (std::int64_t i = i0; i < i1; ++i) {
                row(from + i * outer.from + j0 * inner.from, inner.from, to + i * outer.to + j0 * inner.to, inner.to,
                    width);
            }
        }
    }
}

/// Copies the positions [begin, end) of the outermost axis.
void copy_range(const Plan& plan, const char* from, char* to, std::int64_t begin, std::int64_t end) {
    std::array<Axis, max_ndim> axes = plan.axes;
    from += begin * axes[0].from;
    to += begin * axes[0].to;
    axes[0].extent = end - begin;
    const RowCopy row = row_copy_for(plan.itemsize);
    const auto count = static_cast<std::size_t>(plan.count);
    if (count == 1) {
        const Axis single{1, 0, 0};
        copy_plane(from, to, single, axes[0], plan.itemsize, row);
        return;
    }
    // An odometer over all axes but the two innermost ones.
    std::array<std::int64_t, max_ndim> position{};
    while (true) {
        copy_plane(from, to, axes[count - 2], axes[count - 1], plan.itemsize, row);
        std::size_t axis = count - 2;
        while (axis-- > 0) {
            from += axes[axis].from;
            to += axes[axis].to;
            if (++position[axis] < axes[axis].extent) break;
            from -= axes[axis].from * axes[axis].extent;
            to -= axes[axis].to * axes[axis].extent;
            position[axis] = 0;
            if (axis == 0) return;
        }
        if (count == 2) return;
    }
}

/// Asking the system opens a file: once is enough.
std::int64_t processors() {
    static const std::int64_t count = std::max<std::int64_t>(std::thread::hardware_concurrency(), 1);
    return count;
}

void copy_elements(const TensorView& source, char* to) {
    const Plan plan = make_plan(source);
    const auto* from = static_cast<const char*>(source.data());
    if (plan.count == 0) {
        std::memcpy(to, from, static_cast<std::size_t>(plan.itemsize));
        return;
    }
    const std::int64_t extent = plan.axes[0].extent;
    const std::int64_t wanted = std::min<std::int64_t>(source.nbytes() / bytes_per_thread, extent);
    const std::int64_t threads = wanted <= 1 ? 1 : std::min(wanted, processors());
    const std::int64_t share = (extent + threads - 1) / threads;
    std::vector<std::jthread> others;
    std::int64_t begin = share;
    try {
        for (; begin < extent; begin += share) {
            others.emplace_back([&plan, from, to, begin, end = std::min(begin + share, extent)] {
                copy_range(plan, from, to, begin, end);
            });
        }
    } catch (const std::system_error&) {
        // The system has no thread to give: what is left is copied here.
        copy_range(plan, from, to, begin, extent);
    }
    copy_range(plan, from, to, 0, std::min(share, extent));
}

}  // namespace

TensorView copy_on_host(const TensorView& source) {
    if (source.dtype().bits() < 8 && (source.flags & tensor_padded) == 0) {
        throw UnsupportedArray("elements of " + source.dtype().name() + " that share a byte cannot be copied");
    }
    if (source.dtype().index() < 0)
        throw UnsupportedArray("elements of " + source.dtype().name() + " cannot be copied");
    if (source.ndim() > max_ndim) throw InvalidTensor("a tensor has more than 64 axes");
    TensorView copy;
    copy.owner = allocate_host_memory(static_cast<std::size_t>(source.nbytes()));
    copy.flags = tensor_copied | (source.flags & tensor_padded);
    copy.device = HOST;
    DLTensor& tensor = copy.dlpack();
    tensor = source.dlpack();
    tensor.data = copy.owner.object();
    tensor.byte_offset = 0;
    tensor.device = {kDLCPU, 0};
    std::int64_t step = 1;
    for (std::int32_t axis = tensor.ndim - 1; axis >= 0; --axis) {
        copy.stride_storage()[static_cast<std::size_t>(axis)] = step;
        step *= tensor.shape[axis];
    }
    tensor.strides = copy.stride_storage().data();
    copy.own_extents();
    if (source.size() != 0) copy_elements(source, static_cast<char*>(tensor.data));
    return copy;
}

}  // namespace arraybridge
