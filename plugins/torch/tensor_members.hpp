#pragma once

#include "arraybridge/python/call.hpp"

namespace arraybridge {

// Members of torch.Tensor that are asked of every tensor. For a tensor of exactly that type (or Parameter) the C
// function behind the member is called directly: that spares the look-up and the checks of a call from Python, a third
// of the cost. Both hold their references for good, as the library that has them does.

/// A method without arguments.
class TensorMethod {
public:
    TensorMethod(PyTypeObject* tensor_type, const char* name)
        : descriptor_(python::attribute(reinterpret_cast<PyObject*>(tensor_type), name).release()) {
        if (!Py_IS_TYPE(descriptor_, &PyMethodDescr_Type)) return;
        const PyMethodDef* method = reinterpret_cast<PyMethodDescrObject*>(descriptor_)->d_method;
        if (method->ml_flags == METH_NOARGS) function_ = method->ml_meth;
    }

    /// A new reference to `tensor.method()`, or null with an error set.
    PyObject* operator()(PyObject* tensor) const noexcept {
        return function_ != nullptr ? function_(tensor, nullptr) : PyObject_CallOneArg(descriptor_, tensor);
    }

private:
    PyObject* descriptor_;
    PyCFunction function_ = nullptr;
};

/// A property.
class TensorProperty {
public:
    TensorProperty(PyTypeObject* tensor_type, const char* name) : name_(PyUnicode_InternFromString(name)) {
        if (name_ == nullptr) python::throw_error();
        const python::Object descriptor = python::attribute(reinterpret_cast<PyObject*>(tensor_type), name);
        if (!Py_IS_TYPE(descriptor.get(), &PyGetSetDescr_Type)) return;
        const PyGetSetDef* property = reinterpret_cast<PyGetSetDescrObject*>(descriptor.get())->d_getset;
        get_ = property->get;
        closure_ = property->closure;
    }

    /// A new reference to `tensor.property`, or null with an error set.
    PyObject* operator()(PyObject* tensor) const noexcept {
        return get_ != nullptr ? get_(tensor, closure_) : PyObject_GetAttr(tensor, name_);
    }

private:
    PyObject* name_;
    getter get_ = nullptr;
    void* closure_ = nullptr;
};

/// The answer of a member that is True or False. Throws what the member raised.
inline bool is_true(PyObject* answer) {
    const python::Object held = python::checked(answer);
    return held.get() == Py_True;
}

}  // namespace arraybridge
