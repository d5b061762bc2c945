// The operations, each by the functions of PyTorch that do it. They run on whatever tensor PyTorch accepts there: no
// value is looked at, so that gradients, vmap, meta and fake tensors pass through, and no accelerator is waited for.

#include <limits>
#include <vector>

#include "arraybridge/intensity_range.hpp"
#include "torch_library.hpp"

namespace arraybridge {

namespace {

using python::attribute;
using python::call;
using python::call_method;
using python::call_with;
using python::checked;
using python::Object;

Object number(double value) { return checked(PyFloat_FromDouble(value)); }

/// All axes are asked for by leaving them out, which every version of PyTorch takes.
Object reduce(PyObject* torch, const char* function, PyObject* tensor, const Axes& axes) {
    const Object callable = attribute(torch, function);
    if (axes.all()) return call(callable.get(), tensor);
    PyObject* arguments[] = {tensor};
    return call_with(callable.get(), arguments, "dim", python::to_axis(axes).get());
}

/// The largest or smallest values. PyTorch cannot compare uint16 on every device; float32 holds each of them exactly.
Object extreme(PyObject* torch, const char* function, PyObject* tensor, const Axes& axes, PyObject* uint16) {
    const Object dtype = attribute(tensor, "dtype");
    if (dtype.get() != uint16) return reduce(torch, function, tensor, axes);
    const Object values = call_method(tensor, "float");
    return call_method(reduce(torch, function, values.get(), axes).get(), "to", dtype.get());
}

Object stack(PyObject* torch, const std::vector<Object>& tensors) {
    const Object list = checked(PyList_New(static_cast<Py_ssize_t>(tensors.size())));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), Object{tensors[i]}.release());
    }
    return call_method(torch, "stack", list.get());
}

void check_one_scale_per_plane(PyObject* tensor, std::size_t scales) {
    const Object shape = attribute(tensor, "shape");
    const Py_ssize_t axes = PyObject_Size(shape.get());
    if (axes < 0) python::throw_error();
    if (axes == 0) {
        PyErr_SetString(PyExc_IndexError, "a tensor without axes has no planes to normalize");
        python::throw_error();
    }
    const Py_ssize_t planes = PyObject_Size(tensor);
    if (planes < 0) python::throw_error();
    if (planes != static_cast<Py_ssize_t>(scales)) {
        PyErr_Format(PyExc_ValueError, "there are %zu scales for the %zd planes of the tensor's first axis", scales,
                     planes);
        python::throw_error();
    }
}

/// The values spread from `lowest` to `highest` over what `dtype` holds, still as floating-point numbers.
Object spread(PyObject* torch, PyObject* values, PyObject* lowest, PyObject* highest, DType dtype) {
    const Object extent = checked(PyNumber_Subtract(highest, lowest));
    const Object above = checked(PyNumber_Subtract(values, lowest));
    Object result = checked(PyNumber_TrueDivide(above.get(), extent.get()));
    const std::optional<IntensityRange> range = intensity_range(dtype);
    if (!range) return result;
    result = checked(PyNumber_Multiply(result.get(), number(range->scale).get()));
    if (range->offset != 0.0) result = checked(PyNumber_Subtract(result.get(), number(range->offset).get()));
    return call_method(torch, "clamp", result.get(), number(range->lowest).get(), number(range->highest).get());
}

/// Whether the limits of the dtype's range are too large for a float16.
bool exceeds_float16(DType dtype) {
    const std::optional<IntensityRange> range = intensity_range(dtype);
    return range && (range->highest > 65504.0 || range->lowest < -65504.0);
}

}  // namespace

NativeArray TorchLibrary::max(NativeArray array, const Axes& axes) {
    PyObject* uint16 = dtypes_.contains(DType::uint16()) ? dtypes_.to_torch(DType::uint16()) : nullptr;
    return native(extreme(module(), "amax", object(array), axes, uint16));
}

NativeArray TorchLibrary::min(NativeArray array, const Axes& axes) {
    PyObject* uint16 = dtypes_.contains(DType::uint16()) ? dtypes_.to_torch(DType::uint16()) : nullptr;
    return native(extreme(module(), "amin", object(array), axes, uint16));
}

NativeArray TorchLibrary::mean(NativeArray array, const Axes& axes) {
    return native(reduce(module(), "mean", call_method(object(array), "float").get(), axes));
}

NativeArray TorchLibrary::sum(NativeArray array, const Axes& axes) {
    return native(reduce(module(), "sum", object(array), axes));
}

NativeArray TorchLibrary::astype(NativeArray array, DType dtype) {
    return native(call_method(object(array), "to", dtypes_.to_torch(dtype)));
}

NativeArray TorchLibrary::reshape(NativeArray array, const Shape& shape) {
    return native(call_method(object(array), "reshape", python::to_tuple(shape).get()));
}

NativeArray TorchLibrary::broadcast_to(NativeArray array, const Shape& shape) {
    return native(call_method(object(array), "expand", python::to_tuple(shape).get()));
}

NativeArray TorchLibrary::ones_like(NativeArray reference, const std::optional<Shape>& shape, DType dtype) {
    const Object extents = shape ? python::to_tuple(*shape) : attribute(object(reference), "shape");
    const Object device = attribute(object(reference), "device");
    const Object arguments = checked(Py_BuildValue("(O)", extents.get()));
    const Object keywords =
        checked(Py_BuildValue("{s:O,s:O}", "dtype", dtypes_.to_torch(dtype), "device", device.get()));
    return native(checked(PyObject_Call(attribute(module(), "ones").get(), arguments.get(), keywords.get())));
}

NativeArray TorchLibrary::prepend_axis(NativeArray array) {
    return native(call_method(object(array), "unsqueeze", checked(PyLong_FromLong(0)).get()));
}

NativeArray TorchLibrary::assign(NativeArray array, const Slice& slice, NativeArray values) {
    if (PyObject_SetItem(object(array), python::to_slice(slice).get(), object(values)) < 0) python::throw_error();
    return native(Object::borrow(object(array)));
}

NativeArray TorchLibrary::logical_and(NativeArray left, NativeArray right) {
    return native(call_method(module(), "logical_and", object(left), object(right)));
}

NativeArray TorchLibrary::stack_arrays(std::span<const NativeArray> arrays, const Device& device) {
    require_device(device);
    std::vector<Object> tensors(arrays.size());
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        // A meta tensor has no values to move.
        const bool is_there = device_of(arrays[i]) == device || python::true_attribute(object(arrays[i]), "is_meta");
        tensors[i] =
            is_there ? Object::borrow(object(arrays[i])) : Object::steal(object(move_to_device(arrays[i], device)));
    }
    return native(stack(module(), tensors));
}

NativeArray TorchLibrary::normalize_planes(NativeArray array, DType dtype,
                                           std::span<const std::optional<double>> scales) {
    check_one_scale_per_plane(object(array), scales.size());
    const Object cast = call_method(object(array), "to", dtypes_.to_torch(dtype));
    const Object unbound = call_method(cast.get(), "unbind");
    std::vector<Object> planes(scales.size());
    for (std::size_t i = 0; i < scales.size(); ++i) {
        planes[i] = Object::borrow(PyTuple_GetItem(unbound.get(), static_cast<Py_ssize_t>(i)));
        if (!planes[i]) python::throw_error();
        if (scales[i]) planes[i] = checked(PyNumber_TrueDivide(planes[i].get(), number(*scales[i]).get()));
    }
    return native(stack(module(), planes));
}

NativeArray TorchLibrary::scale_dtype(NativeArray array, DType dtype) {
    PyObject* target = dtypes_.to_torch(dtype);
    Object values = Object::borrow(object(array));
    const std::optional<DType> source = dtypes_.from_torch(attribute(values.get(), "dtype").get());
    const bool is_float = source == DType::float16() || source == DType::float32() || source == DType::float64();
    if (!is_float || !takes_spread_intensities(dtype)) return native(call_method(values.get(), "to", target));
    // clamp() refuses limits that the tensor's dtype does not hold.
    if (source == DType::float16() && exceeds_float16(dtype)) values = call_method(values.get(), "float");
    const Object lowest = call_method(values.get(), "min");
    const Object highest = call_method(values.get(), "max");
    const Object scaled = spread(module(), values.get(), lowest.get(), highest.get(), dtype);
    // A constant array has nothing to spread and is only cast. Choosing by where() and not by if asks for no value.
    const Object constant = checked(PyObject_RichCompare(highest.get(), lowest.get(), Py_LE));
    const Object chosen = call_method(module(), "where", constant.get(), values.get(), scaled.get());
    return native(call_method(chosen.get(), "to", target));
}

NativeArray TorchLibrary::native_linspace(double start, double stop, std::int64_t count, bool endpoint) {
    // Without the end point, it is one value more of which the last one is dropped.
    const bool one_more = !endpoint && count < std::numeric_limits<std::int64_t>::max();
    const Object steps = checked(PyLong_FromLongLong(one_more ? count + 1 : count));
    const Object first = number(start);
    const Object last = number(stop);
    PyObject* arguments[] = {first.get(), last.get(), steps.get()};
    Object values =
        call_with(attribute(module(), "linspace").get(), arguments, "dtype", dtypes_.to_torch(DType::float32()));
    if (endpoint) return native(std::move(values));
    return native(
        checked(PyObject_GetItem(values.get(), python::to_slice({.start = {}, .stop = -1, .step = {}}).get())));
}

NativeArray TorchLibrary::native_ones(const Shape& shape, DType dtype) {
    const Object extents = python::to_tuple(shape);
    PyObject* arguments[] = {extents.get()};
    return native(call_with(attribute(module(), "ones").get(), arguments, "dtype", dtypes_.to_torch(dtype)));
}

NativeArray TorchLibrary::native_outer(NativeArray left, NativeArray right) {
    return native(call_method(module(), "outer", object(left), object(right)));
}

NativeArray TorchLibrary::native_floor(double value) {
    const Object scalar = call_method(module(), "tensor", number(value).get());
    return native(call_method(module(), "floor", scalar.get()));
}

}  // namespace arraybridge
