// The operations, each by the function of NumPy that does it. They run on whatever array NumPy accepts there.

#include <vector>

#include "arraybridge/intensity_range.hpp"
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

Object number(double value) { return checked(PyFloat_FromDouble(value)); }

Object reduce(PyObject* module, const char* function, PyObject* array, const Axes& axes) {
    PyObject* arguments[] = {array};
    return call_with(attribute(module, function).get(), arguments, "axis", python::to_axis(axes).get());
}

/// The values as `dtype`: the array itself if it has that dtype.
Object cast(PyObject* array, DType dtype) {
    const Object descriptor = dtype_object(dtype);
    PyObject* arguments[] = {descriptor.get()};
    return call_with(attribute(array, "astype").get(), arguments, "copy", Py_False);
}

Object stack(PyObject* module, const std::vector<Object>& arrays) {
    const Object list = checked(PyList_New(static_cast<Py_ssize_t>(arrays.size())));
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), Object{arrays[i]}.release());
    }
    return call_method(module, "stack", list.get());
}

/// Whether NumPy counts the array's dtype among its own floating-point ones; those of ml_dtypes are not.
bool has_floating_dtype(PyObject* array) {
    const Object descriptor = attribute(array, "dtype");
    return PyArray_DescrCheck(descriptor.get()) &&
           PyTypeNum_ISFLOAT(reinterpret_cast<PyArray_Descr*>(descriptor.get())->type_num);
}

bool is_inexact(DType dtype) { return (dtype.code() == kDLFloat && dtype.bits() >= 16) || dtype.code() == kDLComplex; }

void check_one_scale_per_plane(PyObject* array, std::size_t scales) {
    const Shape shape = python::to_shape(attribute(array, "shape").get());
    if (shape.empty()) {
        PyErr_SetString(PyExc_IndexError, "an array without axes has no planes to normalize");
        python::throw_error();
    }
    if (shape.front() != static_cast<std::int64_t>(scales)) {
        PyErr_Format(PyExc_ValueError, "there are %zu scales for the %lld planes of the array's first axis", scales,
                     static_cast<long long>(shape.front()));
        python::throw_error();
    }
}

Object plane_at(PyObject* array, std::size_t index) {
    return checked(PySequence_GetItem(array, static_cast<Py_ssize_t>(index)));
}

/// A fresh array whose planes are divided where they are, which keeps its dtype.
Object normalized_in_place(PyObject* module, PyObject* array, DType dtype,
                           std::span<const std::optional<double>> scales) {
    PyObject* arguments[] = {array};
    Object normalized = call_with(attribute(module, "array").get(), arguments, "dtype", dtype_object(dtype).get());
    for (std::size_t i = 0; i < scales.size(); ++i) {
        if (!scales[i]) continue;
        const Object plane = plane_at(normalized.get(), i);
        const Object divided = checked(PyNumber_InPlaceTrueDivide(plane.get(), number(*scales[i]).get()));
        // Needed where a plane is a single number: that one is no view of the array.
        if (PySequence_SetItem(normalized.get(), static_cast<Py_ssize_t>(i), divided.get()) < 0) python::throw_error();
    }
    return normalized;
}

/// Dividing integers gives floating-point numbers, so that the planes decide together on the dtype of the result.
Object normalized_by_stacking(PyObject* module, PyObject* array, DType dtype,
                              std::span<const std::optional<double>> scales) {
    std::vector<Object> planes(scales.size());
    for (std::size_t i = 0; i < scales.size(); ++i) {
        planes[i] = cast(plane_at(array, i).get(), dtype);
        if (scales[i]) planes[i] = checked(PyNumber_TrueDivide(planes[i].get(), number(*scales[i]).get()));
    }
    return stack(module, planes);
}

/// The array's values spread from `lowest` to `highest` over what `dtype` holds, still as floating-point numbers. The
/// first step makes a new array, which the others change unless it is of a subclass: there operators may mean more.
Object spread(PyObject* module, PyObject* array, PyObject* lowest, PyObject* highest, DType dtype) {
    const Object extent = checked(PyNumber_Subtract(highest, lowest));
    Object values = checked(PyNumber_Subtract(array, lowest));
    const bool in_place = PyArray_CheckExact(values.get());
    values = checked((in_place ? PyNumber_InPlaceTrueDivide : PyNumber_TrueDivide)(values.get(), extent.get()));
    const std::optional<IntensityRange> range = intensity_range(dtype);
    if (!range) return values;
    const Object scale = number(range->scale);
    values = checked((in_place ? PyNumber_InPlaceMultiply : PyNumber_Multiply)(values.get(), scale.get()));
    if (range->offset != 0.0) {
        const Object offset = number(range->offset);
        values = checked((in_place ? PyNumber_InPlaceSubtract : PyNumber_Subtract)(values.get(), offset.get()));
    }
    return call_method(module, "clip", values.get(), number(range->lowest).get(), number(range->highest).get());
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

NativeArray NumpyLibrary::astype(NativeArray array, DType dtype) { return native(cast(object(array), dtype)); }

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
    require_device(device);
    std::vector<Object> objects(arrays.size());
    for (std::size_t i = 0; i < arrays.size(); ++i) objects[i] = Object::borrow(object(arrays[i]));
    return native(stack(module(), objects));
}

NativeArray NumpyLibrary::normalize_planes(NativeArray array, DType dtype,
                                           std::span<const std::optional<double>> scales) {
    check_one_scale_per_plane(object(array), scales.size());
    const bool in_place = is_inexact(dtype) && !scales.empty();
    return native(in_place ? normalized_in_place(module(), object(array), dtype, scales)
                           : normalized_by_stacking(module(), object(array), dtype, scales));
}

NativeArray NumpyLibrary::scale_dtype(NativeArray array, DType dtype) {
    Object values = Object::borrow(object(array));
    if (has_floating_dtype(values.get()) && takes_spread_intensities(dtype)) {
        const Object lowest = call_method(module(), "min", values.get());
        const Object highest = call_method(module(), "max", values.get());
        const Object constant = checked(PyObject_RichCompare(highest.get(), lowest.get(), Py_LE));
        const int is_constant = PyObject_IsTrue(constant.get());
        if (is_constant < 0) python::throw_error();
        if (is_constant == 0) values = spread(module(), values.get(), lowest.get(), highest.get(), dtype);
    }
    return native(call_method(values.get(), "astype", dtype_object(dtype).get()));
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
