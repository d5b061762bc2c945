#pragma once

#include <memory>
#include <string>

#include "arraybridge/error.hpp"
#include "arraybridge/python/object.hpp"
#include "arraybridge/python/python.hpp"
#include "arraybridge/visibility.hpp"

namespace arraybridge::python {

/// A Python exception on its way through C++: type, value and traceback are kept. May be copied, caught and dropped
/// without the GIL.
class ARRAYBRIDGE_API PythonError : public FrameworkError {
public:
    ~PythonError() override;

    bool must_propagate() const noexcept override;

    /// Makes the exception the current one of the calling thread again. With the GIL held.
    void restore() const noexcept;

    /// The exception object, borrowed. With the GIL held.
    PyObject* value() const noexcept;

private:
    struct State;
    friend PythonError take_error();

    PythonError(const std::string& text, std::shared_ptr<const State> state);

    std::shared_ptr<const State> state_;
};

/// The current exception of this thread, which is cleared. There must be one. With the GIL held.
ARRAYBRIDGE_API PythonError take_error();

/// Throws the current exception of this thread as PythonError.
[[noreturn]] ARRAYBRIDGE_API void throw_error();

/// Takes over the result of a call into Python; throws what it raised if it is null.
inline Object checked(PyObject* result) {
    if (result == nullptr) throw_error();
    return Object::steal(result);
}

}  // namespace arraybridge::python
