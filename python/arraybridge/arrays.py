"""The nominal type of an array of any library."""

from __future__ import annotations

from abc import ABC, ABCMeta

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Array"]


class ArrayClass(ABCMeta):
    """Answers isinstance by the registry, which knows a library's arrays by their type. Loads nothing."""

    _library_name: str | None = None

    def __instancecheck__(cls, instance: object) -> bool:
        if super().__instancecheck__(instance):
            return True
        if cls is not Array and cls._library_name is None:
            return False
        # One Python type stands for the arrays of every library that is written in C++.
        from arraybridge._arraybridge import ForeignArray, entry_of

        entry = entry_of(instance)
        if entry is None or (cls is not Array and entry.name != cls._library_name):
            return False
        if type(instance) is not ForeignArray:
            cls.register(type(instance))  # so that issubclass agrees from now on
        return True


class Array(ABC, metaclass=ArrayClass):
    """An array of any library that is registered: `isinstance(value, Array)` says whether `value` is one.

    `ArrayLibrary.named(name).array_class` is the same for the arrays of one library.
    """

    if TYPE_CHECKING:
        # What every library's arrays have.
        @property
        def shape(self) -> Any: ...
        @property
        def dtype(self) -> Any: ...
        def __getitem__(self, index: Any) -> Any: ...


def array_class_of(library_name: str, qualified_name: str) -> type[Array]:
    """A subclass of `Array` whose instances are the arrays of one library."""
    made: Any = ArrayClass(qualified_name, (Array,), {"__module__": "arraybridge.libraries"})
    made._library_name = library_name
    return made  # type: ignore[no-any-return]
