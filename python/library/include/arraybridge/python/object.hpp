#pragma once

#include <utility>

#include "arraybridge/python/python.hpp"

namespace arraybridge::python {

/// Owns one reference to a Python object. For use with the GIL held, in its destructor too.
class Object {
public:
    constexpr Object() noexcept = default;

    /// Takes over a new reference, or null.
    static Object steal(PyObject* object) noexcept { return Object{object}; }

    /// Adds a reference.
    static Object borrow(PyObject* object) noexcept {
        Py_XINCREF(object);
        return Object{object};
    }

    Object(const Object& other) noexcept : object_(other.object_) { Py_XINCREF(object_); }
    Object(Object&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Object& operator=(Object other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Object() { Py_XDECREF(object_); }

    explicit operator bool() const noexcept { return object_ != nullptr; }
    PyObject* get() const noexcept { return object_; }

    /// Hands the reference to the caller.
    PyObject* release() noexcept { return std::exchange(object_, nullptr); }

private:
    constexpr explicit Object(PyObject* object) noexcept : object_(object) {}

    PyObject* object_ = nullptr;
};

}  // namespace arraybridge::python
