"""PyTorch tensors of every awkward kind on their way to NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from crossing import COPIED, SHARED, address, bits, cannot_share, cross, isolated, refused  # noqa: E402

from arraybridge import HOST, MemoryConversionError, convert, convert_memory, explain  # noqa: E402
from arraybridge.exceptions import ConversionBufferError  # noqa: E402


def counting(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.arange(1, 1 + int(np.prod(shape)), dtype=dtype).reshape(shape)


class Subclass(torch.Tensor):
    pass


class SubclassOfParameter(torch.nn.Parameter):
    pass


class Meddling(torch.Tensor):
    """Says untrue things about itself, and marks what functions of PyTorch make of it."""

    shape = property(lambda self: (1 << 40,))
    is_leaf = property(lambda self: True)

    def stride(self):
        return (0,)

    def data_ptr(self):
        return 8

    def numpy(self):
        raise AssertionError("nobody asked for this")

    __array__ = __dlpack__ = numpy


def without_gradients(make: Callable[[], torch.Tensor]) -> torch.Tensor:
    with torch.no_grad():
        return make()


def in_inference_mode(make: Callable[[], torch.Tensor]) -> torch.Tensor:
    with torch.inference_mode():
        return make()


WITH_SHARED_MEMORY: dict[str, Callable[[], torch.Tensor]] = {
    "compact": lambda: counting(3, 4),
    "one element": lambda: counting(1),
    "column-major": lambda: counting(3, 4).T,
    "channels last": lambda: counting(1, 2, 3, 4).contiguous(memory_format=torch.channels_last),
    "permuted": lambda: counting(2, 3, 4).permute(2, 0, 1),
    "every second": lambda: counting(20)[::2],
    "inner part": lambda: counting(6, 7)[1:4, 2:5],
    "expanded": lambda: counting(3).expand(4, 3),
    "overlapping windows": lambda: counting(6).unfold(0, 3, 1),
    "as_strided": lambda: torch.as_strided(counting(20), (2, 3), (7, 2), 3),
    "diagonal": lambda: counting(4, 4).diagonal(),
    "no axes": lambda: torch.tensor(7.0),
    "64 axes": lambda: counting(1).reshape((1,) * 64),
    "leaf that requires grad": lambda: counting(3).requires_grad_(),
    "leaf of complex numbers that requires grad": lambda: torch.ones(3, dtype=torch.complex64).requires_grad_(),
    "Parameter": lambda: torch.nn.Parameter(counting(3, 4)),
    "Parameter of integers": lambda: torch.nn.Parameter(counting(3, dtype=torch.int32), requires_grad=False),
    "subclass of Parameter": lambda: SubclassOfParameter(counting(3)),
    "Buffer": lambda: torch.nn.Buffer(counting(3)),
    "subclass": lambda: counting(3, 4).as_subclass(Subclass),
    "meddling subclass": lambda: counting(3).as_subclass(Meddling),
    "inference tensor": lambda: in_inference_mode(lambda: counting(3) + 1),
    "result without gradients": lambda: without_gradients(lambda: counting(3).requires_grad_() * 2),
    "detached": lambda: (counting(3).requires_grad_() * 2).detach(),
    "real part": lambda: torch.ones(3, dtype=torch.complex64).real,
    "imaginary part": lambda: torch.view_as_real(torch.ones(3, dtype=torch.complex64))[..., 1],
    "resolved conjugate": lambda: torch.tensor([1 + 2j]).conj().resolve_conj(),
    "conjugated twice": lambda: torch.tensor([1 + 2j]).conj().conj(),
    "view of other dtype": lambda: counting(4).view(torch.int16),
    "around NumPy's memory": lambda: torch.from_numpy(np.arange(5.0)),
}

# Bits that change what the memory means: it does not hold the values.
LAZY: dict[str, Callable[[], torch.Tensor]] = {
    "conjugate": lambda: torch.tensor([1 + 2j, -3j]).conj(),
    "conjugate of complex128": lambda: torch.tensor([1 + 2j], dtype=torch.complex128).conj(),
    "conjugate transpose": lambda: torch.arange(6).to(torch.complex64).reshape(2, 3).mul(1 + 1j).mH,
    "conjugate, 0-d": lambda: torch.tensor(1 + 2j).conj(),
    "negative": lambda: torch.tensor([1 + 2j, -3j]).conj().imag,
    "negative of float64": lambda: torch.tensor([1 + 2j], dtype=torch.complex128).conj().imag,
    "negative, strided": lambda: (torch.arange(6).to(torch.complex64) * 1j).conj().imag[::2],
    "negative leaf": lambda: torch.tensor([1 + 2j]).conj().imag.requires_grad_(),
    "conjugate leaf": lambda: torch.tensor([1 + 2j]).conj().requires_grad_(),
    "conjugate subclass": lambda: torch.tensor([1 + 2j]).conj().as_subclass(Subclass),
    "both": lambda: torch._neg_view(torch.tensor([1 + 2j]).conj()),
    "negated view": lambda: torch._neg_view(counting(3)),
}


@pytest.mark.parametrize("name", WITH_SHARED_MEMORY)
def test_memory_is_shared(name: str) -> None:
    tensor = WITH_SHARED_MEMORY[name]()
    plain = tensor.detach().as_subclass(torch.Tensor)
    with torch.no_grad():
        nbytes = plain.numel() * plain.itemsize
    for copy in (None, False):
        told = explain(tensor, "numpy", copy=copy)
        assert (told.mechanism, told.declined, told.nbytes) == (SHARED, (), nbytes)
        array = convert(tensor, "numpy", copy=copy)
        assert (address(array), array.shape) == (torch.Tensor.data_ptr(tensor), tuple(plain.shape))
        assert [step // array.itemsize for step in array.strides] == list(plain.stride())
        assert bits(array) == bits(plain)
        assert array.flags.writeable
        before = plain.reshape(-1)[0].item()
        array[...] = 3
        assert (plain == 3).all()
        array[...] = before
    if name != "meddling subclass":
        for copy in (None, False):
            assert cross(tensor, "torch", "numpy", copy).mechanism == SHARED
        assert cross(tensor, "torch", "numpy", True).mechanism == COPIED
    copied = convert(WITH_SHARED_MEMORY[name](), "numpy", copy=True)
    copied[...] = 5
    assert (plain != 5).any() or before == 5


@pytest.mark.parametrize("name", LAZY)
def test_lazy_bits_are_resolved(name: str) -> None:
    tensor = LAZY[name]()
    assert tensor.is_conj() or tensor.is_neg()
    expected = tensor.detach().clone().resolve_conj().resolve_neg()
    for copy in (None, True):
        crossed = cross(tensor, "torch", "numpy", copy)
        assert crossed.mechanism == COPIED
        assert bits(crossed.result) == bits(expected)
        assert crossed.told.nbytes == tensor.numel() * tensor.element_size()
        crossed.result[...] = 0
        assert bits(tensor) == bits(expected)
    cannot_share(tensor, "torch", "numpy", match="negative bit")


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 5), (0, 0), (0, 1, 2**40)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.complex128, torch.int16], ids=str)
def test_tensors_without_elements(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    empty = torch.empty(shape, dtype=dtype)
    for tensor in (empty, empty.T if len(shape) == 2 else empty, empty.as_subclass(Subclass)):
        for copy in (None, False, True):
            result = cross(tensor, "torch", "numpy", copy).result
            assert (result.shape, result.size) == (tuple(tensor.shape), 0)
    leaf = torch.empty(shape, requires_grad=True)
    assert cross(leaf, "torch", "numpy", False).result.dtype == np.float32


def test_misaligned_tensors_are_copied() -> None:
    memory = bytearray(65)
    for offset in range(1, 9):
        tensor = torch.frombuffer(memory, dtype=torch.float64, count=5, offset=offset)
        tensor[...] = counting(5)
        crossed = cross(tensor, "torch", "numpy")
        assert crossed.mechanism == (SHARED if tensor.data_ptr() % 8 == 0 else COPIED)
        assert crossed.result.tolist() == [1, 2, 3, 4, 5]


# ----- gradients -----


def results_of_operations() -> list[torch.Tensor]:
    leaf = torch.nn.Parameter(counting(3, 4))
    return [leaf * 2, leaf[0], leaf.T, leaf.view(-1), leaf.sum(), torch.linalg.norm(leaf), leaf.as_subclass(Subclass)]


@pytest.mark.parametrize("copy", [None, False, True])
def test_a_result_with_a_gradient_function(copy: bool | None) -> None:
    for tensor in results_of_operations():
        assert tensor.grad_fn is not None
        refused(tensor, "torch", "numpy", copy, match=r"\.detach\(\)")


def test_a_result_with_a_gradient_function_where_gradients_are_off() -> None:
    for context in (torch.no_grad, torch.inference_mode):
        for tensor in results_of_operations():
            with context():
                crossed = cross(tensor, "torch", "numpy")
            assert (crossed.mechanism, bits(crossed.result)) == (SHARED, bits(tensor.detach()))


def test_a_leaf_goes_on_learning() -> None:
    leaf = counting(3).requires_grad_()
    array = cross(leaf, "torch", "numpy").result
    (leaf * leaf).sum().backward()
    assert (leaf.requires_grad, leaf.grad.tolist(), array.tolist()) == (True, [2, 4, 6], [1, 2, 3])
    cross(leaf.grad, "torch", "numpy", False)


# ----- tensors that have no memory, or another kind of it -----


def quantized() -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(counting(3), 0.5, 0, torch.qint8)


def nested(layout: torch.layout) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.nested.nested_tensor([counting(2), counting(3)], layout=layout)


def fake() -> torch.Tensor:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.ones(3)


class Wrapper(torch.Tensor):
    """Has a shape and a dtype, and its values elsewhere."""

    @staticmethod
    def __new__(cls, values: torch.Tensor):
        return torch.Tensor._make_wrapper_subclass(cls, values.shape, dtype=values.dtype)

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), keywords=None):
        return NotImplemented


def without_storage() -> torch.Tensor:
    tensor = counting(4)
    tensor.untyped_storage().resize_(0)
    return tensor


def masked() -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.masked.masked_tensor(counting(2), torch.tensor([True, False]))


def sparse(make: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(torch.eye(4))


WITHOUT_MEMORY: dict[str, tuple[Callable[[], torch.Tensor], str]] = {
    "meta": (lambda: torch.ones(3, device="meta"), "meta"),
    "meta Parameter": (lambda: torch.nn.Parameter(torch.ones(3, device="meta")), "meta"),
    "meta, 0-d": (lambda: torch.tensor(1.0, device="meta"), "meta"),
    "fake": (fake, "fake"),
    "wrapper": (lambda: Wrapper(counting(3)), "memory of its own"),
    "wrapper of bytes": (lambda: Wrapper(counting(3).to(torch.uint8)), "memory of its own"),
    "zeros that are not stored": (lambda: torch._efficientzerotensor((3,)), "memory"),
    "integer zeros that are not stored": (lambda: torch._efficientzerotensor((3,), dtype=torch.int64), "memory"),
    "freed storage": (without_storage, "memory"),
    "uninitialised Parameter": (torch.nn.parameter.UninitializedParameter, "uninitialized"),
    "masked": (masked, ""),
    "quantized": (quantized, r"\.dequantize\(\)"),
    "nested": (lambda: nested(torch.strided), "to_padded_tensor"),
    "nested, jagged": (lambda: nested(torch.jagged), "to_padded_tensor"),
    "sparse COO": (lambda: sparse(torch.Tensor.to_sparse), r"\.to_dense\(\)"),
    "sparse CSR": (lambda: sparse(torch.Tensor.to_sparse_csr), r"\.to_dense\(\)"),
    "sparse CSC": (lambda: sparse(torch.Tensor.to_sparse_csc), r"\.to_dense\(\)"),
    "sparse BSR": (lambda: sparse(lambda eye: eye.to_sparse_bsr((2, 2))), r"\.to_dense\(\)"),
    "sparse Parameter": (lambda: sparse(lambda eye: torch.nn.Parameter(eye.to_sparse())), r"\.to_dense\(\)"),
    "sparse without elements": (lambda: sparse(lambda _: torch.sparse_coo_tensor(size=(0, 3))), r"\.to_dense\(\)"),
    "MKL-DNN": (lambda: sparse(torch.Tensor.to_mkldnn), r"\.to_dense\(\)"),
}


@pytest.mark.parametrize("name", WITHOUT_MEMORY)
def test_without_memory_of_its_own(name: str) -> None:
    make, told = WITHOUT_MEMORY[name]
    tensor = make()
    for copy in (None, False, True):
        with pytest.raises(MemoryConversionError, match=told or None) as caught:
            convert_memory(tensor, "torch", "numpy", HOST, copy=copy)
        assert (caught.value.source_type, caught.value.target_type) == ("torch", "numpy")
        explained = explain(tensor, "numpy", device=HOST, copy=copy)
        assert (explained.mechanism, explained.error) == (None, caught.value.reason)
        with pytest.raises(MemoryConversionError, match=told or None):
            convert(tensor, "numpy", copy=copy)


@pytest.mark.parametrize("name", [*WITHOUT_MEMORY, "conjugate", "gradient"])
def test_within_pytorch_any_tensor_stays_in_place(name: str) -> None:
    others = {"conjugate": LAZY["conjugate"], "gradient": lambda: counting(3).requires_grad_() * 2}
    tensor = others[name]() if name in others else WITHOUT_MEMORY[name][0]()
    if name in ("meta", "meta Parameter", "meta, 0-d"):
        with pytest.raises(MemoryConversionError):
            convert_memory(tensor, "torch", "torch", HOST)
        return
    assert convert_memory(tensor, "torch", "torch", HOST) is tensor
    assert convert(tensor, "torch") is tensor
    told = explain(tensor, "torch")
    assert (told.mechanism, told.error, told.declined) == ("stays in place", "", ())


def test_inside_transforms() -> None:
    seen = []

    def look(value: torch.Tensor) -> torch.Tensor:
        told = explain(value, "numpy")
        assert told.mechanism is None
        with pytest.raises(MemoryConversionError, match=r"torch\.func") as caught:
            convert_memory(value, "torch", "numpy", HOST)
        assert told.error == caught.value.reason
        seen.append(type(value))
        return (value * value).sum()

    torch.func.vmap(look)(counting(2, 3))
    torch.func.grad(look)(counting(3))
    torch.func.vmap(torch.func.grad(look))(counting(2, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.func.jvp(look, (counting(3),), (counting(3),))
    torch.func.vmap(look)(counting(2, 3, dtype=torch.int64))
    torch.func.vmap(look)(counting(2, 3, dtype=torch.uint8))
    torch.func.functionalize(lambda value: value + 1)(counting(2))
    assert len(seen) == 6


def test_inside_a_transform_the_tensors_of_outside_are_as_usual() -> None:
    outside = counting(3)

    def look(value: torch.Tensor) -> torch.Tensor:
        array = convert(outside, "numpy")
        assert address(array) == outside.data_ptr()
        return value * torch.as_tensor(array.sum())

    assert torch.func.vmap(look)(counting(2)).tolist() == [6, 12]


def test_a_copy_on_write_tensor_is_written_to_alone() -> None:
    first = counting(4)
    second = torch._lazy_clone(first)
    for copy in (None, False):
        array = convert(second, "numpy", copy=copy)
        array[0] = 100
        assert (first[0].item(), second[0].item()) == (1, 100)
    leaf = torch._lazy_clone(first).requires_grad_()
    convert(leaf, "numpy")[1] = 100
    assert (first.tolist(), leaf.tolist()) == ([1, 2, 3, 4], [1, 100, 3, 4])


# PyTorch has no limit of its own; NumPy and this package end at 64.
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_tensors_of_too_many_axes() -> None:
    code = """
import os, torch
from arraybridge import convert, explain
class Subclass(torch.Tensor): pass
kinds = dict(
    plain=lambda t: t,
    leaf=lambda t: t.requires_grad_(),
    subclass=lambda t: t.as_subclass(Subclass),
    conjugate=lambda t: t.to(torch.complex64).conj(),
)
def look(kind):
    for axes in (65, 66, 100, 1000):
        tensor = kinds[kind](torch.ones((1,) * axes))
        assert kind == "conjugate" or explain(tensor, "numpy").mechanism is None
        try:
            convert(tensor, "numpy")
        except BufferError as error:
            assert "axes" in str(error) and "64" in str(error), error
        else:
            raise AssertionError(axes)
for kind in kinds:
    child = os.fork()
    if child == 0:
        look(kind)
        os._exit(0)
    print(kind, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.split() == ["plain", "0", "leaf", "0", "subclass", "0", "conjugate", "0"]


# ----- memory that is taken from under a view -----


@pytest.mark.parametrize("kind", ["plain", "leaf", "subclass", "float16 strided"])
def test_a_view_outlives_what_the_tensor_does_next(kind: str) -> None:
    make = {
        "plain": lambda: counting(1000),
        "leaf": lambda: counting(1000).requires_grad_(),
        "subclass": lambda: counting(1000).as_subclass(Subclass),
        "float16 strided": lambda: counting(2000, dtype=torch.float16)[::2],
    }[kind]

    def replace_data(tensor: torch.Tensor) -> None:
        tensor.data = torch.zeros(5, dtype=tensor.dtype)

    def set_other(tensor: torch.Tensor) -> None:
        with torch.no_grad():
            tensor.set_(torch.zeros(5, dtype=tensor.dtype))

    def set_storage(tensor: torch.Tensor) -> None:
        with torch.no_grad():
            tensor.set_(torch.zeros(5, dtype=tensor.dtype).untyped_storage(), 0, (5,), (1,))

    def new_shape(tensor: torch.Tensor) -> None:
        with torch.no_grad():
            tensor.resize_(10) if not tensor.requires_grad else replace_data(tensor)

    def swap(tensor: torch.Tensor) -> None:
        tensor.data, _ = torch.zeros(5, dtype=tensor.dtype), tensor.data

    for meddle in (replace_data, set_other, set_storage, new_shape, swap):
        tensor = make()
        expected = bits(tensor.detach())
        array = convert(tensor, "numpy")
        meddle(tensor)
        fillers = [torch.full((1000,), 7, dtype=tensor.dtype) for _ in range(20)]
        del tensor
        fillers += [torch.full((2000,), 9.0) for _ in range(20)]
        assert bits(array) == expected
        assert array.shape == (1000,)


def test_memory_of_another_library_under_a_view() -> None:
    base = np.arange(1000.0)
    tensor = torch.from_numpy(base)
    array = convert(tensor, "numpy")
    del base, tensor
    assert array.sum() == 499500


# ----- what is special -----


def test_a_subclass_that_objects_to_every_function() -> None:
    class Objecting(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, arguments=(), keywords=None):
            raise RuntimeError("not with me")

    tensor = counting(3).as_subclass(Objecting)
    with pytest.raises(MemoryConversionError, match="not with me") as caught:
        convert(tensor, "numpy")
    assert type(caught.value.__cause__) is RuntimeError
    assert explain(tensor, "numpy").error == "not with me"


def test_inside_a_fake_tensor_mode() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    tensor = counting(3)
    with FakeTensorMode():
        array = convert(tensor, "numpy")
    assert address(array) == tensor.data_ptr()


def test_where_pytorch_has_another_default_device() -> None:
    tensor = torch.ones(3, dtype=torch.complex64).conj()
    with torch.device("meta"):
        assert cross(tensor, "torch", "numpy").result.tolist() == [1, 1, 1]


def test_a_refusal_to_share_is_an_error_of_both_kinds() -> None:
    error = cannot_share(LAZY["conjugate"](), "torch", "numpy")
    assert type(error) is ConversionBufferError


def test_copies_are_isolated() -> None:
    for make in (counting(3, 4).T, counting(3), torch.tensor(3.0), counting(20)[::3]):
        isolated(make, "torch", "numpy")
