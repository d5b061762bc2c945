#include "arraybridge/python/capsule.hpp"

#include "arraybridge/error.hpp"
#include "arraybridge/legacy.hpp"
#include "arraybridge/python/error.hpp"

namespace arraybridge::python {

namespace {
constexpr const char* versioned = "dltensor_versioned";
constexpr const char* used_versioned = "used_dltensor_versioned";
constexpr const char* legacy = "dltensor";
constexpr const char* used_legacy = "used_dltensor";
}  // namespace

Object to_capsule(const Envelope& envelope) { return checked(PyCapsule_New(envelope.tensor(), versioned, nullptr)); }

Object to_legacy_capsule(DLManagedTensor* tensor) { return checked(PyCapsule_New(tensor, legacy, nullptr)); }

bool is_used(PyObject* capsule) {
    return PyCapsule_IsValid(capsule, versioned) == 0 && PyCapsule_IsValid(capsule, legacy) == 0;
}

ManagedTensor take_tensor(PyObject* capsule, bool immutable) {
    if (PyCapsule_IsValid(capsule, versioned) != 0) {
        auto* tensor = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, versioned));
        if (PyCapsule_SetName(capsule, used_versioned) != 0) throw_error();
        return ManagedTensor{tensor};
    }
    if (PyCapsule_IsValid(capsule, legacy) != 0) {
        auto* tensor = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, legacy));
        if (PyCapsule_SetName(capsule, used_legacy) != 0) throw_error();
        return from_legacy(tensor, immutable);
    }
    throw InvalidTensor("an object of type " + std::string(Py_TYPE(capsule)->tp_name) +
                        " is no DLPack capsule, or one that was used before");
}

}  // namespace arraybridge::python
