#define ARRAYBRIDGE_NUMPY_DEFINES_API
#include "numpy_library.hpp"

#include <bit>
#include <string>

#include "arraybridge/error.hpp"
#include "arraybridge/plugin.hpp"
#include "numpy_dtypes.hpp"

namespace arraybridge {

namespace {

using python::attribute;
using python::checked;
using python::Object;

PyArrayObject* as_array(PyObject* object) { return reinterpret_cast<PyArrayObject*>(object); }

/// An owner that is not a Python object, on the heap behind a capsule: what an array's base can be.
constexpr const char* owner_capsule = "arraybridge.owner";

void delete_owner(PyObject* capsule) { delete static_cast<Owner*>(PyCapsule_GetPointer(capsule, owner_capsule)); }

/// Takes the owner of the view over as a Python object.
Object base_object(TensorView& tensor) {
    if (tensor.owner.is(&python::release_owner)) {
        return Object::steal(static_cast<PyObject*>(tensor.owner.take()));
    }
    auto owner = std::make_unique<Owner>();
    Object capsule = checked(PyCapsule_New(owner.get(), owner_capsule, &delete_owner));
    *owner.release() = std::move(tensor.owner);
    return capsule;
}

/// Element strides of the array in `out`; false if one of them is not a whole number of elements.
bool element_strides(PyArrayObject* array, npy_intp itemsize, std::int64_t* out) {
    const npy_intp* strides = PyArray_STRIDES(array);
    const npy_intp* shape = PyArray_SHAPE(array);
    // Every dtype that gets here is 1, 2, 4, 8 or 16 bytes wide: a shift does for a division.
    const int shift = std::countr_zero(static_cast<std::size_t>(itemsize));
    for (int axis = 0; axis < PyArray_NDIM(array); ++axis) {
        out[axis] = strides[axis] >> shift;
        if ((strides[axis] & (itemsize - 1)) != 0 && shape[axis] > 1) return false;
    }
    return true;
}

bool is_true(const Object& object) {
    const int truth = PyObject_IsTrue(object.get());
    if (truth < 0) python::throw_error();
    return truth != 0;
}

std::string text_of(PyObject* object) {
    const Object text = checked(PyObject_Str(object));
    return PyUnicode_AsUTF8(text.get());
}

/// Whether the object is one of NumPy's scalars, which an array without axes is not.
bool is_scalar(PyObject* object) { return PyArray_IsScalar(object, Generic); }

/// Whether it is a masked array, and elements of it are masked. There are none before something has loaded numpy.ma.
bool has_masked_elements(PyObject* array) {
    PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy.ma");
    if (module == nullptr || !python::is_instance(array, attribute(module, "MaskedArray").get())) return false;
    const Object mask = python::call_method(module, "getmaskarray", array);
    return is_true(python::call_method(mask.get(), "any"));
}

/// The array's dtype in DLPack's words. Throws UnsupportedArray, naming it, if there are none.
DType require_dtype(PyArrayObject* array) {
    PyArray_Descr* descriptor = PyArray_DESCR(array);
    const DType dtype = from_numpy_dtype(descriptor);
    if (dtype.bits() != 0) [[likely]]
        return dtype;
    throw UnsupportedArray("the NumPy dtype " + text_of(reinterpret_cast<PyObject*>(descriptor)) +
                           " has no counterpart in other libraries; convert it with .astype() first");
}

}  // namespace

NumpyLibrary::NumpyLibrary(const LibraryEntry& entry)
    : PythonLibrary(entry), ArrayMath(static_cast<ArrayLibrary&>(*this)) {
    if (_import_array() < 0) python::throw_error();
    settle_dtypes(own_numpy_dtypes());
    memmap_type_ = attribute(module(), "memmap").release();
}

void* NumpyLibrary::query(CapabilityId id) noexcept {
    if (id == ArrayMath::capability) return static_cast<ArrayMath*>(this);
    return PythonLibrary::query(id);
}

bool NumpyLibrary::accepts(NativeArray array) { return PyArray_Check(object(array)) || is_scalar(object(array)); }

Device NumpyLibrary::device_of(NativeArray) { return HOST; }

std::vector<Device> NumpyLibrary::devices() { return {HOST}; }

NativeArray NumpyLibrary::move_to_device(NativeArray, const Device& device) {
    throw DeviceUnavailable("NumPy has no " + label(device) + " device");
}

/// NumPy copies subclasses (a mask is not in their memory) and the dtypes that only it has.
NativeArray NumpyLibrary::copy(NativeArray array) {
    PyObject* source = object(array);
    if (PyArray_CheckExact(source) && from_numpy_dtype(PyArray_DESCR(as_array(source))).index() >= 0) return {};
    if (!accepts(array)) throw_not_mine(array);
    return native(python::call_method(source, "copy"));
}

bool NumpyLibrary::supports(DType dtype) {
    if (settled_dtypes().contains(dtype)) return true;
    // Throws what tells how to get it where ml_dtypes is missing.
    const Object descriptor = Object::steal(reinterpret_cast<PyObject*>(to_numpy_dtype(dtype)));
    return true;
}

// ----- export -----

Decline NumpyLibrary::export_tensor(NativeArray array, const ExportRequest& request, TensorView& out) {
    python::release_deferred();
    if (PyArray_CheckExact(object(array))) [[likely]]
        return export_array(as_array(object(array)), request, out);
    const Object plain = plain_array(array);
    if (!is_scalar(object(array))) return export_array(as_array(plain.get()), request, out);
    require_dtype(as_array(plain.get()));
    if (request.copy == CopyMode::never) return Decline{"a NumPy scalar has no memory to share"};
    Decline declined = export_array(as_array(plain.get()), request, out);
    out.flags |= tensor_copied;
    return declined;
}

/// A subclass as the plain array it is underneath, a scalar as an array without axes.
Object NumpyLibrary::plain_array(NativeArray array) {
    PyObject* source = object(array);
    if (PyArray_Check(source)) {
        require_dtype(as_array(source));
        if (has_masked_elements(source)) {
            throw UnsupportedArray(
                "a masked array with masked elements has no values there; call .filled(value) first");
        }
        return checked(PyArray_EnsureArray(Object::borrow(source).release()));
    }
    if (!is_scalar(source)) throw_not_mine(array);
    return checked(PyArray_FromScalar(source, nullptr));
}

Decline NumpyLibrary::export_array(PyArrayObject* array, const ExportRequest& request, TensorView& out) {
    PyArray_Descr* descriptor = PyArray_DESCR(array);
    const DType dtype = require_dtype(array);
    if (!PyArray_ISNBO(descriptor->byteorder)) return export_copy(array, "foreign byte order", request, out);
    DLTensor& tensor = out.dlpack();
    if (!element_strides(array, PyArray_ITEMSIZE(array), out.stride_storage().data())) {
        return export_copy(array, "a stride that is not a whole number of elements", request, out);
    }
    tensor.data = PyArray_DATA(array);
    tensor.device = {kDLCPU, 0};
    tensor.ndim = PyArray_NDIM(array);
    tensor.dtype = dtype.dlpack();
    static_assert(sizeof(npy_intp) == sizeof(std::int64_t));
    tensor.shape = reinterpret_cast<std::int64_t*>(PyArray_SHAPE(array));
    tensor.strides = out.stride_storage().data();
    tensor.byte_offset = 0;
    out.device = HOST;
    out.flags = dtype.bits() < 8 ? tensor_padded : 0U;
    if (!PyArray_ISWRITEABLE(array)) {
        out.flags |= tensor_read_only;
        if (is_file_backed(array)) out.flags |= tensor_file_backed;
    }
    Py_INCREF(array);
    out.owner = Owner{array, &python::release_owner};
    return {};
}

/// A fresh array with the same values in native byte order and row-major.
Decline NumpyLibrary::export_copy(PyArrayObject* array, const char* why, const ExportRequest& request,
                                  TensorView& out) {
    if (request.copy == CopyMode::never) return Decline{std::string("the array has ") + why};
    PyArray_Descr* native = PyArray_DescrNewByteorder(PyArray_DESCR(array), NPY_NATIVE);
    if (native == nullptr) python::throw_error();
    const Object copy = checked(PyArray_CastToType(array, native, 0));
    Decline declined = export_array(as_array(copy.get()), request, out);
    if (!declined) {
        // Shape and strides must outlive this function's hold on the copy: the view's owner has the array too.
        out.flags |= tensor_copied;
    }
    return declined;
}

/// Whether a read-only array is a view of a numpy.memmap, however many views away.
bool NumpyLibrary::is_file_backed(PyArrayObject* array) {
    for (PyObject* at = reinterpret_cast<PyObject*>(array); at != nullptr && PyArray_Check(at);
         at = PyArray_BASE(as_array(at))) {
        if (PyArray_ISWRITEABLE(as_array(at))) return false;  // somebody may still write to it
        if (PyObject_TypeCheck(at, reinterpret_cast<PyTypeObject*>(memmap_type_))) return true;
    }
    return false;
}

// ----- import -----

Decline NumpyLibrary::import_tensor(TensorView& tensor, const ImportRequest&, NativeArray& out) {
    const DType dtype = tensor.dtype();
    if (dtype.bits() < 8 && (tensor.flags & tensor_padded) == 0) {
        return Decline{"NumPy stores " + dtype.name() + " one to a byte and cannot take packed ones"};
    }
    const auto itemsize = static_cast<npy_intp>(dtype.itemsize());
    npy_intp strides[max_ndim];
    const std::int32_t ndim = tensor.ndim();
    for (std::int32_t axis = 0; axis < ndim && !tensor.strides().empty(); ++axis) {
        strides[axis] = tensor.strides()[static_cast<std::size_t>(axis)] * itemsize;
    }
    // Without elements there is no memory to share: NumPy makes its own, and nothing has to be kept alive.
    const bool empty = tensor.size() == 0;
    PyArray_Descr* descriptor = to_numpy_dtype(dtype);
    const int flags = tensor.is_read_only() ? 0 : NPY_ARRAY_WRITEABLE;
    Object array = checked(PyArray_NewFromDescr(
        &PyArray_Type, descriptor, ndim, reinterpret_cast<npy_intp*>(tensor.dlpack().shape),
        empty || tensor.strides().empty() ? nullptr : strides, empty ? nullptr : tensor.data(), flags, nullptr));
    if (!empty) {
        Object base = base_object(tensor);
        if (PyArray_SetBaseObject(as_array(array.get()), base.release()) < 0) python::throw_error();
    }
    out = native(std::move(array));
    return {};
}

}  // namespace arraybridge

ARRAYBRIDGE_PYTHON_PLUGIN(arraybridge::NumpyLibrary)
