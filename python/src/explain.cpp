#include "explain.hpp"

#include "arraybridge/conversion.hpp"
#include "arraybridge/python/call.hpp"
#include "convert.hpp"
#include "values.hpp"

namespace arraybridge::extension {

namespace {

using python::checked;
using python::Object;

/// The mechanisms that are better than the one taken, each with the reason why it is declined.
Object declined_routes(const Explanation& explanation) {
    const Object routes = checked(PyList_New(0));
    for (const ExplainedRoute& route : explanation.routes) {
        if (route.taken) continue;
        const Object pair = checked(
            PyTuple_Pack(2, python::to_text(label(route.mechanism)).get(), python::to_text(route.reason).get()));
        if (PyList_Append(routes.get(), pair.get()) < 0) python::throw_error();
    }
    return checked(PyList_AsTuple(routes.get()));
}

/// The array's own word for its size, where its memory could not be described without a copy.
Object size_in_bytes(const Explanation& explanation, PyObject* data) {
    if (explanation.nbytes >= 0) return checked(PyLong_FromLongLong(explanation.nbytes));
    Object size = Object::steal(PyObject_GetAttrString(data, "nbytes"));
    if (size && PyLong_Check(size.get())) return size;
    if (PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_Exception) == 0) python::throw_error();
    PyErr_Clear();  // a sparse tensor raises: its size is not known
    return checked(PyLong_FromLong(0));
}

Explanation explained(PyObject* data, Bound& source, const Target& target, PyObject* device, CopyMode copy) {
    try {
        Bound& to = *target.library;
        const Device where = device == Py_None ? default_device(data, source, to, target.like) : device_from(device);
        const BoundScope source_scope(source);
        const BoundScope target_scope(to);
        return explain_native(source.from_python(data), source.library(), to.library(), where, copy);
    } catch (const FrameworkError& error) {
        if (error.must_propagate()) throw;
        Explanation failed;
        failed.error = error.what();
        return failed;
    } catch (const Error& error) {
        Explanation failed;
        failed.error = error.what();
        return failed;
    }
}

}  // namespace

Object explain(PyObject* data, PyObject* to, PyObject* device, PyObject* copy) {
    Bound& source = source_of(data);
    const Target target = target_from(to);
    const Explanation explanation = explained(data, source, target, device, copy_mode_from(copy));
    const Object mechanism =
        explanation.mechanism ? python::to_text(label(*explanation.mechanism)) : Object::borrow(Py_None);
    return checked(
        PyTuple_Pack(8, python::to_text(source.entry().name()).get(), device_to_python(explanation.source_device).get(),
                     python::to_text(target.library->entry().name()).get(),
                     device_to_python(explanation.target_device).get(), size_in_bytes(explanation, data).get(),
                     mechanism.get(), python::to_text(explanation.error).get(), declined_routes(explanation).get()));
}

}  // namespace arraybridge::extension
