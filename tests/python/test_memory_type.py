"""MemoryType is an enum whose members follow the registry."""

from __future__ import annotations

import copy
import enum
import json
import pickle
from types import SimpleNamespace

import pytest

from arraybridge import ArrayLibrary, MemoryContractAttribute, MemoryType


def test_members_are_the_listed_libraries_in_order() -> None:
    names = [library.name for library in ArrayLibrary.all()]
    assert [member.value for member in MemoryType] == names
    assert [member.name for member in MemoryType] == [name.upper() for name in names]
    assert [member.value for member in reversed(MemoryType)] == names[::-1]
    assert list(MemoryType.__members__) == [name.upper() for name in names]
    assert len(MemoryType) == len(names)
    assert {"NUMPY", "TORCH"} <= set(dir(MemoryType))


def test_a_member() -> None:
    member = MemoryType.NUMPY
    assert member is MemoryType("numpy") is MemoryType["NUMPY"]
    assert (member.name, member.value) == ("NUMPY", "numpy")
    assert (repr(member), str(member)) == ("<MemoryType.NUMPY: 'numpy'>", "MemoryType.NUMPY")
    assert member.library is ArrayLibrary.named("numpy")
    assert member in MemoryType
    assert isinstance(member, MemoryType) and isinstance(member, enum.Enum)
    assert {member: 1}[MemoryType("numpy")] == 1
    assert member != MemoryType.TORCH


def test_pickle_and_copy_give_the_very_member() -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(MemoryType.TORCH, protocol)) is MemoryType.TORCH
    assert copy.copy(MemoryType.TORCH) is copy.deepcopy(MemoryType.TORCH) is MemoryType.TORCH


def test_what_is_no_library() -> None:
    with pytest.raises(ValueError, match="'abacus' is not a valid MemoryType"):
        MemoryType("abacus")
    with pytest.raises(KeyError):
        MemoryType["ABACUS"]
    with pytest.raises(AttributeError, match="ABACUS"):
        MemoryType.ABACUS  # noqa: B018
    with pytest.raises(AttributeError):
        MemoryType.numpy  # noqa: B018


def test_contract_attributes() -> None:
    attribute = MemoryContractAttribute.INPUT
    assert [each.value for each in MemoryContractAttribute] == [
        "input_memory_type",
        "output_memory_type",
        "execution_memory_type",
    ]
    function, mapping = SimpleNamespace(), {}
    for namespace in (function, mapping):
        assert attribute.read(namespace) is None
        assert attribute.read(namespace, "numpy") == "numpy"
        attribute.write(namespace, "torch")
        assert attribute.read(namespace) == "torch"
    assert function.input_memory_type == "torch"
    assert json.dumps(mapping) == '{"input_memory_type": "torch"}'
    with pytest.raises(TypeError, match="is 3, not a library name"):
        attribute.read({"input_memory_type": 3})
