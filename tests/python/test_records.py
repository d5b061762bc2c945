"""A record is plain data."""

from __future__ import annotations

import dataclasses
import json
import pickle

import pytest

from arraybridge import ConversionRecord

RECORD = ConversionRecord("numpy", "host", "torch", "host", "host copy", 64, 0.25, ("shared host buffer",))


def test_fields_in_order() -> None:
    names = [each.name for each in dataclasses.fields(ConversionRecord)]
    assert names == [
        "source_library",
        "source_device",
        "target_library",
        "target_device",
        "mechanism",
        "nbytes",
        "seconds",
        "declined_mechanisms",
    ]
    assert ConversionRecord("a", "b", "c", "d", "e", 1, 2.0).declined_mechanisms == ()


def test_value() -> None:
    assert dataclasses.replace(RECORD) == RECORD
    assert hash(dataclasses.replace(RECORD)) == hash(RECORD)
    assert pickle.loads(pickle.dumps(RECORD)) == RECORD
    with pytest.raises(dataclasses.FrozenInstanceError):
        RECORD.nbytes = 0  # type: ignore[misc]


def test_json() -> None:
    row = json.loads(json.dumps(RECORD.to_json()))
    assert row == {**dataclasses.asdict(RECORD), "declined_mechanisms": ["shared host buffer"]}
    assert ConversionRecord.from_json(row) == RECORD
