#include "share_at_once.hpp"

#include <algorithm>
#include <cstdint>

#include "arraybridge/conversion_route.hpp"
#include "arraybridge/error.hpp"
#include "arraybridge/manifest.hpp"

namespace arraybridge {

namespace {

/// `check_well_formed` and `check_layout` for the usual tensor, in one pass and without words. False says only that the
/// tensor has to be looked at closely: one without elements or with a negative step may well be fine.
bool is_ordinary(const TensorView& tensor, const Manifest& rules) noexcept {
    const DLTensor& described = tensor.dlpack();
    if (described.ndim < 0 || described.ndim > rules.max_ndim) return false;
    if (described.ndim > 0 && (described.shape == nullptr || described.strides == nullptr)) return false;
    std::int64_t count = 1;
    std::int64_t reach = 0;
    bool fits = true;
    for (std::int32_t axis = 0; axis < described.ndim; ++axis) {
        const std::int64_t extent = described.shape[axis];
        const std::int64_t stride = described.strides[axis];
        std::int64_t step = 0;
        fits &= extent > 0 && stride >= 0;
        fits &= !__builtin_mul_overflow(count, extent, &count);
        fits &= !__builtin_mul_overflow(extent - 1, stride, &step);
        fits &= !__builtin_add_overflow(reach, step, &reach);
    }
    constexpr std::int64_t furthest = std::int64_t{1} << 58U;  // in elements, of 16 bytes at most
    const std::size_t alignment = std::max<std::size_t>(rules.alignment, tensor.dtype().alignment());
    const auto address = reinterpret_cast<std::uintptr_t>(tensor.data());
    return fits && count < furthest && reach < furthest && described.data != nullptr &&
           described.device.device_type == kDLCPU && described.dtype.bits >= 8 && (address & (alignment - 1)) == 0 &&
           rules.strides != StrideSupport::compact && (!tensor.is_read_only() || rules.imports_read_only);
}

}  // namespace

NativeArray share_at_once(NativeArray array, ArrayLibrary& source, ArrayLibrary& target, Decline& import_failed) {
    const LibraryEntry& to = target.entry();
    const Manifest& rules = to.manifest();
    if (!rules.device_kinds.contains(DeviceKind::host) || !shares_host_memory(source.entry(), to)) return {};
    TensorView tensor;
    try {
        if (source.export_tensor(array, {.copy = CopyMode::never}, tensor)) return {};
    } catch (const CannotShare&) {
        return {};  // a copy may do
    }
    const DType dtype = tensor.dtype();
    const bool settled = target.settled_dtypes().contains(dtype);
    if (!settled && !(rules.dtypes.contains(dtype) && target.supports(dtype))) return {};
    if (!is_ordinary(tensor, rules)) return {};
    NativeArray result;
    try {
        import_failed = target.import_tensor(tensor, {}, result);
    } catch (const FrameworkError& error) {
        if (error.must_propagate()) throw;
        import_failed = Decline{error.what()};
    }
    return import_failed ? NativeArray{} : result;
}

}  // namespace arraybridge
