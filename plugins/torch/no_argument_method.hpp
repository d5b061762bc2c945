#pragma once

#include "arraybridge/python/python.hpp"

namespace arraybridge {

/// The C function behind a method descriptor that takes no arguments; null if the descriptor is of another kind. Calling
/// it spares the look-up and the checks of a call from Python, a third of the cost; the caller has checked the type.
inline PyCFunction function_without_arguments(PyObject* descriptor) noexcept {
    if (!Py_IS_TYPE(descriptor, &PyMethodDescr_Type)) return nullptr;
    const PyMethodDef* method = reinterpret_cast<PyMethodDescrObject*>(descriptor)->d_method;
    return method->ml_flags == METH_NOARGS ? method->ml_meth : nullptr;
}

/// A new reference to `descriptor(self)`, or null with an error set.
inline PyObject* call_without_arguments(PyObject* descriptor, PyCFunction function, PyObject* self) noexcept {
    return function != nullptr ? function(self, nullptr) : PyObject_CallOneArg(descriptor, self);
}

}  // namespace arraybridge
