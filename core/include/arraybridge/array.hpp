#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "arraybridge/tensor_view.hpp"
#include "arraybridge/visibility.hpp"

namespace arraybridge {

class ArrayLibrary;

/// What a library knows one of its arrays by: a PyObject for a Python framework, an object of its own otherwise.
/// A parameter of this type is borrowed; a result of this type carries one reference that the caller has to give up.
struct NativeArray {
    void* pointer = nullptr;

    constexpr explicit operator bool() const noexcept { return pointer != nullptr; }
    friend constexpr bool operator==(NativeArray, NativeArray) noexcept = default;
};

/// A counted reference to one array of one library.
///
/// Copying and dropping touch an atomic counter only and are legal from any thread; the last drop gives the native
/// reference back to the library, which knows how to do that from a thread that its language has never seen.
class ARRAYBRIDGE_API Array {
public:
    /// No array.
    constexpr Array() noexcept = default;

    /// Takes over the one reference that `native` carries.
    static Array adopt(ArrayLibrary& library, NativeArray native);

    /// Adds a reference to `native` and keeps that.
    static Array share(ArrayLibrary& library, NativeArray native);

    Array(const Array& other) noexcept : block_(other.block_) {
        if (block_ != nullptr) block_->references.fetch_add(1, std::memory_order_relaxed);
    }
    Array(Array&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
    Array& operator=(Array other) noexcept {
        std::swap(block_, other.block_);
        return *this;
    }
    ~Array() { reset(); }

    /// Drops this reference.
    void reset() noexcept;

    explicit operator bool() const noexcept { return block_ != nullptr; }

    /// The library that made it. Precondition: there is an array.
    ArrayLibrary& library() const noexcept { return *block_->library; }

    /// The library's own object, borrowed: valid while this reference lives.
    NativeArray native() const noexcept { return block_ == nullptr ? NativeArray{} : block_->native; }

    /// The memory of an array that lies in main memory or on a device, without copying it. The view keeps the memory
    /// alive. Throws CannotShare if the library cannot describe it, UnsupportedArray if it has no values.
    TensorView view() const;

private:
    struct Block {
        std::atomic<std::uint64_t> references{1};
        ArrayLibrary* library;
        NativeArray native;
    };

    constexpr explicit Array(Block* block) noexcept : block_(block) {}

    Block* block_ = nullptr;
};

}  // namespace arraybridge
