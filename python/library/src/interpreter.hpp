#pragma once

#include <atomic>
#include <cstdint>

#include "arraybridge/python/python.hpp"

namespace arraybridge::python {

/// What is known of the interpreter's life. One object for the process: this library is loaded once, and plugins call
/// into it. All that a release reads lies in one cache line.
struct alignas(64) Interpreter {
    /// From the first use of arraybridge until the interpreter begins to shut down.
    std::atomic<bool> alive{false};

    /// The interpreter began to shut down: it does not come back.
    std::atomic<bool> ended{false};

    /// Threads between looking at `alive` and having given the GIL back, or taken it back.
    std::atomic<std::uint64_t> in_flight{0};

    /// The thread that shuts the interpreter down. Written before `alive` is set.
    PyThreadState* main_thread = nullptr;
};

extern Interpreter interpreter;

/// Counts a thread as being on its way to or from the GIL. Look at `alive` after making one: either this thread sees
/// that it is gone, or the exit hook sees the count and waits (both sides are sequentially consistent).
class InFlight {
public:
    InFlight() noexcept { enter(); }
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;
    ~InFlight() { leave(); }

    static void enter() noexcept {
        ++of_this_thread;
        interpreter.in_flight.fetch_add(1);
    }
    static void leave() noexcept {
        interpreter.in_flight.fetch_sub(1);
        --of_this_thread;
    }

    /// How often the calling thread counts: what is left of the sum in the child of a fork.
    static thread_local std::uint64_t of_this_thread;
};

/// Has the exit hook called when the interpreter begins to shut down, and mends the counts in the child of a fork. With
/// the GIL held; throws PythonError.
void watch_interpreter();

}  // namespace arraybridge::python
