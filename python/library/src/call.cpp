#include "arraybridge/python/call.hpp"

#include <vector>

namespace arraybridge::python {

Object attribute(PyObject* object, const char* name) { return checked(PyObject_GetAttrString(object, name)); }

Object optional_attribute(PyObject* object, const char* name) {
    PyObject* found = PyObject_GetAttrString(object, name);
    if (found == nullptr) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw_error();
        PyErr_Clear();
    }
    return Object::steal(found);
}

namespace {

bool is_true(const Object& object) {
    const int truth = PyObject_IsTrue(object.get());
    if (truth < 0) throw_error();
    return truth != 0;
}

}  // namespace

bool true_attribute(PyObject* object, const char* name) { return is_true(attribute(object, name)); }

bool true_method(PyObject* object, const char* name) { return is_true(call_method(object, name)); }

bool is_instance(PyObject* object, PyObject* type) {
    const int answer = PyObject_IsInstance(object, type);
    if (answer < 0) throw_error();
    return answer != 0;
}

Object call_with(PyObject* function, std::span<PyObject* const> arguments, const char* keyword, PyObject* value) {
    std::vector<PyObject*> stack(arguments.begin(), arguments.end());
    stack.push_back(value);
    const Object names = checked(Py_BuildValue("(s)", keyword));
    return checked(PyObject_Vectorcall(function, stack.data(), arguments.size(), names.get()));
}

Object to_text(std::string_view text) {
    return checked(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

Object to_tuple(std::span<const std::int64_t> numbers) {
    Object tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(PyLong_FromLongLong(numbers[i])).release());
    }
    return tuple;
}

Object to_axis(const Axes& axes) {
    if (axes.all()) return Object::borrow(Py_None);
    if (axes.list().size() == 1) return checked(PyLong_FromLong(axes.list().front()));
    const std::vector<std::int64_t> numbers(axes.list().begin(), axes.list().end());
    return to_tuple(numbers);
}

Object to_slice(const Slice& slice) {
    const auto bound = [](const std::optional<std::int64_t>& value) {
        return value ? checked(PyLong_FromLongLong(*value)) : Object::borrow(Py_None);
    };
    return checked(PySlice_New(bound(slice.start).get(), bound(slice.stop).get(), bound(slice.step).get()));
}

Shape to_shape(PyObject* sequence) {
    const Object items = checked(PySequence_Fast(sequence, "a shape is a sequence of integers"));
    Shape shape(static_cast<std::size_t>(PySequence_Fast_GET_SIZE(items.get())));
    for (std::size_t i = 0; i < shape.size(); ++i) {
        const Object index = checked(PyNumber_Index(PySequence_Fast_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i))));
        shape[i] = PyLong_AsLongLong(index.get());
        if (shape[i] == -1 && PyErr_Occurred() != nullptr) throw_error();
    }
    return shape;
}

}  // namespace arraybridge::python
