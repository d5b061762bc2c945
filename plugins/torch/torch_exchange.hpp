#pragma once

#include <dlpack/dlpack.h>

#include "arraybridge/python/object.hpp"
#include "arraybridge/tensor_view.hpp"
#include "tensor_members.hpp"
#include "torch_dtypes.hpp"

namespace arraybridge {

/// How tensors are described to others and made of foreign memory. PyTorch publishes a table of C functions for this
/// (`Tensor.__dlpack_c_exchange_api__`, DLPack 1.3); versions without it are asked through Python, with the same
/// results.
///
/// The environment variable ARRAYBRIDGE_TORCH_EXCHANGE=python makes a version that has the table be asked through
/// Python too.
class TorchExchange {
public:
    TorchExchange(PyTypeObject* tensor_type, const TorchDTypes& dtypes);

    bool uses_c_functions() const noexcept { return import_ != nullptr; }

    /// Describes a tensor of exactly the type torch.Tensor or Parameter. The view owns the tensor's storage and not the
    /// tensor, because `tensor.data = ...` and `tensor.set_()` exchange the storage under a living tensor. False, with
    /// no Python error set, for a tensor that cannot be described.
    bool describe(PyObject* tensor, TensorView& out) const;

    /// A tensor around the memory of a view that keeps to the manifest's import rules. Takes the owner over; if torch
    /// raises, the view has it back.
    python::Object import(TensorView& tensor) const;

private:
    bool describe_by_python(PyObject* tensor, TensorView& out) const;
    bool read_attributes(PyObject* tensor, TensorView& out) const;
    python::Object import_by_c(TensorView& tensor) const;
    python::Object import_by_python(TensorView& tensor) const;
    python::Object import_by_legacy_capsule(TensorView& tensor) const;
    bool reads_versioned_capsules() const;

    const TorchDTypes* dtypes_;
    TensorMethod untyped_storage_;
    DLPackDLTensorFromPyObjectNoSync describe_ = nullptr;  // null where torch is asked through Python
    DLPackManagedTensorToPyObjectNoSync import_ = nullptr;
    PyObject* from_dlpack_ = nullptr;
    bool versioned_ = false;
};

}  // namespace arraybridge
