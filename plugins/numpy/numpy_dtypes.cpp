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

constexpr DType no_dtype{DLDataType{0, 0, 0}};

/// NumPy's own dtypes by their numbers; the C types behind some follow the platform's sizes.
constexpr auto make_own_dtypes() {
    std::array<DType, NPY_NTYPES_LEGACY> own;
    own.fill(no_dtype);
    const auto set = [&own](int number, DLDataTypeCode code, std::size_t bytes) {
        own[static_cast<std::size_t>(number)] = DType{code, static_cast<std::uint8_t>(8 * bytes)};
    };
    set(NPY_BOOL, kDLBool, 1);
    set(NPY_BYTE, kDLInt, 1);
    set(NPY_SHORT, kDLInt, sizeof(short));
    set(NPY_INT, kDLInt, sizeof(int));
    set(NPY_LONG, kDLInt, sizeof(long));
    set(NPY_LONGLONG, kDLInt, sizeof(long long));
    set(NPY_UBYTE, kDLUInt, 1);
    set(NPY_USHORT, kDLUInt, sizeof(unsigned short));
    set(NPY_UINT, kDLUInt, sizeof(unsigned int));
    set(NPY_ULONG, kDLUInt, sizeof(unsigned long));
    set(NPY_ULONGLONG, kDLUInt, sizeof(unsigned long long));
    set(NPY_HALF, kDLFloat, 2);
    set(NPY_FLOAT, kDLFloat, 4);
    set(NPY_DOUBLE, kDLFloat, 8);
    set(NPY_CFLOAT, kDLComplex, 8);
    set(NPY_CDOUBLE, kDLComplex, 16);
    return own;
}
constexpr auto own_dtypes = make_own_dtypes();

DTypeSet make_own_set() {
    DTypeSet set;
    for (const DType dtype : own_dtypes) set.insert(dtype);
    return set;
}
const DTypeSet own_set = make_own_set();

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
    return module && PyUnicode_Check(module.get()) && PyUnicode_CompareWithASCIIString(module.get(), "ml_dtypes") == 0;
}

}  // namespace

DType from_numpy_dtype(PyArray_Descr* descriptor) {
    const auto number = static_cast<std::size_t>(descriptor->type_num);
    if (number < own_dtypes.size()) [[likely]]
        return own_dtypes[number];
    PyTypeObject* type = descriptor->typeobj;
    if (!comes_from_ml_dtypes(type)) return no_dtype;
    const Object name = attribute(reinterpret_cast<PyObject*>(type), "__name__");
    return DType::parse(PyUnicode_AsUTF8(name.get())).value_or(no_dtype);
}

const DTypeSet& own_numpy_dtypes() noexcept { return own_set; }

PyArray_Descr* to_numpy_dtype(DType dtype) {
    if (const int number = to_type_number(dtype); number >= 0) [[likely]]
        return PyArray_DescrFromType(number);
    if (dtype.index() < 0) throw UnsupportedArray("NumPy has no dtype " + dtype.name());
    const std::string name = dtype.name();
    PyObject* imported = PyImport_ImportModule("ml_dtypes");
    if (imported == nullptr) {
        if (PyErr_ExceptionMatches(PyExc_ModuleNotFoundError) == 0) python::throw_error();
        PyErr_Clear();
        throw NotInstalled("NumPy has " + name + " only with the package ml_dtypes: pip install ml_dtypes",
                           "ml_dtypes");
    }
    const Object module = Object::steal(imported);
    const Object type = python::optional_attribute(module.get(), name.c_str());
    if (!type) throw UnsupportedArray("neither NumPy nor the installed ml_dtypes has a dtype " + name);
    PyArray_Descr* descriptor = nullptr;
    if (PyArray_DescrConverter(type.get(), &descriptor) == 0) python::throw_error();
    return descriptor;
}

}  // namespace arraybridge
