#pragma once

#include "arraybridge/python/object.hpp"
#include "arraybridge/tensor_view.hpp"
#include "tensor_members.hpp"

namespace arraybridge {

/// What is known about tensors whose memory is not what it seems, or who have none.
class TorchRefusals {
public:
    TorchRefusals(PyObject* torch, PyTypeObject* tensor_type);

    /// Whether a plain tensor's memory, described in `view`, holds its values as they are and may be given away: there
    /// is memory at all, no gradient is tracked, and neither a conjugate nor a negative bit is set, which every DLPack
    /// exporter of PyTorch drops without a word.
    bool is_innocent(PyObject* tensor, const TensorView& view) const;

    /// Throws UnsupportedArray for a tensor without values or memory of its own (meta, fake, functorch, wrapper
    /// subclasses), one that is not dense (sparse, quantized, nested), naming the method that makes it so, and one
    /// through whose memory a write would falsify gradients.
    void check(PyObject* tensor) const;

    /// Whether its memory has to be resolved first.
    bool has_lazy_bit(PyObject* tensor) const;

private:
    bool holds_bytes(PyObject* tensor) const;
    void check_dense(PyObject* tensor) const;
    void check_values(PyObject* tensor) const;
    void check_gradient(PyObject* tensor) const;

    PyObject* torch_;
    TensorMethod is_neg_;
    TensorMethod is_conj_;
    TensorProperty requires_grad_;
    TensorProperty dtype_;
    PyObject* uint8_;
    PyObject* int8_;
};

}  // namespace arraybridge
