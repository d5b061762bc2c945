"""What an observer is told of one conversion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["ConversionRecord"]


@dataclass(frozen=True, slots=True)
class ConversionRecord:
    """One conversion that moved, copied or wrapped memory. Pickles, and goes through JSON.

    Attributes:
        source_library: Name of the library that the array was of.
        source_device: Label of the device where it was.
        target_library: Name of the library that it went to.
        target_device: Label of the device that it went to.
        mechanism: What was done, one of the mechanisms of `ConversionRoute`.
        nbytes: Bytes of the result's elements.
        seconds: Wall-clock time.
        declined_mechanisms: What was tried before and could not carry this array, in order.
    """

    source_library: str
    source_device: str
    target_library: str
    target_device: str
    mechanism: str
    nbytes: int
    seconds: float
    declined_mechanisms: tuple[str, ...] = ()

    def to_json(self) -> dict[str, str | int | float | list[str]]:
        """The fields by name, as JSON has them."""
        return {
            "source_library": self.source_library,
            "source_device": self.source_device,
            "target_library": self.target_library,
            "target_device": self.target_device,
            "mechanism": self.mechanism,
            "nbytes": self.nbytes,
            "seconds": self.seconds,
            "declined_mechanisms": list(self.declined_mechanisms),
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> ConversionRecord:
        """The record that `to_json` gave. KeyError if a field is missing."""
        return cls(
            source_library=str(row["source_library"]),
            source_device=str(row["source_device"]),
            target_library=str(row["target_library"]),
            target_device=str(row["target_device"]),
            mechanism=str(row["mechanism"]),
            nbytes=int(row["nbytes"]),
            seconds=float(row["seconds"]),
            declined_mechanisms=tuple(str(each) for each in row["declined_mechanisms"]),
        )
