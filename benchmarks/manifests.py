"""What many manifests cost, once: reading and checking all of them, in a new process each time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from figures import Figure, at_most
from timing import Effort, in_turn

from arraybridge import _arraybridge

TARGETS = {1_000: 50.0, 10_000: 300.0}
LISTING = """
from time import perf_counter
from arraybridge import _arraybridge
started = perf_counter()
entries = _arraybridge.every_entry()
print(perf_counter() - started, len(entries))
"""


def manifest(name: str) -> dict[str, object]:
    """What a plugin for a Python framework says of itself. Listing never sees that its shared object does not exist."""
    return {
        "schema_version": 1,
        "name": name,
        "display_name": name.capitalize(),
        "arrays": {"modules": [name]},
        "framework": {"module": name, "distribution": f"{name}-arrays", "minimum_version": "1.10"},
        "devices": ["host", "accelerator"],
        "dlpack": {"import": ["host", "accelerator"], "export": ["host", "accelerator"]},
        "host_memory": {"export": {"*": "by_default"}, "import": {"*": "by_default"}},
        "imports": {"alignment": 1, "strides": "non_negative", "read_only": False},
        "dtypes": ["bool", "int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64", "bfloat16"],
        "operations": ["max", "min", "mean", "sum", "astype", "reshape", "broadcast_to", "stack_arrays"],
        "out_of_memory": {"messages": ["out of memory"]},
        "plugin": {
            "shared_object": f"{name}.so",
            "abi": _arraybridge.abi,
            "stamp": _arraybridge.stamp,
            "runtime": {"name": "python", "version": _arraybridge.runtime},
        },
    }


def write_plugins(folder: Path, count: int) -> Path:
    """Makes that many plugin folders. Returns `folder`."""
    for number in range(count):
        name = f"library{number}"
        plugin = folder / name
        plugin.mkdir(parents=True)
        (plugin / "manifest.json").write_text(json.dumps(manifest(name), indent=2), encoding="utf-8")
    return folder


def seconds_of_listing(path: str, count: int) -> float:
    """How long a new process takes to list the libraries with that plugin path, which must be at least `count`."""
    environment = {**os.environ, "ARRAYBRIDGE_PLUGIN_PATH": path}
    run = subprocess.run([sys.executable, "-c", LISTING], env=environment, capture_output=True, text=True, check=True)
    seconds, found = run.stdout.split()
    if int(found) < count:
        raise RuntimeError(f"only {found} of {count} manifests were read")
    return float(seconds)


def measure(effort: Effort) -> Iterator[Figure]:
    """Milliseconds for each number of manifests, those of an empty plugin path taken off."""
    counts = [1_000] if effort.quick else list(TARGETS)
    with TemporaryDirectory() as folder:
        paths = {count: write_plugins(Path(folder) / str(count), count) for count in counts}
        listings = [partial(seconds_of_listing, str(path), count) for count, path in paths.items()]
        empty, *all_times = in_turn([partial(seconds_of_listing, "", 0), *listings], effort.heavy_rounds)
    for count, times in zip(counts, all_times, strict=True):
        yield Figure(
            f"{count:,} manifests",
            1000 * (times.median - empty.median),
            1000 * (times.minimum - empty.minimum),
            "ms, once",
            at_most(TARGETS[count]),
            f"{1000 * times.median:.1f} ms against {1000 * empty.median:.1f} ms with none, "
            f"{effort.heavy_rounds} processes of each",
        )
