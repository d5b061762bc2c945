"""The operations of the libraries beyond their values: gradients, tracing, axes, where results live, what is raised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from arraybridge import HOST, AcceleratorDevice, ArrayLibrary

Library = Any

DIFFERENTIABLE: dict[str, Callable[[Library, torch.Tensor], torch.Tensor]] = {
    "max": lambda library, x: library.max(x, 0),
    "min": lambda library, x: library.min(x, (0, 1)),
    "mean": lambda library, x: library.mean(x, None),
    "sum": lambda library, x: library.sum(x, -1),
    "astype": lambda library, x: library.astype(x, "float64"),
    "reshape": lambda library, x: library.reshape(x, (3, 2)),
    "broadcast_to": lambda library, x: library.broadcast_to(x, (4, 2, 3)),
    "prepend_axis": lambda library, x: library.prepend_axis(x),
    "stack_arrays": lambda library, x: library.stack_arrays([x, x], HOST),
    "normalize_planes": lambda library, x: library.normalize_planes(x, "float64", [4.0, None]),
    "scale_dtype": lambda library, x: library.scale_dtype(x, "float16"),
    "outer": lambda library, x: library.outer(x[0], x[1]),
    "assign": lambda library, x: library.assign(torch.zeros(2, 3), slice(0, 2), x),
}
WITHOUT_VALUES: dict[str, Callable[[Library, torch.Tensor], torch.Tensor]] = {
    **{name: operation for name, operation in DIFFERENTIABLE.items() if name != "assign"},
    "scale_dtype to integers": lambda library, x: library.scale_dtype(x, "uint16"),
    "logical_and": lambda library, x: library.logical_and(x, x),
    "ones_like": lambda library, x: library.ones_like(x, dtype="int16"),
}


@pytest.fixture
def numpy_library() -> Library:
    return ArrayLibrary.named("numpy")


@pytest.fixture
def torch_library() -> Library:
    return ArrayLibrary.named("torch")


def image() -> torch.Tensor:
    return torch.tensor([[1.0, 5.0, 2.0], [4.0, 0.5, 3.0]])


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_flow_through(name: str, torch_library: Library) -> None:
    x = image().requires_grad_()
    result = DIFFERENTIABLE[name](torch_library, x)
    assert result.requires_grad
    (gradient,) = torch.autograd.grad(result.double().sum(), x)
    assert bool(torch.isfinite(gradient).all())
    assert bool(gradient.any())


def test_gradient_values(torch_library: Library) -> None:
    x = image().requires_grad_()
    torch_library.normalize_planes(x, "float32", [4.0, None]).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[0.25] * 3, [1.0] * 3]


@pytest.mark.parametrize("name", WITHOUT_VALUES)
def test_tensors_without_values_pass_through(name: str, torch_library: Library) -> None:
    result = WITHOUT_VALUES[name](torch_library, image().to("meta"))
    expected = WITHOUT_VALUES[name](torch_library, image())
    assert result.is_meta
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)


@pytest.mark.parametrize("name", WITHOUT_VALUES)
def test_vmap(name: str, torch_library: Library) -> None:
    batch = torch.stack([image(), image() * 2 - 3])
    result = torch.vmap(lambda x: WITHOUT_VALUES[name](torch_library, x))(batch)
    expected = torch.stack([WITHOUT_VALUES[name](torch_library, x) for x in batch])
    assert result.dtype == expected.dtype
    assert torch.equal(result, expected)


@pytest.mark.parametrize("name", ["max", "min", "mean", "sum"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0,), (0, 1), (-1, 0), [0, 1]])
def test_axes(name: str, axis: Any, numpy_library: Library, torch_library: Library) -> None:
    x = image()
    along = tuple(axis) if isinstance(axis, list) else axis
    expected = getattr(np, name)(x.numpy(), axis=along)
    assert np.array_equal(getattr(numpy_library, name)(x.numpy(), axis), expected)
    result = getattr(torch_library, name)(x, axis)
    assert isinstance(result, torch.Tensor)
    assert torch.equal(result, torch.as_tensor(expected))


def test_all_axes_by_default(numpy_library: Library, torch_library: Library) -> None:
    assert torch_library.max(image()).shape == ()
    assert numpy_library.sum(image().numpy()).shape == ()


@pytest.mark.parametrize("axis", [2, -3, (0, 0), (0, 5)])
def test_axes_that_are_not_there(axis: Any, numpy_library: Library, torch_library: Library) -> None:
    with pytest.raises((IndexError, RuntimeError)):
        torch_library.max(image(), axis)
    with pytest.raises(ValueError, match="axis"):
        numpy_library.max(image().numpy(), axis)


def test_uint16_has_extremes_in_torch(torch_library: Library) -> None:
    x = torch.tensor([[1, 65535], [65534, 7]], dtype=torch.uint16)
    largest = torch_library.max(x, 1)
    assert largest.dtype is torch.uint16
    assert largest.tolist() == [65535, 65534]
    assert torch_library.min(x).item() == 1


def test_casting_to_the_same_dtype_is_the_same_array(numpy_library: Library, torch_library: Library) -> None:
    x = image()
    values = x.numpy()
    assert torch_library.astype(x, "float32") is x
    assert torch_library.astype(x, torch.float32) is x
    assert numpy_library.astype(values, np.float32) is values


def test_assignment_is_in_place(numpy_library: Library, torch_library: Library) -> None:
    x = image()
    values = x.numpy()
    assert torch_library.assign(x, slice(0, 1), torch.zeros(3)) is x
    assert numpy_library.assign(values, slice(1, None), np.full(3, 9.0)) is values
    assert x.tolist() == [[0.0] * 3, [9.0] * 3]


def test_normalizing_leaves_the_input_alone(numpy_library: Library, torch_library: Library) -> None:
    x = image()
    before = x.clone()
    for scales in ([2.0, 4.0], [None, None]):
        ours = numpy_library.normalize_planes(x.numpy(), "float32", scales)
        assert not np.shares_memory(ours, x.numpy())
        assert torch_library.normalize_planes(x, "float32", scales).data_ptr() != x.data_ptr()
    numpy_library.scale_dtype(x.numpy(), "uint8")
    torch_library.scale_dtype(x, "uint8")
    assert torch.equal(x, before)


@pytest.mark.parametrize("scales", [[1.0], [1.0, 2.0, 3.0], []])
def test_one_scale_per_plane(scales: list[float], numpy_library: Library, torch_library: Library) -> None:
    for library, array in ((numpy_library, image().numpy()), (torch_library, image())):
        with pytest.raises(ValueError, match=f"{len(scales)} scales for the 2 planes"):
            library.normalize_planes(array, "float32", scales)


def test_a_device_that_is_not_there(numpy_library: Library, torch_library: Library) -> None:
    nowhere = AcceleratorDevice(97)
    for library, array in ((numpy_library, image().numpy()), (torch_library, image())):
        with pytest.raises(ValueError, match=r"accelerator:97 is unavailable; available devices are .*'host'"):
            library.stack_arrays([array], nowhere)


def test_intensities_are_spread(numpy_library: Library, torch_library: Library) -> None:
    for library, array in ((numpy_library, image().numpy()), (torch_library, image())):
        spread = library.scale_dtype(array, "uint8")
        assert spread.tolist() == [[28, 255, 85], [198, 0, 141]]
        assert library.scale_dtype(array * 0 + 7, "uint8").tolist() == [[7] * 3] * 2
        assert library.scale_dtype(array, "int16").tolist()[0][1] == 32767 - 128


def test_float16_intensities_fit_wide_integers(torch_library: Library) -> None:
    spread = torch_library.scale_dtype(torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float16), "uint16")
    assert spread.tolist() == [0, 32767, 65535]


def test_a_parameter_is_a_tensor(torch_library: Library) -> None:
    parameter = torch.nn.Parameter(image())
    assert torch.equal(torch_library.max(parameter, 0), image().amax(0))
    with pytest.raises(RuntimeError, match="leaf"):
        torch_library.assign(parameter, slice(0, 1), torch.zeros(3))


def test_torch_keeps_its_default_device(torch_library: Library) -> None:
    x = image()
    with torch.device("meta"):
        assert torch_library.ones_like(x).device == x.device
        assert torch_library.ones((2,), "float32").is_meta


def test_objects_of_another_library(torch_library: Library) -> None:
    for operation in (torch_library.max, torch_library.sum, torch_library.prepend_axis):
        with pytest.raises((TypeError, AttributeError)):
            operation([1, 2, 3])


@pytest.mark.parametrize("name", ["numpy", "torch"])
@pytest.mark.parametrize("axis", [2**32, -(2**32), (2**32 + 1,), 2**70])
def test_an_axis_that_no_array_has_does_not_wrap_around(name: str, axis: object) -> None:
    library = ArrayLibrary.named(name)
    array = library.from_numpy(np.ones((2, 3), np.float32), HOST)
    with pytest.raises((IndexError, OverflowError)):
        library.max(array, axis)


def test_sequences_that_make_their_items_when_asked(numpy_library: Library) -> None:
    array = np.arange(6, dtype=np.float64).reshape(3, 2)
    assert np.array_equal(numpy_library.stack_arrays(array, HOST), array)
    for _ in range(2000):
        scaled = numpy_library.normalize_planes(array, "float32", np.array([1.0, 2.0, 4.0]))
    assert np.array_equal(scaled, np.asarray(array / [[1], [2], [4]], np.float32))


def test_scalars_of_numpy_are_stacked_as_arrays_without_axes(numpy_library: Library) -> None:
    assert np.array_equal(numpy_library.stack_arrays(np.arange(3.0), HOST), np.arange(3.0))


def test_the_name_of_a_dtype_of_the_librarys_own() -> None:
    assert ArrayLibrary.named("torch").dtype_name(torch.float32) == "float32"
    assert ArrayLibrary.named("torch").dtype_name(np.uint16) == "uint16"
