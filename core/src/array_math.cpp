#include "arraybridge/array_math.hpp"

namespace arraybridge {

ArrayMath::~ArrayMath() = default;

Array ArrayMath::linspace(double start, double stop, std::int64_t count, bool endpoint) {
    const CallScope scope(*library_);
    return Array::adopt(*library_, native_linspace(start, stop, count, endpoint));
}

Array ArrayMath::ones(const Shape& shape, DType dtype) {
    const CallScope scope(*library_);
    return Array::adopt(*library_, native_ones(shape, dtype));
}

Array ArrayMath::outer(const Array& left, const Array& right) {
    const CallScope scope(*library_);
    return Array::adopt(*library_, native_outer(library_->own(left), library_->own(right)));
}

Array ArrayMath::floor(double value) {
    const CallScope scope(*library_);
    return Array::adopt(*library_, native_floor(value));
}

}  // namespace arraybridge
