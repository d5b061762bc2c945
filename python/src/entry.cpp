#include "entry.hpp"

#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "arraybridge/array_math.hpp"
#include "arraybridge/conversion.hpp"
#include "arraybridge/python/call.hpp"
#include "arraybridge/python/python_library.hpp"
#include "convert.hpp"
#include "values.hpp"

namespace py = pybind11;

namespace arraybridge::extension {

namespace {

using python::Object;

py::object to_object(Object object) { return py::reinterpret_steal<py::object>(object.release()); }

/// Hands the one reference that a native result carries to Python.
py::object result_of(Bound& library, NativeArray array) {
    return py::reinterpret_steal<py::object>(library.to_python(array));
}

py::tuple tuple_of(const std::vector<std::string>& texts) {
    py::tuple tuple(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) tuple[i] = texts[i];
    return tuple;
}

py::tuple tuple_of(DeviceKinds kinds) {
    py::list names;
    if (kinds.contains(DeviceKind::host)) names.append("host");
    if (kinds.contains(DeviceKind::accelerator)) names.append("accelerator");
    if (kinds.contains(DeviceKind::named)) names.append("named");
    return py::tuple(names);
}

py::tuple tuple_of(const std::vector<std::pair<std::string, std::string>>& variables) {
    py::tuple tuple(variables.size());
    for (std::size_t i = 0; i < variables.size(); ++i) {
        tuple[i] = py::make_tuple(variables[i].first, variables[i].second);
    }
    return tuple;
}

const char* words_for(Sharing sharing) {
    switch (sharing) {
        case Sharing::by_default:
            return "by default";
        case Sharing::on_request:
            return "on request";
        case Sharing::never:
            break;
    }
    return "never";
}

/// A read-only attribute that the manifest answers.
template <class Answer>
void from_manifest(py::class_<Bound, std::unique_ptr<Bound, py::nodelete>>& entry, const char* name, Answer answer) {
    entry.def_property_readonly(name, [answer](const Bound& library) { return answer(library.entry().manifest()); });
}

py::object module_of(Bound& library) {
    void* found = library.library().query(python::PythonLibrary::capability);
    if (found == nullptr) throw UnsupportedOperation(library.entry().manifest().display_name + " has no Python module");
    return py::reinterpret_borrow<py::object>(static_cast<python::PythonLibrary*>(found)->module());
}

py::tuple devices_of(Bound& library) {
    const BoundScope scope(library);
    const std::vector<Device> devices = library.library().devices();
    py::tuple tuple(devices.size());
    for (std::size_t i = 0; i < devices.size(); ++i) tuple[i] = to_object(device_to_python(devices[i]));
    return tuple;
}

py::object move_to_device(Bound& library, const py::object& array, const py::object& device) {
    const Device where = device_from(device.ptr());
    ArrayLibrary& target = library.library();
    const BoundScope scope(library);
    const NativeArray native = library.from_python(array.ptr());
    target.require_device(where);
    if (target.device_of(native) == where) return array;
    return result_of(library, target.move_to_device(native, where));
}

py::object convert_to(Bound& source, const py::object& array, Bound& target, const py::object& device,
                      const py::object& copy) {
    return py::reinterpret_steal<py::object>(
        convert_between(array.ptr(), source, target, device_from(device.ptr()), copy_mode_from(copy.ptr())));
}

/// The array's memory, if it is in main memory and can be described without a copy.
bool describe(Bound& library, const py::object& array, TensorView& view) {
    ArrayLibrary& loaded = library.library();
    const BoundScope scope(library);
    return !loaded.export_tensor(library.from_python(array.ptr()), {.copy = CopyMode::never}, view);
}

py::object host_address_of(Bound& library, const py::object& array) {
    TensorView view;
    if (!describe(library, array, view) || !view.device.is_host() || view.size() == 0) return py::none();
    return py::int_(reinterpret_cast<std::uintptr_t>(view.data()));
}

py::object nbytes_of(Bound& library, const py::object& array) {
    TensorView view;
    if (describe(library, array, view)) return py::int_(view.nbytes());
    return array.attr("nbytes");
}

/// The items of a sequence, held by the list: a sequence may make each of them only when it is asked.
py::list items_of(const py::object& sequence) {
    PyObject* items = PySequence_List(sequence.ptr());
    if (items == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::list>(items);
}

/// Borrowed from `arrays`, which has to outlive their use.
std::vector<NativeArray> natives_of(Bound& library, const py::list& arrays) {
    std::vector<NativeArray> natives;
    natives.reserve(static_cast<std::size_t>(PyList_GET_SIZE(arrays.ptr())));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(arrays.ptr()); ++i) {
        natives.push_back(library.from_python(PyList_GET_ITEM(arrays.ptr(), i)));
    }
    return natives;
}

std::vector<std::optional<double>> scales_from(const py::object& scales) {
    const py::list items = items_of(scales);
    std::vector<std::optional<double>> values;
    values.reserve(static_cast<std::size_t>(PyList_GET_SIZE(items.ptr())));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.ptr()); ++i) {
        PyObject* scale = PyList_GET_ITEM(items.ptr(), i);
        if (scale == Py_None) {
            values.emplace_back();
            continue;
        }
        const Object number = python::checked(PyNumber_Float(scale));
        values.emplace_back(PyFloat_AS_DOUBLE(number.get()));
    }
    return values;
}

using EntryClass = py::class_<Bound, std::unique_ptr<Bound, py::nodelete>>;
using Reduction = NativeArray (ArrayLibrary::*)(NativeArray, const Axes&);

void add_reduction(EntryClass& entry, const char* name, Reduction reduction) {
    entry.def(
        name,
        [reduction](Bound& library, const py::object& array, const py::object& axis) {
            ArrayLibrary& loaded = library.library();
            const BoundScope scope(library);
            return result_of(library, (loaded.*reduction)(library.from_python(array.ptr()), axes_from(axis.ptr())));
        },
        py::arg("array"), py::arg("axis") = py::none());
}

void add_manifest_attributes(EntryClass& entry) {
    from_manifest(entry, "name", [](const Manifest& about) { return about.name; });
    from_manifest(entry, "display_name", [](const Manifest& about) { return about.display_name; });
    from_manifest(entry, "listing", [](const Manifest& about) { return about.listing; });
    from_manifest(entry, "path", [](const Manifest& about) { return about.path.string(); });
    from_manifest(entry, "shared_object", [](const Manifest& about) { return about.shared_object.string(); });
    from_manifest(entry, "import_module", [](const Manifest& about) { return about.import_module; });
    from_manifest(entry, "array_modules", [](const Manifest& about) { return tuple_of(about.array_modules); });
    from_manifest(entry, "array_types", [](const Manifest& about) { return tuple_of(about.array_types); });
    from_manifest(entry, "detected", [](const Manifest& about) { return about.detected; });
    from_manifest(entry, "distribution", [](const Manifest& about) { return about.distribution; });
    from_manifest(entry, "extra", [](const Manifest& about) { return about.extra; });
    from_manifest(entry, "minimum_version", [](const Manifest& about) { return about.minimum_version; });
    from_manifest(entry, "environment", [](const Manifest& about) { return tuple_of(about.environment); });
    from_manifest(entry, "device_kinds", [](const Manifest& about) { return tuple_of(about.device_kinds); });
    from_manifest(entry, "dlpack_import_from",
                  [](const Manifest& about) { return tuple_of(about.dlpack_import_from); });
    from_manifest(entry, "dlpack_export_from",
                  [](const Manifest& about) { return tuple_of(about.dlpack_export_from); });
    from_manifest(entry, "mutable_arrays", [](const Manifest& about) { return about.mutable_arrays; });
    from_manifest(entry, "dtypes", [](const Manifest& about) { return about.dtypes.names(); });
    from_manifest(entry, "roles", [](const Manifest& about) { return tuple_of(about.roles); });
    from_manifest(entry, "operations", [](const Manifest& about) { return tuple_of(about.operations); });
    from_manifest(entry, "oom_messages", [](const Manifest& about) { return tuple_of(about.oom_messages); });
    from_manifest(entry, "oom_exceptions", [](const Manifest& about) { return tuple_of(about.oom_exceptions); });
    from_manifest(entry, "manifest_json", [](const Manifest& about) { return about.text; });
    entry.def_property_readonly("source",
                                [](const Bound& library) { return std::string(label(library.entry().source())); });
    entry.def_property_readonly("loaded", [](const Bound& library) { return library.entry().loaded() != nullptr; });
    entry.def("sharing_with", [](const Bound& library, const Bound& target) {
        return words_for(ConversionRoute::between(library.entry(), HOST, target.entry(), HOST).sharing());
    });
    entry.def("__repr__", [](const Bound& library) { return "<Entry " + library.entry().name() + ">"; });
}

void add_questions(EntryClass& entry) {
    entry.def("load", [](Bound& library) { library.library(); });
    entry.def("module", &module_of);
    entry.def("accepts", [](Bound& library, const py::object& value) { return library.accepts(value.ptr()); });
    entry.def("devices", &devices_of);
    entry.def("device_of", [](Bound& library, const py::object& array) {
        ArrayLibrary& loaded = library.library();
        const BoundScope scope(library);
        return to_object(device_to_python(loaded.device_of(library.from_python(array.ptr()))));
    });
    entry.def("require_device", [](Bound& library, const py::object& device) {
        library.library().require_device(device_from(device.ptr()));
    });
    entry.def("move_to_device", &move_to_device);
    entry.def("convert_to", &convert_to, py::arg("array"), py::arg("target"), py::arg("device"),
              py::arg("copy") = py::none());
    entry.def("host_address_of", &host_address_of);
    entry.def("nbytes_of", &nbytes_of);
}

void add_shaping(EntryClass& entry) {
    entry.def("astype", [](Bound& library, const py::object& array, const py::object& dtype) {
        ArrayLibrary& loaded = library.library();
        const BoundScope scope(library);
        return result_of(library, loaded.astype(library.from_python(array.ptr()), dtype_from(dtype.ptr())));
    });
    entry.def("reshape", [](Bound& library, const py::object& array, const py::object& shape) {
        ArrayLibrary& loaded = library.library();
        const BoundScope scope(library);
        return result_of(library, loaded.reshape(library.from_python(array.ptr()), shape_from(shape.ptr())));
    });
    entry.def("broadcast_to", [](Bound& library, const py::object& array, const py::object& shape) {
        ArrayLibrary& loaded = library.library();
        const BoundScope scope(library);
        return result_of(library, loaded.broadcast_to(library.from_python(array.ptr()), shape_from(shape.ptr())));
    });
    entry.def(
        "ones_like",
        [](Bound& library, const py::object& reference, const py::object& shape, const py::object& dtype) {
            ArrayLibrary& loaded = library.library();
            const BoundScope scope(library);
            const auto extents =
                shape.is_none() ? std::optional<Shape>{} : std::optional<Shape>(shape_from(shape.ptr()));
            const DType type = dtype.is_none() ? DType::boolean() : dtype_from(dtype.ptr());
            return result_of(library, loaded.ones_like(library.from_python(reference.ptr()), extents, type));
        },
        py::arg("reference"), py::arg("shape") = py::none(), py::arg("dtype") = py::none());
    entry.def("prepend_axis", [](Bound& library, const py::object& array) {
        ArrayLibrary& loaded = library.library();
        const BoundScope scope(library);
        return result_of(library, loaded.prepend_axis(library.from_python(array.ptr())));
    });
}

void add_combining(EntryClass& entry) {
    entry.def("assign", [](Bound& library, const py::object& array, const py::object& index, const py::object& values) {
        ArrayLibrary& loaded = library.library();
        const BoundScope scope(library);
        return result_of(library, loaded.assign(library.from_python(array.ptr()), slice_from(index.ptr()),
                                                library.from_python(values.ptr())));
    });
    entry.def("logical_and", [](Bound& library, const py::object& left, const py::object& right) {
        ArrayLibrary& loaded = library.library();
        const BoundScope scope(library);
        return result_of(library,
                         loaded.logical_and(library.from_python(left.ptr()), library.from_python(right.ptr())));
    });
    entry.def("stack_arrays", [](Bound& library, const py::object& arrays, const py::object& device) {
        ArrayLibrary& loaded = library.library();
        const BoundScope scope(library);
        const Device where = device_from(device.ptr());
        loaded.require_device(where);
        const py::list held = items_of(arrays);
        return result_of(library, loaded.stack_arrays(natives_of(library, held), where));
    });
    entry.def("normalize_planes",
              [](Bound& library, const py::object& array, const py::object& dtype, const py::object& scales) {
                  ArrayLibrary& loaded = library.library();
                  const BoundScope scope(library);
                  return result_of(library, loaded.normalize_planes(library.from_python(array.ptr()),
                                                                    dtype_from(dtype.ptr()), scales_from(scales)));
              });
    entry.def("scale_dtype", [](Bound& library, const py::object& array, const py::object& dtype) {
        ArrayLibrary& loaded = library.library();
        const BoundScope scope(library);
        return result_of(library, loaded.scale_dtype(library.from_python(array.ptr()), dtype_from(dtype.ptr())));
    });
}

void add_making(EntryClass& entry) {
    entry.def("linspace", [](Bound& library, double start, double stop, std::int64_t count, bool endpoint) {
        const BoundScope scope(library);
        return result_of(library, library.library().require<ArrayMath>().native_linspace(start, stop, count, endpoint));
    });
    entry.def("ones", [](Bound& library, const py::object& shape, const py::object& dtype) {
        const BoundScope scope(library);
        return result_of(library, library.library().require<ArrayMath>().native_ones(shape_from(shape.ptr()),
                                                                                     dtype_from(dtype.ptr())));
    });
    entry.def("outer", [](Bound& library, const py::object& left, const py::object& right) {
        ArrayMath& math = library.library().require<ArrayMath>();
        const BoundScope scope(library);
        return result_of(library, math.native_outer(library.from_python(left.ptr()), library.from_python(right.ptr())));
    });
    entry.def("floor", [](Bound& library, double value) {
        const BoundScope scope(library);
        return result_of(library, library.library().require<ArrayMath>().native_floor(value));
    });
}

void add_problem_class(py::module_& module) {
    py::class_<Problem>(module, "Problem")
        .def_readonly("name", &Problem::name)
        .def_property_readonly("path", [](const Problem& problem) { return problem.path.string(); })
        .def_readonly("reason", &Problem::reason)
        .def_readonly("shadowed", &Problem::shadowed);
}

}  // namespace

void add_entry_classes(py::module_& module) {
    EntryClass entry(module, "Entry");
    add_manifest_attributes(entry);
    add_questions(entry);
    add_reduction(entry, "max", &ArrayLibrary::max);
    add_reduction(entry, "min", &ArrayLibrary::min);
    add_reduction(entry, "mean", &ArrayLibrary::mean);
    add_reduction(entry, "sum", &ArrayLibrary::sum);
    add_shaping(entry);
    add_combining(entry);
    add_making(entry);
    add_problem_class(module);
}

}  // namespace arraybridge::extension
