#include "torch_library.hpp"

#include <string>

#include "arraybridge/error.hpp"
#include "arraybridge/plugin.hpp"

namespace arraybridge {

namespace {

using python::attribute;
using python::call;
using python::call_method;
using python::checked;
using python::Object;

PyTypeObject* type_at(PyObject* module, const char* name) {
    return reinterpret_cast<PyTypeObject*>(attribute(module, name).release());
}

/// While this lives, functions of torch treat an instance of a subclass as the tensor it is underneath.
class WithoutTorchFunction {
public:
    explicit WithoutTorchFunction(PyObject* torch)
        : context_(call_method(attribute(torch, "_C").get(), "DisableTorchFunctionSubclass")) {
        call_method(context_.get(), "__enter__");
    }
    WithoutTorchFunction(const WithoutTorchFunction&) = delete;
    WithoutTorchFunction& operator=(const WithoutTorchFunction&) = delete;
    ~WithoutTorchFunction() {
        PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
        PyErr_Fetch(&type, &value, &traceback);
        Py_XDECREF(PyObject_CallMethod(context_.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
        PyErr_Restore(type, value, traceback);
    }

private:
    Object context_;
};

}  // namespace

TorchLibrary::TorchLibrary(const LibraryEntry& entry)
    : PythonLibrary(entry),
      ArrayMath(static_cast<ArrayLibrary&>(*this)),
      tensor_type_(type_at(module(), "Tensor")),
      parameter_type_(type_at(attribute(module(), "nn").get(), "Parameter")),
      is_cpu_(tensor_type_, "is_cpu"),
      dtypes_(module()),
      exchange_(tensor_type_, dtypes_),
      refusals_(module(), tensor_type_) {
    settle_dtypes(dtypes_.all());
}

void* TorchLibrary::query(CapabilityId id) noexcept {
    if (id == ArrayMath::capability) return static_cast<ArrayMath*>(this);
    return PythonLibrary::query(id);
}

bool TorchLibrary::accepts(NativeArray array) { return PyObject_TypeCheck(object(array), tensor_type_) != 0; }

bool TorchLibrary::supports(DType dtype) { return dtypes_.contains(dtype); }

// ----- devices -----

Device TorchLibrary::device_of(NativeArray array) {
    if (!accepts(array)) throw_not_mine(array);
    if (is_true(is_cpu_(object(array)))) return HOST;
    const Object device = attribute(object(array), "device");
    const Object kind = attribute(device.get(), "type");
    const std::string name = PyUnicode_AsUTF8(kind.get());
    const Object index = attribute(device.get(), "index");
    const long number = index.get() == Py_None ? 0 : PyLong_AsLong(index.get());
    if (name == "cuda") return Device::accelerator(static_cast<std::int32_t>(number));
    return Device::named(index.get() == Py_None ? name : name + ":" + std::to_string(number));
}

std::vector<Device> TorchLibrary::devices() {
    std::vector<Device> found{HOST};
    const Object cuda = attribute(module(), "cuda");
    if (python::true_method(cuda.get(), "is_available")) {
        const Object count = call_method(cuda.get(), "device_count");
        for (long index = 0; index < PyLong_AsLong(count.get()); ++index) {
            found.push_back(Device::accelerator(static_cast<std::int32_t>(index)));
        }
    }
    const Object backends = attribute(module(), "backends");
    const Object metal = python::optional_attribute(backends.get(), "mps");
    if (metal && python::true_method(metal.get(), "is_available")) found.push_back(Device::named("mps:0"));
    return found;
}

Object TorchLibrary::device_object(const Device& device) {
    std::string text = "cpu";
    if (device.kind() == DeviceKind::accelerator) text = "cuda:" + std::to_string(device.index());
    if (device.kind() == DeviceKind::named) text = device.name();
    return call_method(module(), "device", python::to_text(text).get());
}

NativeArray TorchLibrary::move_to_device(NativeArray array, const Device& device) {
    return native(call_method(object(array), "to", device_object(device).get()));
}

/// PyTorch's own copy stays part of the computation that the tensor is part of.
NativeArray TorchLibrary::copy(NativeArray array) { return native(call_method(object(array), "clone")); }

Stream TorchLibrary::current_stream(const Device& device) {
    if (device.kind() != DeviceKind::accelerator) return no_stream;
    const Object cuda = attribute(module(), "cuda");
    const Object stream = call_method(cuda.get(), "current_stream", checked(PyLong_FromLong(device.index())).get());
    const Object handle = attribute(stream.get(), "cuda_stream");
    const Stream value = PyLong_AsLongLong(handle.get());
    return value == 0 ? 1 : value;  // the array API calls CUDA's legacy default stream 1
}

// ----- export -----

Decline TorchLibrary::export_tensor(NativeArray array, const ExportRequest& request, TensorView& out) {
    python::release_deferred();
    PyObject* tensor = object(array);
    if (is_plain(tensor) && exchange_.describe(tensor, out) && refusals_.is_innocent(tensor, out)) [[likely]] {
        if (out.device.is_host()) [[likely]]
            return {};
        return export_from_accelerator(tensor, request, out);
    }
    if (!accepts(array)) throw_not_mine(array);
    refusals_.check(tensor);
    return export_resolved(tensor, request, out);
}

/// A tensor with memory and values of its own that is not plain, or whose values are not what its memory says.
Decline TorchLibrary::export_resolved(PyObject* tensor, const ExportRequest& request, TensorView& out) {
    Object plain = is_plain(tensor) ? Object::borrow(tensor) : without_subclass(tensor);
    const bool lazy = refusals_.has_lazy_bit(plain.get());
    if (lazy) {
        if (request.copy == CopyMode::never) {
            return Decline{"the tensor's conjugate or negative bit is set: its memory does not hold its values"};
        }
        plain = call_method(call_method(plain.get(), "resolve_conj").get(), "resolve_neg");
    }
    const Object detached = call_method(plain.get(), "detach");
    const Object dtype = attribute(tensor, "dtype");
    if (!dtypes_.from_torch(dtype.get()) || !exchange_.describe(detached.get(), out)) {
        const Object name = checked(PyObject_Str(dtype.get()));
        throw UnsupportedArray("a tensor of dtype " + std::string(PyUnicode_AsUTF8(name.get())) +
                               " has no counterpart in other libraries; convert it with .to(dtype) first");
    }
    out.own_extents();  // they belong to a tensor that goes with this function
    if (lazy) out.flags |= tensor_copied;
    if (out.device.is_host()) return {};
    return export_from_accelerator(detached.get(), request, out);
}

/// Brings the values to the host, or orders PyTorch's stream before the consumer's.
Decline TorchLibrary::export_from_accelerator(PyObject* tensor, const ExportRequest& request, TensorView& out) {
    Object fresh;
    if (request.to_host) {
        if (request.copy == CopyMode::never) return Decline{"the tensor is on " + label(out.device)};
        fresh = call_method(call_method(tensor, "detach").get(), "cpu");
    } else if (request.copy == CopyMode::always) {
        fresh = call_method(call_method(tensor, "detach").get(), "clone");
    }
    if (fresh) {
        if (!exchange_.describe(fresh.get(), out)) throw UnsupportedArray("PyTorch cannot describe the copy it made");
        out.own_extents();
        out.flags |= tensor_copied;
    } else {
        out.own_extents();
    }
    const bool ordered = !out.device.is_host() && request.consumer_stream != no_stream &&
                         request.consumer_stream != unsynchronised_stream;
    if (ordered) {
        // The C functions do not synchronise. This call makes the consumer's stream wait for PyTorch's, which is all
        // that is wanted of it; the capsule goes unused.
        const Object stream = checked(PyLong_FromLongLong(request.consumer_stream));
        const Object dlpack = attribute(fresh ? fresh.get() : tensor, "__dlpack__");
        python::call_with(dlpack.get(), {}, "stream", stream.get());
    }
    return {};
}

Object TorchLibrary::without_subclass(PyObject* tensor) {
    const WithoutTorchFunction scope(module());
    return call_method(tensor, "as_subclass", reinterpret_cast<PyObject*>(tensor_type_));
}

// ----- import -----

Decline TorchLibrary::import_tensor(TensorView& tensor, const ImportRequest& request, NativeArray& out) {
    const bool elsewhere = tensor.device != request.device;
    if (elsewhere && request.copy == CopyMode::never) {
        return Decline{"the memory is on " + label(tensor.device) + ": bringing it to " + label(request.device) +
                       " is a copy"};
    }
    Object result = exchange_.import(tensor);
    if (elsewhere) result = call_method(result.get(), "to", device_object(request.device).get());
    out = native(std::move(result));
    return {};
}

}  // namespace arraybridge

ARRAYBRIDGE_PYTHON_PLUGIN(arraybridge::TorchLibrary)
