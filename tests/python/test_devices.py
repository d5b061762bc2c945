"""Devices are values that behave as frozen dataclasses."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from arraybridge import HOST, AcceleratorDevice, Device, HostDevice, NamedDevice

VALUES = [HOST, AcceleratorDevice(0), AcceleratorDevice(3), NamedDevice("mps:0")]


@pytest.mark.parametrize(
    ("device", "label", "text"),
    [
        (HOST, "host", "HostDevice()"),
        (AcceleratorDevice(2), "accelerator:2", "AcceleratorDevice(index=2)"),
        (NamedDevice("tpu:0"), "device:tpu:0", "NamedDevice(name='tpu:0')"),
    ],
)
def test_label_and_repr(device: Device, label: str, text: str) -> None:
    assert device.label == label
    assert repr(device) == text
    assert isinstance(device, Device)


def test_equal_fields_make_equal_devices() -> None:
    assert HostDevice() == HOST
    assert AcceleratorDevice(1) == AcceleratorDevice(index=1)
    assert AcceleratorDevice(1) != AcceleratorDevice(2)
    assert AcceleratorDevice(1) != NamedDevice("1")
    assert AcceleratorDevice(1) != 1
    assert len({*VALUES, HostDevice(), AcceleratorDevice(3)}) == len(VALUES)


def test_hash_is_that_of_the_fields() -> None:
    assert hash(HOST) == hash(())
    assert hash(AcceleratorDevice(7)) == hash((7,))


@pytest.mark.parametrize("device", VALUES)
def test_assignment_and_deletion_are_refused(device: Device) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'index'"):
        device.index = 5  # type: ignore[attr-defined]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'index'"):
        del device.index  # type: ignore[attr-defined]
    assert not hasattr(device, "__dict__")


@pytest.mark.parametrize("device", VALUES)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(device: Device, protocol: int) -> None:
    assert pickle.loads(pickle.dumps(device, protocol)) == device


@pytest.mark.parametrize("device", VALUES)
def test_copy(device: Device) -> None:
    assert copy.copy(device) == device
    assert copy.deepcopy([device]) == [device]


def test_a_pickle_of_the_previous_release_loads() -> None:
    # pickle.dumps(AcceleratorDevice(1)) of 0.5.2
    text = "80049536000000000000008c1361727261796272696467652e64657669636573948c11416363656c657261746f72446576696365"
    assert pickle.loads(bytes.fromhex(text + "9493942981945d944b0161622e")) == AcceleratorDevice(1)


def test_the_functions_of_dataclasses() -> None:
    device = AcceleratorDevice(1)
    assert dataclasses.is_dataclass(device)
    assert dataclasses.is_dataclass(HostDevice)
    assert not dataclasses.is_dataclass(Device)
    assert [each.name for each in dataclasses.fields(device)] == ["index"]
    assert dataclasses.fields(HOST) == ()
    assert dataclasses.asdict(device) == {"index": 1}
    assert dataclasses.astuple(NamedDevice("x")) == ("x",)
    assert dataclasses.replace(device, index=2) == AcceleratorDevice(2)


def test_a_dataclass_may_derive() -> None:
    @dataclasses.dataclass(frozen=True)
    class Partition(AcceleratorDevice):
        part: int = 0

    assert Partition(1, 2) == Partition(index=1, part=2)
    assert Partition(1, 2) != AcceleratorDevice(1)
    assert [each.name for each in dataclasses.fields(Partition)] == ["index", "part"]


def test_match_statement() -> None:
    match AcceleratorDevice(4):
        case AcceleratorDevice(index):
            assert index == 4
        case _:
            pytest.fail("no match")


def test_device_is_abstract() -> None:
    with pytest.raises(TypeError):
        Device()  # type: ignore[abstract]
