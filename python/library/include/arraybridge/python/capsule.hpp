#pragma once

#include <cstdint>

#include "arraybridge/managed_tensor.hpp"
#include "arraybridge/python/object.hpp"
#include "arraybridge/visibility.hpp"

namespace arraybridge::python {

/// A capsule "dltensor_versioned" around an envelope, for one import. It has no destructor: the envelope knows whether
/// the importer took its reference.
ARRAYBRIDGE_API Object to_capsule(const Envelope& envelope);

/// Likewise a capsule "dltensor" around a legacy tensor, whose deleter the caller calls if the importer did not take
/// it.
ARRAYBRIDGE_API Object to_legacy_capsule(DLManagedTensor* tensor);

/// Whether an importer has taken the tensor out of the capsule, which it says by renaming it.
ARRAYBRIDGE_API bool is_used(PyObject* capsule);

/// Takes the tensor out of a capsule, of either kind. `immutable` is what is known of a legacy one. Throws
/// InvalidTensor for an object that is no DLPack capsule or was used before.
ARRAYBRIDGE_API ManagedTensor take_tensor(PyObject* capsule, bool immutable);

}  // namespace arraybridge::python
