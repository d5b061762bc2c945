#pragma once

#include "arraybridge/array_math.hpp"
#include "arraybridge/python/python_library.hpp"
#include "numpy_api.hpp"

namespace arraybridge {

/// NumPy. Exchanges memory with its C interface: a view of an array is its own header, and an array around foreign
/// memory has the owner as its base.
class NumpyLibrary final : public python::PythonLibrary, public ArrayMath {
public:
    explicit NumpyLibrary(const LibraryEntry& entry);

    void* query(CapabilityId id) noexcept override;
    bool accepts(NativeArray array) override;
    Device device_of(NativeArray array) override;
    std::vector<Device> devices() override;
    NativeArray move_to_device(NativeArray array, const Device& device) override;
    bool supports(DType dtype) override;
    NativeArray copy(NativeArray array) override;
    Decline export_tensor(NativeArray array, const ExportRequest& request, TensorView& out) override;
    Decline import_tensor(TensorView& tensor, const ImportRequest& request, NativeArray& out) override;

    NativeArray max(NativeArray array, const Axes& axes) override;
    NativeArray min(NativeArray array, const Axes& axes) override;
    NativeArray mean(NativeArray array, const Axes& axes) override;
    NativeArray sum(NativeArray array, const Axes& axes) override;
    NativeArray astype(NativeArray array, DType dtype) override;
    NativeArray reshape(NativeArray array, const Shape& shape) override;
    NativeArray broadcast_to(NativeArray array, const Shape& shape) override;
    NativeArray ones_like(NativeArray reference, const std::optional<Shape>& shape, DType dtype) override;
    NativeArray prepend_axis(NativeArray array) override;
    NativeArray assign(NativeArray array, const Slice& slice, NativeArray values) override;
    NativeArray logical_and(NativeArray left, NativeArray right) override;
    NativeArray stack_arrays(std::span<const NativeArray> arrays, const Device& device) override;
    NativeArray normalize_planes(NativeArray array, DType dtype,
                                 std::span<const std::optional<double>> scales) override;
    NativeArray scale_dtype(NativeArray array, DType dtype) override;

    NativeArray native_linspace(double start, double stop, std::int64_t count, bool endpoint) override;
    NativeArray native_ones(const Shape& shape, DType dtype) override;
    NativeArray native_outer(NativeArray left, NativeArray right) override;
    NativeArray native_floor(double value) override;

private:
    Decline export_array(PyArrayObject* array, const ExportRequest& request, TensorView& out);
    Decline export_copy(PyArrayObject* array, const char* why, const ExportRequest& request, TensorView& out);
    python::Object plain_array(NativeArray array);
    bool is_file_backed(PyArrayObject* array);

    PyObject* memmap_type_ = nullptr;
};

}  // namespace arraybridge
