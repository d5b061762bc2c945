#pragma once

#include <dlpack/dlpack.h>

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "arraybridge/device.hpp"
#include "arraybridge/dtype.hpp"
#include "arraybridge/visibility.hpp"

namespace arraybridge {

/// The most dimensions an array may have here; NumPy 2 and PyTorch stop at 64.
inline constexpr std::int32_t max_ndim = 64;

/// Gives up the one reference to what keeps a tensor's memory alive. Called from any thread; must not throw. Its
/// address also tells the kind of owner: a consumer that knows it can take the owner over directly (NumPy makes a
/// Python object the base of its array).
using Release = void (*)(void* object) noexcept;

/// One reference to whatever keeps a tensor's memory alive. Move-only; empty when the memory is borrowed.
class Owner {
public:
    constexpr Owner() noexcept = default;
    constexpr Owner(void* object, Release release) noexcept : object_(object), release_(release) {}
    Owner(Owner&& other) noexcept
        : object_(std::exchange(other.object_, nullptr)), release_(std::exchange(other.release_, nullptr)) {}
    Owner& operator=(Owner&& other) noexcept {
        if (this != &other) {
            reset();
            object_ = std::exchange(other.object_, nullptr);
            release_ = std::exchange(other.release_, nullptr);
        }
        return *this;
    }
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    ~Owner() { reset(); }

    void reset() noexcept {
        if (release_ != nullptr) std::exchange(release_, nullptr)(std::exchange(object_, nullptr));
    }

    constexpr explicit operator bool() const noexcept { return release_ != nullptr; }

    /// Whether `release` is how this owner is let go.
    constexpr bool is(Release release) const noexcept { return release_ == release; }
    constexpr void* object() const noexcept { return object_; }

    /// Hands the reference to the caller, who now has to release it.
    void* take() noexcept {
        release_ = nullptr;
        return std::exchange(object_, nullptr);
    }

private:
    void* object_ = nullptr;
    Release release_ = nullptr;
};

/// What a tensor's memory is, beyond its DLPack description.
enum TensorFlags : std::uint32_t {
    tensor_read_only = 1U << 0U,    ///< nobody may write through this view
    tensor_copied = 1U << 1U,       ///< the exporter made fresh memory for it: it aliases no array
    tensor_padded = 1U << 2U,       ///< elements narrower than a byte are stored one to a byte
    tensor_file_backed = 1U << 3U,  ///< a read-only mapping of a file, which may be mapped again
};

/// A described piece of memory: where it is, its shape, strides, dtype and device, and what keeps it alive.
///
/// `data()` stays valid while the view holds its owner (or, for a borrowed view, while the array it was taken from
/// lives). `shape()` and `strides()` may point into that array: they are valid until it is reshaped in place.
class ARRAYBRIDGE_API TensorView {
public:
    TensorView() noexcept : tensor_{} {}
    TensorView(TensorView&& other) noexcept;
    TensorView& operator=(TensorView&& other) noexcept;
    TensorView(const TensorView&) = delete;
    TensorView& operator=(const TensorView&) = delete;
    ~TensorView() = default;

    /// Address of the first element, the byte offset added; null only if there are no elements.
    void* data() const noexcept { return static_cast<char*>(tensor_.data) + tensor_.byte_offset; }
    template <class T>
    T* data_as() const noexcept {
        return static_cast<T*>(data());
    }

    std::int32_t ndim() const noexcept { return tensor_.ndim; }

    /// Extent along each axis, in elements.
    std::span<const std::int64_t> shape() const noexcept {
        return {tensor_.shape, static_cast<std::size_t>(tensor_.ndim)};
    }

    /// Step along each axis, in elements, negative or zero allowed. Empty for a compact row-major tensor whose
    /// exporter gave no strides (DLPack before 1.2).
    std::span<const std::int64_t> strides() const noexcept {
        return {tensor_.strides, tensor_.strides == nullptr ? 0 : static_cast<std::size_t>(tensor_.ndim)};
    }

    DType dtype() const noexcept { return DType{tensor_.dtype}; }

    /// Number of elements; 1 for a tensor without axes.
    std::int64_t size() const noexcept;

    /// Bytes that the elements take when they lie close together.
    std::int64_t nbytes() const noexcept { return size() * static_cast<std::int64_t>(dtype().itemsize()); }

    /// Whether the elements lie in row-major order without gaps.
    bool is_contiguous() const noexcept;

    bool is_read_only() const noexcept { return (flags & tensor_read_only) != 0; }

    /// The DLPack description, for exporters to fill in and importers to read.
    DLTensor& dlpack() noexcept { return tensor_; }
    const DLTensor& dlpack() const noexcept { return tensor_; }

    /// Room for a shape and strides that the exporter has to compute; `dlpack()` may point into it.
    std::array<std::int64_t, max_ndim>& shape_storage() noexcept { return shape_storage_; }
    std::array<std::int64_t, max_ndim>& stride_storage() noexcept { return stride_storage_; }

    /// Copies shape and strides into the view: it then no longer points into the array it was taken from.
    void own_extents() noexcept;

    std::uint32_t flags = 0;  ///< a combination of `TensorFlags`
    Owner owner;              ///< keeps `data()` alive
    Device device;            ///< the device in the numbering of the exporting library

private:
    void take_from(TensorView& other) noexcept;
    std::int64_t* keep(const std::int64_t* extents, std::array<std::int64_t, max_ndim>& storage) noexcept;

    DLTensor tensor_;
    // Left uninitialised: an exporter that needs them writes the first ndim entries.
    std::array<std::int64_t, max_ndim> shape_storage_;
    std::array<std::int64_t, max_ndim> stride_storage_;
};

/// The place that a DLPack device stands for: all kinds of host memory are HOST, GPUs are accelerators by their number,
/// anything else is named the way frameworks name it ("mps:0").
ARRAYBRIDGE_API Device device_from_dlpack(DLDevice device);

}  // namespace arraybridge
