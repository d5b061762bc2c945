"""Routes are classes that manifests and devices decide about."""

from __future__ import annotations

import pytest

from arraybridge import HOST, AcceleratorDevice, ArrayLibrary, ConversionRoute
from arraybridge.conversion import DeviceMove, DLPackExchange, HostCopy, HostExchange, SharedHostBuffer, StaysInPlace

NUMPY, TORCH = ArrayLibrary.named("numpy"), ArrayLibrary.named("torch")
GPU, OTHER_GPU = AcceleratorDevice(0), AcceleratorDevice(1)


def test_the_five_in_order() -> None:
    routes = [StaysInPlace, DeviceMove, DLPackExchange, SharedHostBuffer, HostCopy]
    assert list(ConversionRoute.__registry__.values()) == routes
    assert list(ConversionRoute.__registry__) == [route.mechanism for route in routes]
    assert list(ConversionRoute.__registry__) == [
        "stays in place",
        "device move",
        "dlpack",
        "shared host buffer",
        "host copy",
    ]
    assert [route.writes_a_record for route in routes] == [False, True, True, True, True]
    assert issubclass(HostCopy, HostExchange) and issubclass(HostExchange, ConversionRoute)


@pytest.mark.parametrize(
    ("source", "source_device", "target", "target_device", "copy", "route"),
    [
        (TORCH, HOST, TORCH, HOST, None, StaysInPlace),
        (TORCH, GPU, TORCH, GPU, None, StaysInPlace),
        (TORCH, HOST, TORCH, GPU, None, DeviceMove),
        (TORCH, GPU, TORCH, HOST, None, DeviceMove),
        (TORCH, GPU, TORCH, OTHER_GPU, None, DeviceMove),
        (NUMPY, HOST, TORCH, HOST, None, SharedHostBuffer),
        (TORCH, HOST, NUMPY, HOST, None, SharedHostBuffer),
        (TORCH, HOST, NUMPY, HOST, False, SharedHostBuffer),
        (TORCH, HOST, NUMPY, HOST, True, HostCopy),
        (NUMPY, HOST, NUMPY, HOST, True, HostCopy),
        (NUMPY, HOST, TORCH, GPU, None, HostCopy),
        (TORCH, GPU, NUMPY, HOST, None, HostCopy),
    ],
)
def test_planned(source, source_device, target, target_device, copy, route) -> None:  # type: ignore[no-untyped-def]
    pair = (source, source_device, target, target_device)
    assert ConversionRoute.planned(*pair, copy=copy) is route
    assert ConversionRoute.candidates(*pair, copy=copy)[0] is route
    assert route.applies(*pair, copy=copy)


def test_applies_is_being_a_candidate() -> None:
    candidates = ConversionRoute.candidates(NUMPY, HOST, TORCH, HOST)
    for route in ConversionRoute.__registry__.values():
        assert route.applies(NUMPY, HOST, TORCH, HOST) == (route in candidates)
    assert candidates[-1] is HostCopy


def test_what_cannot_be_shared() -> None:
    assert ConversionRoute.candidates(NUMPY, HOST, TORCH, GPU, copy=False) == ()
    with pytest.raises(BufferError, match="NumPy on host and PyTorch on accelerator:0"):
        ConversionRoute.planned(NUMPY, HOST, TORCH, GPU, copy=False)
