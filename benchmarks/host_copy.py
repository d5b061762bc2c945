"""Copies in main memory, into memory that is fresh each time."""

from __future__ import annotations

from collections.abc import Iterator

from arrays import names_for_statements
from figures import Figure, at_least
from timing import Effort, Ratio, compare, text_of

MIB_64_OF_FLOAT32 = (4096, 4096)
COPY = "convert({}, 'numpy', copy=True)"


def measure(effort: Effort) -> Iterator[Figure]:
    """How many times faster than NumPy, for 64 MiB as they lie and for their transpose."""
    names = names_for_statements(MIB_64_OF_FLOAT32)
    names["array"][...] = 1  # pages of zeros that were never written to are all one page
    for name, argument, theirs, target in (
        ("copy of 64 MiB", "array", "array.copy()", at_least(3)),
        ("transpose of 4096 x 4096 float32", "array.T", "np.ascontiguousarray(array.T)", at_least(8)),
    ):
        ours_times, their_times = compare((COPY.format(argument), theirs), names, effort)
        ratio = Ratio.of(their_times, ours_times)
        yield Figure(
            name,
            ratio.median,
            ratio.minimum,
            f"times faster than {theirs}",
            target,
            f"{text_of(ours_times.median)} against {text_of(their_times.median)}",
        )
