#include "torch_exchange.hpp"

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "arraybridge/error.hpp"
#include "arraybridge/legacy.hpp"
#include "arraybridge/managed_tensor.hpp"
#include "arraybridge/python/call.hpp"
#include "arraybridge/python/capsule.hpp"
#include "arraybridge/python/release.hpp"

namespace arraybridge {

namespace {

using python::attribute;
using python::checked;
using python::Object;

bool python_was_asked_for() {
    const char* wish = std::getenv("ARRAYBRIDGE_TORCH_EXCHANGE");
    return wish != nullptr && std::string_view(wish) == "python";
}

/// The table, or null where this version has none or one of another major version.
const DLPackExchangeAPI* find_api(PyTypeObject* tensor_type) {
    const Object capsule =
        python::optional_attribute(reinterpret_cast<PyObject*>(tensor_type), "__dlpack_c_exchange_api__");
    if (!capsule || PyCapsule_IsValid(capsule.get(), "dlpack_exchange_api") == 0) return nullptr;
    const auto* api = static_cast<const DLPackExchangeAPI*>(PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"));
    const bool usable = api->header.version.major == DLPACK_MAJOR_VERSION &&
                        api->dltensor_from_py_object_no_sync != nullptr &&
                        api->managed_tensor_to_py_object_no_sync != nullptr;
    return usable ? api : nullptr;
}

/// PyTorch has tensors of more axes than anybody else.
void require_axes(std::int64_t ndim) {
    if (ndim <= max_ndim) [[likely]]
        return;
    throw InvalidTensor("a tensor has " + std::to_string(ndim) + " axes; at most " + std::to_string(max_ndim) +
                        " can cross");
}

/// Fills `storage` with a tuple of integers; false, with the error cleared, if it is something else.
bool read_extents(const Object& tuple, std::array<std::int64_t, max_ndim>& storage) {
    const Py_ssize_t count = PyTuple_GET_SIZE(tuple.get());
    for (Py_ssize_t i = 0; i < count; ++i) {
        storage[static_cast<std::size_t>(i)] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple.get(), i));
    }
    if (PyErr_Occurred() == nullptr) return true;
    PyErr_Clear();
    return false;
}

}  // namespace

TorchExchange::TorchExchange(PyTypeObject* tensor_type, const TorchDTypes& dtypes)
    : dtypes_(&dtypes), untyped_storage_(tensor_type, "untyped_storage") {
    if (const DLPackExchangeAPI* api = python_was_asked_for() ? nullptr : find_api(tensor_type)) {
        describe_ = api->dltensor_from_py_object_no_sync;
        import_ = api->managed_tensor_to_py_object_no_sync;
    }
    const Object utilities = checked(PyImport_ImportModule("torch.utils.dlpack"));
    from_dlpack_ = attribute(utilities.get(), "from_dlpack").release();
    if (import_ == nullptr) versioned_ = reads_versioned_capsules();
}

// ----- describing -----

bool TorchExchange::describe(PyObject* tensor, TensorView& out) const {
    // The storage first: it is what a functorch wrapper has not, for which the C function gives garbage.
    Object storage = Object::steal(untyped_storage_(tensor));
    const bool described =
        storage && (describe_ != nullptr ? describe_(tensor, &out.dlpack()) == 0 : describe_by_python(tensor, out));
    if (!described) {
        // What torch cannot describe is looked at more closely; an interrupt is the caller's.
        if (PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_Exception) == 0) python::throw_error();
        PyErr_Clear();
        return false;
    }
    require_axes(out.ndim());
    out.flags = 0;
    out.device = out.dlpack().device.device_type == kDLCPU ? HOST : device_from_dlpack(out.dlpack().device);
    out.owner = Owner{storage.release(), &python::release_owner};
    return true;
}

bool TorchExchange::describe_by_python(PyObject* tensor, TensorView& out) const {
    try {
        return read_attributes(tensor, out);
    } catch (const python::PythonError& error) {
        error.restore();
        return false;
    }
}

bool TorchExchange::read_attributes(PyObject* tensor, TensorView& out) const {
    const Object dtype_object = attribute(tensor, "dtype");
    const std::optional<DType> dtype = dtypes_->from_torch(dtype_object.get());
    const Object device = attribute(tensor, "device");
    const Object kind = attribute(device.get(), "type");
    const bool on_host = PyUnicode_CompareWithASCIIString(kind.get(), "cpu") == 0;
    const bool on_gpu = PyUnicode_CompareWithASCIIString(kind.get(), "cuda") == 0;
    if (!dtype || (!on_host && !on_gpu)) return false;
    const Object shape = attribute(tensor, "shape");
    const Object strides = checked(PyObject_CallMethod(tensor, "stride", nullptr));
    const Object address = checked(PyObject_CallMethod(tensor, "data_ptr", nullptr));
    require_axes(PyTuple_GET_SIZE(shape.get()));
    if (!read_extents(shape, out.shape_storage()) || !read_extents(strides, out.stride_storage())) return false;
    DLTensor& described = out.dlpack();
    described.data = PyLong_AsVoidPtr(address.get());
    described.byte_offset = 0;
    described.ndim = static_cast<std::int32_t>(PyTuple_GET_SIZE(shape.get()));
    described.shape = out.shape_storage().data();
    described.strides = out.stride_storage().data();
    described.dtype = dtype->dlpack();
    described.device = {kDLCPU, 0};
    if (on_gpu) {
        const Object index = attribute(device.get(), "index");
        // ROCm builds call their devices "cuda" too; which one it is matters to nobody here but the number does.
        described.device = {kDLCUDA, static_cast<std::int32_t>(PyLong_AsLong(index.get()))};
    }
    return PyErr_Occurred() == nullptr;
}

// ----- importing -----

Object TorchExchange::import(TensorView& tensor) const {
    if (import_ != nullptr) return import_by_c(tensor);
    return versioned_ ? import_by_python(tensor) : import_by_legacy_capsule(tensor);
}

Object TorchExchange::import_by_c(TensorView& tensor) const {
    Envelope envelope(std::move(tensor));
    envelope.leave_out_plain_strides();
    void* result = nullptr;
    if (import_(envelope.tensor(), &result) != 0) {
        envelope.give_back(tensor);
        python::throw_error();
    }
    envelope.import_kept();
    return Object::steal(static_cast<PyObject*>(result));
}

Object TorchExchange::import_by_python(TensorView& tensor) const {
    Envelope envelope(std::move(tensor));
    const Object capsule = python::to_capsule(envelope);
    Object result = Object::steal(PyObject_CallOneArg(from_dlpack_, capsule.get()));
    if (!result) {
        envelope.give_back(tensor);
        python::throw_error();
    }
    envelope.import_succeeded();
    return result;
}

Object TorchExchange::import_by_legacy_capsule(TensorView& tensor) const {
    Envelope envelope(std::move(tensor));
    DLManagedTensor* legacy = to_legacy(ManagedTensor{envelope.tensor()}, false);
    const Object capsule = python::to_legacy_capsule(legacy);
    Object result = Object::steal(PyObject_CallOneArg(from_dlpack_, capsule.get()));
    if (!result) {
        if (!python::is_used(capsule.get())) legacy->deleter(legacy);
        envelope.give_back(tensor);
        python::throw_error();
    }
    envelope.import_succeeded();
    return result;
}

/// Tries it: a version number would not tell about builds between two releases.
bool TorchExchange::reads_versioned_capsules() const {
    std::int64_t extent = 1;
    float value = 0;
    TensorView view;
    view.dlpack() = {&value, {kDLCPU, 0}, 1, DType::float32().dlpack(), &extent, nullptr, 0};
    Envelope envelope(std::move(view));
    const Object capsule = python::to_capsule(envelope);
    const Object result = Object::steal(PyObject_CallOneArg(from_dlpack_, capsule.get()));
    if (!result) {
        PyErr_Clear();
        return false;
    }
    envelope.import_succeeded();
    return true;
}

}  // namespace arraybridge
