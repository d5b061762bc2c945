#pragma once

#include <array>
#include <cstddef>

#include "arraybridge/python/python.hpp"
#include "bound.hpp"

namespace arraybridge::extension {

/// Which library an argument names: a string, a MemoryType or a library object.
///
/// The objects that name a library are few and the same each time (an interned string, an enum member), so an address
/// tells; each remembered address is kept alive by a reference.
class Names {
public:
    /// Null, with no Python error set, for an object of another kind. Throws UnknownLibrary and ManifestError.
    Bound* find(PyObject* object) {
        for (std::size_t i = 0; i < count_; ++i) {
            if (remembered_[i].object == object) return remembered_[i].library;
        }
        return find_by_text(object);
    }

private:
    Bound* find_by_text(PyObject* object);
    void remember(PyObject* object, Bound& library);

    struct Remembered {
        PyObject* object;
        Bound* library;
    };
    std::array<Remembered, 32> remembered_{};
    std::size_t count_ = 0;
};

/// The one memory of names, guarded by the GIL.
Names& names();

}  // namespace arraybridge::extension
