"""What conversions between the libraries of this machine cost: the table of `python -m arraybridge routes`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter_ns
from typing import Any

from arraybridge import _arraybridge
from arraybridge._arraybridge import convert_memory
from arraybridge._cli.inventory import ANY_FAILURE
from arraybridge._cli.tables import print_table
from arraybridge.conversion import ConversionObserver, ConversionRecord
from arraybridge.devices import Device
from arraybridge.libraries import ArrayLibrary

# One measurement lasts at least this long, so that the clock's own cost does not show.
SHORTEST_NS = 200_000


@dataclass
class Place:
    """A library on one of its devices, with an array of its own there."""

    library: ArrayLibrary[Any]
    device: Device
    array: Any

    @property
    def label(self) -> str:
        """ "numpy host"."""
        return f"{self.library.name} {self.device.label}"


@dataclass
class Pair:
    """A conversion from one place to another.

    Attributes:
        source: "numpy host".
        target: "torch host".
        route: What was done, as `ConversionRoute.mechanism` calls it; "fails" if it failed.
        microseconds: Until the call returned: the median. An accelerator may not be done by then.
        copied_nbytes: Bytes of the array's elements that were copied.
        shared: Whether the result is the memory of the source.
        declined: The better routes that could not carry the array.
        error: Why it failed; empty if it did not.
    """

    source: str
    target: str
    route: str = "fails"
    microseconds: float = 0.0
    copied_nbytes: int = 0
    shared: bool = False
    declined: tuple[str, ...] = ()
    error: str = ""

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return {**asdict(self), "declined": list(self.declined)}


class _LastRecord(ConversionObserver):
    record_seen: ConversionRecord | None = None

    def record(self, record: ConversionRecord) -> None:
        self.record_seen = record


def usable_places(shape: Sequence[int], dtype: str) -> tuple[list[Place], dict[str, str], dict[str, str]]:
    """Every library on each of its devices; by name, why others cannot be used here, and what broke in others.

    Raises:
        TypeError: NumPy does not know `dtype`.
        ImportError: NumPy, of which the first array is, is not installed.
    """
    try:
        import numpy as np
    except ImportError as error:
        raise ImportError("the arrays to convert are made with NumPy, which is not installed") from error

    elements = int(np.prod(shape, dtype=np.int64))
    original = np.arange(elements).reshape(shape).astype(np.dtype(dtype))
    places: list[Place] = []
    unusable: dict[str, str] = {}
    broken: dict[str, str] = {}
    for entry in _arraybridge.every_entry():
        try:
            library = ArrayLibrary.named(entry.name)
            if not library.is_installed():
                unusable[entry.name] = "not installed"
                continue
            devices = library.available_devices()
            if not devices:
                unusable[entry.name] = "no device that it could place arrays on"
        except ANY_FAILURE as error:
            broken[entry.name] = f"{type(error).__name__}: {error}"
            continue
        for device in devices:
            try:
                # A copy, so that the measured conversions start from memory as this library allocates it.
                array = convert_memory(original, "numpy", entry.name, device, copy=True)
                places.append(Place(library, device, array))
            except ANY_FAILURE as error:
                broken[f"{entry.name} {device.label}"] = f"{type(error).__name__}: {error}"
    return places, unusable, broken


def measured_pairs(places: Sequence[Place], repeat: int) -> list[Pair]:
    """Converts from each place to each other one, `repeat` times after a first one that is not counted."""
    return [_measured(source, target, repeat) for source in places for target in places if source is not target]


def _measured(source: Place, target: Place, repeat: int) -> Pair:
    pair = Pair(source.label, target.label)

    def convert() -> object:
        return convert_memory(source.array, source.library.name, target.library.name, target.device)

    observer = _LastRecord()
    try:
        with observer.installed():
            convert()
        pair.microseconds = _median_ns(convert, repeat) / 1000
    except ANY_FAILURE as error:
        pair.error = f"{type(error).__name__}: {error}"
        return pair
    record = observer.record_seen
    if record is None:
        pair.route, pair.shared = "stays in place", True
        return pair
    pair.route, pair.declined = record.mechanism, record.declined_mechanisms
    pair.shared = record.mechanism in ("dlpack", "shared host buffer")
    pair.copied_nbytes = 0 if pair.shared else record.nbytes
    return pair


def _median_ns(call: Callable[[], object], repeat: int) -> float:
    started = perf_counter_ns()
    call()
    calls = max(1, SHORTEST_NS // max(1, perf_counter_ns() - started))
    measured = []
    for _ in range(repeat):
        started = perf_counter_ns()
        for _ in range(calls):
            call()
        measured.append((perf_counter_ns() - started) / calls)
    return median(measured)


def print_pairs(pairs: Sequence[Pair], missing: dict[str, str]) -> None:
    """Writes the table to standard output, and below it which libraries are missing from it and why."""
    rows = [
        (
            pair.source,
            pair.target,
            pair.route,
            f"{pair.microseconds:,.2f}",
            f"{pair.copied_nbytes:,}",
            "yes" if pair.shared else "no",
            pair.error or ", ".join(pair.declined),
        )
        for pair in pairs
    ]
    heads = ("from", "to", "route", "microseconds", "bytes copied", "shared", "declined")
    print_table(heads, rows, numbers=("microseconds", "bytes copied"))
    for name, reason in missing.items():
        print(f"{name}: {reason}")
