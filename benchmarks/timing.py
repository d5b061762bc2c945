"""Times that can be compared: taken in turn, in many short rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from timeit import Timer
from typing import Any


@dataclass(frozen=True)
class Effort:
    """How much to measure.

    Attributes:
        rounds: How often each statement has its turn.
        round_seconds: How long a turn takes, for statements that take less.
        processes: How many processes are started where a process is what is measured.
        heavy_rounds: How many turns where one takes a tenth of a second.
        quick: Whether this is only a look at whether everything runs.
    """

    rounds: int
    round_seconds: float
    processes: int
    heavy_rounds: int
    quick: bool


FULL = Effort(rounds=401, round_seconds=0.001, processes=151, heavy_rounds=21, quick=False)
QUICK = Effort(rounds=5, round_seconds=0.0005, processes=3, heavy_rounds=1, quick=True)


@dataclass(frozen=True)
class Times:
    """Seconds per execution, one number per round."""

    rounds: tuple[float, ...]

    @property
    def median(self) -> float:
        """What a round took, typically."""
        return median(self.rounds)

    @property
    def minimum(self) -> float:
        """The round that was disturbed least."""
        return min(self.rounds)


@dataclass(frozen=True)
class Ratio:
    """One time divided by another."""

    median: float
    minimum: float

    @classmethod
    def of(cls, ours: Times, theirs: Times) -> Ratio:
        """`ours` divided by `theirs`: medians by medians, minima by minima."""
        return cls(ours.median / theirs.median, ours.minimum / theirs.minimum)


def in_turn(measurements: Sequence[Callable[[], float]], rounds: int) -> list[Times]:
    """Calls the functions in turn, that often each. Each answers seconds."""
    seconds: list[list[float]] = [[] for _ in measurements]
    for _ in range(rounds):
        for measure, taken in zip(measurements, seconds, strict=True):
            taken.append(measure())
    return [Times(tuple(taken)) for taken in seconds]


def loops_for(seconds_of: Callable[[int], float], round_seconds: float) -> int:
    """How many executions make a round. `seconds_of` tells how long a number of them takes."""
    seconds_of(1)  # the first one loads what it needs
    loops = 1
    while (seconds := seconds_of(loops)) < round_seconds / 4:
        loops *= 4
    return max(1, round(loops * round_seconds / max(seconds, 1e-9)))


def compare(statements: Sequence[str], names: Mapping[str, Any], effort: Effort) -> list[Times]:
    """Times statements in turn, as many executions of each in a round.

    A statement is an expression. Its value is dropped before the next execution, which is part of its time; so is the
    turn of the loop, for each of them alike.
    """
    timers = [Timer(statement, globals=dict(names)) for statement in statements]
    loops = loops_for(timers[-1].timeit, effort.round_seconds)
    rounds = effort.rounds if loops > 1 else effort.heavy_rounds
    return in_turn([lambda timer=timer: timer.timeit(loops) / loops for timer in timers], rounds)  # type: ignore[misc]


def text_of(seconds: float) -> str:
    """ "445 ns", "1.2 us", "35 ms"."""
    for unit, factor in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        if seconds * factor < 1000:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"
