"""The names of the registered libraries as an enum, for where a name is stored, sent or offered as a choice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from enum import Enum, EnumMeta
from types import MappingProxyType
from typing import Any, TypeVar

from arraybridge import _arraybridge
from arraybridge.libraries import ArrayLibrary

__all__ = ["MemoryContractAttribute", "MemoryType"]

MemberT = TypeVar("MemberT")


class _FollowsTheRegistry(EnumMeta):
    """Adds a member for each library that joined, before the members are looked at.

    An enum's members are fixed when its class statement ends, so the members are entered into its tables here. Looking
    a member up by value needs no override: `Enum` asks `_missing_` about a value that it does not know.
    """

    _generation = -1

    def _follow(cls) -> None:
        generation = _arraybridge.generation()
        if cls._generation == generation:
            return
        for entry in _arraybridge.all_entries():
            if entry.name not in cls._value2member_map_:
                _add_member(cls, entry.name)
        type.__setattr__(cls, "_generation", generation)

    def __getitem__(cls: type[MemberT], name: str) -> MemberT:
        _FollowsTheRegistry._follow(cls)  # type: ignore[arg-type]
        return EnumMeta.__getitem__(cls, name)

    def __iter__(cls: type[MemberT]) -> Iterator[MemberT]:
        _FollowsTheRegistry._follow(cls)  # type: ignore[arg-type]
        return EnumMeta.__iter__(cls)

    def __reversed__(cls: type[MemberT]) -> Iterator[MemberT]:
        _FollowsTheRegistry._follow(cls)  # type: ignore[arg-type]
        return EnumMeta.__reversed__(cls)

    def __len__(cls) -> int:
        cls._follow()
        return super().__len__()

    def __contains__(cls, value: Any) -> bool:
        cls._follow()
        return super().__contains__(value)

    def __dir__(cls) -> list[str]:
        cls._follow()
        return super().__dir__()

    @property
    def __members__(cls: type[MemberT]) -> MappingProxyType[str, MemberT]:
        _FollowsTheRegistry._follow(cls)  # type: ignore[arg-type]
        return MappingProxyType(cls._member_map_)  # type: ignore[attr-defined]

    def __getattr__(cls, name: str) -> Any:
        # Reached when the class has no such attribute: a member that was added here, as none is stored as attribute.
        if not name.startswith("_"):
            cls._follow()
            member = cls._member_map_.get(name)
            if member is not None:
                return member
        raise AttributeError(f"{cls.__name__} has no member {name}")


def _add_member(enum_class: EnumMeta, library_name: str) -> None:
    member: Any = object.__new__(enum_class)  # type: ignore[arg-type]
    name = library_name.upper()
    member._name_ = name
    member._value_ = library_name
    member.__objclass__ = enum_class
    member._sort_order_ = len(enum_class._member_names_)
    # By setdefault, as another thread may be at the same: the first member stays.
    if enum_class._value2member_map_.setdefault(library_name, member) is member:
        enum_class._member_map_[name] = member
        enum_class._member_names_.append(name)


class MemoryType(Enum, metaclass=_FollowsTheRegistry):
    """The name of a library. The members are those of `ArrayLibrary.all()`, now and after a library joined.

    `MemoryType.TORCH.value` is "torch"; what the library does is asked of `MemoryType.TORCH.library`.
    """

    @classmethod
    def _missing_(cls, value: object) -> MemoryType | None:
        cls._follow()
        member = cls._value2member_map_.get(value)
        return member if isinstance(member, cls) else None

    @property
    def library(self) -> ArrayLibrary[Any]:
        """The library of that name."""
        return ArrayLibrary.named(self.value)


class MemoryContractAttribute(str, Enum):
    """The attributes in which a function says which libraries' arrays it takes, returns and works with."""

    INPUT = "input_memory_type"
    OUTPUT = "output_memory_type"
    EXECUTION = "execution_memory_type"

    def read(self, namespace: object, default: str | None = None) -> str | None:
        """The library name that an object or a mapping has under this attribute, else `default`.

        Raises:
            TypeError: It has something there that is not a name.
        """
        if isinstance(namespace, Mapping):
            found = namespace.get(self.value, default)
        else:
            found = getattr(namespace, self.value, default)
        if found is None or isinstance(found, str):
            return found
        raise TypeError(f"{self.value} of {namespace!r} is {found!r}, not a library name")

    def write(self, namespace: object, value: str) -> None:
        """Stores a library name under this attribute of an object or of a mapping."""
        if isinstance(namespace, MutableMapping):
            namespace[self.value] = value
        else:
            setattr(namespace, self.value, value)
