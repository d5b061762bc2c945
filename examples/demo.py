"""Real images cross to every array library that is installed, and back.

    python examples/demo.py [--images FOLDER] [--crop] [--output demo]

The images (grey, as float32 from 0 to 1) become one stack [Z, Y, X]. Each library gets the stack, computes its maximum
projection with its own functions where the stack is, and hands both back; all must agree. A table tells by which route
each hand-over went, how long it took, and whether memory was shared. A picture of the routes and of the projection is
written to the output folder.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from arraybridge import HOST, ArrayLibrary, ConversionObserver, ConversionRecord, Device, convert_memory

Image = np.ndarray[Any, np.dtype[np.float32]]

# Microscopy and photographs that come with scikit-image itself, all of at least 512 x 512 pixels.
SHIPPED_IMAGES = (
    "cell.png",
    "ihc.png",
    "retina.jpg",
    "hubble_deep_field.jpg",
    "moon.png",
    "camera.png",
    "astronaut.png",
)
SUFFIXES = (".tif", ".tiff", ".png")
REPEAT = 15


class DemoError(Exception):
    """What the person who runs the demo can do something about."""


# ----- images -----


def read_images(folder: Path | None) -> list[tuple[str, Image]]:
    """The grey planes [Y, X] of every image, with a name for each."""
    paths = shipped_images() if folder is None else images_in(folder)
    return [(name, plane) for path in paths for name, plane in read_planes(path)]


def shipped_images() -> list[Path]:
    """The images in scikit-image's package."""
    package = find_spec("skimage")  # where it is; it is not imported
    folders = [Path(each) / "data" for each in (package and package.submodule_search_locations) or ()]
    paths = [folder / name for folder in folders for name in SHIPPED_IMAGES if (folder / name).is_file()]
    if not paths:
        raise DemoError(
            "scikit-image and its images are not installed: pip install scikit-image, or pass --images FOLDER"
        )
    return paths


def images_in(folder: Path) -> list[Path]:
    """The TIFF and PNG files of a folder, by name."""
    if not folder.is_dir():
        raise DemoError(f"{folder} is not a folder")
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)
    if not paths:
        raise DemoError(f"{folder} has no image: files that end in {', '.join(SUFFIXES)} are read")
    return paths


def read_planes(path: Path) -> list[tuple[str, Image]]:
    """The planes of one file; a TIFF can have several."""
    try:
        pixels = read_tiff(path) if path.suffix.lower().startswith(".tif") else read_other(path)
    except ImportError:
        raise
    except Exception as error:  # each of the readers has exceptions of its own
        raise DemoError(f"{path} cannot be read: {error}") from error
    pixels = as_grey(pixels) if pixels.shape[-1] in (3, 4) and pixels.ndim >= 3 else as_unit_floats(pixels)
    if pixels.ndim == 2:
        return [(path.name, pixels)]
    if pixels.ndim == 3:
        return [(f"{path.name} {index}", plane) for index, plane in enumerate(pixels)]
    raise DemoError(
        f"{path} has {pixels.ndim} axes {pixels.shape}; [Y, X] and [Z, Y, X] are understood, grey or colour"
    )


def read_tiff(path: Path) -> np.ndarray[Any, Any]:
    """The pixels of a TIFF file."""
    import tifffile

    return np.asarray(tifffile.imread(path))


def read_other(path: Path) -> np.ndarray[Any, Any]:
    """The pixels of a PNG or JPEG file."""
    from PIL import Image as Pillow

    with Pillow.open(path) as opened:
        return np.asarray(opened.convert("RGB") if opened.mode in ("P", "PA", "LA") else opened)


def as_unit_floats(pixels: np.ndarray[Any, Any]) -> Image:
    """Whole numbers as float32 from 0 to 1; floating-point values as they are."""
    floats: Image = pixels.astype(np.float32)
    return floats / np.float32(np.iinfo(pixels.dtype).max) if pixels.dtype.kind in "iu" else floats


def as_grey(pixels: np.ndarray[Any, Any]) -> Image:
    """Luminance (ITU-R BT.709) of [..., RGB] or [..., RGBA]."""
    grey: Image = as_unit_floats(pixels)[..., :3] @ np.array([0.2126, 0.7152, 0.0722], np.float32)
    return grey


def as_stack(images: Sequence[tuple[str, Image]], crop: bool) -> Image:
    """The planes as one array [Z, Y, X]; with `crop` cut around the centre to what all of them have."""
    height, width = (min(plane.shape[axis] for _, plane in images) for axis in (0, 1))
    first_name, first = images[0]
    for name, plane in images:
        if not crop and plane.shape != first.shape:
            raise DemoError(
                f"the images are not of one size: {first_name} has {first.shape[0]} x {first.shape[1]} pixels, "
                f"{name} has {plane.shape[0]} x {plane.shape[1]}; --crop cuts all of them to {height} x {width}"
            )
    return np.stack([centre(plane, height, width) for _, plane in images])


def centre(plane: Image, height: int, width: int) -> Image:
    """The middle `height` x `width` pixels."""
    top, left = (plane.shape[0] - height) // 2, (plane.shape[1] - width) // 2
    return plane[top : top + height, left : left + width]


# ----- hand-overs -----


@dataclass
class HandOver:
    """One conversion of the stack."""

    source: str
    target: str
    route: str
    microseconds: float
    copied_nbytes: int
    shared: bool


@dataclass
class Visit:
    """What happened with the stack in one library on one device."""

    library: ArrayLibrary[Any]
    device: Device
    hand_overs: list[HandOver] = field(default_factory=list)
    projection: Image | None = None
    projection_microseconds: float = 0.0
    problem: str = ""

    @property
    def label(self) -> str:
        """What the table calls it."""
        return label(self.library, self.device)


def label(library: ArrayLibrary[Any], device: Device) -> str:
    """ "PyTorch" in main memory, else with the device: "PyTorch accelerator:0"."""
    return library.display_name + ("" if device == HOST else f" {device.label}")


class KeepLast(ConversionObserver):
    """Keeps the record of the last conversion; none is made of an array that stays in place."""

    def __init__(self) -> None:
        self.last: ConversionRecord | None = None

    def record(self, record: ConversionRecord) -> None:
        """Keeps it."""
        self.last = record


def hand_over(data: Any, source: ArrayLibrary[Any], target: ArrayLibrary[Any], device: Device) -> tuple[Any, HandOver]:
    """`data` as an array of `target`, and what it took."""
    observer = KeepLast()
    with observer.installed():
        result = convert_memory(data, source.name, target.name, device)
    microseconds = timed(lambda: convert_memory(data, source.name, target.name, device))
    record = observer.last
    route = record.mechanism if record else "stays in place"
    shared = route in ("stays in place", "shared host buffer", "dlpack")
    copied = record.nbytes if record and not shared else 0
    names = label(source, source.device_of(data)), label(target, device)
    return result, HandOver(*names, route, microseconds, copied, shared)


def timed(call: Callable[[], object]) -> float:
    """Microseconds of one call: the median of several, each until the call returned."""
    measured = []
    for _ in range(REPEAT):
        started = perf_counter()
        call()
        measured.append(perf_counter() - started)
    return median(measured) * 1e6


def visit(stack: Image, library: ArrayLibrary[Any], device: Device) -> Visit:
    """Sends the stack to one library, projects it there, and fetches both back."""
    seen = Visit(library, device)
    numpy = ArrayLibrary.named("numpy")
    try:
        there, out = hand_over(stack, numpy, library, device)
        projected = library.max(there, 0)
        seen.projection_microseconds = timed(lambda: library.max(there, 0))
        back, home = hand_over(there, library, numpy, HOST)
        seen.projection = library.to_numpy(projected)
        seen.hand_overs = [out, home]
        if not np.array_equal(back, stack):
            seen.problem = "the stack came back with other values"
        elif not np.array_equal(seen.projection, stack.max(0)):
            seen.problem = "its projection differs from NumPy's"
    except Exception as error:  # one library's trouble must not hide the others
        seen.problem = f"{type(error).__name__}: {error}"
    return seen


def visits(stack: Image) -> list[Visit]:
    """One visit for each device of each library that is installed."""
    made = []
    for library in ArrayLibrary.all():
        if not library.is_installed():
            print(f"{library.display_name} is not installed and left out")
            continue
        try:
            devices = library.available_devices()
        except Exception as error:
            made.append(Visit(library, HOST, problem=f"{type(error).__name__}: {error}"))
            continue
        made += [visit(stack, library, device) for device in devices]
    return made


# ----- table and picture -----


def print_table(seen: Sequence[Visit]) -> None:
    """A line for each hand-over and each projection."""
    heads = ("from", "to", "route", "microseconds", "bytes copied", "shared")
    rows = [heads]
    for each in seen:
        rows += [
            (
                one.source,
                one.target,
                one.route,
                f"{one.microseconds:,.1f}",
                f"{one.copied_nbytes:,}",
                yes_no(one.shared),
            )
            for one in each.hand_overs
        ]
    for each in seen:
        if each.projection is not None:
            rows.append((each.label, "", "maximum projection", f"{each.projection_microseconds:,.1f}", "", ""))
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    for row in rows:
        cells = [
            cell.rjust(width) if "mic" in head or "byt" in head else cell.ljust(width)
            for cell, width, head in zip(row, widths, heads, strict=True)
        ]
        print("  ".join(cells).rstrip())


def yes_no(value: bool) -> str:
    """A word for a truth value."""
    return "yes" if value else "no"


def draw(seen: Sequence[Visit], projection: Image, output: Path) -> None:
    """Writes the picture: how long each hand-over took and by which route, and the projection."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter, StrMethodFormatter

    hand_overs = [one for each in seen for one in each.hand_overs]
    figure = Figure(figsize=(12, 5), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    names = [f"{one.source} to {one.target}" for one in hand_overs]
    colours = ["tab:green" if one.shared else "tab:orange" for one in hand_overs]
    positions = range(len(hand_overs))
    left.barh(positions, [one.microseconds for one in hand_overs], color=colours)
    for position, one in zip(positions, hand_overs, strict=True):
        left.text(one.microseconds, position, f"  {one.route}, {one.microseconds:,.1f} µs", va="center")
    left.set_yticks(positions, names)
    left.set(
        xscale="log", xlabel="microseconds (green: memory is shared, orange: copied)", title="Hand-overs of the stack"
    )
    left.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    left.xaxis.set_minor_formatter(NullFormatter())
    left.invert_yaxis()
    left.margins(x=0.6)
    left.spines[["top", "right"]].set_visible(False)
    right.imshow(projection, cmap="gray")
    right.set(title=f"Maximum projection, the same in {len(seen)} places", xticks=[], yticks=[])
    figure.savefig(output, dpi=120)


def run(images: Path | None, crop: bool, output: Path) -> int:
    """The demo. Returns its exit status: 1 if a library failed or disagreed."""
    stack = as_stack(read_images(images), crop or images is None)
    depth, height, width = stack.shape
    print(f"{depth} images as one {stack.dtype} stack [{depth}, {height}, {width}], {stack.nbytes:,} bytes")
    seen = visits(stack)
    print_table(seen)
    failed = [each for each in seen if each.problem]
    for each in failed:
        print(f"{each.label}: {each.problem}", file=sys.stderr)
    try:
        output.mkdir(parents=True, exist_ok=True)
        picture = output / "arraybridge-demo.png"
        draw([each for each in seen if not each.problem], stack.max(0), picture)
        print(f"wrote {picture}")
    except ImportError:
        print('no picture: matplotlib is not installed (pip install "arraybridge[cli]")')
    if not failed:
        print(f"all {len(seen)} agree")
    return 1 if failed else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--images", type=Path, metavar="FOLDER", help="TIFF and PNG files; default: scikit-image's own")
    parser.add_argument("--crop", action="store_true", help="cut images of several sizes to a common one")
    parser.add_argument("--output", type=Path, metavar="FOLDER", default=Path("demo"), help="default: demo")
    chosen = parser.parse_args(arguments)
    try:
        return run(chosen.images, chosen.crop, chosen.output)
    except (DemoError, ImportError, OSError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
