"""What a benchmark prints: a figure, its target, and whether it was met."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any


class Bound(Enum):
    """On which side of its target a figure has to be."""

    AT_MOST = "at most"
    AT_LEAST = "at least"


@dataclass(frozen=True)
class Target:
    """What a figure is compared with. It is printed, never asserted."""

    bound: Bound
    value: float

    def verdict(self, measured: float) -> str:
        """ "met" or "missed"."""
        met = measured <= self.value if self.bound is Bound.AT_MOST else measured >= self.value
        return "met" if met else "missed"

    def __str__(self) -> str:
        return f"{self.bound.value} {self.value:g}"


def at_most(value: float) -> Target:
    """The figure should not be greater."""
    return Target(Bound.AT_MOST, value)


def at_least(value: float) -> Target:
    """The figure should not be smaller."""
    return Target(Bound.AT_LEAST, value)


@dataclass(frozen=True)
class Figure:
    """One measured number.

    Attributes:
        name: What was measured.
        measured: The figure, of medians.
        minimum: The same figure of the shortest rounds, or None where there is only one number.
        unit: What the figure counts: "of torch.from_numpy(array)", "times faster", "ms".
        target: What it should be, or None.
        detail: The numbers it was made of.
    """

    name: str
    measured: float
    minimum: float | None
    unit: str
    target: Target | None
    detail: str

    @property
    def verdict(self) -> str:
        """ "met", "missed" or "no target"."""
        return "no target" if self.target is None else self.target.verdict(self.measured)

    def to_json(self) -> dict[str, Any]:
        """The fields, and the verdict."""
        target = None if self.target is None else {"bound": self.target.bound.value, "value": self.target.value}
        return {**asdict(self), "target": target, "verdict": self.verdict}

    def __str__(self) -> str:
        measured = f"{self.measured:.3g}"
        if self.minimum is not None:
            measured += f" (min {self.minimum:.3g})"
        target = "" if self.target is None else f"target {self.target}: "
        return f"{self.name:<34} {measured:<18} {self.unit}\n    {target}{self.verdict}; {self.detail}"


class UnavailableError(Exception):
    """Something that a benchmark needs is not there; the text says what."""
