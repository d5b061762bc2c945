#include "arraybridge/python/error.hpp"

#include "arraybridge/python/release.hpp"

namespace arraybridge::python {

struct PythonError::State {
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* traceback = nullptr;
    bool propagate = false;

    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
        // The last copy may be dropped by a thread without the GIL.
        for (PyObject* object : {type, value, traceback}) {
            if (object != nullptr) release_reference(object);
        }
    }
};

PythonError::PythonError(const std::string& text, std::shared_ptr<const State> state)
    : FrameworkError(text), state_(std::move(state)) {}

PythonError::~PythonError() = default;

bool PythonError::must_propagate() const noexcept { return state_->propagate; }

PyObject* PythonError::value() const noexcept { return state_->value; }

void PythonError::restore() const noexcept {
    Py_XINCREF(state_->type);
    Py_XINCREF(state_->value);
    Py_XINCREF(state_->traceback);
    PyErr_Restore(state_->type, state_->value, state_->traceback);
}

namespace {

/// What `str(error)` says; the type's name where that is nothing.
std::string text_of(PyObject* type, PyObject* value) {
    const Object text = Object::steal(PyObject_Str(value));
    const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    if (utf8 != nullptr && *utf8 != '\0') return utf8;
    PyErr_Clear();
    return reinterpret_cast<PyTypeObject*>(type)->tp_name;
}

}  // namespace

PythonError take_error() {
    auto state = std::make_shared<PythonError::State>();
    PyErr_Fetch(&state->type, &state->value, &state->traceback);
    PyErr_NormalizeException(&state->type, &state->value, &state->traceback);
    if (state->traceback != nullptr) PyException_SetTraceback(state->value, state->traceback);
    state->propagate = PyErr_GivenExceptionMatches(state->type, PyExc_Exception) == 0 ||
                       PyErr_GivenExceptionMatches(state->type, PyExc_MemoryError) != 0;
    const std::string text = text_of(state->type, state->value);
    return PythonError(text, std::move(state));
}

void throw_error() { throw take_error(); }

}  // namespace arraybridge::python
