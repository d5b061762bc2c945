"""How an array gets from one library and device to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from arraybridge import _arraybridge
from arraybridge.counters import ConversionCounters, ConversionTotal
from arraybridge.devices import Device
from arraybridge.observers import ConversionObserver, IgnoreConversions, ObserverOfThisContext
from arraybridge.records import ConversionRecord

if TYPE_CHECKING:
    from arraybridge.libraries import ArrayLibrary

__all__ = [
    "ConversionCounters",
    "ConversionObserver",
    "ConversionRecord",
    "ConversionRoute",
    "ConversionTotal",
    "DLPackExchange",
    "DeviceMove",
    "HostCopy",
    "HostExchange",
    "IgnoreConversions",
    "ObserverOfThisContext",
    "SharedHostBuffer",
    "StaysInPlace",
]


class ConversionRoute:
    """One mechanism, as a class; the five of them are tried in the order in which they are defined here.

    Which of them apply is known from the manifests of two libraries and two devices: nothing is loaded and no array is
    looked at. Whether a particular array can go by a route shows when it is converted (`arraybridge.explain` tells
    before): the record of a conversion names the route that was taken.
    """

    mechanism: ClassVar[str | None] = None
    """What records call it: "stays in place", "device move", "dlpack", "shared host buffer", "host copy"."""
    writes_a_record: ClassVar[bool] = True
    """Whether an observer is told of it."""
    __registry__: ClassVar[dict[str, type[ConversionRoute]]] = {}

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if cls.mechanism is not None:
            ConversionRoute.__registry__[cls.mechanism] = cls

    @classmethod
    def applies(
        cls,
        source: ArrayLibrary[Any],
        source_device: Device,
        target: ArrayLibrary[Any],
        target_device: Device,
        copy: bool | None = None,
    ) -> bool:
        """Whether this route can be tried for arrays of `source` that go to `target`."""
        return cls in cls.candidates(source, source_device, target, target_device, copy)

    @classmethod
    def candidates(
        cls,
        source: ArrayLibrary[Any],
        source_device: Device,
        target: ArrayLibrary[Any],
        target_device: Device,
        copy: bool | None = None,
    ) -> tuple[type[ConversionRoute], ...]:
        """The routes that are tried, in order.

        Args:
            source: Library that the arrays are of.
            source_device: Where they are.
            target: Library that they go to.
            target_device: The device of `target` that they go to; whether this machine has it is not asked.
            copy: As for `convert_memory`. With False there may be no candidate.
        """
        mechanisms = _arraybridge.planned(source._entry, source_device, target._entry, target_device, copy)
        return tuple(ConversionRoute.__registry__[each] for each in mechanisms)

    @classmethod
    def planned(
        cls,
        source: ArrayLibrary[Any],
        source_device: Device,
        target: ArrayLibrary[Any],
        target_device: Device,
        copy: bool | None = None,
    ) -> type[ConversionRoute]:
        """The route that is tried first; the arguments are those of `candidates`.

        Raises:
            BufferError: `copy` is False and the two libraries cannot share memory there.
        """
        routes = cls.candidates(source, source_device, target, target_device, copy)
        if not routes:
            raise BufferError(
                f"{source.display_name} on {source_device.label} and {target.display_name} on {target_device.label} "
                "cannot share memory"
            )
        return routes[0]


class StaysInPlace(ConversionRoute):
    """Same library, same device: the very object is the result, and no record is made."""

    mechanism = "stays in place"
    writes_a_record = False


class DeviceMove(ConversionRoute):
    """Same library, another device."""

    mechanism = "device move"


class DLPackExchange(ConversionRoute):
    """The target wraps the memory of the source."""

    mechanism = "dlpack"


class HostExchange(ConversionRoute):
    """Routes in or through main memory."""


class SharedHostBuffer(HostExchange):
    """The result is the memory of the source, both are in main memory, and one of them is NumPy's."""

    mechanism = "shared host buffer"


class HostCopy(HostExchange):
    """The values are copied in or through main memory."""

    mechanism = "host copy"
