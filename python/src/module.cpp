#include <dlfcn.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <exception>
#include <string>
#include <utility>

#include "arraybridge/conversion_route.hpp"
#include "arraybridge/plugin.hpp"
#include "arraybridge/python/call.hpp"
#include "arraybridge/python/runtime.hpp"
#include "bound.hpp"
#include "convert.hpp"
#include "entry.hpp"
#include "errors.hpp"
#include "explain.hpp"
#include "foreign_array.hpp"
#include "recognition.hpp"
#include "record.hpp"
#include "values.hpp"

namespace py = pybind11;

namespace arraybridge::extension {

namespace {

using python::Object;

py::tuple bindings_of(const std::vector<const LibraryEntry*>& entries) {
    py::tuple tuple(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i)
        tuple[i] = py::cast(&bind(*entries[i]), py::return_value_policy::reference);
    return tuple;
}

py::tuple planned(Bound& source, const py::object& source_device, Bound& target, const py::object& target_device,
                  const py::object& copy) {
    const ConversionRoute route =
        ConversionRoute::between(source.entry(), device_from(source_device.ptr()), target.entry(),
                                 device_from(target_device.ptr()), copy_mode_from(copy.ptr()));
    py::list names;
    for (const Mechanism mechanism : route.candidates()) names.append(py::str(std::string(label(mechanism))));
    return py::tuple(names);
}

void add_registry_functions(py::module_& module) {
    module.def("entry", [](const std::string& name) { return &bound_named(name); }, py::return_value_policy::reference);
    module.def("all_entries", [] { return bindings_of(Registry::instance().all()); });
    module.def("every_entry", [] {
        refresh_package_paths();
        return bindings_of(Registry::instance().everything());
    });
    module.def("problems", [] {
        refresh_package_paths();
        return py::tuple(py::cast(Registry::instance().problems()));
    });
    module.def("generation", [] { return Registry::instance().generation(); });
    module.def(
        "entry_of", [](const py::object& value) { return library_of(value.ptr(), true); },
        py::return_value_policy::reference);
    module.def("planned", &planned, py::arg("source"), py::arg("source_device"), py::arg("target"),
               py::arg("target_device"), py::arg("copy") = py::none());
    module.def("observe",
               [](const py::object& current, const py::object& record) { observe(current.ptr(), record.ptr()); });
    module.def(
        "explain", [](const py::object& data, const py::object& to, const py::object& device, const py::object& copy) {
            return py::reinterpret_steal<py::tuple>(explain(data.ptr(), to.ptr(), device.ptr(), copy.ptr()).release());
        });
}

/// Python's exceptions, and the core's, in the order of `set_error`.
void translate(std::exception_ptr error) {
    try {
        std::rethrow_exception(std::move(error));
    } catch (const Error&) {
        set_error();
    }
}

void require_main_interpreter() {
    if (PyInterpreterState_Get() == PyInterpreterState_Main()) return;
    throw py::import_error(
        "arraybridge cannot be imported in a sub-interpreter: frameworks keep one state per process");
}

std::string path_of_core() {
    Dl_info found{};
    return dladdr(core_identity(), &found) != 0 && found.dli_fname != nullptr ? found.dli_fname : "";
}

void fill_in(py::module_& module) {
    require_main_interpreter();
    py::register_exception_translator(&translate);
    python::provide_runtime();
    load_device_classes();
    module.attr("abi") = std::to_string(ARRAYBRIDGE_ABI_MAJOR) + "." + std::to_string(ARRAYBRIDGE_ABI_MINOR);
    module.attr("stamp") = ARRAYBRIDGE_STAMP;
    module.attr("runtime") = ARRAYBRIDGE_PYTHON_RUNTIME;
    module.attr("core_path") = path_of_core();
    add_entry_classes(module);
    add_registry_functions(module);
    if (!add_conversion_functions(module.ptr()) || !add_foreign_array_type(module.ptr())) throw py::error_already_set();
}

}  // namespace

}  // namespace arraybridge::extension

PYBIND11_MODULE(_arraybridge, module) { arraybridge::extension::fill_in(module); }
