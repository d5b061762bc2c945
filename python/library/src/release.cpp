#include "arraybridge/python/release.hpp"

#include "deferred.hpp"
#include "interpreter.hpp"

namespace arraybridge::python {

namespace {

/// The thread state that has the GIL, whichever thread it belongs to; null if none has.
PyThreadState* holder_of_gil() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
    return PyThreadState_GetUnchecked();
#else
    return _PyThreadState_UncheckedGet();
#endif
}

/// `here` is this thread's state. PyGILState_Ensure and Release do the same and look everything up twice.
void release_in_known_thread(PyObject* object, PyThreadState* here) noexcept {
    if (holder_of_gil() == here) {
        Py_DECREF(object);
        return;
    }
    PyEval_RestoreThread(here);
    Py_DECREF(object);
    PyEval_SaveThread();
}

}  // namespace

void start_releasing() { watch_interpreter(); }

void release_reference(PyObject* object) noexcept {
    if (!interpreter_alive()) return;  // it leaks: nothing of Python may be touched any more
    PyThreadState* here = PyGILState_GetThisThreadState();
    if (here == interpreter.main_thread && here != nullptr) {
        // The exit hook runs in this very thread: it cannot begin while we are here.
        release_in_known_thread(object, here);
        return;
    }
    const InFlight guard;
    if (!interpreter.alive.load()) return;
    if (here != nullptr) {
        release_in_known_thread(object, here);
    } else {
        defer_release(object);
    }
}

void release_owner(void* object) noexcept { release_reference(static_cast<PyObject*>(object)); }

}  // namespace arraybridge::python
