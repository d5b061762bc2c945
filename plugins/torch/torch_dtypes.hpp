#pragma once

#include <optional>
#include <vector>

#include "arraybridge/dtype.hpp"
#include "arraybridge/python/object.hpp"

namespace arraybridge {

/// The dtypes that the installed PyTorch has, in both directions. Made once; holds its references for good.
class TorchDTypes {
public:
    explicit TorchDTypes(PyObject* torch);

    /// What DLPack calls a torch.dtype; empty for quantized and other dtypes without a counterpart.
    std::optional<DType> from_torch(PyObject* dtype) const noexcept;

    /// The torch.dtype, borrowed. Throws UnsupportedArray if this version has none.
    PyObject* to_torch(DType dtype) const;

    bool contains(DType dtype) const noexcept { return present_.contains(dtype); }
    const DTypeSet& all() const noexcept { return present_; }

private:
    struct Pair {
        PyObject* torch;
        DType dtype;
    };
    std::vector<Pair> pairs_;
    DTypeSet present_;
};

}  // namespace arraybridge
