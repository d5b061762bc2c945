"""Totals of the conversions that a program made."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any

from arraybridge.observers import ConversionObserver
from arraybridge.records import ConversionRecord

__all__ = ["ConversionCounters", "ConversionTotal"]

JsonRow = dict[str, str | int | float | list[str]]
ConversionKey = tuple[str | tuple[str, ...], ...]

# Conversions are of one kind if they differ in nothing but these.
_MEASURED = ("nbytes", "seconds")
_KIND = tuple(each.name for each in fields(ConversionRecord) if each.name not in _MEASURED)
_kind_of = attrgetter(*_KIND)


@dataclass(slots=True)
class ConversionTotal:
    """How many conversions of one kind there were, with the sums of their bytes and seconds."""

    count: int = 0
    nbytes: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class ConversionCounters(ConversionObserver):
    """An observer that keeps count, bytes and seconds of each kind of conversion.

    A kind is every field of `ConversionRecord` but the measured ones. Counters are plain data: a worker process pickles
    its own, or sends `to_json()`, and the parent merges them. One object is not meant for several threads at once.

    Attributes:
        totals: By kind.
    """

    totals: dict[ConversionKey, ConversionTotal] = field(default_factory=dict)

    def record(self, record: ConversionRecord) -> None:
        """Counts one conversion."""
        kind = _kind_of(record)
        total = self.totals.get(kind)
        if total is None:
            total = self.totals[kind] = ConversionTotal()
        total.count += 1
        total.nbytes += record.nbytes
        total.seconds += record.seconds

    def merge(self, other: ConversionCounters) -> ConversionCounters:
        """Adds the totals of `other` to these. Returns this object."""
        for kind, total in other.totals.items():
            self._add(kind, total)
        return self

    def rows(self) -> list[JsonRow]:
        """A row per kind, as JSON has it, most bytes first: the fields of the kind, count, nbytes and seconds."""
        return [
            {
                **{
                    name: list(part) if isinstance(part, tuple) else part
                    for name, part in zip(_KIND, kind, strict=True)
                },
                "count": total.count,
                "nbytes": total.nbytes,
                "seconds": total.seconds,
            }
            for kind, total in self._most_bytes_first()
        ]

    to_json = rows

    @classmethod
    def from_json(cls, rows: list[dict[str, Any]] | list[JsonRow]) -> ConversionCounters:
        """The counters that gave `rows`. KeyError if a field is missing."""
        counters = cls()
        for row in rows:
            values: dict[str, Any] = dict(row)
            parts = [values[name] for name in _KIND]
            kind = tuple(tuple(map(str, part)) if isinstance(part, list) else str(part) for part in parts)
            total = ConversionTotal(int(values["count"]), int(values["nbytes"]), float(values["seconds"]))
            counters._add(kind, total)
        return counters

    def format_table(self) -> str:
        """The rows as text in columns, bytes in units of 1,000,000."""
        lines = [_line("source", "target", "mechanism", "count", "MB", "seconds", "declined")]
        for row in self.rows():
            nbytes, seconds, declined = row["nbytes"], row["seconds"], row["declined_mechanisms"]
            assert isinstance(nbytes, int) and isinstance(seconds, float) and isinstance(declined, list)
            lines.append(
                _line(
                    f"{row['source_library']} {row['source_device']}",
                    f"{row['target_library']} {row['target_device']}",
                    str(row["mechanism"]),
                    str(row["count"]),
                    f"{nbytes / 1e6:.1f}",
                    f"{seconds:.3f}",
                    ", ".join(declined),
                )
            )
        return "\n".join(lines)

    def _add(self, kind: ConversionKey, more: ConversionTotal) -> None:
        total = self.totals.setdefault(kind, ConversionTotal())
        total.count += more.count
        total.nbytes += more.nbytes
        total.seconds += more.seconds

    def _most_bytes_first(self) -> list[tuple[ConversionKey, ConversionTotal]]:
        return sorted(self.totals.items(), key=lambda item: (-item[1].nbytes, item[0]))


def _line(source: str, target: str, mechanism: str, count: str, megabytes: str, seconds: str, declined: str) -> str:
    columns = f"{source:<29}{target:<29}{mechanism:<20} {count:>7} {megabytes:>10} {seconds:>9}"
    return f"{columns}  {declined}"
