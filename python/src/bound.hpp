#pragma once

#include "arraybridge/python/python.hpp"
#include "arraybridge/registry.hpp"

namespace arraybridge::extension {

/// A library of the registry as Python holds it. One per entry, made on first sight and kept for good.
class Bound {
public:
    explicit Bound(const LibraryEntry& entry) noexcept : entry_(&entry) {}

    const LibraryEntry& entry() const noexcept { return *entry_; }

    /// The library, loaded on first use.
    ArrayLibrary& library() {
        if (library_ != nullptr) [[likely]]
            return *library_;
        return load();
    }

    /// Whether its native arrays are Python objects. Otherwise Python sees them through ForeignArray. Once loaded.
    bool is_python() const noexcept { return is_python_; }

    /// Whether the object is an array of the library, which is loaded for the question.
    bool accepts(PyObject* object);

    /// The array behind a Python object, borrowed. Throws UnsupportedArray for an object that cannot be one.
    NativeArray from_python(PyObject* object) { return is_python_ ? NativeArray{object} : from_foreign(object); }

    /// The Python object for an array, whose reference is taken over. A new reference.
    PyObject* to_python(NativeArray array) {
        return is_python_ ? static_cast<PyObject*>(array.pointer) : to_foreign(array);
    }

private:
    ArrayLibrary& load();
    NativeArray from_foreign(PyObject* object) const;
    PyObject* to_foreign(NativeArray array) const;

    const LibraryEntry* entry_;
    ArrayLibrary* library_ = nullptr;
    bool is_python_ = false;
};

/// The state in which the library's native functions may be called. For a library of Python objects that is holding the
/// GIL, which every caller here does; one of C++ may have to do something.
class BoundScope {
public:
    explicit BoundScope(Bound& library) : library_(library.library()), entered_(!library.is_python()) {
        if (entered_) [[unlikely]]
            token_ = library_.enter_call();
    }
    BoundScope(const BoundScope&) = delete;
    BoundScope& operator=(const BoundScope&) = delete;
    ~BoundScope() {
        if (entered_) [[unlikely]]
            library_.leave_call(token_);
    }

private:
    ArrayLibrary& library_;
    bool entered_;
    void* token_ = nullptr;
};

/// The binding of an entry.
Bound& bind(const LibraryEntry& entry);

/// The library called `name`. Throws UnknownLibrary and ManifestError. With sys.path told to the registry if it
/// changed.
Bound& bound_named(std::string_view name);

/// Tells the registry where installed packages are, if that changed since it was last told. With the GIL held.
void refresh_package_paths();

}  // namespace arraybridge::extension
