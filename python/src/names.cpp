#include "names.hpp"

#include <string_view>

#include "arraybridge/python/call.hpp"
#include "recognition.hpp"

namespace arraybridge::extension {

namespace {

using python::Object;

constinit Names every_name;

std::string_view text_of(PyObject* object) {
    Py_ssize_t length = 0;
    const char* text = PyUnicode_AsUTF8AndSize(object, &length);
    if (text == nullptr) python::throw_error();
    return {text, static_cast<std::size_t>(length)};
}

/// The name that a MemoryType has as its value and a library object as its name; nothing for other objects.
Object named_by(PyObject* object) {
    // Only classes of this package: an array may well have an attribute `name` of its own.
    const std::string home = module_of(Py_TYPE(object));
    if (home == "arraybridge.types") return python::optional_attribute(object, "value");
    if (home == "arraybridge.libraries") return python::optional_attribute(object, "name");
    return {};
}

}  // namespace

Bound* Names::find_by_text(PyObject* object) {
    if (PyUnicode_Check(object)) {
        Bound& library = bound_named(text_of(object));
        // A string that is not interned may be a new object each time; remembering those would never end.
        if (PyUnicode_CHECK_INTERNED(object) != 0) remember(object, library);
        return &library;
    }
    const Object name = named_by(object);
    if (!name || !PyUnicode_Check(name.get())) return nullptr;
    Bound& library = bound_named(text_of(name.get()));
    remember(object, library);
    return &library;
}

void Names::remember(PyObject* object, Bound& library) {
    if (count_ == remembered_.size()) return;
    Py_INCREF(object);
    remembered_[count_++] = {object, &library};
}

Names& names() { return every_name; }

}  // namespace arraybridge::extension
