#include "foreign_array.hpp"

#include <new>
#include <string>

#include "arraybridge/array_library.hpp"
#include "arraybridge/error.hpp"
#include "arraybridge/host_copy.hpp"
#include "arraybridge/legacy.hpp"
#include "arraybridge/managed_tensor.hpp"
#include "arraybridge/python/call.hpp"
#include "errors.hpp"

namespace arraybridge::extension {

namespace {

using python::checked;
using python::Object;

struct ForeignArray {
    PyObject_HEAD Array array;
};

Array& array_of(PyObject* self) { return reinterpret_cast<ForeignArray*>(self)->array; }

void deallocate(PyObject* self) {
    array_of(self).~Array();
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject* represent(PyObject* self) {
    return guarded([&] {
        const TensorView view = array_of(self).view();
        const Object shape = python::to_tuple(view.shape());
        return PyUnicode_FromFormat("<array of %s: shape %R, dtype %s>", array_of(self).library().name().c_str(),
                                    shape.get(), view.dtype().name().c_str());
    });
}

PyObject* shape(PyObject* self, void*) {
    return guarded([&] { return python::to_tuple(array_of(self).view().shape()).release(); });
}

PyObject* dtype(PyObject* self, void*) {
    return guarded([&] { return PyUnicode_FromString(array_of(self).view().dtype().name().c_str()); });
}

/// A capsule that nobody took releases its tensor.
void release_unused_versioned(PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned") == 0) return;
    const ManagedTensor unused(
        static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned")));
}

void release_unused_legacy(PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor") == 0) return;
    auto* tensor = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    tensor->deleter(tensor);
}

/// The array's memory as a consumer asked for it: on its own device, copied only if it said so.
TensorView exported(const Array& array, PyObject* device, PyObject* copy) {
    TensorView view = array.view();
    if (device != nullptr && device != Py_None) {
        int type = 0;
        int number = 0;
        // The format is for a sequence of one: what is not a pair is a TypeError and not an internal error.
        const Object arguments = checked(PyTuple_Pack(1, device));
        if (PyArg_ParseTuple(arguments.get(), "(ii)", &type, &number) == 0) python::throw_error();
        const DLDevice own = view.dlpack().device;
        if (type != static_cast<int>(own.device_type) || number != own.device_id) {
            throw CannotShare("the array is on " + label(view.device) + " and is not brought to another device");
        }
    }
    if (copy != Py_True) return view;
    if (!view.device.is_host()) throw CannotShare("an array on " + label(view.device) + " is not copied");
    return copy_on_host(view);
}

/// The array API's `__dlpack__`: versioned for a consumer that says it reads DLPack 1, the older struct otherwise.
PyObject* dlpack(PyObject* self, PyObject* arguments, PyObject* keywords) {
    static const char* names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
    PyObject *stream = nullptr, *max_version = nullptr, *device = nullptr, *copy = nullptr;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$OOOO", const_cast<char**>(names), &stream, &max_version,
                                     &device, &copy)) {
        return nullptr;
    }
    return guarded([&]() -> PyObject* {
        ManagedTensor tensor(exported(array_of(self), device, copy));
        int major = 0;
        int minor = 0;
        if (max_version != nullptr && max_version != Py_None) {
            const Object wrapped = checked(PyTuple_Pack(1, max_version));
            if (PyArg_ParseTuple(wrapped.get(), "(ii)", &major, &minor) == 0) python::throw_error();
        }
        if (major >= 1) {
            PyObject* capsule = PyCapsule_New(tensor.get(), "dltensor_versioned", &release_unused_versioned);
            if (capsule != nullptr) tensor.release();
            return capsule;
        }
        DLManagedTensor* legacy = to_legacy(std::move(tensor), false);
        PyObject* capsule = PyCapsule_New(legacy, "dltensor", &release_unused_legacy);
        if (capsule == nullptr) legacy->deleter(legacy);
        return capsule;
    });
}

PyObject* dlpack_device(PyObject* self, PyObject*) {
    return guarded([&] {
        const DLDevice device = array_of(self).view().dlpack().device;
        return Py_BuildValue("(ii)", static_cast<int>(device.device_type), static_cast<int>(device.device_id));
    });
}

PyMethodDef methods[] = {
    {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&dlpack)), METH_VARARGS | METH_KEYWORDS,
     "A DLPack capsule of the array's memory, which is shared."},
    {"__dlpack_device__", &dlpack_device, METH_NOARGS, "DLPack's type and number of the array's device."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"shape", &shape, nullptr, "Extent along each axis, in elements.", nullptr},
    {"dtype", &dtype, nullptr, "Name of the element type.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(&deallocate)},
    {Py_tp_repr, reinterpret_cast<void*>(&represent)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc, const_cast<char*>("An array of a library that is written in C++.")},
    {0, nullptr},
};
PyType_Spec specification{"arraybridge._arraybridge.ForeignArray", sizeof(ForeignArray), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

PyTypeObject* type_object = nullptr;  // made when the module is, kept for good

}  // namespace

const Array* foreign_array(PyObject* object) noexcept {
    return Py_IS_TYPE(object, type_object) ? &array_of(object) : nullptr;
}

PyObject* make_foreign_array(Array array) {
    PyObject* self = checked(type_object->tp_alloc(type_object, 0)).release();
    new (&array_of(self)) Array(std::move(array));
    return self;
}

bool add_foreign_array_type(PyObject* module) {
    PyObject* type = PyType_FromSpec(&specification);
    type_object = reinterpret_cast<PyTypeObject*>(type);
    return type != nullptr && PyModule_AddObjectRef(module, "ForeignArray", type) == 0;
}

}  // namespace arraybridge::extension
