#pragma once

#include <cstdint>

#include "arraybridge/array.hpp"
#include "arraybridge/array_library.hpp"
#include "arraybridge/visibility.hpp"

namespace arraybridge {

/// Making arrays without a reference array, on the library's default device: a capability that a library may lack.
class ARRAYBRIDGE_API ArrayMath {
public:
    static constexpr CapabilityId capability{"arraybridge.ArrayMath/1"};

    explicit ArrayMath(ArrayLibrary& library) noexcept : library_(&library) {}
    ArrayMath(const ArrayMath&) = delete;
    ArrayMath& operator=(const ArrayMath&) = delete;
    virtual ~ArrayMath();

    /// `count` evenly spaced values from `start` to `stop`, which is the last one if `endpoint`.
    Array linspace(double start, double stop, std::int64_t count, bool endpoint);
    Array ones(const Shape& shape, DType dtype);
    /// The outer product of two vectors.
    Array outer(const Array& left, const Array& right);
    /// The largest integer not above `value`, as an array without axes.
    Array floor(double value);

    // ----- what a library implements; called inside its call scope -----
    virtual NativeArray native_linspace(double start, double stop, std::int64_t count, bool endpoint) = 0;
    virtual NativeArray native_ones(const Shape& shape, DType dtype) = 0;
    virtual NativeArray native_outer(NativeArray left, NativeArray right) = 0;
    virtual NativeArray native_floor(double value) = 0;

private:
    ArrayLibrary* library_;
};

}  // namespace arraybridge
