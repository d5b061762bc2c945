"""On what the figures were measured."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

DISTRIBUTIONS = ("numpy", "torch", "jax", "tensorflow")


def processor() -> str:
    """Its model name."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def version_of(distribution: str) -> str:
    """ "not installed" if it is not."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"


def transparent_huge_pages() -> str:
    """Which setting is in force: with "always" or "madvise" fresh memory comes in pages of 2 MiB to who asks."""
    try:
        modes = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text(encoding="utf-8")
    except OSError:
        return "unknown"
    return modes.partition("[")[2].partition("]")[0]


def describe() -> dict[str, str]:
    """Processor, load and versions."""
    import arraybridge

    return {
        "processor": f"{processor()}, {os.cpu_count()} logical",
        "load": f"{os.getloadavg()[0]:.1f}",
        "huge pages": transparent_huge_pages(),
        "system": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "arraybridge": arraybridge.__version__,
        **{name: version_of(name) for name in DISTRIBUTIONS},
    }
