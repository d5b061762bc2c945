// The operations, each by the function of NumPy that does it. They run on whatever array NumPy accepts there.

#include <string>

#include "arraybridge/error.hpp"
#include "numpy_dtypes.hpp"
#include "numpy_library.hpp"

namespace arraybridge {

namespace {

using python::attribute;
using python::call;
using python::call_method;
using python::call_with;
using python::checked;
using python::Object;

Object dtype_object(DType dtype) { return Object::steal(reinterpret_cast<PyObject*>(to_numpy_dtype(dtype))); }

Object reduce(PyObject* module, const char* function, PyObject* array, const Axes& axes) {
    PyObject* arguments[] = {array};
    return call_with(attribute(module, function).get(), arguments, "axis", python::to_axis(axes).get());
}

}  // namespace

NativeArray NumpyLibrary::max(NativeArray array, const Axes& axes) {
    return native(reduce(module(), "max", object(array), axes));
}

NativeArray NumpyLibrary::min(NativeArray array, const Axes& axes) {
    return native(reduce(module(), "min", object(array), axes));
}

NativeArray NumpyLibrary::mean(NativeArray array, const Axes& axes) {
    return native(reduce(module(), "mean", object(array), axes));
}

NativeArray NumpyLibrary::sum(NativeArray array, const Axes& axes) {
    return native(reduce(module(), "sum", object(array), axes));
}

NativeArray NumpyLibrary::astype(NativeArray array, DType dtype) {
    PyObject* arguments[] = {dtype_object(dtype).release()};
    const Object held = Object::steal(arguments[0]);
    return native(call_with(attribute(object(array), "astype").get(), arguments, "copy", Py_False));
}

NativeArray NumpyLibrary::reshape(NativeArray array, const Shape& shape) {
    return native(call_method(object(array), "reshape", python::to_tuple(shape).get()));
}

NativeArray NumpyLibrary::broadcast_to(NativeArray array, const Shape& shape) {
    return native(call_method(module(), "broadcast_to", object(array), python::to_tuple(shape).get()));
}

NativeArray NumpyLibrary::ones_like(NativeArray reference, const std::optional<Shape>& shape, DType dtype) {
    const Object extents = shape ? python::to_tuple(*shape) : attribute(object(reference), "shape");
    return native(call_method(module(), "ones", extents.get(), dtype_object(dtype).get()));
}

NativeArray NumpyLibrary::prepend_axis(NativeArray array) {
    Shape shape = python::to_shape(attribute(object(array), "shape").get());
    shape.insert(shape.begin(), 1);
    return reshape(array, shape);
}

NativeArray NumpyLibrary::assign(NativeArray array, const Slice& slice, NativeArray values) {
    if (PyObject_SetItem(object(array), python::to_slice(slice).get(), object(values)) < 0) python::throw_error();
    return native(Object::borrow(object(array)));
}

NativeArray NumpyLibrary::logical_and(NativeArray left, NativeArray right) {
    return native(call_method(module(), "logical_and", object(left), object(right)));
}

NativeArray NumpyLibrary::stack_arrays(std::span<const NativeArray> arrays, const Device& device) {
    if (!device.is_host()) throw DeviceUnavailable("NumPy has no " + label(device) + " device");
    const Object list = checked(PyList_New(static_cast<Py_ssize_t>(arrays.size())));
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), Object::borrow(object(arrays[i])).release());
    }
    return native(call_method(module(), "stack", list.get()));
}

NativeArray NumpyLibrary::native_linspace(double start, double stop, std::int64_t count, bool endpoint) {
    return native(checked(PyObject_CallMethod(module(), "linspace", "ddLO", start, stop, static_cast<long long>(count),
                                              endpoint ? Py_True : Py_False)));
}

NativeArray NumpyLibrary::native_ones(const Shape& shape, DType dtype) {
    return native(call_method(module(), "ones", python::to_tuple(shape).get(), dtype_object(dtype).get()));
}

NativeArray NumpyLibrary::native_outer(NativeArray left, NativeArray right) {
    return native(call_method(module(), "outer", object(left), object(right)));
}

NativeArray NumpyLibrary::native_floor(double value) {
    return native(call_method(module(), "floor", checked(PyFloat_FromDouble(value)).get()));
}

}  // namespace arraybridge
