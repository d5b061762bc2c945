#include "record.hpp"

#include "arraybridge/python/call.hpp"

namespace arraybridge::extension {

namespace {

using python::checked;
using python::Object;

PyObject* record_class = nullptr;

Object declined_names(const ConversionRecord& record) {
    Object names = checked(PyTuple_New(static_cast<Py_ssize_t>(record.declined.size())));
    for (std::size_t i = 0; i < record.declined.size(); ++i) {
        PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i),
                         python::to_text(label(record.declined[i].first)).release());
    }
    return names;
}

}  // namespace

PyObject* observer_variable = nullptr;

void observe(PyObject* current, PyObject* record) {
    Py_INCREF(record);
    record_class = record;
    Py_INCREF(current);
    observer_variable = current;
}

Object observer_that_wants_records() {
    PyObject* found = nullptr;
    if (PyContextVar_Get(observer_variable, nullptr, &found) < 0) python::throw_error();
    Object observer = Object::steal(found);
    if (!observer) return {};
    static PyObject* const name = checked(PyUnicode_InternFromString("wants_records")).release();
    const Object wants = checked(PyObject_GetAttr(observer.get(), name));
    const int truth = PyObject_IsTrue(wants.get());
    if (truth < 0) python::throw_error();
    return truth != 0 ? observer : Object{};
}

void hand_over(const ConversionRecord& record, PyObject* observer) {
    const Object made = python::call(
        record_class, python::to_text(record.source_library).get(), python::to_text(label(record.source_device)).get(),
        python::to_text(record.target_library).get(), python::to_text(label(record.target_device)).get(),
        python::to_text(label(record.mechanism)).get(), checked(PyLong_FromLongLong(record.nbytes)).get(),
        checked(PyFloat_FromDouble(record.seconds)).get(), declined_names(record).get());
    python::call_method(observer, "record", made.get());
}

}  // namespace arraybridge::extension
