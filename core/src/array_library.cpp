#include "arraybridge/array_library.hpp"

#include <algorithm>
#include <string>

#include "arraybridge/error.hpp"
#include "arraybridge/host_copy.hpp"
#include "arraybridge/registry.hpp"
#include "arraybridge/validate.hpp"
#include "require_device.hpp"

namespace arraybridge {

ArrayLibrary::~ArrayLibrary() = default;

const Manifest& ArrayLibrary::manifest() const noexcept { return entry_->manifest(); }

const std::string& ArrayLibrary::name() const noexcept { return entry_->name(); }

// ----- for callers -----

NativeArray ArrayLibrary::own(const Array& array) const {
    if (!array) throw UnsupportedArray("there is no array");
    // Compared by entry: a library object that came second in a race for the first use has arrays of its own.
    if (&array.library().entry() != entry_) {
        throw UnsupportedArray("an array of " + array.library().manifest().display_name + " is not an array of " +
                               manifest().display_name);
    }
    return array.native();
}

Device ArrayLibrary::device_of(const Array& array) {
    const CallScope scope(*this);
    return device_of(own(array));
}

std::vector<Device> ArrayLibrary::available_devices() {
    const CallScope scope(*this);
    return devices();
}

void ArrayLibrary::require_device(const Device& device) {
    const CallScope scope(*this);
    require_device_of(*this, device);
}

Array ArrayLibrary::move_to_device(const Array& array, const Device& device) {
    const CallScope scope(*this);
    require_device_of(*this, device);
    if (device_of(own(array)) == device) return array;
    return Array::adopt(*this, move_to_device(own(array), device));
}

Array ArrayLibrary::from_dlpack(ManagedTensor tensor, CopyMode copy, Stream producer_stream) {
    if (!tensor) throw InvalidTensor("there is no tensor to import");
    if (const Decline bad = check_well_formed(*tensor.get())) throw InvalidTensor(bad.reason());
    const Device device = device_from_dlpack(tensor->dl_tensor.device);
    TensorView view = std::move(tensor).into_view(device);
    const CallScope scope(*this);
    if (!manifest().dlpack_import_from.contains(device.kind())) {
        throw CannotShare(manifest().display_name + " cannot take over memory on " + label(device));
    }
    require_device_of(*this, device);
    if (!manifest().dtypes.contains(view.dtype()) || !supports(view.dtype())) {
        throw UnsupportedArray(manifest().display_name + " has no dtype " + view.dtype().name());
    }
    const Decline unimportable = check_layout(view, manifest());
    if (unimportable && (copy == CopyMode::never || !device.is_host())) throw CannotShare(unimportable.reason());
    if (copy == CopyMode::always && !device.is_host()) {
        throw CannotShare("a copy of a tensor on " + label(device) + " is made by the library that has it");
    }
    if (unimportable || copy == CopyMode::always) view = copy_on_host(view);
    if (const Decline still = check_layout(view, manifest())) throw CannotShare(still.reason());
    NativeArray result;
    if (const Decline declined =
            import_tensor(view, {.device = device, .copy = copy, .producer_stream = producer_stream}, result)) {
        throw CannotShare(declined.reason());
    }
    return Array::adopt(*this, result);
}

Array ArrayLibrary::max(const Array& array, const Axes& axes) {
    const CallScope scope(*this);
    return Array::adopt(*this, max(own(array), axes));
}

Array ArrayLibrary::min(const Array& array, const Axes& axes) {
    const CallScope scope(*this);
    return Array::adopt(*this, min(own(array), axes));
}

Array ArrayLibrary::mean(const Array& array, const Axes& axes) {
    const CallScope scope(*this);
    return Array::adopt(*this, mean(own(array), axes));
}

Array ArrayLibrary::sum(const Array& array, const Axes& axes) {
    const CallScope scope(*this);
    return Array::adopt(*this, sum(own(array), axes));
}

Array ArrayLibrary::astype(const Array& array, DType dtype) {
    const CallScope scope(*this);
    return Array::adopt(*this, astype(own(array), dtype));
}

Array ArrayLibrary::reshape(const Array& array, const Shape& shape) {
    const CallScope scope(*this);
    return Array::adopt(*this, reshape(own(array), shape));
}

Array ArrayLibrary::broadcast_to(const Array& array, const Shape& shape) {
    const CallScope scope(*this);
    return Array::adopt(*this, broadcast_to(own(array), shape));
}

Array ArrayLibrary::ones_like(const Array& reference, const std::optional<Shape>& shape, DType dtype) {
    const CallScope scope(*this);
    return Array::adopt(*this, ones_like(own(reference), shape, dtype));
}

Array ArrayLibrary::prepend_axis(const Array& array) {
    const CallScope scope(*this);
    return Array::adopt(*this, prepend_axis(own(array)));
}

Array ArrayLibrary::assign(const Array& array, const Slice& slice, const Array& values) {
    const CallScope scope(*this);
    return Array::adopt(*this, assign(own(array), slice, own(values)));
}

Array ArrayLibrary::logical_and(const Array& left, const Array& right) {
    const CallScope scope(*this);
    return Array::adopt(*this, logical_and(own(left), own(right)));
}

Array ArrayLibrary::stack_arrays(std::span<const Array> arrays, const Device& device) {
    const CallScope scope(*this);
    std::vector<NativeArray> natives(arrays.size());
    std::transform(arrays.begin(), arrays.end(), natives.begin(), [this](const Array& array) { return own(array); });
    return Array::adopt(*this, stack_arrays(natives, device));
}

Array ArrayLibrary::normalize_planes(const Array& array, DType dtype, std::span<const std::optional<double>> scales) {
    const CallScope scope(*this);
    return Array::adopt(*this, normalize_planes(own(array), dtype, scales));
}

Array ArrayLibrary::scale_dtype(const Array& array, DType dtype) {
    const CallScope scope(*this);
    return Array::adopt(*this, scale_dtype(own(array), dtype));
}

// ----- what a library has unless it says otherwise -----

void* ArrayLibrary::query(CapabilityId) noexcept { return nullptr; }

void* ArrayLibrary::enter_call() { return nullptr; }

void ArrayLibrary::leave_call(void*) noexcept {}

NativeArray ArrayLibrary::copy(NativeArray) { return {}; }

Stream ArrayLibrary::current_stream(const Device&) { return no_stream; }

bool ArrayLibrary::supports(DType dtype) { return manifest().dtypes.contains(dtype); }

NativeArray ArrayLibrary::max(NativeArray, const Axes&) { throw_missing_operation("max"); }
NativeArray ArrayLibrary::min(NativeArray, const Axes&) { throw_missing_operation("min"); }
NativeArray ArrayLibrary::mean(NativeArray, const Axes&) { throw_missing_operation("mean"); }
NativeArray ArrayLibrary::sum(NativeArray, const Axes&) { throw_missing_operation("sum"); }
NativeArray ArrayLibrary::astype(NativeArray, DType) { throw_missing_operation("astype"); }
NativeArray ArrayLibrary::reshape(NativeArray, const Shape&) { throw_missing_operation("reshape"); }
NativeArray ArrayLibrary::broadcast_to(NativeArray, const Shape&) { throw_missing_operation("broadcast_to"); }
NativeArray ArrayLibrary::ones_like(NativeArray, const std::optional<Shape>&, DType) {
    throw_missing_operation("ones_like");
}
NativeArray ArrayLibrary::prepend_axis(NativeArray) { throw_missing_operation("prepend_axis"); }
NativeArray ArrayLibrary::assign(NativeArray, const Slice&, NativeArray) { throw_missing_operation("assign"); }
NativeArray ArrayLibrary::logical_and(NativeArray, NativeArray) { throw_missing_operation("logical_and"); }
NativeArray ArrayLibrary::stack_arrays(std::span<const NativeArray>, const Device&) {
    throw_missing_operation("stack_arrays");
}
NativeArray ArrayLibrary::normalize_planes(NativeArray, DType, std::span<const std::optional<double>>) {
    throw_missing_operation("normalize_planes");
}
NativeArray ArrayLibrary::scale_dtype(NativeArray, DType) { throw_missing_operation("scale_dtype"); }

void ArrayLibrary::throw_missing_capability(CapabilityId id) const {
    throw UnsupportedOperation(manifest().display_name + " does not have " + std::string(id.name));
}

void ArrayLibrary::throw_missing_operation(std::string_view operation) const {
    throw UnsupportedOperation(manifest().display_name + " does not have the operation " + std::string(operation));
}

}  // namespace arraybridge
