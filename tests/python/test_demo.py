"""The demo, on images of every kind that it reads."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

Pillow = pytest.importorskip("PIL.Image")
tifffile = pytest.importorskip("tifffile")


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    path = Path(__file__).parents[2] / "examples" / "demo.py"
    spec = importlib.util.spec_from_file_location("arraybridge_demo", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for their annotations
    spec.loader.exec_module(module)
    return module


def write(path: Path, pixels: np.ndarray[Any, Any]) -> None:
    if path.suffix == ".png":
        Pillow.fromarray(pixels).save(path)
    else:
        tifffile.imwrite(path, pixels)


def test_a_folder(demo: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    images = tmp_path / "images"
    images.mkdir()
    write(images / "a.png", np.full((6, 5), 128, np.uint8))
    write(images / "b.png", np.zeros((6, 5, 3), np.uint8))
    write(images / "c.tif", np.arange(60, dtype=np.uint16).reshape(2, 6, 5))
    write(images / "d.TIFF", np.full((6, 5), 0.25, np.float32))
    (images / "notes.txt").write_text("no image")
    assert demo.main(["--images", str(images), "--output", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "5 images as one float32 stack [5, 6, 5], 600 bytes" in printed
    assert "microseconds" in printed and "agree" in printed
    assert (tmp_path / "out" / "arraybridge-demo.png").stat().st_size > 0


def test_the_images_of_scikit_image(demo: ModuleType) -> None:
    pytest.importorskip("skimage")
    stack = demo.as_stack(demo.read_images(None), crop=True)
    assert stack.ndim == 3 and stack.shape[0] >= 3
    assert min(stack.shape[1:]) >= 256
    assert (stack.dtype, stack.min() >= 0, stack.max() <= 1) == (np.float32, True, True)


def test_values(demo: ModuleType, tmp_path: Path) -> None:
    write(tmp_path / "a.png", np.full((2, 2), 51, np.uint8))
    write(tmp_path / "b.tif", np.full((2, 2), 65535, np.uint16))
    (_, low), (_, high) = demo.read_images(tmp_path)
    assert low[0, 0] == pytest.approx(0.2)
    assert high[0, 0] == 1
    assert demo.as_grey(np.full((2, 2, 4), 255, np.uint8)) == pytest.approx(1)


@pytest.mark.parametrize(
    ("files", "text"),
    [
        (None, "is not a folder"),
        ({}, "has no image"),
        ({"a.png": "text"}, "a.png cannot be read"),
        ({"a.tif": "text"}, "a.tif cannot be read"),
        (
            {"a.png": (4, 4), "b.png": (4, 6)},
            "a.png has 4 x 4 pixels, b.png has 4 x 6; --crop cuts all of them to 4 x 4",
        ),
        ({"a.tif": (2, 2, 2, 2)}, "has 4 axes"),
    ],
)
def test_clear_errors(
    demo: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, Any] | None, text: str
) -> None:
    images = tmp_path / "images"
    if files is not None:
        images.mkdir()
        for name, content in files.items():
            if isinstance(content, str):
                (images / name).write_text(content)
            else:
                write(images / name, np.zeros(content, np.uint8))
    assert demo.main(["--images", str(images), "--output", str(tmp_path / "out")]) == 1
    assert text in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_crop(demo: ModuleType) -> None:
    images = [("a", np.arange(16, dtype=np.float32).reshape(4, 4)), ("b", np.zeros((2, 6), np.float32))]
    stack = demo.as_stack(images, crop=True)
    assert stack.shape == (2, 2, 4)
    assert stack[0].tolist() == [[4, 5, 6, 7], [8, 9, 10, 11]]


def test_a_library_that_disagrees_fails_the_demo(demo: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    numpy = demo.ArrayLibrary.named("numpy")
    monkeypatch.setattr(type(numpy), "max", lambda self, data, axis: data.min(axis))
    stack = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
    assert demo.visit(stack, numpy, demo.HOST).problem == "its projection differs from NumPy's"
