#include "errors.hpp"

#include <new>
#include <string>

#include "arraybridge/python/call.hpp"

namespace arraybridge::extension {

namespace {

using python::Object;
using python::PythonError;

void set_not_installed(const NotInstalled& error) {
    const Object text = python::to_text(error.what());
    const Object name = python::to_text(error.module());
    PyErr_SetImportErrorSubclass(PyExc_ModuleNotFoundError, text.get(), name.get(), nullptr);
}

void set_from_current_exception() {
    try {
        throw;
    } catch (const PythonError& error) {
        error.restore();
    } catch (const NotInstalled& error) {
        set_not_installed(error);
    } catch (const UnknownLibrary& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const DeviceUnavailable& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const ManifestError& error) {
        PyErr_SetString(PyExc_ImportError, error.what());
    } catch (const PluginError& error) {
        PyErr_SetString(PyExc_ImportError, error.what());
    } catch (const CannotShare& error) {
        PyErr_SetString(PyExc_BufferError, error.what());
    } catch (const InvalidTensor& error) {
        PyErr_SetString(PyExc_BufferError, error.what());
    } catch (const UnsupportedArray& error) {
        PyErr_SetString(PyExc_TypeError, error.what());
    } catch (const UnsupportedOperation& error) {
        PyErr_SetString(PyExc_NotImplementedError, error.what());
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    } catch (...) {
        PyErr_SetString(PyExc_RuntimeError, "a library threw something that is no exception");
    }
}

/// The subclass of MemoryConversionError that is of the cause's kind too.
const char* class_for(PyObject* cause) {
    if (PyErr_GivenExceptionMatches(cause, PyExc_ModuleNotFoundError) != 0) return "ConversionModuleNotFoundError";
    if (PyErr_GivenExceptionMatches(cause, PyExc_BufferError) != 0) return "ConversionBufferError";
    return "MemoryConversionError";
}

void wrap_current_error(std::string_view source, std::string_view target, const char* class_name) {
    const PythonError cause = python::take_error();
    if (cause.must_propagate()) {
        cause.restore();
        return;
    }
    const Object module = python::checked(PyImport_ImportModule("arraybridge.exceptions"));
    const Object type = python::attribute(module.get(), class_name != nullptr ? class_name : class_for(cause.value()));
    const Object error =
        python::call(type.get(), python::to_text(source).get(), python::to_text(target).get(),
                     python::to_text("ArrayLibrary.convert_to").get(), python::to_text(cause.what()).get());
    if (const Object missing = python::optional_attribute(cause.value(), "name")) {
        // What is missing is part of ModuleNotFoundError's interface.
        if (PyErr_GivenExceptionMatches(error.get(), PyExc_ImportError) != 0) {
            PyObject_SetAttrString(error.get(), "name", missing.get());
        }
    }
    Py_INCREF(cause.value());
    PyException_SetContext(error.get(), cause.value());
    Py_INCREF(cause.value());
    PyException_SetCause(error.get(), cause.value());
    PyErr_SetObject(type.get(), error.get());
}

/// A missing device is told by its C++ class: ValueError alone would not tell it from a framework's own ValueError.
const char* class_of_current_exception() {
    try {
        throw;
    } catch (const DeviceUnavailable&) {
        return "ConversionDeviceError";
    } catch (...) {
        return nullptr;
    }
}

}  // namespace

void set_error() noexcept {
    try {
        set_from_current_exception();
    } catch (...) {
        PyErr_NoMemory();
    }
}

void set_conversion_error(std::string_view source, std::string_view target) noexcept {
    try {
        const char* class_name = class_of_current_exception();
        set_from_current_exception();
        wrap_current_error(source, target, class_name);
    } catch (const PythonError& error) {
        error.restore();
    } catch (...) {
        PyErr_NoMemory();
    }
}

}  // namespace arraybridge::extension
