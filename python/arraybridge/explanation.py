"""What a conversion would do, and why each better route is declined."""

from __future__ import annotations

from arraybridge import _arraybridge
from arraybridge._values import Value, _set
from arraybridge.devices import Device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

__all__ = ["Explanation", "explain"]


class Explanation(Value):
    """What a conversion of one particular array would do. `str()` of it is to be read.

    Attributes:
        source_library: Name of the library that the array is of.
        source_device: Where it is.
        target_library: Name of the library that it would go to.
        target_device: Where it would go.
        nbytes: Bytes of its elements.
        mechanism: The route that would be taken, as `ConversionRoute.mechanism` calls it; None if it would fail.
        error: Why it would fail; empty if it would not.
        declined: Each better route and why it cannot carry this array, best first.
    """

    __match_args__: ClassVar[tuple[str, ...]] = (
        "source_library",
        "source_device",
        "target_library",
        "target_device",
        "nbytes",
        "mechanism",
        "error",
        "declined",
    )
    __slots__ = __match_args__
    source_library: str
    source_device: Device
    target_library: str
    target_device: Device
    nbytes: int
    mechanism: str | None
    error: str
    declined: tuple[tuple[str, str], ...]

    def __init__(
        self,
        source_library: str,
        source_device: Device,
        target_library: str,
        target_device: Device,
        nbytes: int,
        mechanism: str | None,
        error: str,
        declined: tuple[tuple[str, str], ...],
    ) -> None:
        _set(self, "source_library", source_library)
        _set(self, "source_device", source_device)
        _set(self, "target_library", target_library)
        _set(self, "target_device", target_device)
        _set(self, "nbytes", nbytes)
        _set(self, "mechanism", mechanism)
        _set(self, "error", error)
        _set(self, "declined", declined)

    @property
    def shared(self) -> bool:
        """Whether the result would be the memory of the array, or the very array."""
        return self.mechanism in ("stays in place", "dlpack", "shared host buffer")

    @property
    def copied_nbytes(self) -> int:
        """How many bytes of the array's elements would be copied; 0 if it would fail."""
        return 0 if self.shared or self.mechanism is None else self.nbytes

    def __str__(self) -> str:
        source = f"{self.source_library} on {self.source_device.label}"
        target = f"{self.target_library} on {self.target_device.label}"
        lines = [f"{source} -> {target}: {self.mechanism or 'fails'}"]
        if self.mechanism is None:
            lines.append(f"  {self.error}")
        elif self.mechanism == "stays in place":
            lines.append("  the result is the very array")
        elif self.shared:
            lines.append(f"  the result shares the array's memory; nothing is copied of {self.nbytes:,} bytes")
        else:
            lines.append(f"  {self.nbytes:,} bytes are copied; the result shares no memory with the array")
        width = max([len(mechanism) for mechanism, _ in self.declined], default=0)
        if self.declined:
            lines.append("  declined before it:" if self.mechanism else "  declined:")
        lines += [f"    {mechanism:<{width}}  {reason}" for mechanism, reason in self.declined]
        return "\n".join(lines)


def explain(data: Any, to: Any, *, device: Device | None = None, copy: bool | None = None) -> Explanation:
    """What `convert` with the same arguments would do to `data`. Nothing is converted or copied.

    The libraries of both sides are loaded, as they are needed to look at the array.

    Args:
        data: An array of any library.
        to: Where it would go: the name of a library, a `MemoryType`, an `ArrayLibrary`, or an array to be like.
        device: A device of that library; None as for `convert`.
        copy: As for `convert_memory`.

    Raises:
        ValueError: No library made `data`, or there is no library `to`.
    """
    return Explanation(*_arraybridge.explain(data, to, device, copy))
