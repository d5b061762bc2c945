"""Against release 0.5.2, in an environment of its own: two processes, asked in turn."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import geometric_mean

from figures import Figure, UnavailableError, at_least
from timing import Effort, Ratio, in_turn, text_of
from worker import Worker, environment_of, rounds_of

RELEASE = "0.5.2"
DEFAULT = Path(__file__).parents[1] / ".venv-oracle" / "bin" / "python"


def python_of_release() -> str:
    """The interpreter of the environment that has it.

    Raises:
        UnavailableError: There is none.
    """
    python = os.environ.get("ARRAYBRIDGE_ORACLE_PYTHON", str(DEFAULT))
    question = "import importlib.metadata; print(importlib.metadata.version('arraybridge'))"
    try:
        run = subprocess.run(
            [python, "-c", question], env=environment_of(python), capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise UnavailableError(
            f"no Python with arraybridge {RELEASE} in {python}; `make bench` sets one up, or put the path of one into "
            "ARRAYBRIDGE_ORACLE_PYTHON"
        ) from error
    answer = run.stdout.strip()
    if answer != RELEASE:
        raise UnavailableError(f"{python} has arraybridge {answer}, not {RELEASE}")
    return python


def measure(effort: Effort) -> Iterator[Figure]:
    """A figure per pair that both can convert, and their geometric mean."""
    with Worker(sys.executable) as now, Worker(python_of_release()) as before:
        pairs = [pair for pair in before.pairs() if pair in now.pairs()]
        if not pairs:
            raise UnavailableError("no two libraries are installed in both environments")
        ratios = []
        for pair in pairs:
            ours, theirs = in_turn([rounds_of(worker, pair, effort) for worker in (now, before)], effort.rounds)
            ratios.append(Ratio.of(theirs, ours))
            yield Figure(
                f"{pair[0]} -> {pair[1]}",
                ratios[-1].median,
                ratios[-1].minimum,
                "times faster",
                None,
                f"{text_of(ours.median)} against {text_of(theirs.median)}",
            )
    yield Figure(
        "geometric mean",
        geometric_mean([ratio.median for ratio in ratios]),
        geometric_mean([ratio.minimum for ratio in ratios]),
        "times faster",
        at_least(12),
        f"of {len(ratios)} pairs",
    )
