"""Observers and counters: who is told of which conversion."""

from __future__ import annotations

import asyncio
import contextvars
import json
import pickle
import threading

import numpy as np
import pytest

from arraybridge import (
    HOST,
    ConversionCounters,
    ConversionObserver,
    ConversionRecord,
    MemoryConversionError,
    convert_memory,
)
from arraybridge.conversion import IgnoreConversions

ARRAY = np.ones((4, 4), np.float32)


def convert() -> None:
    # Another device of one library, or a copy within it, is a conversion that needs no second library.
    convert_memory(ARRAY, "numpy", "numpy", HOST, copy=True)


def counted(counters: ConversionCounters) -> int:
    return sum(total.count for total in counters.totals.values())


def test_no_observer_at_first() -> None:
    assert isinstance(ConversionObserver.current, IgnoreConversions)
    assert not ConversionObserver.current.wants_records


def test_a_conversion_is_recorded_inside_the_block_only() -> None:
    counters = ConversionCounters()
    convert()
    with counters.installed() as installed:
        assert installed is counters
        assert ConversionObserver.current is counters
        convert()
        convert()
    convert()
    assert isinstance(ConversionObserver.current, IgnoreConversions)
    (row,) = counters.rows()
    assert (row["source_library"], row["source_device"]) == ("numpy", "host")
    assert (row["target_library"], row["target_device"]) == ("numpy", "host")
    assert (row["count"], row["nbytes"]) == (2, 2 * ARRAY.nbytes)
    assert isinstance(row["seconds"], float) and row["seconds"] > 0


def test_an_array_that_stays_in_place_is_not_recorded() -> None:
    counters = ConversionCounters()
    with counters.installed():
        assert convert_memory(ARRAY, "numpy", "numpy", HOST) is ARRAY
    assert counters.rows() == []


def test_blocks_nest_and_an_error_ends_them() -> None:
    outer, inner = ConversionCounters(), ConversionCounters()
    with outer.installed():
        with pytest.raises(KeyError), inner.installed():
            convert()
            raise KeyError
        convert()
    assert (counted(outer), counted(inner)) == (1, 1)


def test_current_can_be_assigned() -> None:
    counters = ConversionCounters()

    def work() -> None:
        ConversionObserver.current = counters
        convert()

    contextvars.copy_context().run(work)
    convert()
    assert counted(counters) == 1


def test_a_thread_starts_without_an_observer() -> None:
    counters = ConversionCounters()
    with counters.installed():
        for target, arguments in ((convert, ()), (contextvars.copy_context().run, (convert,))):
            thread = threading.Thread(target=target, args=arguments)
            thread.start()
            thread.join()
    assert counted(counters) == 1


def test_tasks_have_their_own() -> None:
    async def count(number: int) -> int:
        counters = ConversionCounters()
        with counters.installed():
            for _ in range(number):
                convert()
                await asyncio.sleep(0)
        return counted(counters)

    async def both() -> list[int]:
        return list(await asyncio.gather(count(2), count(5)))

    assert asyncio.run(both()) == [2, 5]


def test_an_observer_that_raises_is_heard() -> None:
    class Refusing(ConversionObserver):
        def record(self, record: ConversionRecord) -> None:
            raise LookupError(record.mechanism)

    with Refusing().installed(), pytest.raises((LookupError, MemoryConversionError)) as caught:
        convert()
    assert isinstance(caught.value, LookupError) or isinstance(caught.value.__cause__, LookupError)


def test_an_observer_must_take_records() -> None:
    with pytest.raises(TypeError):
        ConversionObserver()  # type: ignore[abstract]


def record(source: str, mechanism: str, nbytes: int, declined: tuple[str, ...] = ()) -> ConversionRecord:
    return ConversionRecord(source, "host", "numpy", "host", mechanism, nbytes, 0.5, declined)


def example() -> ConversionCounters:
    counters = ConversionCounters()
    counters.record(record("torch", "host copy", 1_000_000, ("dlpack", "shared host buffer")))
    counters.record(record("torch", "host copy", 2_000_000, ("dlpack", "shared host buffer")))
    counters.record(record("jax", "shared host buffer", 5_000_000))
    return counters


def test_rows_are_by_bytes() -> None:
    rows = example().rows()
    assert [(row["source_library"], row["count"], row["nbytes"]) for row in rows] == [
        ("jax", 1, 5_000_000),
        ("torch", 2, 3_000_000),
    ]
    assert rows[1]["declined_mechanisms"] == ["dlpack", "shared host buffer"]


def test_json_pickle_and_merge() -> None:
    counters = example()
    rows = json.loads(json.dumps(counters.to_json()))
    assert ConversionCounters.from_json(rows) == counters
    assert pickle.loads(pickle.dumps(counters)) == counters
    assert counters.merge(ConversionCounters.from_json(rows)) is counters
    assert [(row["count"], row["seconds"]) for row in counters.rows()] == [(2, 1.0), (4, 2.0)]


def test_table() -> None:
    assert example().format_table().splitlines() == [
        "source                       target                       mechanism              count         MB   seconds"
        "  declined",
        "jax host                     numpy host                   shared host buffer         1        5.0     0.500  ",
        "torch host                   numpy host                   host copy                  2        3.0     1.000"
        "  dlpack, shared host buffer",
    ]
