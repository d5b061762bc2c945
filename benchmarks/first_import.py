"""What `from arraybridge import convert_memory, HOST, ArrayLibrary` adds to an interpreter that does nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from statistics import median
from time import perf_counter

from figures import Figure, at_most
from timing import Effort, in_turn

STATEMENT = "from arraybridge import convert_memory, HOST, ArrayLibrary"
# Each costs milliseconds; what their names stand for is not needed to convert an array.
FORBIDDEN = (
    *("enum", "typing", "dataclasses", "functools", "contextlib", "re", "json", "pathlib", "inspect", "logging"),
    "importlib.metadata",
    *("numpy", "torch", "jax", "tensorflow", "cupy", "pyclesperanto"),
)


def environment() -> dict[str, str]:
    """This process's, where Python may store what it compiled."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def seconds_of(statement: str) -> float:
    """How long an interpreter lives that executes it."""
    started = perf_counter()
    subprocess.run([sys.executable, "-c", statement], env=environment(), check=True)
    return perf_counter() - started


def modules_after(statement: str) -> list[str]:
    """What the statement brings in that was not there before."""
    code = f"import sys; before = set(sys.modules); {statement}; print(*sorted(set(sys.modules) - before))"
    run = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    return run.stdout.split()


def measure(effort: Effort) -> Iterator[Figure]:
    """The milliseconds, and how many modules came in that must not."""
    modules = modules_after(STATEMENT)  # this also compiles them
    empty, with_import = in_turn([partial(seconds_of, "pass"), partial(seconds_of, STATEMENT)], effort.processes)
    added = [ours - nothing for ours, nothing in zip(with_import.rounds, empty.rounds, strict=True)]
    yield Figure(
        "import",
        1000 * median(added),
        1000 * (with_import.minimum - empty.minimum),
        "ms added to an empty interpreter",
        at_most(5),
        f"{1000 * with_import.median:.1f} ms against {1000 * empty.median:.1f} ms, "
        f"{effort.processes} processes of each",
    )
    forbidden = [name for name in modules if name in FORBIDDEN]
    yield Figure(
        "modules it must not import",
        len(forbidden),
        None,
        "modules",
        at_most(0),
        f"{', '.join(forbidden) or 'none'}, of {len(modules)} that it imports",
    )
