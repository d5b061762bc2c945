#include "numpy_dtypes.hpp"

#include <array>
#include <atomic>
#include <string>

#include "arraybridge/error.hpp"
#include "arraybridge/python/call.hpp"
#include "arraybridge/python/error.hpp"

namespace arraybridge {

namespace {

using python::attribute;
using python::checked;
using python::Object;

/// NumPy's numbers of its own dtypes; the C types behind them follow the platform's sizes.
constexpr DType signed_integer(std::size_t bytes) { return {kDLInt, static_cast<std::uint8_t>(8 * bytes)}; }
constexpr DType unsigned_integer(std::size_t bytes) { return {kDLUInt, static_cast<std::uint8_t>(8 * bytes)}; }

std::optional<DType> from_type_number(int number) {
    switch (number) {
        case NPY_BOOL:
            return DType::boolean();
        case NPY_BYTE:
            return DType::int8();
        case NPY_SHORT:
            return DType::int16();
        case NPY_INT:
            return signed_integer(sizeof(int));
        case NPY_LONG:
            return signed_integer(sizeof(long));
        case NPY_LONGLONG:
            return signed_integer(sizeof(long long));
        case NPY_UBYTE:
            return DType::uint8();
        case NPY_USHORT:
            return DType::uint16();
        case NPY_UINT:
            return unsigned_integer(sizeof(unsigned int));
        case NPY_ULONG:
            return unsigned_integer(sizeof(unsigned long));
        case NPY_ULONGLONG:
            return unsigned_integer(sizeof(unsigned long long));
        case NPY_HALF:
            return DType::float16();
        case NPY_FLOAT:
            return DType::float32();
        case NPY_DOUBLE:
            return DType::float64();
        case NPY_CFLOAT:
            return DType::complex64();
        case NPY_CDOUBLE:
            return DType::complex128();
        default:
            return std::nullopt;
    }
}

int to_type_number(DType dtype) {
    if (dtype == DType::boolean()) return NPY_BOOL;
    if (dtype == DType::int8()) return NPY_INT8;
    if (dtype == DType::int16()) return NPY_INT16;
    if (dtype == DType::int32()) return NPY_INT32;
    if (dtype == DType::int64()) return NPY_INT64;
    if (dtype == DType::uint8()) return NPY_UINT8;
    if (dtype == DType::uint16()) return NPY_UINT16;
    if (dtype == DType::uint32()) return NPY_UINT32;
    if (dtype == DType::uint64()) return NPY_UINT64;
    if (dtype == DType::float16()) return NPY_FLOAT16;
    if (dtype == DType::float32()) return NPY_FLOAT32;
    if (dtype == DType::float64()) return NPY_FLOAT64;
    if (dtype == DType::complex64()) return NPY_COMPLEX64;
    if (dtype == DType::complex128()) return NPY_COMPLEX128;
    return -1;
}

/// Whether a type was made by ml_dtypes: then its name is the name of the dtype.
bool comes_from_ml_dtypes(PyTypeObject* type) {
    const Object module = python::optional_attribute(reinterpret_cast<PyObject*>(type), "__module__");
    return module && PyUnicode_Check(module.get()) &&
           PyUnicode_CompareWithASCIIString(module.get(), "ml_dtypes") == 0;
}

}  // namespace

std::optional<DType> from_numpy_dtype(PyArray_Descr* descriptor) {
    if (descriptor->type_num < NPY_USERDEF) [[likely]] return from_type_number(descriptor->type_num);
    PyTypeObject* type = descriptor->typeobj;
    if (!comes_from_ml_dtypes(type)) return std::nullopt;
    const Object name = attribute(reinterpret_cast<PyObject*>(type), "__name__");
    return DType::parse(PyUnicode_AsUTF8(name.get()));
}

PyArray_Descr* to_numpy_dtype(DType dtype) {
    if (const int number = to_type_number(dtype); number >= 0) [[likely]] return PyArray_DescrFromType(number);
    if (dtype.index() < 0) throw UnsupportedArray("NumPy has no dtype " + dtype.name());
    const std::string name = dtype.name();
    PyObject* imported = PyImport_ImportModule("ml_dtypes");
    if (imported == nullptr) {
        if (PyErr_ExceptionMatches(PyExc_ModuleNotFoundError) == 0) python::throw_error();
        PyErr_Clear();
        throw NotInstalled("NumPy has " + name + " only with the package ml_dtypes: pip install ml_dtypes", "ml_dtypes");
    }
    const Object module = Object::steal(imported);
    const Object type = python::optional_attribute(module.get(), name.c_str());
    if (!type) throw UnsupportedArray("neither NumPy nor the installed ml_dtypes has a dtype " + name);
    PyArray_Descr* descriptor = nullptr;
    if (PyArray_DescrConverter(type.get(), &descriptor) == 0) python::throw_error();
    return descriptor;
}

}  // namespace arraybridge
