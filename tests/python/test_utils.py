"""The functions that earlier code imports from arraybridge.utils."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from arraybridge.utils import _ensure_module, _supports_cuda_array_interface, _supports_dlpack, optional_import


def test_optional_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert optional_import("sys") is sys
    assert optional_import("no_such_module") is None
    assert optional_import("no_such_module.part") is None
    (tmp_path / "needs_another.py").write_text("import no_such_module")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        optional_import("needs_another")


def test_ensure_module() -> None:
    assert _ensure_module("sys") is sys
    with pytest.raises(ImportError, match=r"^Module no_such_module is required for this operation but is not inst"):
        _ensure_module("no_such_module")


def test_protocols() -> None:
    assert _supports_dlpack(np.ones(1))
    assert not _supports_dlpack([1])
    assert not _supports_cuda_array_interface(np.ones(1))
