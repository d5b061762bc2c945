#include "arraybridge/python/python_library.hpp"

#include <charconv>
#include <string_view>
#include <vector>

#include "arraybridge/registry.hpp"
#include "interpreter.hpp"

namespace arraybridge::python {

namespace {

/// Sets the variables that are not set yet, through os.environ so that Python and C see the same.
void set_environment(const Manifest& manifest) {
    if (manifest.environment.empty()) return;
    const Object os = checked(PyImport_ImportModule("os"));
    const Object environ = attribute(os.get(), "environ");
    for (const auto& [name, value] : manifest.environment) {
        call_method(environ.get(), "setdefault", to_text(name).get(), to_text(value).get());
    }
}

/// The numbers a version begins with: {2, 13, 0} of "2.13.0+cpu".
std::vector<int> release_of(std::string_view version) {
    std::vector<int> numbers;
    const char* at = version.data();
    const char* end = at + version.size();
    for (int number = 0; at != end; ++at) {
        const auto [next, failed] = std::from_chars(at, end, number);
        if (failed != std::errc{}) break;
        numbers.push_back(number);
        at = next;
        if (at == end || *at != '.') break;
    }
    return numbers;
}

void require_version(PyObject* module, const Manifest& manifest) {
    if (manifest.minimum_version.empty()) return;
    const Object version = optional_attribute(module, "__version__");
    const char* text = version && PyUnicode_Check(version.get()) ? PyUnicode_AsUTF8(version.get()) : nullptr;
    if (text == nullptr || release_of(text) >= release_of(manifest.minimum_version)) return;
    throw PluginError(manifest.display_name + " " + text + " is installed; " + manifest.minimum_version +
                      " is the oldest that can be used");
}

std::string how_to_install(const Manifest& manifest) {
    if (!manifest.extra.empty()) return "pip install \"arraybridge[" + manifest.extra + "]\"";
    return "pip install " + (manifest.distribution.empty() ? manifest.import_module : manifest.distribution);
}

/// Whether the current exception says that this very module, and not one that it needs, is missing.
bool says_missing(const std::string& module) {
    if (PyErr_ExceptionMatches(PyExc_ModuleNotFoundError) == 0) return false;
    const PythonError error = take_error();
    const Object name = optional_attribute(error.value(), "name");
    const char* missing = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : "";
    const std::string top = module.substr(0, module.find('.'));
    if (module == missing || top == missing) return true;
    error.restore();
    return false;
}

}  // namespace

PythonLibrary::PythonLibrary(const LibraryEntry& entry) : ArrayLibrary(entry) {
    const Manifest& about = entry.manifest();
    start_releasing();
    set_environment(about);
    PyObject* imported = PyImport_ImportModule(about.import_module.c_str());
    if (imported == nullptr) {
        if (!says_missing(about.import_module)) throw_error();
        throw NotInstalled(about.display_name + " is not installed: " + how_to_install(about), about.import_module);
    }
    Object module = Object::steal(imported);
    require_version(module.get(), about);
    module_ = module.release();
}

PythonLibrary::~PythonLibrary() = default;

void* PythonLibrary::query(CapabilityId id) noexcept { return id == capability ? this : nullptr; }

void* PythonLibrary::enter_call() {
    const InFlight guard;  // so that the interpreter does not begin to shut down before the GIL is taken
    if (!interpreter.alive.load())
        throw PluginError(name() + " cannot be used any more: the Python interpreter has shut down");
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(PyGILState_Ensure()));
}

void PythonLibrary::leave_call(void* token) noexcept {
    PyGILState_Release(static_cast<PyGILState_STATE>(reinterpret_cast<std::uintptr_t>(token)));
}

void PythonLibrary::retain(NativeArray array) noexcept { Py_INCREF(object(array)); }

void PythonLibrary::release(NativeArray array) noexcept { release_reference(object(array)); }

std::string PythonLibrary::describe(NativeArray array) { return Py_TYPE(object(array))->tp_name; }

void PythonLibrary::throw_not_mine(NativeArray array) {
    throw UnsupportedArray("an object of type " + describe(array) + " is not an array of " + manifest().display_name);
}

Object PythonLibrary::import_module(const std::string& name, const std::string& distribution) {
    PyObject* imported = PyImport_ImportModule(name.c_str());
    if (imported == nullptr) {
        if (!says_missing(name)) throw_error();
        throw NotInstalled(name + " is not installed: pip install " + distribution, name);
    }
    return Object::steal(imported);
}

}  // namespace arraybridge::python
