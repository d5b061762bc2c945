#include "deferred.hpp"

#include <atomic>
#include <new>

#include "arraybridge/python/release.hpp"

namespace arraybridge::python {

namespace {

/// One reference that a thread unknown to Python wants to give up.
struct Deferred {
    PyObject* object;
    Deferred* next;
};

std::atomic<Deferred*> deferred{nullptr};  // a stack; emptied as a whole, so there is no ABA problem
std::atomic<bool> drain_requested{false};

int drain_from_interpreter(void*) {
    drain_requested.store(false, std::memory_order_relaxed);
    release_deferred();
    return 0;
}

}  // namespace

void defer_release(PyObject* object) noexcept {
    auto* node = new (std::nothrow) Deferred{object, deferred.load(std::memory_order_relaxed)};
    if (node == nullptr) return;  // out of memory: leaking one reference is the harmless way out
    while (!deferred.compare_exchange_weak(node->next, node, std::memory_order_release, std::memory_order_relaxed)) {
    }
    references_deferred.store(true, std::memory_order_relaxed);
    if (!drain_requested.exchange(true, std::memory_order_acq_rel)) {
        // A full queue of pending calls is no loss: every export drains the list too.
        if (Py_AddPendingCall(&drain_from_interpreter, nullptr) != 0) drain_requested.store(false);
    }
}

void forget_drain_request() noexcept { drain_requested.store(false); }

std::atomic<bool> references_deferred{false};

void release_every_deferred() noexcept {
    references_deferred.store(false,
                              std::memory_order_relaxed);  // before the list is taken: what comes later says so anew
    Deferred* node = deferred.exchange(nullptr, std::memory_order_acquire);
    while (node != nullptr) {
        Deferred* next = node->next;
        Py_DECREF(node->object);
        delete node;
        node = next;
    }
}

}  // namespace arraybridge::python
