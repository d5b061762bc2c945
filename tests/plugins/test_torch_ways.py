"""The same tests once more, through PyTorch's Python functions and through its legacy capsules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from arraybridge import convert

HERE = Path(__file__).parent
THROUGH_PYTHON = os.environ.get("ARRAYBRIDGE_TORCH_EXCHANGE") == "python"
LEGACY = "ARRAYBRIDGE_TEST_LEGACY_CAPSULES" in os.environ


@pytest.mark.skipif(THROUGH_PYTHON, reason="this is such a run")
@pytest.mark.parametrize("legacy", [False, True], ids=["versioned capsules", "legacy capsules"])
def test_every_test_through_python(legacy: bool) -> None:
    environment = {**os.environ, "ARRAYBRIDGE_TORCH_EXCHANGE": "python"}
    if legacy:
        environment["ARRAYBRIDGE_TEST_LEGACY_CAPSULES"] = "1"
    tests = (
        [HERE]
        if not legacy
        else [HERE / name for name in ("test_numpy_to_torch.py", "test_dtypes.py", "test_torch_ways.py")]
    )
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", *map(str, tests)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=HERE.parent.parent)
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr


def test_the_way_that_was_asked_for_is_taken(imported_capsules: list[str]) -> None:
    convert(np.ones(3), "torch")
    if not THROUGH_PYTHON:
        assert imported_capsules == []
    elif LEGACY:
        assert len(imported_capsules) == 1 and '"dltensor"' in imported_capsules[0]
    else:
        assert len(imported_capsules) == 1 and '"dltensor_versioned"' in imported_capsules[0]


@pytest.mark.skipif(THROUGH_PYTHON, reason="the C functions are not used here")
def test_the_c_functions_are_used_where_there_are_any() -> None:
    code = """
import torch
if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
    raise SystemExit
import torch.utils.dlpack
import numpy as np
from arraybridge import convert
def fail(*arguments, **keywords):
    raise AssertionError("through Python")
torch.utils.dlpack.from_dlpack = torch.from_dlpack = torch.from_numpy = fail
torch.Tensor.__dlpack__ = torch.Tensor.stride = fail
assert convert(convert(np.ones(3), "torch"), "numpy").sum() == 3
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
