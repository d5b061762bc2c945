"""Where an array lives: a device is a value that is compared, hashed, printed and pickled by its fields."""

from __future__ import annotations

from abc import ABC, abstractmethod

from arraybridge._values import Value, _set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

__all__ = ["HOST", "AcceleratorDevice", "Device", "HostDevice", "NamedDevice"]


class Device(ABC):
    """A place where arrays live. Numbers and names are those of one library: the same index in two libraries need not
    be the same hardware.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def label(self) -> str:
        """What records and messages call the device: "host", "accelerator:0", "device:NAME"."""


class HostDevice(Value, Device):
    """Main memory, pinned memory included."""

    __slots__ = ()

    @property
    def label(self) -> str:
        """Always "host"."""
        return "host"


class AcceleratorDevice(Value, Device):
    """An accelerator (CUDA, ROCm, an OpenCL GPU), as its library numbers it.

    Attributes:
        index: The number, from zero. It is not checked here; a library is asked with `require_device`.
    """

    __slots__ = ("index",)
    __match_args__: ClassVar[tuple[str, ...]] = ("index",)
    index: int

    def __init__(self, index: int) -> None:
        _set(self, "index", index)

    @property
    def label(self) -> str:
        """ "accelerator:" and the index."""
        return f"accelerator:{self.index}"


class NamedDevice(Value, Device):
    """A device that a library has besides main memory and numbered accelerators: an OpenCL CPU device, "mps:0".

    Attributes:
        name: What the library calls it.
    """

    __slots__ = ("name",)
    __match_args__: ClassVar[tuple[str, ...]] = ("name",)
    name: str

    def __init__(self, name: str) -> None:
        _set(self, "name", name)

    @property
    def label(self) -> str:
        """ "device:" and the name."""
        return f"device:{self.name}"


HOST = HostDevice()
"""Main memory."""
