#include "interpreter.hpp"

#include <pthread.h>

#include <thread>

#include "arraybridge/python/error.hpp"
#include "arraybridge/python/gil.hpp"
#include "arraybridge/python/release.hpp"
#include "deferred.hpp"

namespace arraybridge::python {

Interpreter interpreter;
thread_local std::uint64_t InFlight::of_this_thread = 0;

namespace {

/// Runs with the GIL held when the interpreter begins to shut down, before threads are cut off from it.
PyObject* stop(PyObject*, PyObject*) {
    interpreter.ended.store(true);
    interpreter.alive.store(false);
    Py_BEGIN_ALLOW_THREADS while (interpreter.in_flight.load() != 0) std::this_thread::yield();
    Py_END_ALLOW_THREADS release_deferred();
    Py_RETURN_NONE;
}
PyMethodDef stop_method{"arraybridge_stop", &stop, METH_NOARGS, nullptr};

/// The threads that were on their way do not exist in the child, and the one that forked is its main thread.
void mend_after_fork() noexcept {
    interpreter.in_flight.store(InFlight::of_this_thread);
    interpreter.main_thread = PyGILState_GetThisThreadState();
    forget_drain_request();
}

/// The interpreter's first thread state, which is the main thread's.
PyThreadState* find_main_thread() {
    PyThreadState* state = PyInterpreterState_ThreadHead(PyInterpreterState_Main());
    while (PyThreadState* older = PyThreadState_Next(state)) state = older;
    return state;
}

}  // namespace

void watch_interpreter() {
    if (interpreter.alive.load(std::memory_order_relaxed)) return;
    // A late exit handler may still use a library; what it leaves behind leaks, since no hook of ours would run any
    // more.
    if (interpreter.ended.load()) return;
    const Object hook = checked(PyCFunction_New(&stop_method, nullptr));
    const Object atexit = checked(PyImport_ImportModule("atexit"));
    checked(PyObject_CallMethod(atexit.get(), "register", "O", hook.get()));
    pthread_atfork(nullptr, nullptr, &mend_after_fork);
    interpreter.main_thread = find_main_thread();
    interpreter.alive.store(true);
}

bool interpreter_alive() noexcept { return interpreter.alive.load(std::memory_order_acquire); }

void* release_gil() noexcept {
    if (!interpreter_alive() || PyGILState_Check() == 0) return nullptr;
    // Until the GIL is taken back this thread counts as in flight: the interpreter waits for it before it shuts down,
    // because a thread that asks for the GIL after that is ended by Python in the middle of our code.
    InFlight::enter();
    if (!interpreter.alive.load()) {
        InFlight::leave();
        return nullptr;
    }
    return PyEval_SaveThread();
}

void restore_gil(void* token) noexcept {
    if (token == nullptr) return;
    PyEval_RestoreThread(static_cast<PyThreadState*>(token));
    InFlight::leave();
}

}  // namespace arraybridge::python
