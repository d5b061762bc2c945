"""NumPy arrays of every awkward kind on their way to PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from crossing import COPIED, SHARED, address, bits, cannot_share, cross, isolated, refused  # noqa: E402

from arraybridge import HOST, convert, convert_memory, explain  # noqa: E402


def counting(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.arange(1, 1 + int(np.prod(shape)), dtype=dtype).reshape(shape)


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def misaligned(count: int = 6, dtype: str = "float32", by: int = 1) -> np.ndarray:
    memory = np.zeros(count * np.dtype(dtype).itemsize + 64, np.uint8)
    start = -memory.ctypes.data % 64 + by
    array = memory[start : start + count * np.dtype(dtype).itemsize].view(dtype)
    array[...] = counting(count, dtype=dtype)
    return array


class Subclass(np.ndarray):
    pass


class Suspicious(np.ndarray):
    """Says untrue things about itself."""

    dtype = property(lambda self: np.dtype("float64"))
    shape = property(lambda self: (6,))
    __array_interface__ = property(lambda self: 1 / 0)
    __dlpack__ = None


def field_of_records() -> np.ndarray:
    records = np.zeros(5, [("before", "u1"), ("value", "f4"), ("after", "u2")])
    records["value"] = counting(5)
    return records["value"]


def aligned_field_of_records() -> np.ndarray:
    records = np.zeros(5, [("value", "f4"), ("other", "f4"), ("byte", "u1"), ("more", "u1")])
    records["value"] = counting(5)
    return records["value"]


WITH_SHARED_MEMORY: dict[str, Callable[[], np.ndarray]] = {
    "compact": lambda: counting(3, 4),
    "one element": lambda: counting(1),
    "Fortran order": lambda: np.asfortranarray(counting(3, 4)),
    "transposed": lambda: counting(2, 3, 4).transpose(2, 0, 1),
    "every second": lambda: counting(20)[::2],
    "inner part": lambda: counting(6, 7)[1:4, 2:5],
    "inner part of a transposed": lambda: counting(6, 7).T[1::2, 2::3],
    "new axes": lambda: counting(4)[None, :, None],
    "stride 0": lambda: np.lib.stride_tricks.as_strided(counting(3), (4, 3), (0, 4)),
    "overlapping windows": lambda: np.lib.stride_tricks.as_strided(counting(6), (4, 3), (4, 4)),
    "negative stride of one element": lambda: counting(3, 4)[:1][::-1],
    "odd stride of one element": lambda: np.lib.stride_tricks.as_strided(counting(3), (1, 3), (7, 4)),
    "no axes": lambda: np.array(7.0, np.float32),
    "no axes, subclass": lambda: np.array(7.0, np.float32).view(Subclass),
    "no axes, nothing masked": lambda: np.ma.array(7.0),
    "64 axes": lambda: counting(1).reshape((1,) * 64),
    "matrix": lambda: np.arange(6.0).reshape(2, 3).view(np.matrix),
    "recarray field": lambda: np.rec.array(counting(4)),
    "subclass": lambda: counting(3, 4).view(Subclass),
    "suspicious subclass": lambda: counting(6).view(Suspicious),
    "nothing masked": lambda: np.ma.array(counting(4)),
    "mask that is all False": lambda: np.ma.array(counting(4), mask=[False] * 4),
    "array around a bytearray": lambda: np.frombuffer(bytearray(counting(4).tobytes()), np.float32),
    "character array's numbers": lambda: np.char.array(["ab", "cd"]).view(np.ndarray).view(np.uint32),
    "longlong": lambda: counting(3, dtype="q"),
    "ulonglong": lambda: counting(3, dtype="Q"),
    "long": lambda: counting(3, dtype="l"),
}

OVERLAPPING = ("stride 0", "overlapping windows")  # PyTorch does not write to those

THAT_ARE_COPIED: dict[str, tuple[Callable[[], np.ndarray], str]] = {
    "read-only": (lambda: read_only(counting(3, 4)), "read-only"),
    "read-only and strided": (lambda: read_only(counting(12)[::3]), "read-only"),
    "bytes": (lambda: np.frombuffer(counting(4).tobytes(), np.float32), "read-only"),
    "broadcast": (lambda: np.broadcast_to(counting(3), (4, 3)), "read-only"),
    "read-only 0-d": (lambda: read_only(np.array(2.5)), "read-only"),
    "diagonal": (lambda: np.diagonal(counting(4, 4)), "read-only"),
    "negative stride": (lambda: counting(6)[::-1], "negative"),
    "two negative strides": (lambda: counting(3, 4)[::-1, ::-1], "negative"),
    "negative stride with gaps": (lambda: counting(20)[::-3], "negative"),
    "flipped and transposed": (lambda: counting(2, 3, 4)[:, ::-1].T, "negative"),
    "negative stride, read-only": (lambda: read_only(counting(6)[::-1]), "n"),
    "stride of no whole elements": (field_of_records, "stride"),
    "such a stride, two axes": (
        lambda: np.lib.stride_tricks.as_strided(counting(6), (2, 2), (6, 4)).view(Subclass),
        "stride",
    ),
    "aligned, stride of no whole elements": (aligned_field_of_records, "stride"),
    "off by a byte": (misaligned, "multiple of 4"),
    "float64 off by four": (lambda: misaligned(dtype="float64", by=4), "multiple of 8"),
    "off by a byte and flipped": (lambda: misaligned()[::-1], "n"),
    "foreign byte order": (lambda: counting(3, 4).astype(">f4"), "byte order"),
    "foreign byte order, strided": (lambda: counting(3, 4).astype(">f8")[::-1, ::2], "byte order"),
    "foreign byte order, off by a byte": (lambda: misaligned(dtype=">i4"), "byte order"),
    "foreign byte order, complex": (lambda: (counting(4) + 1j).astype(">c16"), "byte order"),
    "foreign byte order, no axes": (lambda: np.array(258, ">i2"), "byte order"),
    "NumPy scalar": (lambda: np.float32(2.5), "scalar"),
    "NumPy bool scalar": (lambda: np.True_, "scalar"),
    "NumPy complex scalar": (lambda: np.complex128(1 - 2j), "scalar"),
}


@pytest.mark.parametrize("name", WITH_SHARED_MEMORY)
def test_memory_is_shared(name: str) -> None:
    array = WITH_SHARED_MEMORY[name]()
    for copy in (None, False):
        crossed = cross(array, "numpy", "torch", copy)
        assert (crossed.mechanism, crossed.told.declined, crossed.told.nbytes) == (SHARED, (), np.asarray(array).nbytes)
        assert all(record.nbytes == np.asarray(array).nbytes for record in crossed.records)
        assert bits(crossed.result) == bits(array)
        steps = zip(array.shape, np.asarray(array).strides, crossed.result.stride(), strict=True)
        assert all(n == 1 or theirs == ours * array.itemsize for n, theirs, ours in steps)
        np.asarray(array)[...] = 3
        assert (crossed.result == 3).all()
        if name not in OVERLAPPING:
            crossed.result[...] = 4
            assert (np.asarray(array) == 4).all()
    isolated(WITH_SHARED_MEMORY[name](), "numpy", "torch")


@pytest.mark.parametrize("name", THAT_ARE_COPIED)
def test_values_are_copied(name: str) -> None:
    make, reason = THAT_ARE_COPIED[name]
    array = make()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        crossed = cross(array, "numpy", "torch")
        assert crossed.mechanism == COPIED
        assert [mechanism for mechanism, _ in crossed.told.declined] == [SHARED]
        assert reason in crossed.told.declined[0][1]
        assert crossed.told.nbytes == crossed.told.copied_nbytes == array.nbytes
        assert all(record.nbytes == array.nbytes for record in crossed.records)
    assert bits(crossed.result) == bits(array)
    before = bits(array)
    crossed.result[...] = 0
    assert bits(array) == before
    cannot_share(array, "numpy", "torch", match=reason)
    isolated(array, "numpy", "torch")


@pytest.mark.parametrize(
    "shape",
    [(0,), (0, 3), (3, 0), (2, 0, 5), (1, 0), (0, 0), (0, 1, 2**40)],
    ids=lambda shape: "x".join(map(str, shape)),
)
@pytest.mark.parametrize("dtype", ["float32", "bool", "complex128", "uint16"])
def test_arrays_without_elements(shape: tuple[int, ...], dtype: str) -> None:
    for array in (np.empty(shape, dtype), np.empty(shape, dtype, order="F"), np.empty(shape, dtype)[::-1]):
        for copy in (None, True):
            assert cross(array, "numpy", "torch", copy).result.dtype == getattr(torch, dtype)


def test_a_flipped_array_without_elements_is_shared() -> None:
    for array in (np.empty((0, 3))[::-1], np.empty((3, 0))[::-1], np.empty((3, 0))[::-1, ::-1]):
        assert array.strides[0] <= 0 or array.shape[0] == 0
        assert cross(array, "numpy", "torch", False).mechanism == SHARED


def test_arrays_without_elements_that_could_not_be_shared() -> None:
    for array in (read_only(np.empty((0, 3))), np.empty((0, 3), ">i4"), np.broadcast_to(np.ones(3), (0, 3))):
        assert tuple(cross(array, "numpy", "torch").result.shape) == (0, 3)


def test_extents_and_strides_that_reach_further_than_memory() -> None:
    # Copying would need exbibytes: an error, told beforehand without trying.
    vast = np.broadcast_to(np.int8(1), (2**31, 2**30))
    told = explain(vast, "torch")
    assert (told.mechanism, told.nbytes) == (COPIED, 2**61)
    with pytest.raises(MemoryError):
        convert(vast, "torch")
    with pytest.raises(MemoryError):
        convert_memory(vast, "numpy", "torch", HOST, copy=True)
    far = np.lib.stride_tricks.as_strided(np.zeros(2, np.int8), (3, 1), (2**62, 1))
    refused(far, "numpy", "torch", match="64 bits", kind=BufferError)
    writable = np.lib.stride_tricks.as_strided(np.zeros(2, np.int8), (2**31, 2**30), (0, 0))
    assert cross_without_reading(writable) == (2**31, 2**30)


def cross_without_reading(array: np.ndarray) -> tuple[int, ...]:
    return tuple(convert(array, "torch", copy=False).shape)


# ----- masked arrays, and dtypes that have no counterpart -----


def structured_and_masked() -> np.ndarray:
    return np.ma.array(np.zeros(2, "i4,f4"), mask=[(0, 1), (0, 0)])


@pytest.mark.parametrize("copy", [None, False, True])
@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: np.ma.array(counting(4), mask=[0, 1, 0, 0]), "masked"),
        (lambda: np.ma.masked, "masked"),
        (lambda: np.ma.array(counting(3), mask=True)[::-1], "masked"),
        (lambda: np.zeros(3, np.longdouble), "float128"),
        (lambda: np.zeros(3, np.clongdouble), "complex256"),
        (lambda: np.zeros(3, "i4,f4"), "f0.*i4.*f1.*f4"),
        (lambda: np.zeros(3, [("a", "f4", (2, 2))]), "a.*f4"),
        (structured_and_masked, "f0.*f1"),
        (lambda: np.rec.array([(1, 2.0)]), "f0"),
        (lambda: np.zeros(3, "datetime64[ns]"), r"datetime64\[ns\]"),
        (lambda: np.zeros(3, "timedelta64[s]"), r"timedelta64\[s\]"),
        (lambda: np.array([1, "a", None], object), "object"),
        (lambda: np.array(["ab", "c"]), "<U2"),
        (lambda: np.array([b"ab", b"c"]), "S2"),
        (lambda: np.array(["ab"], np.dtypes.StringDType()), "String"),
        (lambda: np.zeros(3, "V5"), "V5"),
        (lambda: np.zeros(0, object), "object"),
        (lambda: np.zeros((), "M8[D]"), "datetime64"),
    ],
)
def test_refused_by_name(make: Callable[[], np.ndarray], named: str, copy: bool | None) -> None:
    refused(make(), "numpy", "torch", copy, match=named)


@pytest.mark.parametrize(
    ("scalar", "named"),
    [
        (np.longdouble(3), "float128"),
        (np.zeros(3, "i4,f4")[0], "f0.*i4.*f1.*f4"),
        (np.datetime64("2024-01-01"), "datetime64"),
        (np.timedelta64(5, "s"), "timedelta64"),
        (np.str_("ab"), "<U2"),
        (np.bytes_(b"ab"), "S2"),
        (np.void(b"abc"), "V3"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_scalars_refused_by_name(scalar: np.generic, named: str) -> None:
    for copy in (None, True):
        refused(scalar, "numpy", "torch", copy, match=named)
    refused(scalar, "numpy", "torch", False)


# ----- what is special -----


def test_the_source_stays_writable_and_is_seen_through_the_result() -> None:
    array = counting(3)
    tensor = cross(array, "numpy", "torch").result
    array[1] = 9
    assert tensor.tolist() == [1, 9, 3]
    array.resize(3)
    assert tensor.tolist() == [1, 9, 3]


def test_a_read_only_view_of_writable_memory_is_copied_at_that_moment() -> None:
    array = counting(3)
    tensor = cross(read_only(array[:]), "numpy", "torch").result
    array[0] = 9
    assert tensor.tolist() == [1, 2, 3]


def test_bytes_of_a_bool_array_that_are_neither_0_nor_1() -> None:
    array = np.array([0, 1, 2, 255], np.uint8).view(bool)
    crossed = cross(array, "numpy", "torch", True)
    assert bytes(crossed.result.view(torch.uint8).tolist()) == b"\x00\x01\x02\xff"


def test_a_copy_is_aligned_to_64_bytes() -> None:
    for count in (1, 3, 17, 1000, 300_000):
        assert address(cross(counting(count), "numpy", "torch", True).result) % 64 == 0


def test_a_large_array_of_each_layout_is_copied_right() -> None:
    # More than one thread copies from 8 MiB on.
    array = np.random.default_rng(0).random((1100, 1030))
    for each in (array[::-1], array[:, ::-1], array.T[::-1], array[::-1, ::2], array.astype(">f8").T):
        assert bits(cross(each, "numpy", "torch").result) == bits(each)


def test_where_pytorch_has_another_default_device_or_dtype() -> None:
    array = counting(3)
    with torch.device("meta"):
        tensor = convert(array, "torch")
    assert (tensor.device.type, tensor.dtype, address(tensor)) == ("cpu", torch.float32, address(array))
    assert cross(np.ones(2), "numpy", "torch").result.dtype == torch.float64


@pytest.mark.parametrize("context", [torch.inference_mode, torch.no_grad, torch.enable_grad])
def test_inside_a_gradient_mode(context: Callable[[], object]) -> None:
    array = counting(3)
    with context():
        tensor = convert(array, "torch")
        tensor += 1
    assert array.tolist() == [2, 3, 4]


def test_a_result_can_learn() -> None:
    weight = cross(counting(3), "numpy", "torch").result.requires_grad_()
    (weight * weight).sum().backward()
    assert weight.grad.tolist() == [2, 4, 6]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_a_complex_array_needs_the_alignment_of_its_parts(dtype: str) -> None:
    part = np.dtype(dtype).itemsize // 2
    array = np.arange(9, dtype=f"f{part}")[1:].view(dtype)
    assert array.flags.aligned
    crossed = cross(array, "numpy", "torch")
    assert crossed.mechanism == SHARED
