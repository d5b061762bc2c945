#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arraybridge/array.hpp"
#include "arraybridge/device.hpp"
#include "arraybridge/dtype.hpp"
#include "arraybridge/exchange.hpp"
#include "arraybridge/managed_tensor.hpp"
#include "arraybridge/manifest.hpp"
#include "arraybridge/tensor_view.hpp"
#include "arraybridge/visibility.hpp"

namespace arraybridge {

class LibraryEntry;

/// Names a capability: an interface that a library may have besides `ArrayLibrary`. Compared by its text.
struct CapabilityId {
    std::string_view name;
    friend constexpr bool operator==(CapabilityId, CapabilityId) noexcept = default;
};

/// The axes of a reduction: none given means all of them. Negative axes count from the end.
class Axes {
public:
    /// Every axis.
    constexpr Axes() noexcept = default;
    Axes(int axis)
        : some_(true), axes_{axis} {}  // NOLINT(google-explicit-constructor): max(stack, 0) is the usual call
    Axes(std::initializer_list<int> axes) : some_(true), axes_(axes) {}
    explicit Axes(std::vector<int> axes) : some_(true), axes_(std::move(axes)) {}

    bool all() const noexcept { return !some_; }
    const std::vector<int>& list() const noexcept { return axes_; }

private:
    bool some_ = false;
    std::vector<int> axes_;
};

/// A range of positions along the first axis, the way Python's slice means it. Empty means "from the end there".
struct Slice {
    std::optional<std::int64_t> start;
    std::optional<std::int64_t> stop;
    std::optional<std::int64_t> step;
};

using Shape = std::vector<std::int64_t>;

/// One array library, seen the same way whatever it is: recognition, devices, export and import, and operations that
/// run in the library, on the device of their input.
///
/// The functions that take `Array` are for callers. They enter the library's call scope (a Python framework takes the
/// GIL there) and keep count of references. The virtual functions that take `NativeArray` are what a plugin implements;
/// they are called inside a call scope, may be called from many threads, and report a failure by throwing.
///
/// A library object is created once, on first use, and never destroyed.
class ARRAYBRIDGE_API ArrayLibrary {
public:
    explicit ArrayLibrary(const LibraryEntry& entry) noexcept : entry_(&entry) {}
    ArrayLibrary(const ArrayLibrary&) = delete;
    ArrayLibrary& operator=(const ArrayLibrary&) = delete;
    virtual ~ArrayLibrary();

    /// The entry of the registry that this object belongs to, and its manifest.
    const LibraryEntry& entry() const noexcept { return *entry_; }
    const Manifest& manifest() const noexcept;
    const std::string& name() const noexcept;

    // ----- for callers -----

    Device device_of(const Array& array);
    std::vector<Device> available_devices();

    /// Throws DeviceUnavailable, which names the devices there are, unless the library has `device`.
    void require_device(const Device& device);

    /// The array on `device`: the very array when it is there already.
    Array move_to_device(const Array& array, const Device& device);

    /// Takes over a DLPack tensor that some producer made on `producer_stream`: shared where this library can, else
    /// copied. Throws InvalidTensor for one that is not well-formed, CannotShare for one that it cannot take.
    Array from_dlpack(ManagedTensor tensor, CopyMode copy = CopyMode::as_needed, Stream producer_stream = no_stream);

    Array max(const Array& array, const Axes& axes = {});
    Array min(const Array& array, const Axes& axes = {});
    Array mean(const Array& array, const Axes& axes = {});
    Array sum(const Array& array, const Axes& axes = {});
    Array astype(const Array& array, DType dtype);
    Array reshape(const Array& array, const Shape& shape);
    Array broadcast_to(const Array& array, const Shape& shape);
    /// Ones on the device of `reference`, in its shape unless another is given.
    Array ones_like(const Array& reference, const std::optional<Shape>& shape = {}, DType dtype = DType::boolean());
    Array prepend_axis(const Array& array);
    /// `array` with `array[slice] = values`: the same array where the library's arrays are mutable, else a new one.
    Array assign(const Array& array, const Slice& slice, const Array& values);
    Array logical_and(const Array& left, const Array& right);
    /// The arrays along a new first axis, on `device`.
    Array stack_arrays(std::span<const Array> arrays, const Device& device);
    /// Every plane of the first axis as `dtype`, divided by its scale where one is given.
    Array normalize_planes(const Array& array, DType dtype, std::span<const std::optional<double>> scales);
    /// As `dtype`; float intensities are spread over an integer dtype's range.
    Array scale_dtype(const Array& array, DType dtype);

    /// The capability `Interface` of this library. Throws UnsupportedOperation if it has none.
    template <class Interface>
    Interface& require() {
        if (void* found = query(Interface::capability)) return *static_cast<Interface*>(found);
        throw_missing_capability(Interface::capability);
    }

    // ----- for plugins: what a library implements -----

    /// The interface that `id` names, or null. How interfaces are added without changing this table.
    virtual void* query(CapabilityId id) noexcept;

    /// Entering and leaving the state in which the functions below may be called. Nests.
    virtual void* enter_call();
    virtual void leave_call(void* token) noexcept;

    /// One more or one less reference to a native array. `release` is legal from any thread, outside a call scope.
    virtual void retain(NativeArray array) noexcept = 0;
    virtual void release(NativeArray array) noexcept = 0;

    /// Whether the object is an array of this library.
    virtual bool accepts(NativeArray array) = 0;

    /// What the object is, for messages: its type's name.
    virtual std::string describe(NativeArray array) = 0;

    virtual Device device_of(NativeArray array) = 0;

    /// Every device this library can place arrays on now, main memory first.
    virtual std::vector<Device> devices() = 0;

    /// The array on `device`, which the library has and which is not the array's own.
    virtual NativeArray move_to_device(NativeArray array, const Device& device) = 0;

    /// A copy of the array on its own device, made by the library; null if its memory may simply be copied. For arrays
    /// that are more than memory: of a subclass, of a dtype that no other library has, part of a computation.
    virtual NativeArray copy(NativeArray array);

    /// The stream on which the library works on `device` now; `no_stream` for host memory and where there are none.
    virtual Stream current_stream(const Device& device);

    /// Describes the array's memory in `out`, with an owner that keeps it alive. Declines what it cannot describe that
    /// way or, under CopyMode::never, without copying. Throws UnsupportedArray for what has no values at all.
    virtual Decline export_tensor(NativeArray array, const ExportRequest& request, TensorView& out) = 0;

    /// Makes an array of `tensor`, which was validated and keeps to the manifest's import rules. Takes the owner over
    /// on success; on failure the caller's view still has it.
    virtual Decline import_tensor(TensorView& tensor, const ImportRequest& request, NativeArray& out) = 0;

    /// Dtypes that the library has however it is set up: for these nothing needs to be asked.
    const DTypeSet& settled_dtypes() const noexcept { return settled_dtypes_; }

    /// Whether the library, as it is set up now, has the dtype. The manifest's list is an upper bound. Throws
    /// NotInstalled for a dtype that a missing package would bring.
    virtual bool supports(DType dtype);

    virtual NativeArray max(NativeArray array, const Axes& axes);
    virtual NativeArray min(NativeArray array, const Axes& axes);
    virtual NativeArray mean(NativeArray array, const Axes& axes);
    virtual NativeArray sum(NativeArray array, const Axes& axes);
    virtual NativeArray astype(NativeArray array, DType dtype);
    virtual NativeArray reshape(NativeArray array, const Shape& shape);
    virtual NativeArray broadcast_to(NativeArray array, const Shape& shape);
    virtual NativeArray ones_like(NativeArray reference, const std::optional<Shape>& shape, DType dtype);
    virtual NativeArray prepend_axis(NativeArray array);
    virtual NativeArray assign(NativeArray array, const Slice& slice, NativeArray values);
    virtual NativeArray logical_and(NativeArray left, NativeArray right);
    virtual NativeArray stack_arrays(std::span<const NativeArray> arrays, const Device& device);
    virtual NativeArray normalize_planes(NativeArray array, DType dtype, std::span<const std::optional<double>> scales);
    virtual NativeArray scale_dtype(NativeArray array, DType dtype);

protected:
    /// To be told by the constructor of a library, if at all.
    void settle_dtypes(const DTypeSet& dtypes) noexcept { settled_dtypes_ = dtypes; }

private:
    /// The array as this library knows it. Throws UnsupportedArray for none, and for an array of another library.
    NativeArray own(const Array& array) const;
    friend class ArrayMath;

    [[noreturn]] void throw_missing_capability(CapabilityId id) const;
    [[noreturn]] void throw_missing_operation(std::string_view operation) const;

    const LibraryEntry* entry_;
    DTypeSet settled_dtypes_;
};

/// Inside this scope the functions of `library` that take `NativeArray` may be called.
class CallScope {
public:
    explicit CallScope(ArrayLibrary& library) : library_(library), token_(library.enter_call()) {}
    CallScope(const CallScope&) = delete;
    CallScope& operator=(const CallScope&) = delete;
    ~CallScope() { library_.leave_call(token_); }

private:
    ArrayLibrary& library_;
    void* token_;
};

}  // namespace arraybridge
