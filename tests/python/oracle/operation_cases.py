"""Runs every operation of an installed arraybridge and writes down what came out.

The same file runs on the release that is the oracle and on the package under test, so it uses only what both have.
It is a script for the one, `python operation_cases.py RESULT_FILE`, and imported for the other.
"""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from arraybridge.devices import HOST
from arraybridge.libraries import ArrayLibrary

REDUCTIONS = ("max", "min", "mean", "sum")
AXES = (None, 0, -1, (0,), (1,), (0, 1), (-1, 0), (), 2, (0, 0), 7, -5, "first", 1.5)
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *INTEGERS, *FLOATS, *COMPLEX)
SHAPES = ((), (1,), (5,), (2, 3), (2, 3, 4), (0, 3), (3, 0))

Call = Callable[[], Any]


@dataclass
class Outcome:
    """What one call gave: a value with everything about it that is promised, or the name of the error's type."""

    error: str = ""
    message: str = ""
    type: str = ""
    dtype: str = ""
    values: Any = None
    is_input: bool = False
    shares_input: bool = False
    warnings: tuple[str, ...] = ()


def outcome_of(call: Call, given: object) -> Outcome:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except Exception as error:
            return Outcome(error=type(error).__name__, message=str(error))
    # PyTorch warns once in a process, so only NumPy's warnings can be compared.
    seen = {each.category.__name__ for each in caught} - {"UserWarning"}
    found = Outcome(type=type(result).__name__, is_input=result is given, warnings=tuple(sorted(seen)))
    if isinstance(result, torch.Tensor):
        found.dtype = str(result.dtype).removeprefix("torch.")
        exact = result.detach()
        exact = exact.double() if exact.dtype.is_floating_point else exact
        found.values = exact.numpy().copy()
        if isinstance(given, torch.Tensor) and given.numel() > 0:
            found.shares_input = result.untyped_storage().data_ptr() == given.untyped_storage().data_ptr()
    else:
        found.dtype = result.dtype.name
        found.values = np.array(result)
        if isinstance(given, np.ndarray):
            found.shares_input = np.shares_memory(result, given)
    return found


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    """The same numbers for every library and process; negative ones and fractions where the dtype has them."""
    generator = np.random.default_rng(7)
    values = np.asarray(generator.uniform(-90, 110, shape))
    if dtype == "bool":
        return np.asarray(values > 0)
    if dtype in COMPLEX:
        return np.asarray(values + 1j * values[..., ::-1] if shape else values + 2j).astype(dtype)
    return np.asarray(np.abs(values) if dtype.startswith("u") else values).astype(dtype)


class Side:
    """One library and how its arrays are made of NumPy's."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.library: Any = ArrayLibrary.named(name)

    def array(self, values: np.ndarray[Any, Any]) -> Any:
        # The copy belongs to nobody else, so that a case which writes does not disturb another.
        return torch.tensor(values) if self.name == "torch" else values.copy()

    def of(self, shape: tuple[int, ...], dtype: str) -> Any:
        return self.array(numbers(shape, dtype))

    def arrays(self) -> Iterator[tuple[str, Any]]:
        for dtype in DTYPES:
            for shape in SHAPES:
                yield f"{dtype}{shape}", self.of(shape, dtype)
        wide = self.of((4, 6), "float32")
        yield "transposed", wide.T
        yield "with gaps", wide[::2, ::3]
        yield "stride 0", self.library.broadcast_to(wide[:1], (3, 6))
        for value in (np.nan, np.inf, -np.inf):
            special = numbers((2, 3), "float32")
            special[1, 1] = value
            yield f"with {value}", self.array(special)
        yield "all nan", self.array(np.full((2, 2), np.nan, "float32"))
        if self.name == "torch":
            for narrow in (torch.bfloat16, torch.float8_e4m3fn):
                yield str(narrow), self.of((2, 3), "float32").to(narrow)
            yield "parameter", torch.nn.Parameter(self.of((2, 3), "float32"))
        else:
            yield "reversed", wide[::-1]
            yield "foreign byte order", wide.astype(">f4")
            yield "long double", wide.astype(np.longdouble)
            yield "scalar", np.float32(2.5)
            yield "matrix", wide.view(np.matrix)
            yield "masked", np.ma.array(wide, mask=wide > 50)


def reductions(side: Side) -> Iterator[tuple[str, str, Call, object]]:
    for label, array in side.arrays():
        for name in REDUCTIONS:
            operation = getattr(side.library, name)
            for axis in AXES:
                yield name, f"{label}, axis={axis!r}", lambda o=operation, a=array, x=axis: o(a, x), array


def casts(side: Side) -> Iterator[tuple[str, str, Call, object]]:
    targets = (*DTYPES, np.uint16, np.dtype("float32"), float, int, bool, complex, "no such dtype")
    if side.name == "torch":
        targets = (*targets, torch.int16, torch.bfloat16)
    for label, array in side.arrays():
        for name in ("astype", "scale_dtype"):
            operation = getattr(side.library, name)
            for target in targets:
                yield name, f"{label} to {target!r}", lambda o=operation, a=array, t=target: o(a, t), array


def intensities(side: Side) -> Iterator[tuple[str, str, Call, object]]:
    scale_dtype = side.library.scale_dtype
    for source in FLOATS:
        ranges = {
            "unit": np.linspace(0, 1, 257),
            "constant": np.full(5, 3.25),
            "negative": np.linspace(-7, -3, 100),
            "tiny": np.linspace(1, 1 + 1e-3, 50),
        }
        for label, values in ranges.items():
            array = side.array(values.astype(source))
            for target in INTEGERS:
                yield "scale_dtype", f"{label} {source} to {target}", lambda a=array, t=target: scale_dtype(a, t), array


def planes(side: Side) -> Iterator[tuple[str, str, Call, object]]:
    normalize = side.library.normalize_planes
    choices: tuple[Any, ...] = (
        [2.0, None],
        [None, None],
        [3, 0.1],
        [0.0, 0],
        [1e300, 2],
        [2.0],
        [1, 2, 3],
        [],
        ["x", 1],
    )
    choices = (*choices, [np.float32(0.3), True], (None, 7.0), None)
    for source in DTYPES:
        for target in (*DTYPES, float, "no such dtype"):
            for scales in choices if target != "no such dtype" else choices[:1]:
                array = side.of((2, 3), source)
                label = f"{source} to {target!r}, scales={scales!r}"
                yield "normalize_planes", label, lambda a=array, t=target, s=scales: normalize(a, t, s), array
    for shape in ((), (2,), (2, 2, 2), (0, 3), (2, 0)):
        for target in ("float32", "int32"):
            array = side.of(shape, "float32")
            scales = [4.0, None][: shape[0] if shape else 0]
            label = f"{shape} to {target}"
            yield "normalize_planes", label, lambda a=array, t=target, s=scales: normalize(a, t, s), array


def shapes(side: Side) -> Iterator[tuple[str, str, Call, object]]:
    targets = (
        (3, 2),
        (6,),
        (-1,),
        (2, -1),
        [6],
        (4,),
        (-1, -1),
        (),
        6,
        (2, 3),
        (4, 2, 3),
        (1, 2, 3),
        (2, 2),
        ("a",),
        (1.5,),
    )
    for label, array in side.arrays():
        yield "prepend_axis", label, lambda a=array: side.library.prepend_axis(a), array
        for target in targets:
            for name in ("reshape", "broadcast_to"):
                operation = getattr(side.library, name)
                yield name, f"{label} to {target!r}", lambda o=operation, a=array, t=target: o(a, t), array


def ones(side: Side) -> Iterator[tuple[str, str, Call, object]]:
    array = side.of((2, 3), "float32")
    like = side.library.ones_like
    yield "ones_like", "as it is", lambda: like(array), array
    for shape in (None, (), (2,), [3], (0, 2), (-1,), "ab"):
        for dtype in (*DTYPES, bool, float, np.uint8, "no such dtype"):
            label = f"{shape!r}, {dtype!r}"
            yield "ones_like", label, lambda s=shape, d=dtype: like(array, shape=s, dtype=d), array
            yield "ones", label, lambda s=shape, d=dtype: side.library.ones(() if s is None else s, d), None
    yield "ones", "3", lambda: side.library.ones(3, "float32"), None


def pairs(side: Side) -> Iterator[tuple[str, str, Call, object]]:
    library = side.library
    for left in DTYPES:
        for right in ("bool", "uint8", "float32", "complex64"):
            one, other = side.of((3,), left), side.of((3,), right)
            label = f"{left} and {right}"
            yield "logical_and", label, lambda a=one, b=other: library.logical_and(a, b), one
            yield "outer", label, lambda a=one, b=other: library.outer(a, b), one
            yield "stack_arrays", label, lambda a=one, b=other: library.stack_arrays([a, b], HOST), one
    for shape in ((), (1,), (4,), (2, 3)):
        one, other = side.of((2, 3), "float32"), side.of(shape, "float32")
        yield "logical_and", f"shape {shape}", lambda a=one, b=other: library.logical_and(a, b), one
        yield "outer", f"shape {shape}", lambda a=one, b=other: library.outer(a, b), one
        yield "stack_arrays", f"shape {shape}", lambda a=one, b=other: library.stack_arrays((a, b), HOST), one
    yield "stack_arrays", "none", lambda: library.stack_arrays([], HOST), None


def assignments(side: Side) -> Iterator[tuple[str, str, Call, object]]:
    slices = (
        slice(None),
        slice(0, 1),
        slice(1, None),
        slice(-1, None),
        slice(None, None, 2),
        slice(9, 12),
        slice(2, 1),
    )
    for dtype in DTYPES:
        for index in (*slices, slice(None, None, -1)):
            array, values = side.of((3, 2), dtype), side.of((2,), "float32")
            label = f"{dtype}, {index}"
            yield "assign", label, lambda a=array, i=index, v=values: side.library.assign(a, i, v), array
    array, values = side.of((3, 2), "float32"), side.of((4,), "float32")
    yield "assign", "wrong shape", lambda: side.library.assign(array, slice(0, 1), values), array


def scalars(side: Side) -> Iterator[tuple[str, str, Call, object]]:
    for start, stop in ((0, 1), (0.5, -3), (-2.0, -2.0), (1e30, 2e30)):
        for count in (0, 1, 2, 5, 100, -1):
            for endpoint in (True, False):
                label = f"{start}, {stop}, {count}, {endpoint}"
                values = (start, stop, count)
                yield "linspace", label, lambda v=values, e=endpoint: side.library.linspace(*v, endpoint=e), None
    for value in (1.5, -1.5, 2, 0.0, -0.25, float("nan"), float("inf"), 1e20, "x", True):
        yield "floor", repr(value), lambda v=value: side.library.floor(v), None


GROUPS = (reductions, casts, intensities, planes, shapes, ones, pairs, assignments, scalars)


def outcomes(library: str) -> dict[tuple[str, str], Outcome]:
    """By operation and case, in words."""
    side = Side(library)
    return {
        (operation, label): outcome_of(call, given) for group in GROUPS for operation, label, call, given in group(side)
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    found = {library: {key: vars(each) for key, each in outcomes(library).items()} for library in ("numpy", "torch")}
    Path(sys.argv[1]).write_bytes(pickle.dumps(found))
