"""Errors keep their facts, through pickling too."""

from __future__ import annotations

import pickle

import pytest

from arraybridge import MemoryConversionError, PrecisionWarning
from arraybridge.exceptions import ConversionBufferError, ConversionDeviceError, ConversionModuleNotFoundError

KINDS = [
    (MemoryConversionError, Exception),
    (ConversionBufferError, BufferError),
    (ConversionDeviceError, ValueError),
    (ConversionModuleNotFoundError, ModuleNotFoundError),
]


@pytest.mark.parametrize(("kind", "parent"), KINDS)
def test_facts_and_message(kind: type[MemoryConversionError], parent: type[Exception]) -> None:
    error = kind("numpy", "torch", "copy", "no memory")
    assert isinstance(error, MemoryConversionError)
    assert isinstance(error, parent)
    assert str(error) == "Cannot convert from numpy to torch using copy. Reason: no memory"
    assert (error.source_type, error.target_type, error.method, error.reason) == ("numpy", "torch", "copy", "no memory")


@pytest.mark.parametrize(("kind", "parent"), KINDS)
def test_pickle(kind: type[MemoryConversionError], parent: type[Exception]) -> None:
    error = kind(source_type="a", target_type="b", method="m", reason="r")
    error.note = "kept"  # type: ignore[attr-defined]
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == str(error)
    assert again.__dict__ == error.__dict__


def test_the_missing_module_is_kept() -> None:
    error = ConversionModuleNotFoundError("a", "b", "m", "r")
    error.name = "torch"
    assert pickle.loads(pickle.dumps(error)).name == "torch"


def test_precision_warning() -> None:
    assert issubclass(PrecisionWarning, UserWarning)
