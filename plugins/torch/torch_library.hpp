#pragma once

#include <optional>

#include "arraybridge/array_math.hpp"
#include "arraybridge/python/python_library.hpp"
#include "torch_dtypes.hpp"
#include "torch_exchange.hpp"
#include "torch_refusals.hpp"

namespace arraybridge {

/// PyTorch. Goes through the C functions that torch publishes for exchange, where the installed version has them, and
/// through its Python functions otherwise: the results are the same.
class TorchLibrary final : public python::PythonLibrary, public ArrayMath {
public:
    explicit TorchLibrary(const LibraryEntry& entry);

    void* query(CapabilityId id) noexcept override;
    bool accepts(NativeArray array) override;
    Device device_of(NativeArray array) override;
    std::vector<Device> devices() override;
    NativeArray move_to_device(NativeArray array, const Device& device) override;
    NativeArray copy(NativeArray array) override;
    Stream current_stream(const Device& device) override;
    Decline export_tensor(NativeArray array, const ExportRequest& request, TensorView& out) override;
    Decline import_tensor(TensorView& tensor, const ImportRequest& request, NativeArray& out) override;
    bool supports(DType dtype) override;

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
    /// Exactly torch.Tensor or Parameter: no subclass that could mean something else by its memory.
    bool is_plain(PyObject* object) const noexcept {
        PyTypeObject* type = Py_TYPE(object);
        return type == tensor_type_ || type == parameter_type_;
    }

    Decline export_resolved(PyObject* tensor, const ExportRequest& request, TensorView& out);
    Decline export_from_accelerator(PyObject* tensor, const ExportRequest& request, TensorView& out);
    python::Object without_subclass(PyObject* tensor);
    python::Object device_object(const Device& device);

    // References that are held for the life of the process, as the library is.
    PyTypeObject* tensor_type_ = nullptr;
    PyTypeObject* parameter_type_ = nullptr;
    TensorProperty is_cpu_;
    TorchDTypes dtypes_;
    TorchExchange exchange_;
    TorchRefusals refusals_;
};

}  // namespace arraybridge
