"""Every dtype, both ways: exact bits where both libraries have it, exact values where one has a wider one only."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
ml_dtypes = pytest.importorskip("ml_dtypes")

from crossing import COPIED, SHARED, bits, cannot_share, cross, refused  # noqa: E402

from arraybridge import MemoryConversionError, convert, explain  # noqa: E402

OF_NUMPY = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]
OF_ML_DTYPES = ["bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]
BOTH = OF_NUMPY + OF_ML_DTYPES


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name) if name in OF_ML_DTYPES else name)


def every_pattern(name: str) -> np.ndarray:
    """Elements of every bit pattern, or of many: NaNs with payloads, infinities, subnormal numbers, -0.0."""
    dtype = numpy_dtype(name)
    if name == "bool":
        raw = np.array([0, 1, 1, 0], np.uint8)
    elif dtype.itemsize == 1:
        raw = np.arange(256, dtype=np.uint8)
    elif dtype.itemsize == 2:
        raw = np.arange(65536, dtype=np.uint16)
    else:
        raw = np.random.default_rng(1).integers(0, 256, 4096, np.uint8)
        special = {
            "float32": [0x7F800001, 0xFFC12345, 0x7FBFFFFF, 0x80000000, 1, 0xFF800000],
            "complex64": [0x7F800001, 0xFFC12345, 0x7FBFFFFF, 0x80000000],
        }
        if name in special:
            raw = np.concatenate([raw, np.array(special[name], np.uint32).view(np.uint8)])
        if name in ("float64", "complex128"):
            words = [0x7FF0000000000001, 0xFFF8DEADBEEF0001, 1 << 63, 1]
            raw = np.concatenate([raw, np.array(words, np.uint64).view(np.uint8)])
    return raw.view(dtype)


@pytest.mark.parametrize("name", BOTH)
def test_numpy_to_torch(name: str) -> None:
    array = every_pattern(name)
    for copy, mechanism in ((None, SHARED), (False, SHARED), (True, COPIED)):
        crossed = cross(array, "numpy", "torch", copy)
        assert (crossed.mechanism, crossed.result.dtype) == (mechanism, getattr(torch, name))
        assert bits(crossed.result) == array.tobytes()
    flipped = cross(array[::-1], "numpy", "torch")
    assert bits(flipped.result) == np.ascontiguousarray(array[::-1]).tobytes()
    read_only = array.copy()
    read_only.flags.writeable = False
    assert bits(cross(read_only[::2], "numpy", "torch").result) == array[::2].tobytes()


@pytest.mark.parametrize("name", BOTH)
def test_torch_to_numpy(name: str) -> None:
    array = every_pattern(name)
    tensor = torch.from_numpy(array.view(np.uint8).copy()).view(getattr(torch, name))
    for copy, mechanism in ((None, SHARED), (False, SHARED), (True, COPIED)):
        crossed = cross(tensor, "torch", "numpy", copy)
        assert (crossed.mechanism, crossed.result.dtype) == (mechanism, numpy_dtype(name))
        assert crossed.result.tobytes() == array.tobytes()
    strided = cross(tensor.reshape(2, -1).T[1:], "torch", "numpy").result
    assert bits(strided) == np.ascontiguousarray(array.reshape(2, -1).T[1:]).tobytes()


@pytest.mark.parametrize("name", BOTH)
def test_there_and_back_it_is_the_same_memory(name: str) -> None:
    array = every_pattern(name)
    again = cross(cross(array, "numpy", "torch").result, "torch", "numpy").result
    assert (again.dtype, again.ctypes.data) == (array.dtype, array.ctypes.data)


@pytest.mark.parametrize("name", ["int16", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64"])
def test_foreign_byte_order(name: str) -> None:
    values = every_pattern(name)
    foreign = values.astype(values.dtype.newbyteorder(">"))
    crossed = cross(foreign, "numpy", "torch")
    assert (crossed.mechanism, crossed.result.dtype) == (COPIED, getattr(torch, name))
    # Bits, and not values that went through an arithmetic unit: signalling NaNs stay what they are.
    halves = {"complex64": "u4"}.get(name, f"u{values.itemsize}")
    assert bits(crossed.result) == foreign.view(f">{halves}").astype(halves).tobytes()


@pytest.mark.parametrize(
    ("name", "wider"),
    [
        ("float8_e3m4", "float32"),
        ("float8_e4m3", "float32"),
        ("float8_e4m3b11fnuz", "float32"),
        ("int4", "int8"),
        ("uint4", "uint8"),
        ("int2", "int8"),
        ("uint2", "uint8"),
        ("float6_e2m3fn", "float32"),
        ("float6_e3m2fn", "float32"),
        ("float4_e2m1fn", "float32"),
    ],
)
def test_a_dtype_that_pytorch_lacks_becomes_a_wider_one(name: str, wider: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name))
    width = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "float4_e2m1fn": 4}.get(name, 6 if "float6" in name else 8)
    array = np.arange(2**width, dtype=np.uint8).view(dtype)
    for each in (array, array[::-1], array[::3], array.reshape(2, -1).T, array[:1].reshape(())):
        for copy in (None, True):
            crossed = cross(each, "numpy", "torch", copy)
            assert crossed.result.dtype == getattr(torch, wider)
            np.testing.assert_array_equal(crossed.result.numpy(), each.astype(wider))
            assert crossed.mechanism == COPIED
        cannot_share(each, "numpy", "torch", match=name)


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_half_precision_complex() -> None:
    parts = torch.tensor([1.5, -2, float("inf"), 65504, -0.0, 2**-24], dtype=torch.float16)
    for tensor in (parts.view(torch.complex32), parts.view(torch.complex32)[::2], parts.view(torch.complex32)[0]):
        expected = tensor.to(torch.complex64).numpy()
        for each in (tensor, tensor.clone().requires_grad_(), torch.nn.Parameter(tensor.clone())):
            for copy in (None, True):
                told = explain(each, "numpy", copy=copy)
                result = convert(each, "numpy", copy=copy)
                assert (told.mechanism, result.dtype) == (COPIED, np.complex64)
                np.testing.assert_array_equal(result, expected)
            cannot_share(each, "torch", "numpy", match="complex32")


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_half_precision_complex_with_a_conjugate_bit() -> None:
    tensor = torch.tensor([1.5, -2, 3, 4], dtype=torch.float16).view(torch.complex32).conj()
    assert tensor.is_conj()
    assert convert(tensor, "numpy").tolist() == [1.5 + 2j, 3 - 4j]
    assert convert(tensor.imag, "numpy").tolist() == [2, -4]


@pytest.mark.parametrize(
    "name",
    [
        *(f"{sign}int{width}" for sign in ("", "u") for width in range(1, 8)),
        *("bits1x8", "bits2x4", "bits4x2", "bits8", "bits16", "float4_e2m1fn_x2"),
    ],
)
def test_dtypes_of_pytorch_alone_are_refused_by_name(name: str) -> None:
    dtype = getattr(torch, name, None)
    if dtype is None:
        pytest.fail(f"this PyTorch has no dtype {name}")
    tensor = torch.zeros(4, dtype=torch.int16 if name == "bits16" else torch.uint8).view(dtype)
    for each in (tensor, tensor.as_subclass(type("Sub", (torch.Tensor,), {}))):
        for copy in (None, False, True):
            refused(each, "torch", "numpy", copy, match=rf"torch\.{name}\b")


def test_without_ml_dtypes_the_package_is_asked_for_by_name() -> None:
    code = """
import sys
sys.modules["ml_dtypes"] = None
import numpy as np, torch
from arraybridge import MemoryConversionError, convert, explain
tensor = torch.ones(3, dtype=torch.bfloat16)
for copy in (None, False, True):
    try:
        convert(tensor, "numpy", copy=copy)
    except ModuleNotFoundError as error:
        assert isinstance(error, MemoryConversionError) and error.name == "ml_dtypes", error
        assert "pip install ml_dtypes" in str(error), error
        told = explain(tensor, "numpy", copy=copy)
        assert told.mechanism is None and "ml_dtypes" in told.error, told
        print("asked for")
del sys.modules["ml_dtypes"]
assert convert(tensor, "numpy").astype(float).sum() == 3
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "asked for\n" * 3, "")


def test_a_dtype_of_ml_dtypes_is_taken_where_nobody_imported_that_package() -> None:
    code = """
import sys, torch
from arraybridge import convert
assert "ml_dtypes" not in sys.modules
assert convert(torch.ones(3, dtype=torch.float8_e5m2), "numpy").dtype.name == "float8_e5m2"
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "wrong",
    [np.dtype("float32"), np.float32, np.sum, np.random.default_rng(0), np, np.ndarray],
    ids=lambda wrong: type(wrong).__name__,
)
def test_what_numpy_has_besides_arrays_is_nothing_to_be_like(wrong: object) -> None:
    with pytest.raises((ValueError, TypeError, MemoryConversionError)):
        convert(torch.ones(2), wrong)


@pytest.mark.parametrize(
    "wrong",
    [torch.float32, torch.device("cpu"), torch.Size([2]), torch, torch.Tensor],
    ids=lambda wrong: type(wrong).__name__,
)
def test_what_torch_has_besides_tensors_is_nothing_to_be_like(wrong: object) -> None:
    with pytest.raises((ValueError, TypeError, MemoryConversionError)):
        convert(np.ones(2), wrong)
