#include "torch_refusals.hpp"

#include <string>

#include "arraybridge/error.hpp"
#include "arraybridge/python/call.hpp"

namespace arraybridge {

namespace {

using python::attribute;
using python::checked;
using python::Object;

std::string text_of(PyObject* object) {
    const Object text = checked(PyObject_Str(object));
    return PyUnicode_AsUTF8(text.get());
}

/// A type of a module that is looked at only if something else has loaded it: no object of it exists otherwise.
Object type_if_loaded(const char* module, const char* name) {
    PyObject* loaded = PyDict_GetItemString(PyImport_GetModuleDict(), module);
    return loaded == nullptr ? Object{} : python::optional_attribute(loaded, name);
}

}  // namespace

TorchRefusals::TorchRefusals(PyObject* torch, PyTypeObject* tensor_type)
    : torch_(torch),
      is_neg_(tensor_type, "is_neg"),
      is_conj_(tensor_type, "is_conj"),
      requires_grad_(tensor_type, "requires_grad"),
      dtype_(tensor_type, "dtype"),
      uint8_(attribute(torch, "uint8").release()),
      int8_(attribute(torch, "int8").release()) {}

bool TorchRefusals::is_innocent(PyObject* tensor, const TensorView& view) const {
    if (view.dlpack().data == nullptr && view.size() != 0) return false;
    const DType dtype = view.dtype();
    if (dtype.index() < 0) return false;
    const bool real = dtype.code() == kDLFloat || dtype.code() == kDLBfloat;
    const bool complex = dtype.code() == kDLComplex;
    // Only these can track a gradient, and only these can be the view of a complex tensor that has such a bit (a
    // private function of PyTorch gives it to integers too).
    if (!real && !complex) return dtype.bits() != 8 || dtype.code() == kDLBool || holds_bytes(tensor);
    if (is_true(requires_grad_(tensor)) || is_true(is_neg_(tensor))) return false;
    return !complex || !is_true(is_conj_(tensor));
}

/// PyTorch describes its dtypes of fewer bits (uint3, int4) as bytes, which their storage does not hold.
bool TorchRefusals::holds_bytes(PyObject* tensor) const {
    const Object dtype = checked(dtype_(tensor));
    return dtype.get() == uint8_ || dtype.get() == int8_;
}

bool TorchRefusals::has_lazy_bit(PyObject* tensor) const {
    return python::true_method(tensor, "is_neg") || python::true_method(tensor, "is_conj");
}

void TorchRefusals::check(PyObject* tensor) const {
    check_values(tensor);
    check_dense(tensor);
    check_gradient(tensor);
}

void TorchRefusals::check_dense(PyObject* tensor) const {
    if (python::true_attribute(tensor, "is_nested")) {
        throw UnsupportedArray(
            "a nested tensor has no single shape; call torch.nested.to_padded_tensor(tensor, value) "
            "or .unbind() first");
    }
    if (python::true_attribute(tensor, "is_quantized")) {
        throw UnsupportedArray(
            "a quantized tensor stores codes, not its values; call .dequantize() (or .int_repr()) first");
    }
    const Object layout = attribute(tensor, "layout");
    if (layout.get() != attribute(torch_, "strided").get()) {
        throw UnsupportedArray("a tensor of layout " + text_of(layout.get()) + " is not dense; call .to_dense() first");
    }
}

void TorchRefusals::check_values(PyObject* tensor) const {
    const Object fake = type_if_loaded("torch._subclasses.fake_tensor", "FakeTensor");
    if (fake && python::is_instance(tensor, fake.get())) {
        throw UnsupportedArray("a fake tensor stands for a tensor during tracing and has no values");
    }
    if (python::true_attribute(tensor, "is_meta")) {
        throw UnsupportedArray("a tensor on the meta device has a shape but no values");
    }
    const Object functorch = python::optional_attribute(attribute(torch_, "_C").get(), "_functorch");
    const Object wrapped =
        functorch ? python::optional_attribute(functorch.get(), "is_functorch_wrapped_tensor") : Object{};
    if (wrapped && is_true(python::call(wrapped.get(), tensor).release())) {
        throw UnsupportedArray(
            "inside torch.func transforms (vmap, grad, jvp) a tensor has no memory of its own; convert "
            "outside the transformed function");
    }
    if (python::true_attribute(tensor, "is_nested") ||
        attribute(tensor, "layout").get() != attribute(torch_, "strided").get()) {
        return;  // another kind of memory, named by check_dense
    }
    const Object elements = python::call_method(tensor, "numel");
    PyObject* storage = PyObject_CallMethod(tensor, "untyped_storage", nullptr);
    if (storage == nullptr) PyErr_Clear();
    const Object held = Object::steal(storage);
    // A storage without memory answers 0, or raises.
    const Object address = Object::steal(held ? PyObject_CallMethod(held.get(), "data_ptr", nullptr) : nullptr);
    if (!address) PyErr_Clear();
    if (PyObject_IsTrue(elements.get()) == 1 && (!address || PyObject_IsTrue(address.get()) != 1)) {
        throw UnsupportedArray("a tensor of type " + std::string(Py_TYPE(tensor)->tp_name) +
                               " has no memory of its own");
    }
}

void TorchRefusals::check_gradient(PyObject* tensor) const {
    if (!python::true_attribute(tensor, "requires_grad") || python::true_attribute(tensor, "is_leaf")) return;
    if (!python::true_method(torch_, "is_grad_enabled")) return;
    throw UnsupportedArray(
        "the tensor is the result of operations that a gradient is tracked through: a write to its "
        "memory would falsify gradients; call .detach() first, or convert under torch.no_grad()");
}

}  // namespace arraybridge
