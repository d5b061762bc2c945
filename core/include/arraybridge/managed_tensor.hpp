#pragma once

#include <dlpack/dlpack.h>

#include <cstdint>
#include <utility>

#include "arraybridge/tensor_view.hpp"
#include "arraybridge/visibility.hpp"

namespace arraybridge {

/// Owns one `DLManagedTensorVersioned`, DLPack's unit of exchange. Releases it exactly once; a null deleter is not
/// called.
class ARRAYBRIDGE_API ManagedTensor {
public:
    constexpr ManagedTensor() noexcept = default;

    /// Takes over `tensor`, which the caller must not use or release any more.
    constexpr explicit ManagedTensor(DLManagedTensorVersioned* tensor) noexcept : tensor_(tensor) {}

    /// Moves a view into an envelope of ours: shape and strides are copied, the owner is taken over.
    explicit ManagedTensor(TensorView&& view);

    ManagedTensor(ManagedTensor&& other) noexcept : tensor_(std::exchange(other.tensor_, nullptr)) {}
    ManagedTensor& operator=(ManagedTensor&& other) noexcept {
        if (this != &other) {
            reset();
            tensor_ = std::exchange(other.tensor_, nullptr);
        }
        return *this;
    }
    ManagedTensor(const ManagedTensor&) = delete;
    ManagedTensor& operator=(const ManagedTensor&) = delete;
    ~ManagedTensor() { reset(); }

    void reset() noexcept {
        if (tensor_ == nullptr) return;
        DLManagedTensorVersioned* tensor = std::exchange(tensor_, nullptr);
        if (tensor->deleter != nullptr) tensor->deleter(tensor);
    }

    explicit operator bool() const noexcept { return tensor_ != nullptr; }
    DLManagedTensorVersioned* get() const noexcept { return tensor_; }
    DLManagedTensorVersioned* operator->() const noexcept { return tensor_; }

    /// Hands the tensor to the caller, who now has to call its deleter.
    DLManagedTensorVersioned* release() noexcept { return std::exchange(tensor_, nullptr); }

    /// The description with this tensor as its owner. Precondition: there is a tensor. `device` is in the exporting
    /// library's numbering.
    TensorView into_view(Device device) &&;

private:
    DLManagedTensorVersioned* tensor_ = nullptr;
};

/// A tensor handed to an importer that may or may not call its deleter when it fails (PyTorch 2.13 does either,
/// depending on the reason). It has two references: the importer's and the caller's. Whatever the importer does, the
/// source is released exactly once, when both are gone.
class ARRAYBRIDGE_API Envelope {
public:
    /// Wraps a view for one import. The shape and strides are copied, so the tensor outlives the array it came from.
    explicit Envelope(TensorView&& view);

    /// Wraps a tensor made elsewhere. Precondition: there is one.
    explicit Envelope(ManagedTensor tensor);

    Envelope(const Envelope&) = delete;
    Envelope& operator=(const Envelope&) = delete;

    /// Gives up the caller's reference, and the importer's too unless `import_succeeded` or it was already given up.
    ~Envelope();

    /// The tensor to hand to the importer.
    DLManagedTensorVersioned* tensor() const noexcept { return tensor_; }

    /// To be called when the importer reported success: from now on it owns its reference.
    void import_succeeded() noexcept { succeeded_ = true; }

    /// Likewise for an importer that gives its reference up with the result and not in a thread of its own: nobody but
    /// the caller has seen the result yet, and so an atomic exchange is spared.
    void import_kept() noexcept;

    /// Lets the shape alone tell how the tensor lies, if it is compact, as DLPack before 1.2 allows: some importers
    /// work out fewer things for themselves then.
    void leave_out_plain_strides() noexcept;

    /// After a failed import: gives the owner back to the view that this envelope was made of.
    void give_back(TensorView& view) noexcept;

    /// Whether the importer has called the deleter.
    bool importer_released() const noexcept;

private:
    struct State;
    friend class ManagedTensor;

    static State* make_state(TensorView&& view);
    static void delete_by_importer(DLManagedTensorVersioned* tensor) noexcept;
    static void destroy(State* state) noexcept;

    State* state_;
    DLManagedTensorVersioned* tensor_;  // inside the state
    bool succeeded_ = false;
};

}  // namespace arraybridge
