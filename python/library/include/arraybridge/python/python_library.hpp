#pragma once

#include <string>

#include "arraybridge/array_library.hpp"
#include "arraybridge/python/call.hpp"
#include "arraybridge/python/error.hpp"
#include "arraybridge/python/object.hpp"
#include "arraybridge/python/release.hpp"
#include "arraybridge/visibility.hpp"

/// Defines the entry symbol of a plugin whose class derives from PythonLibrary.
#define ARRAYBRIDGE_PYTHON_PLUGIN(LIBRARY_CLASS) \
    ARRAYBRIDGE_PLUGIN_FOR_RUNTIME(LIBRARY_CLASS, ARRAYBRIDGE_PLUGIN_NAME, ARRAYBRIDGE_PYTHON_RUNTIME)

namespace arraybridge::python {

/// What a plugin for a Python framework is built on: its native arrays are Python objects.
///
/// The constructor imports the framework, with the environment variables of the manifest set first, so that a library
/// that exists is ready: nothing is checked again on the way of an array. A call scope holds the GIL.
class ARRAYBRIDGE_API PythonLibrary : public ArrayLibrary {
public:
    /// The capability by which a binding knows that native arrays are Python objects.
    static constexpr CapabilityId capability{"arraybridge.PythonLibrary/1"};

    /// Throws NotInstalled, PluginError for a framework older than the manifest says, or what the import raised.
    explicit PythonLibrary(const LibraryEntry& entry);
    ~PythonLibrary() override;

    /// The framework's module, borrowed.
    PyObject* module() const noexcept { return module_; }

    void* query(CapabilityId id) noexcept override;
    void* enter_call() override;
    void leave_call(void* token) noexcept override;
    void retain(NativeArray array) noexcept override;
    void release(NativeArray array) noexcept override;
    std::string describe(NativeArray array) override;

protected:
    static PyObject* object(NativeArray array) noexcept { return static_cast<PyObject*>(array.pointer); }
    static NativeArray native(Object object) noexcept { return NativeArray{object.release()}; }

    /// "a Python list is not a NumPy array".
    [[noreturn]] void throw_not_mine(NativeArray array);

    /// The module `name`; NotInstalled, naming what to install, if there is none.
    static Object import_module(const std::string& name, const std::string& distribution);

private:
    PyObject* module_ = nullptr;  // a library is never destroyed, and so this reference is never given up
};

}  // namespace arraybridge::python
