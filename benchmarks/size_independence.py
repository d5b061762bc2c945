"""Memory that is shared is not touched: 1 GiB takes as long as 64 bytes."""

from __future__ import annotations

from collections.abc import Iterator

from arrays import names_for_statements
from figures import Figure, UnavailableError, at_most
from timing import Effort, Ratio, compare, text_of

GIB_OF_FLOAT32 = (16384, 16384)
STATEMENTS = {
    "numpy -> torch": "convert_memory({}, 'numpy', 'torch', HOST)",
    "torch -> numpy": "convert_memory({}, 'torch', 'numpy', HOST)",
}


def measure(effort: Effort) -> Iterator[Figure]:
    """The time for 1 GiB divided by that for 64 bytes, each way. The gigabyte is asked for and never written to."""
    names = names_for_statements((4, 4))
    np, torch = names["np"], names["torch"]
    try:
        large = np.empty(GIB_OF_FLOAT32, np.float32)
    except MemoryError as error:
        raise UnavailableError("there is no gigabyte of address space") from error
    names.update(large_array=large, large_tensor=torch.from_numpy(large))
    for name, statement in STATEMENTS.items():
        argument = "array" if name.startswith("numpy") else "tensor"
        large_times, small_times = compare(
            (statement.format(f"large_{argument}"), statement.format(argument)), names, effort
        )
        ratio = Ratio.of(large_times, small_times)
        yield Figure(
            name,
            ratio.median,
            ratio.minimum,
            "of the time for 64 bytes, for 1 GiB",
            at_most(1.06),
            f"{text_of(large_times.median)} against {text_of(small_times.median)}",
        )
