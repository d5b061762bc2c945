"""What it costs to be observed. A process looks for an observer once it ever had one, so each state has its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack

from figures import Figure, UnavailableError
from timing import Effort, Ratio, in_turn, text_of
from worker import Worker, rounds_of

PAIR = ("numpy", "torch")


def measure(effort: Effort) -> Iterator[Figure]:
    """The time per conversion with counters, and after they were taken away, against a process that never had any."""
    with ExitStack() as stack:
        never, afterwards, counted = (stack.enter_context(Worker(sys.executable)) for _ in range(3))
        if PAIR not in never.pairs():
            raise UnavailableError("NumPy or PyTorch is not installed")
        afterwards.observe("counters")
        afterwards.observe("nobody")
        counted.observe("counters")
        unobserved, no_longer, observed = in_turn(
            [rounds_of(worker, PAIR, effort) for worker in (never, afterwards, counted)], effort.rounds
        )
    for name, times in (("counters installed", observed), ("counters taken away again", no_longer)):
        ratio = Ratio.of(times, unobserved)
        yield Figure(
            f"{PAIR[0]} -> {PAIR[1]}, {name}",
            ratio.median,
            ratio.minimum,
            "of a process that never had an observer",
            None,
            f"{text_of(times.median)} against {text_of(unobserved.median)}: "
            f"{1e9 * (times.median - unobserved.median):.0f} ns per conversion",
        )
