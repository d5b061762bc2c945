"""What a conversion raises and warns about."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    "ConversionBufferError",
    "ConversionDeviceError",
    "ConversionModuleNotFoundError",
    "MemoryConversionError",
    "PrecisionWarning",
]


class MemoryConversionError(Exception):
    """An array could not be converted. Pickles; its `__cause__` is what the framework raised, if it did.

    Attributes:
        source_type: Name of the library that the array is of.
        target_type: Name of the library that it should have gone to.
        method: What was being tried.
        reason: Why it failed.
    """

    source_type: str
    target_type: str
    method: str
    reason: str

    def __init__(self, source_type: str, target_type: str, method: str, reason: str) -> None:
        super().__init__(f"Cannot convert from {source_type} to {target_type} using {method}. Reason: {reason}")
        self.source_type = source_type
        self.target_type = target_type
        self.method = method
        self.reason = reason

    def __reduce__(self) -> tuple[Callable[..., MemoryConversionError], tuple[str, ...], dict[str, Any]]:
        # Exceptions are pickled as a call with `args`, which here is the message and not what __init__ takes.
        return type(self), (self.source_type, self.target_type, self.method, self.reason), self.__dict__


class ConversionModuleNotFoundError(MemoryConversionError, ModuleNotFoundError):
    """The framework of the source or of the target is not installed. `name` is the missing module, where known."""

    def __reduce__(self) -> tuple[Callable[..., MemoryConversionError], tuple[str, ...], dict[str, Any]]:
        make, arguments, state = super().__reduce__()
        return make, arguments, {**state, "name": self.name, "path": self.path}


class ConversionBufferError(MemoryConversionError, BufferError):
    """Memory was asked to be shared (`copy=False`) and this array's cannot be."""


class ConversionDeviceError(MemoryConversionError, ValueError):
    """The target library has no such device on this machine."""


class PrecisionWarning(UserWarning):
    """Values were rounded to a narrower type because the target library has none as wide."""
