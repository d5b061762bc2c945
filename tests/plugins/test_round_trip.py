"""Whatever the shape, strides and dtype: bits cross, explanations come true, copies are copies."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
ml_dtypes = pytest.importorskip("ml_dtypes")

from crossing import COPIED, SHARED, address, bits, cross  # noqa: E402
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

DTYPES = [
    *("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"),
    *(">i2", ">i4", ">u8", ">f2", ">f4", ">f8", ">c8", ">c16"),
    *(ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e8m0fnu),
]
few = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    """An array in a block of random bytes, with any layout that slicing, transposing and broadcasting give."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(st.lists(st.integers(0, 5), max_size=4))
    steps = [draw(st.sampled_from([-3, -2, -1, 1, 1, 1, 2, 3])) for _ in shape]
    whole = [1 + (extent - 1) * abs(step) if extent else 0 for extent, step in zip(shape, steps, strict=True)]
    shift = draw(st.sampled_from([0, 0, 0, 1, 2, 4, 8]))
    count = int(np.prod(whole, dtype=int)) if whole else 1
    memory = np.random.default_rng(draw(st.integers(0, 999))).integers(0, 256, count * dtype.itemsize + 80, np.uint8)
    if dtype.kind == "b":
        memory &= 1
    start = -memory.ctypes.data % 64 + shift
    array = memory[start : start + count * dtype.itemsize].view(dtype)
    array = array.reshape(whole, order=draw(st.sampled_from("CF")))
    array = array[(*(slice(None, None, step) for step in steps), ...)]
    array = array.transpose(draw(st.permutations(range(len(shape)))))
    if draw(st.booleans()) and array.ndim:
        array = np.broadcast_to(array, (draw(st.integers(1, 3)), *array.shape))
    if draw(st.integers(0, 4)) == 0:
        array = array.view()
        array.flags.writeable = False
    return array


def can_be_shared(array: np.ndarray) -> bool:
    steps_ok = all(
        step >= 0 and step % array.itemsize == 0 for n, step in zip(array.shape, array.strides, strict=True) if n > 1
    )
    return bool(array.flags.writeable and array.dtype.isnative and array.ctypes.data % array.itemsize == 0 and steps_ok)


@few
@given(arrays(), st.sampled_from([None, True]))
def test_from_numpy(array: np.ndarray, copy: bool | None) -> None:
    if array.size == 0 and not can_be_shared(array):
        return
    crossed = cross(array, "numpy", "torch", copy)
    assert bits(crossed.result) == bits(array)
    assert crossed.mechanism == (SHARED if can_be_shared(array) and copy is None else COPIED)


@few
@given(arrays())
def test_from_numpy_sharing(array: np.ndarray) -> None:
    if can_be_shared(array) and array.size:
        assert address(cross(array, "numpy", "torch", False).result) == address(array)


@st.composite
def tensors(draw: st.DrawFn) -> torch.Tensor:
    shape = draw(st.lists(st.integers(0, 5), max_size=4))
    strides = [draw(st.integers(0, 12)) for _ in shape]
    offset = draw(st.integers(0, 5))
    dtype = draw(
        st.sampled_from(
            [
                *(
                    torch.bool,
                    torch.int8,
                    torch.int16,
                    torch.int32,
                    torch.int64,
                    torch.uint8,
                    torch.uint16,
                    torch.uint64,
                ),
                *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128),
                *(torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e8m0fnu),
            ]
        )
    )
    count = 1 + offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True) if n)
    raw = np.random.default_rng(draw(st.integers(0, 999))).integers(0, 256, count * dtype.itemsize, np.uint8)
    memory = torch.from_numpy(raw & 1 if dtype == torch.bool else raw).view(dtype)
    tensor = torch.as_strided(memory, shape, strides, offset)
    if dtype.is_complex and draw(st.booleans()):
        tensor = tensor.conj()
        tensor = tensor.imag if draw(st.booleans()) else tensor
    if (dtype.is_floating_point or dtype.is_complex) and dtype.itemsize > 1 and draw(st.booleans()):
        tensor = tensor.detach().requires_grad_()
    return tensor


@few
@given(tensors(), st.sampled_from([None, True]))
def test_from_torch(tensor: torch.Tensor, copy: bool | None) -> None:
    lazy = tensor.is_conj() or tensor.is_neg()
    if tensor.numel() == 0 and lazy:
        return
    crossed = cross(tensor, "torch", "numpy", copy)
    assert bits(crossed.result) == bits(tensor)
    aligned = tensor.data_ptr() % tensor.itemsize == 0 or tensor.numel() == 0
    assert crossed.mechanism == (SHARED if aligned and not lazy and copy is None else COPIED)


@few
@given(arrays())
def test_there_and_back(array: np.ndarray) -> None:
    if array.size == 0 and not can_be_shared(array):
        return
    again = cross(cross(array, "numpy", "torch").result, "torch", "numpy").result
    assert again.shape == array.shape
    assert again.dtype == array.dtype.newbyteorder("=")
    assert bits(again) == bits(array)
