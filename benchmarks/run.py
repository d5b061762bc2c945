"""Measures what the package promises, and prints each figure beside its target.

    python benchmarks/run.py [NAME ...] [--quick] [--json FILE]

Without a name everything is measured. Every figure comes from this one run, on this one machine, and is a ratio or a
difference of times that were taken in turn. README.md, beside this file, says what each of them means.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import conversions
import first_import
import host_copy
import machine
import manifests
import observers
import previous_release
import size_independence
from figures import Figure, UnavailableError
from timing import FULL, QUICK, Effort

BENCHMARKS: dict[str, Callable[[Effort], Iterator[Figure]]] = {
    "conversions": conversions.measure,
    "previous_release": previous_release.measure,
    "first_import": first_import.measure,
    "manifests": manifests.measure,
    "size_independence": size_independence.measure,
    "host_copy": host_copy.measure,
    "observers": observers.measure,
}


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description="Prints ratios of times; asserts nothing.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; all of them by default")
    parser.add_argument("--quick", action="store_true", help="a few rounds each: shows that it runs, not how fast")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to a file")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in BENCHMARKS:
            parser.error(f"there is no benchmark {name!r}; there are {', '.join(BENCHMARKS)}")
    return options


def run_one(name: str, effort: Effort) -> list[dict[str, Any]]:
    """Measures and prints one benchmark's figures. Returns them as JSON has them."""
    print(f"\n{name}: {str(sys.modules[BENCHMARKS[name].__module__].__doc__).strip()}", flush=True)
    rows = []
    try:
        for figure in BENCHMARKS[name](effort):
            print(f"  {str(figure).replace(chr(10), chr(10) + '  ')}", flush=True)
            rows.append({"benchmark": name, **figure.to_json()})
    except UnavailableError as reason:
        print(f"  skipped: {reason}")
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs what the command line asks for."""
    options = parse(arguments)
    about = machine.describe()
    print("\n".join(f"{name}: {value}" for name, value in about.items()))
    if options.quick:
        print("quick: too few rounds for the figures to mean anything")
    effort = QUICK if options.quick else FULL
    rows = [row for name in options.names or BENCHMARKS for row in run_one(name, effort)]
    if options.json is not None:
        document = {"machine": about, "quick": options.quick, "figures": rows}
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
