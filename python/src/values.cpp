#include "values.hpp"

#include <string>

#include "arraybridge/python/call.hpp"

namespace arraybridge::extension {

namespace {

using python::attribute;
using python::checked;
using python::Object;

PyObject* host_class = nullptr;
PyObject* accelerator_class = nullptr;
PyObject* named_class = nullptr;

[[noreturn]] void throw_type_error(const std::string& message) {
    PyErr_SetString(PyExc_TypeError, message.c_str());
    python::throw_error();
}

std::string text_from(PyObject* object) {
    const char* text = PyUnicode_AsUTF8(object);
    if (text == nullptr) python::throw_error();
    return text;
}

std::int64_t integer_from(PyObject* object) {
    const Object index = checked(PyNumber_Index(object));
    const std::int64_t value = PyLong_AsLongLong(index.get());
    if (value == -1 && PyErr_Occurred() != nullptr) python::throw_error();
    return value;
}

/// A number that no array has an axis for must not wrap around to one that it has.
int axis_from(std::int64_t number) {
    if (number >= -max_ndim && number < max_ndim) return static_cast<int>(number);
    PyErr_Format(PyExc_IndexError, "there is no axis %lld", static_cast<long long>(number));
    python::throw_error();
}

}  // namespace

PyObject* host_object = nullptr;

void load_device_classes() {
    const Object devices = checked(PyImport_ImportModule("arraybridge.devices"));
    host_object = attribute(devices.get(), "HOST").release();
    host_class = attribute(devices.get(), "HostDevice").release();
    accelerator_class = attribute(devices.get(), "AcceleratorDevice").release();
    named_class = attribute(devices.get(), "NamedDevice").release();
}

Device slow_device_from(PyObject* object) {
    if (python::is_instance(object, host_class)) return HOST;
    if (python::is_instance(object, accelerator_class)) {
        const std::int64_t index = integer_from(attribute(object, "index").get());
        if (index < INT32_MIN || index > INT32_MAX) {
            PyErr_Format(PyExc_ValueError, "there is no accelerator %lld", static_cast<long long>(index));
            python::throw_error();
        }
        return Device::accelerator(static_cast<std::int32_t>(index));
    }
    if (python::is_instance(object, named_class)) return Device::named(text_from(attribute(object, "name").get()));
    throw_type_error("a device is HOST, AcceleratorDevice(index) or NamedDevice(name), not an object of type " +
                     std::string(Py_TYPE(object)->tp_name));
}

Object device_to_python(const Device& device) {
    switch (device.kind()) {
        case DeviceKind::host:
            return Object::borrow(host_object);
        case DeviceKind::accelerator:
            return python::call(accelerator_class, checked(PyLong_FromLong(device.index())).get());
        case DeviceKind::named:
            break;
    }
    return python::call(named_class, python::to_text(device.name()).get());
}

CopyMode copy_mode_from(PyObject* object) {
    if (object == nullptr || object == Py_None) return CopyMode::as_needed;
    if (object == Py_True) return CopyMode::always;
    if (object == Py_False) return CopyMode::never;
    throw_type_error("copy is None, True or False, not an object of type " + std::string(Py_TYPE(object)->tp_name));
}

DType dtype_from(PyObject* object) {
    if (PyUnicode_Check(object)) {
        if (const auto dtype = DType::parse(text_from(object))) return *dtype;
    }
    if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::boolean();
    if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::int64();
    if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::float64();
    if (object == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::complex128();
    // NumPy's and TensorFlow's dtypes have a name, scalar types one of a class, and torch's print it after a dot.
    Object name = python::optional_attribute(object, "name");
    if (!name || !PyUnicode_Check(name.get())) name = python::optional_attribute(object, "__name__");
    if (!name || !PyUnicode_Check(name.get())) name = checked(PyObject_Str(object));
    const std::string full = text_from(name.get());
    if (const auto dtype = DType::parse(full.substr(full.rfind('.') + 1))) return *dtype;
    // Anything else that NumPy understands: "f4", "<u2", a scalar type under another name.
    const Object numpy = Object::steal(PyImport_ImportModule("numpy"));
    const Object parsed = numpy ? Object::steal(PyObject_CallMethod(numpy.get(), "dtype", "O", object)) : Object{};
    if (parsed) {
        if (const auto dtype = DType::parse(text_from(attribute(parsed.get(), "name").get()))) return *dtype;
    }
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "Unsupported target dtype %R", object);
    python::throw_error();
}

Axes axes_from(PyObject* object) {
    if (object == nullptr || object == Py_None) return {};
    if (PyIndex_Check(object)) return axis_from(integer_from(object));
    std::vector<int> axes;
    for (const std::int64_t number : python::to_shape(object)) axes.push_back(axis_from(number));
    return Axes(std::move(axes));
}

Shape shape_from(PyObject* object) {
    if (PyIndex_Check(object)) return {integer_from(object)};
    return python::to_shape(object);
}

Slice slice_from(PyObject* object) {
    if (!PySlice_Check(object)) {
        throw_type_error("an index is a slice, not an object of type " + std::string(Py_TYPE(object)->tp_name));
    }
    const auto* slice = reinterpret_cast<PySliceObject*>(object);
    const auto bound = [](PyObject* value) {
        return value == Py_None ? std::optional<std::int64_t>{} : std::optional<std::int64_t>{integer_from(value)};
    };
    return {bound(slice->start), bound(slice->stop), bound(slice->step)};
}

}  // namespace arraybridge::extension
