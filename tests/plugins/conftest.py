"""Lets a run go through PyTorch's Python functions, or through its older DLPack capsules, and be sure of it.

`ARRAYBRIDGE_TORCH_EXCHANGE=python` is read by the plugin. `ARRAYBRIDGE_TEST_LEGACY_CAPSULES` is read here: PyTorch then
refuses versioned capsules, as releases before 2.8 do.
"""

from __future__ import annotations

import os

import pytest

capsules: list[str] = []


def _watch_imports() -> None:
    from torch.utils import dlpack

    original = dlpack.from_dlpack

    def from_dlpack(capsule):
        if "ARRAYBRIDGE_TEST_LEGACY_CAPSULES" in os.environ and "dltensor_versioned" in repr(capsule):
            raise TypeError("this PyTorch reads only legacy capsules")
        capsules.append(repr(capsule))
        return original(capsule)

    dlpack.from_dlpack = from_dlpack


if os.environ.get("ARRAYBRIDGE_TORCH_EXCHANGE") == "python":
    _watch_imports()


@pytest.fixture
def imported_capsules() -> list[str]:
    """What PyTorch's Python function was called with in this test: filled in a run through Python only."""
    capsules.clear()
    return capsules
