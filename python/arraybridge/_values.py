"""Small immutable values that behave as frozen, slotted dataclasses, without importing `dataclasses`.

That module takes several milliseconds to import, more than the rest of what a first conversion needs. It is imported
here only when somebody asks a question about dataclasses: `fields`, `replace`, `asdict`, or a forbidden assignment.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import Field
    from typing import Any, ClassVar


class _MadeByDataclasses:
    """An attribute that `dataclasses.dataclass` would have set; made by it, for each class, when first read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type[Value]) -> object:
        if owner is Value:
            raise AttributeError(self._name)
        import dataclasses

        defaults: dict[str, object] = getattr(owner, "_defaults", {})
        names = owner.__match_args__
        specification = [
            (name, owner.__annotations__[name], dataclasses.field(default=defaults.get(name, dataclasses.MISSING)))
            for name in names
        ]
        made = dataclasses.make_dataclass(owner.__name__, specification, frozen=True)
        value: object = getattr(made, self._name)
        setattr(owner, self._name, value)
        return value


class Value:
    """Equal fields, equal value. A subclass lists its fields in `__slots__` and `__match_args__` and sets them in
    `__init__` with `_set`; it names the defaults of `__init__` in `_defaults`.
    """

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    else:
        __dataclass_fields__ = _MadeByDataclasses("__dataclass_fields__")
        __dataclass_params__ = _MadeByDataclasses("__dataclass_params__")

    def _fields(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self.__match_args__])

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self is other or self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def __repr__(self) -> str:
        fields = ", ".join([f"{name}={getattr(self, name)!r}" for name in self.__match_args__])
        return f"{self.__class__.__qualname__}({fields})"

    def __setattr__(self, name: str, value: object) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot delete field {name!r}")

    # The same state that a frozen, slotted dataclass pickles, so that older pickles load.
    def __getstate__(self) -> list[Any]:
        return list(self._fields())

    def __setstate__(self, state: list[Any]) -> None:
        for name, value in zip(self.__match_args__, state, strict=True):
            _set(self, name, value)

    def __replace__(self, /, **changes: Any) -> Any:
        from dataclasses import replace

        return replace(self, **changes)


_set = object.__setattr__
