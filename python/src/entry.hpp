#pragma once

#include <pybind11/pybind11.h>

#include "bound.hpp"

namespace arraybridge::extension {

/// Adds the classes Entry and Problem to the module.
void add_entry_classes(pybind11::module_& module);

}  // namespace arraybridge::extension
