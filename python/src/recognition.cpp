#include "recognition.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "arraybridge/python/call.hpp"
#include "foreign_array.hpp"

namespace arraybridge::extension {

namespace {

using python::Object;

/// Types that were recognised, by address. Bounded, and each type in it is kept alive so that no other gets its
/// address.
class RecognisedTypes {
public:
    Bound* find(PyTypeObject* type) const {
        const Slot& slot = slots_[index_of(type)];
        return slot.type == type ? slot.library : nullptr;
    }

    void remember(PyTypeObject* type, Bound& library) {
        Slot& slot = slots_[index_of(type)];
        PyTypeObject* replaced = slot.type;
        Py_INCREF(type);
        slot = {type, &library};
        Py_XDECREF(replaced);
    }

private:
    struct Slot {
        PyTypeObject* type;
        Bound* library;
    };
    static std::size_t index_of(PyTypeObject* type) { return (reinterpret_cast<std::uintptr_t>(type) >> 5U) % 64; }

    std::array<Slot, 64> slots_{};
};

RecognisedTypes& recognised() {
    static auto& types = *new RecognisedTypes;
    return types;
}

/// Empty for a type that has no such text, or whose metaclass raises when asked: such a type is nobody's array.
std::string text_attribute(PyTypeObject* type, const char* name) {
    const Object text = Object::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), name));
    const char* utf8 = text && PyUnicode_Check(text.get()) ? PyUnicode_AsUTF8(text.get()) : nullptr;
    if (utf8 != nullptr) return utf8;
    if (PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_Exception) == 0) python::throw_error();
    PyErr_Clear();
    return {};
}

bool makes(const Manifest& manifest, const std::string& module, const std::string& full_name) {
    const auto contains = [](const std::vector<std::string>& names, std::string_view name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    return contains(manifest.array_modules, std::string_view(module).substr(0, module.find('.'))) ||
           contains(manifest.array_types, full_name);
}

/// The library of the nearest ancestor that has one: a subclass defined elsewhere is still its library's.
const LibraryEntry* search(PyTypeObject* type, const std::vector<const LibraryEntry*>& entries) {
    const Object ancestors = Object::borrow(type->tp_mro);  // a metaclass that is asked may change the type
    for (Py_ssize_t i = 0; ancestors && i < PyTuple_GET_SIZE(ancestors.get()); ++i) {
        auto* ancestor = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(ancestors.get(), i));
        const std::string module = module_of(ancestor);
        const std::string full_name = module + "." + text_attribute(ancestor, "__qualname__");
        for (const LibraryEntry* entry : entries) {
            if (makes(entry->manifest(), module, full_name)) return entry;
        }
    }
    return nullptr;
}

}  // namespace

std::string module_of(PyTypeObject* type) { return text_attribute(type, "__module__"); }

void throw_unknown_type(PyObject* object) {
    PyErr_Format(PyExc_ValueError, "Unknown memory type for %R (module: %s)", Py_TYPE(object),
                 module_of(Py_TYPE(object)).c_str());
    python::throw_error();
}

Bound* library_of(PyObject* object, bool detectable_only) {
    if (const Array* foreign = foreign_array(object)) return &bind(foreign->library().entry());
    PyTypeObject* type = Py_TYPE(object);
    Bound* found = recognised().find(type);
    if (found == nullptr) {
        // The listed libraries answer for nearly every array; only then are packages and the user's folder read.
        refresh_package_paths();
        const LibraryEntry* entry = search(type, Registry::instance().all());
        if (entry == nullptr) entry = search(type, Registry::instance().everything());
        if (entry == nullptr) return nullptr;
        found = &bind(*entry);
        recognised().remember(type, *found);
    }
    return detectable_only && !found->entry().manifest().detected ? nullptr : found;
}

}  // namespace arraybridge::extension
