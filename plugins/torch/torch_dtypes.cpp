#include "torch_dtypes.hpp"

#include "arraybridge/error.hpp"
#include "arraybridge/python/call.hpp"

namespace arraybridge {

namespace {

// torch uses NumPy's and ml_dtypes' names for all dtypes that both have.
constexpr const char* names[] = {
    "float32",    "float64",   "float16",       "bfloat16",        "bool",        "uint8",           "int8",
    "int16",      "int32",     "int64",         "uint16",          "uint32",      "uint64",          "complex64",
    "complex128", "complex32", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
};

}  // namespace

TorchDTypes::TorchDTypes(PyObject* torch) {
    for (const char* name : names) {
        if (python::Object found = python::optional_attribute(torch, name)) {
            pairs_.push_back({found.release(), *DType::parse(name)});
            present_.insert(pairs_.back().dtype);
        }
    }
}

std::optional<DType> TorchDTypes::from_torch(PyObject* dtype) const noexcept {
    for (const Pair& pair : pairs_) {
        if (pair.torch == dtype) return pair.dtype;
    }
    return std::nullopt;
}

PyObject* TorchDTypes::to_torch(DType dtype) const {
    for (const Pair& pair : pairs_) {
        if (pair.dtype == dtype) return pair.torch;
    }
    throw UnsupportedArray("the installed PyTorch has no dtype " + dtype.name());
}

}  // namespace arraybridge
