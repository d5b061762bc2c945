"""explain tells what would happen and converts nothing."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from arraybridge import HOST, AcceleratorDevice, MemoryType, explain
from arraybridge.converters import Explanation

ARRAY = np.ones((4, 4), np.float32)


def test_an_array_that_stays() -> None:
    told = explain(ARRAY, "numpy")
    assert (told.source_library, told.source_device) == ("numpy", HOST)
    assert (told.target_library, told.target_device) == ("numpy", HOST)
    assert (told.mechanism, told.nbytes, told.copied_nbytes, told.shared) == ("stays in place", 64, 0, True)
    assert told.declined == ()
    assert str(told) == "numpy on host -> numpy on host: stays in place\n  the result is the very array"
    assert told == explain(ARRAY, MemoryType.NUMPY, device=HOST)


def test_a_shared_array() -> None:
    pytest.importorskip("torch")
    told = explain(ARRAY, "torch")
    assert (told.mechanism, told.shared, told.copied_nbytes) == ("shared host buffer", True, 0)
    assert "nothing is copied of 64 bytes" in str(told)


def test_a_declined_route_has_its_reason() -> None:
    pytest.importorskip("torch")
    read_only = ARRAY.copy()
    read_only.flags.writeable = False
    told = explain(read_only, "torch")
    assert (told.mechanism, told.shared, told.copied_nbytes) == ("host copy", False, 64)
    ((mechanism, reason),) = told.declined
    assert mechanism == "shared host buffer"
    assert "read" in reason
    assert f"    shared host buffer  {reason}" in str(told).splitlines()
    failing = explain(read_only, "torch", copy=False)
    assert (failing.mechanism, failing.shared, failing.copied_nbytes) == (None, False, 0)
    assert failing.error
    assert str(failing).startswith("numpy on host -> torch on host: fails")


def test_a_missing_device_is_told() -> None:
    told = explain(ARRAY, "numpy", device=AcceleratorDevice(0))
    assert told.mechanism is None
    assert "accelerator:0" in told.error


def test_unknown() -> None:
    with pytest.raises(ValueError, match="int"):
        explain(3, "numpy")
    with pytest.raises(ValueError, match="abacus"):
        explain(ARRAY, "abacus")


def test_it_is_a_value() -> None:
    told = Explanation("a", HOST, "b", HOST, 8, "host copy", "", (("dlpack", "no"),))
    assert pickle.loads(pickle.dumps(told)) == told
    assert hash(told) == hash(pickle.loads(pickle.dumps(told)))
    with pytest.raises(AttributeError):
        told.nbytes = 1
