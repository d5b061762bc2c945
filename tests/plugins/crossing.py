"""One conversion, made in every way there is, with everything checked that has to hold for any array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from arraybridge import HOST, MemoryConversionError, convert, convert_memory, explain
from arraybridge.conversion import ConversionObserver, ConversionRecord
from arraybridge.converters import Explanation


class Recorder(ConversionObserver):
    def __init__(self) -> None:
        self.records: list[ConversionRecord] = []

    def record(self, record: ConversionRecord) -> None:
        self.records.append(record)


def by_convert_memory(array: Any, source: str, target: str, copy: bool | None) -> Any:
    return convert_memory(array, source, target, HOST, copy=copy)


def by_convert(array: Any, source: str, target: str, copy: bool | None) -> Any:
    return convert(array, target, device=HOST, copy=copy)


WAYS = (by_convert_memory, by_convert)
SHARED = "shared host buffer"
COPIED = "host copy"


@dataclass
class Crossed:
    """What came of it: the same by `convert_memory` and by `convert`, observed and not."""

    result: Any
    told: Explanation
    records: list[ConversionRecord]

    @property
    def mechanism(self) -> str | None:
        return self.told.mechanism

    @property
    def shared(self) -> bool:
        return self.told.shared


def address(array: Any) -> int:
    return array.data_ptr() if isinstance(array, torch.Tensor) else np.asarray(array).__array_interface__["data"][0]


def bits(array: Any) -> bytes:
    """The elements in row-major order and native byte order, as the library itself has them."""
    if isinstance(array, torch.Tensor):
        plain = torch.empty(array.numel(), dtype=array.dtype)
        plain.copy_(array.detach().reshape(-1))
        return plain.view(torch.uint8).numpy().tobytes()
    plain = np.ascontiguousarray(np.asarray(array))
    return plain.astype(plain.dtype.newbyteorder("=")).tobytes() if plain.dtype.byteorder == ">" else plain.tobytes()


def is_writable(array: Any) -> bool:
    return isinstance(array, torch.Tensor) or bool(array.flags.writeable)


def cross(array: Any, source: str, target: str, copy: bool | None = None) -> Crossed:
    """`array` in `target` on the host. Explanation, records and results of all ways have to tell the same story."""
    told = explain(array, target, device=HOST, copy=copy)
    assert (told.source_library, told.target_library, told.error) == (source, target, "")
    assert (told.source_device, told.target_device) == (HOST, HOST)
    results, records = [], []
    for way in WAYS:
        results.append(way(array, source, target, copy))
        recorder = Recorder()
        with recorder.installed():
            results.append(way(array, source, target, copy))
        records += recorder.records
    for result in results:
        _check_result(result, array, source, target, told)
    for record in records:
        _check_record(record, told)
    if told.mechanism == "stays in place":
        assert records == []
        assert all(result is array for result in results)
    else:
        assert len(records) == len(WAYS)
    assert len({bits(result) for result in results}) == 1
    return Crossed(results[-1], told, records)


def _check_result(result: Any, array: Any, source: str, target: str, told: Explanation) -> None:
    if source != target:
        assert type(result) is {"numpy": np.ndarray, "torch": torch.Tensor}[target]
        assert is_writable(result) or not is_writable(array)
    if target == "torch" and source != target:
        assert (result.requires_grad, result.grad_fn, result.is_conj(), result.is_neg()) == (False, None, False, False)
    shape = tuple(array.shape)
    assert tuple(result.shape) == shape
    if 0 not in shape:
        assert (address(result) == address(array)) == told.shared, told


def _check_record(record: ConversionRecord, told: Explanation) -> None:
    assert (record.source_library, record.target_library) == (told.source_library, told.target_library)
    assert (record.source_device, record.target_device) == ("host", "host")
    assert record.mechanism == told.mechanism
    assert record.seconds >= 0
    # A route that was never a candidate is explained, but is not tried.
    assert set(record.declined_mechanisms) <= {mechanism for mechanism, _ in told.declined}
    assert all(reason for _, reason in told.declined)


def refused(
    array: Any,
    source: str,
    target: str,
    copy: bool | None = None,
    *,
    match: str | None = None,
    kind: type[Exception] | None = None,
    detected: bool = True,
) -> MemoryConversionError:
    """The error that the conversion ends with. It has to be the same in every way, and explained beforehand."""
    errors = []
    for way in WAYS if detected else WAYS[:1]:
        recorder = Recorder()
        with recorder.installed(), pytest.raises(MemoryConversionError, match=match) as caught:
            way(array, source, target, copy)
        assert recorder.records == []
        with pytest.raises(MemoryConversionError, match=match):
            way(array, source, target, copy)
        errors.append(caught.value)
    for error in errors:
        assert (error.source_type, error.target_type) == (source, target)
        assert error.reason and error.reason in str(error)
        assert error.__cause__ is not None
        if kind is not None:
            assert isinstance(error, kind)
    assert len({error.reason for error in errors}) == 1
    if detected:
        told = explain(array, target, device=HOST, copy=copy)
        assert (told.mechanism, told.shared, told.copied_nbytes) == (None, False, 0)
        assert told.error == errors[0].reason
    return errors[0]


def cannot_share(array: Any, source: str, target: str, *, match: str | None = None) -> MemoryConversionError:
    """Asked to share (copy=False) it is refused, as a BufferError."""
    return refused(array, source, target, False, match=match, kind=BufferError)


def isolated(array: Any, source: str, target: str) -> None:
    """A result of copy=True and its source do not see each other's writes."""
    crossed = cross(array, source, target, True)
    assert crossed.mechanism == COPIED
    before = bits(array)
    assert bits(crossed.result) == before
    crossed.result[...] = 0
    assert bits(array) == before
