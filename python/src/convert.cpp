#include "convert.hpp"

#include <algorithm>

#include "arguments.hpp"
#include "arraybridge/conversion.hpp"
#include "arraybridge/python/call.hpp"
#include "errors.hpp"
#include "names.hpp"
#include "recognition.hpp"
#include "record.hpp"
#include "values.hpp"

namespace arraybridge::extension {

namespace {

using python::Object;

/// The library that an argument of convert_memory names; null with ValueError or TypeError set, in the words for
/// `role`.
Bound* library_argument(PyObject* object, const char* role) {
    try {
        if (Bound* library = names().find(object)) [[likely]]
            return library;
    } catch (const UnknownLibrary& error) {
        const std::string_view text = error.what();
        const std::string available(text.substr(std::min(text.find("Available: "), text.size())));
        PyErr_Format(PyExc_ValueError, "Invalid %s '%S'. Available types: %s", role, object,
                     available.empty() ? "" : available.c_str() + sizeof("Available: ") - 1);
        return nullptr;
    } catch (...) {
        set_error();
        return nullptr;
    }
    PyErr_Format(PyExc_ValueError, "Invalid %s %R: it takes a library's name or a MemoryType", role, object);
    return nullptr;
}

PyObject* convert_named(PyObject* data, PyObject* source_type, PyObject* target_type, PyObject* device,
                        PyObject* copy) {
    Bound* source = library_argument(source_type, "source_type");
    if (source == nullptr) return nullptr;
    Bound* target = library_argument(target_type, "target_type");
    if (target == nullptr) return nullptr;
    try {
        return convert_between(data, *source, *target, device_from(device), copy_mode_from(copy));
    } catch (...) {
        set_conversion_error(source->entry().name(), target->entry().name());
        return nullptr;
    }
}

PyObject* convert_memory(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
    static constinit Parameters<5> parameters{
        "convert_memory", {"data", "source_type", "target_type", "device", "copy"}, 4, 4};
    if (count == 4 && keywords == nullptr) [[likely]] {
        return convert_named(arguments[0], arguments[1], arguments[2], arguments[3], nullptr);
    }
    std::array<PyObject*, 5> values{};
    if (!parameters.parse(arguments, count, keywords, values)) return nullptr;
    return convert_named(values[0], values[1], values[2], values[3], values[4]);
}

PyObject* convert(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
    static constinit Parameters<4> parameters{"convert", {"data", "to", "device", "copy"}, 2, 2};
    std::array<PyObject*, 4> values{};
    if (!parameters.parse(arguments, count, keywords, values)) return nullptr;
    Bound* source = nullptr;
    Target target{};
    try {
        source = &source_of(values[0]);
        target = target_from(values[1]);
    } catch (...) {
        set_error();
        return nullptr;
    }
    try {
        const bool named = values[2] != nullptr && values[2] != Py_None;
        const CopyMode copy = copy_mode_from(values[3]);
        const Device device =
            named ? device_from(values[2]) : default_device(values[0], *source, *target.library, target.like);
        return convert_between(values[0], *source, *target.library, device, copy);
    } catch (...) {
        set_conversion_error(source->entry().name(), target.library->entry().name());
        return nullptr;
    }
}

PyObject* detect_memory_type(PyObject*, PyObject* value) {
    return guarded([&]() -> PyObject* {
        if (const Bound* library = library_of(value, true)) {
            return python::to_text(library->entry().name()).release();
        }
        throw_unknown_type(value);
    });
}

PyDoc_STRVAR(
    convert_memory_doc,
    "convert_memory(data, source_type, target_type, device, *, copy=None)\n--\n\n"
    "The array `data` of one library as an array of another, on `device`.\n\n"
    "Args:\n"
    "    data: An array of the library `source_type`, of any shape and of any dtype that both libraries have.\n"
    "    source_type: Name of its library (\"numpy\"), or its MemoryType.\n"
    "    target_type: The library to convert to, likewise.\n"
    "    device: A device of the target: HOST, AcceleratorDevice(index) or NamedDevice(name).\n"
    "    copy: None shares memory where the two libraries do so by default and the array allows it, and copies\n"
    "        otherwise. False shares or fails. True shares nothing.\n\n"
    "Returns:\n"
    "    The array in the target library, same shape; the very object `data` when it is there already. A result\n"
    "    that shares memory keeps that memory alive.\n\n"
    "Raises:\n"
    "    ValueError: A library is not known.\n"
    "    MemoryConversionError: The conversion failed. It is a ModuleNotFoundError too if a library is not\n"
    "        installed, a BufferError if memory was to be shared and cannot be, a ValueError if the target does\n"
    "        not have the device.");

PyDoc_STRVAR(
    convert_doc,
    "convert(data, to, *, device=None, copy=None)\n--\n\n"
    "The array `data`, whose library is found by its type, as an array of another library.\n\n"
    "Args:\n"
    "    data: An array of any library that is known.\n"
    "    to: A library's name, a MemoryType, a library, or an array: \"make it like this one\".\n"
    "    device: Where the result has to be. None: on the device of the array `to`; else on that of `data`, if\n"
    "        the target has it; else on the target's first device.\n"
    "    copy: As for convert_memory.\n\n"
    "Raises:\n"
    "    ValueError: The library of `data` or the one `to` names is not known.\n"
    "    MemoryConversionError: As for convert_memory.");

PyDoc_STRVAR(detect_doc,
             "detect_memory_type(data, /)\n--\n\n"
             "Name of the library that made `data` (\"numpy\", \"torch\"), told by its type. Imports nothing.\n\n"
             "Raises:\n"
             "    ValueError: No known library made it.");

template <class Function>
constexpr PyCFunction as_function(Function function) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef functions[] = {
    {"convert_memory", as_function(&convert_memory), METH_FASTCALL | METH_KEYWORDS, convert_memory_doc},
    {"convert", as_function(&convert), METH_FASTCALL | METH_KEYWORDS, convert_doc},
    {"detect_memory_type", &detect_memory_type, METH_O, detect_doc},
};

}  // namespace

PyObject* convert_between(PyObject* data, Bound& source, Bound& target, const Device& device, CopyMode copy) {
    ArrayLibrary& from = source.library();
    ArrayLibrary& to = target.library();
    const BoundScope source_scope(source);
    const BoundScope target_scope(target);
    const Object observer = current_observer();
    if (!observer) [[likely]] {
        return target.to_python(convert_native(source.from_python(data), from, to, device, copy, nullptr));
    }
    ConversionRecord record;
    Object result =
        Object::steal(target.to_python(convert_native(source.from_python(data), from, to, device, copy, &record)));
    if (record.mechanism != Mechanism::stays_in_place) hand_over(record, observer.get());
    return result.release();
}

Device default_device(PyObject* data, Bound& source, Bound& target, PyObject* like) {
    const BoundScope source_scope(source);
    const BoundScope target_scope(target);
    if (like != nullptr) return target.library().device_of(target.from_python(like));
    const DeviceKinds kinds = target.entry().manifest().device_kinds;
    if (kinds.only(DeviceKind::host)) return HOST;  // there is no other place
    const Device here = source.library().device_of(source.from_python(data));
    if (here.is_host() && kinds.contains(DeviceKind::host)) [[likely]]
        return HOST;
    const std::vector<Device> devices = target.library().devices();
    if (std::find(devices.begin(), devices.end(), here) != devices.end()) return here;
    if (devices.empty()) throw DeviceUnavailable(target.entry().manifest().display_name + " has no device here");
    return devices.front();
}

Target target_from(PyObject* to) {
    if (Bound* library = names().find(to)) return {library, nullptr};
    if (Bound* library = library_of(to, false); library != nullptr && library->accepts(to)) return {library, to};
    PyErr_Format(PyExc_ValueError,
                 "`to` is a library's name, a MemoryType, a library or an array; an object of type %R is none of them",
                 Py_TYPE(to));
    python::throw_error();
}

Bound& source_of(PyObject* data) {
    if (Bound* library = library_of(data, false)) return *library;
    throw_unknown_type(data);
}

bool add_conversion_functions(PyObject* module) {
    // They say that they live where they are imported from, and so pickle by that name.
    const Object home = python::to_text("arraybridge.converters");
    for (PyMethodDef& function : functions) {
        const Object made = Object::steal(PyCFunction_NewEx(&function, nullptr, home.get()));
        if (!made || PyModule_AddObjectRef(module, function.ml_name, made.get()) != 0) return false;
    }
    return true;
}

}  // namespace arraybridge::extension
