#pragma once

#include "arraybridge/conversion_record.hpp"
#include "arraybridge/python/object.hpp"
#include "arraybridge/python/python.hpp"

namespace arraybridge::extension {

/// From now on conversions look for an observer in the context variable `current`.
void observe(PyObject* current, PyObject* record_class);

extern PyObject* observer_variable;  // null until the first observer is installed

/// The observer of this context that wants records, or nothing. Throws what reading it raises.
python::Object observer_that_wants_records();

/// Where nobody ever observed, a conversion looks at one pointer.
inline python::Object current_observer() {
    if (observer_variable == nullptr) [[likely]]
        return {};
    return observer_that_wants_records();
}

/// Gives the record to the observer. Throws what the observer raises.
void hand_over(const ConversionRecord& record, PyObject* observer);

}  // namespace arraybridge::extension
