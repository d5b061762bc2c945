#include "bound.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "arraybridge/python/call.hpp"
#include "arraybridge/python/python_library.hpp"
#include "foreign_array.hpp"

namespace arraybridge::extension {

namespace {

using python::checked;
using python::Object;

/// sys.path as the registry was last told.
std::vector<std::string>& told_paths() {
    static auto& paths = *new std::vector<std::string>;
    return paths;
}

}  // namespace

ArrayLibrary& Bound::load() {
    ArrayLibrary& library = entry_->library();
    is_python_ = library.query(python::PythonLibrary::capability) != nullptr;
    library_ = &library;
    return library;
}

bool Bound::accepts(PyObject* object) {
    ArrayLibrary& loaded = library();
    const BoundScope scope(*this);
    if (is_python_) return loaded.accepts(NativeArray{object});
    const Array* array = foreign_array(object);
    return array != nullptr && &array->library() == library_;
}

NativeArray Bound::from_foreign(PyObject* object) const {
    const Array* array = foreign_array(object);
    if (array == nullptr || &array->library() != library_) {
        throw UnsupportedArray("an object of type " + std::string(Py_TYPE(object)->tp_name) + " is not an array of " +
                               entry_->manifest().display_name);
    }
    return array->native();
}

PyObject* Bound::to_foreign(NativeArray array) const { return make_foreign_array(Array::adopt(*library_, array)); }

Bound& bind(const LibraryEntry& entry) {
    static auto& bindings = *new std::unordered_map<const LibraryEntry*, std::unique_ptr<Bound>>;
    std::unique_ptr<Bound>& binding = bindings[&entry];  // guarded by the GIL
    if (!binding) binding = std::make_unique<Bound>(entry);
    return *binding;
}

Bound& bound_named(std::string_view name) {
    refresh_package_paths();
    return bind(Registry::instance().entry(name));
}

void refresh_package_paths() {
    PyObject* path = PySys_GetObject("path");  // borrowed
    if (path == nullptr || !PyList_Check(path)) return;
    std::vector<std::string> now;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(path); ++i) {
        PyObject* item = PyList_GET_ITEM(path, i);
        const char* text = PyUnicode_Check(item) ? PyUnicode_AsUTF8(item) : nullptr;
        if (text == nullptr) {
            PyErr_Clear();
            continue;
        }
        now.emplace_back(text);
    }
    if (now == told_paths()) return;
    told_paths() = now;
    Registry::instance().set_package_paths(std::vector<std::filesystem::path>(now.begin(), now.end()));
}

}  // namespace arraybridge::extension
