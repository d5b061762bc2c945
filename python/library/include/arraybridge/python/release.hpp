#pragma once

#include <atomic>

#include "arraybridge/python/python.hpp"
#include "arraybridge/tensor_view.hpp"
#include "arraybridge/visibility.hpp"

namespace arraybridge::python {

/// Prepares releasing references from any thread, and the way it ends with the interpreter. Called with the GIL held,
/// any number of times; throws PythonError.
ARRAYBRIDGE_API void start_releasing();

/// Gives up one reference to a Python object from any thread, with or without the GIL, also while or after the
/// interpreter shuts down; then the reference leaks.
///
/// With the GIL: at once. In a thread that Python knows: by taking the GIL. In any other thread: put on a list that the
/// interpreter is asked to empty soon and that every export empties.
ARRAYBRIDGE_API void release_reference(PyObject* object) noexcept;

/// Whether other threads left something on the list.
ARRAYBRIDGE_API extern std::atomic<bool> references_deferred;

ARRAYBRIDGE_API void release_every_deferred() noexcept;

/// Gives up what other threads left on the list. With the GIL held.
inline void release_deferred() noexcept {
    if (references_deferred.load(std::memory_order_relaxed)) [[unlikely]]
        release_every_deferred();
}

/// Whether the interpreter runs and has not begun to shut down: the only time when its interface may be used.
ARRAYBRIDGE_API bool interpreter_alive() noexcept;

/// How a view owns a Python object: `release_reference` for the owner of a view. A library of Python objects may take
/// such an owner over directly.
ARRAYBRIDGE_API void release_owner(void* object) noexcept;

}  // namespace arraybridge::python
