#include "arraybridge/python/release.hpp"

#include <atomic>
#include <new>
#include <thread>

#include "arraybridge/python/error.hpp"

namespace arraybridge::python {

namespace {

/// One reference that a thread unknown to Python wants to give up.
struct Deferred {
    PyObject* object;
    Deferred* next;
};

// One state for the process: this library is loaded once, and plugins call into it.
std::atomic<bool> alive{false};
std::atomic<std::uint64_t> in_flight{0};        // threads between looking at `alive` and giving the GIL back
std::atomic<Deferred*> deferred{nullptr};       // a stack; emptied as a whole, so there is no ABA problem
std::atomic<bool> drain_requested{false};
PyThreadState* main_thread = nullptr;           // written before `alive` is set

int drain_from_interpreter(void*) {
    drain_requested.store(false, std::memory_order_relaxed);
    release_deferred();
    return 0;
}

void defer(PyObject* object) noexcept {
    auto* node = new (std::nothrow) Deferred{object, deferred.load(std::memory_order_relaxed)};
    if (node == nullptr) return;  // out of memory: leaking one reference is the harmless way out
    while (!deferred.compare_exchange_weak(node->next, node, std::memory_order_release, std::memory_order_relaxed)) {
    }
    if (!drain_requested.exchange(true, std::memory_order_acq_rel)) {
        // A full queue of pending calls is no loss: every export drains the list too.
        if (Py_AddPendingCall(&drain_from_interpreter, nullptr) != 0) drain_requested.store(false);
    }
}

/// The interpreter's first thread state, which is the main thread's: it is the one that shuts the interpreter down.
PyThreadState* find_main_thread() {
    PyThreadState* state = PyInterpreterState_ThreadHead(PyInterpreterState_Main());
    while (PyThreadState* older = PyThreadState_Next(state)) state = older;
    return state;
}

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

/// Counts a thread as being on its way to the GIL, unless the interpreter is already on its way out.
class InFlight {
public:
    // Sequentially consistent on both sides: either this thread sees `alive` gone or the exit hook sees the count.
    InFlight() noexcept { in_flight.fetch_add(1); }
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;
    ~InFlight() { in_flight.fetch_sub(1); }
};

/// Runs with the GIL held when the interpreter begins to shut down, before threads are cut off from it.
PyObject* stop_releasing(PyObject*, PyObject*) {
    alive.store(false);
    Py_BEGIN_ALLOW_THREADS
    while (in_flight.load() != 0) std::this_thread::yield();
    Py_END_ALLOW_THREADS
    release_deferred();
    Py_RETURN_NONE;
}
PyMethodDef stop_method{"arraybridge_stop_releasing", &stop_releasing, METH_NOARGS, nullptr};

void release_python_owner(void* object) noexcept { release_reference(static_cast<PyObject*>(object)); }

}  // namespace

const OwnerKind python_owner{&release_python_owner};

void start_releasing() {
    if (alive.load(std::memory_order_relaxed)) return;
    const Object hook = checked(PyCFunction_New(&stop_method, nullptr));
    const Object atexit = checked(PyImport_ImportModule("atexit"));
    checked(PyObject_CallMethod(atexit.get(), "register", "O", hook.get()));
    main_thread = find_main_thread();
    alive.store(true);
}

bool interpreter_alive() noexcept { return alive.load(std::memory_order_acquire); }

void release_deferred() noexcept {
    if (deferred.load(std::memory_order_relaxed) == nullptr) [[likely]] return;
    Deferred* node = deferred.exchange(nullptr, std::memory_order_acquire);
    while (node != nullptr) {
        Deferred* next = node->next;
        Py_DECREF(node->object);
        delete node;
        node = next;
    }
}

void release_reference(PyObject* object) noexcept {
    if (!interpreter_alive()) return;
    PyThreadState* here = PyGILState_GetThisThreadState();
    if (here == main_thread) {
        // The exit hook runs in this very thread: it cannot begin while we are here.
        release_in_known_thread(object, here);
        return;
    }
    const InFlight guard;
    if (!alive.load()) return;
    if (here != nullptr) {
        release_in_known_thread(object, here);
    } else {
        defer(object);
    }
}

}  // namespace arraybridge::python
