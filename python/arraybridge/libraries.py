"""One object per array library: its identity, its devices, moving its arrays, and operations on them.

A library is known by its manifest. What a manifest answers is answered from it; a device question, a conversion or an
operation loads the library. The class of each library (`NumpyLibrary`, `TorchLibrary`, ...) is made from its manifest
when it is first asked for, with the roles that the manifest names as its parents, and is an attribute of this module.
"""

from __future__ import annotations

import os
import sys
from abc import ABCMeta

from arraybridge import _arraybridge
from arraybridge.arrays import Array, array_class_of
from arraybridge.devices import HOST, AcceleratorDevice, Device, HostDevice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType
    from typing import Any, ClassVar, Generic, TypeVar

    import numpy as np

    NativeT = TypeVar("NativeT")

    class _Subscriptable(Generic[NativeT]): ...

else:
    # `ArrayLibrary[T]` as a type, and as a parent, without importing `typing`.
    NativeT = "NativeT"

    class _Subscriptable:
        __class_getitem__ = classmethod(type(list[int]))


class LibraryClass(ABCMeta):
    """The class of library classes: gives each of them the registry."""

    _listed: ClassVar[tuple[int, dict[str, type[ArrayLibrary[Any]]]]] = (-1, {})

    @property
    def __registry__(cls) -> Mapping[str, type[ArrayLibrary[Any]]]:
        """The class of every library that `ArrayLibrary.all()` gives, by name, in that order."""
        generation = _arraybridge.generation()
        if LibraryClass._listed[0] != generation:
            LibraryClass._listed = generation, {each.name: _class_of(each) for each in _arraybridge.all_entries()}
        return LibraryClass._listed[1]


class ArrayLibrary(_Subscriptable[NativeT], metaclass=LibraryClass):
    """One array library. There is one object per library: `named`, `of` and `all` give it; it pickles by name.

    Methods that take or return arrays work on the library's own arrays, where they are, and raise the library's own
    errors. Methods that the library cannot do are not there: `hasattr` answers.
    """

    _entry: ClassVar[_arraybridge.Entry]

    name: ClassVar[str]
    """What the library is asked for by: "torch"."""
    display_name: ClassVar[str]
    """What people call it: "PyTorch"."""
    import_name: ClassVar[str]
    """The module to import."""
    module_aliases: ClassVar[tuple[str, ...]] = ()
    """Further top-level modules whose objects are its arrays: "jaxlib"."""
    import_environment: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Environment variables that are set, unless set already, before it is imported."""
    oom_messages: ClassVar[tuple[str, ...]] = ()
    """What its out-of-memory errors say, in lower case."""
    oom_exception_paths: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Where its out-of-memory exceptions are in its module, attribute by attribute."""
    array_class: ClassVar[type[Array]]
    """The subclass of `Array` whose instances are this library's arrays."""

    def __new__(cls) -> ArrayLibrary[NativeT]:
        entry = cls.__dict__.get("_entry")
        if entry is None:
            raise TypeError(f"{cls.__name__} is no library by itself: ask ArrayLibrary.named() for one")
        return _instances.get(entry.name) or _instances.setdefault(entry.name, super().__new__(cls))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Callable[[str], ArrayLibrary[Any]], tuple[str]]:
        return ArrayLibrary.named, (self.name,)

    # ----- finding a library; loads nothing -----

    @classmethod
    def named(cls, name: str) -> ArrayLibrary[Any]:
        """The library called `name`. It need not be installed.

        Raises:
            ValueError: There is none; the message lists the names there are.
            ImportError: It has a manifest that cannot be used; the message says why.
        """
        library = _instances.get(name)
        return library if library is not None else _class_of(_entry_named(name))()

    @classmethod
    def all(cls) -> tuple[ArrayLibrary[Any], ...]:
        """The listed libraries, installed or not, then those that were asked for by name."""
        return tuple([library() for library in ArrayLibrary.__registry__.values()])

    @classmethod
    def of(cls, value: object) -> ArrayLibrary[Any]:
        """The library that made `value`, by the type of `value`.

        Raises:
            ValueError: No library made it.
        """
        entry = _arraybridge.entry_of(value)
        if entry is None:
            raise ValueError(f"Unknown memory type for {type(value)} (module: {type(value).__module__})")
        return _class_of(entry)()

    @classmethod
    def for_module_name(cls, module_name: str) -> ArrayLibrary[Any]:
        """The library whose arrays come from the module, or from a package around it.

        Raises:
            ValueError: It is the module of no library.
        """
        package = module_name.partition(".")[0]
        for library in cls.all():
            if package in library.recognized_module_names:
                return library
        raise ValueError(f"No array library owns module '{module_name}'")

    # ----- its module -----

    @property
    def recognized_module_names(self) -> frozenset[str]:
        """The top-level modules whose objects are its arrays."""
        return frozenset((self.import_name, *self.module_aliases))

    def is_installed(self) -> bool:
        """Whether its module can be found. Imports nothing."""
        if self.loaded_module() is not None or not self._entry.import_module:
            return True
        from importlib.util import find_spec

        try:
            return find_spec(self.import_name) is not None
        except (ImportError, ValueError):
            return False

    def loaded_module(self) -> ModuleType | None:
        """Its module, if it was imported and no thread is still at it."""
        module = sys.modules.get(self.import_name)
        if getattr(getattr(module, "__spec__", None), "_initializing", False):
            return None
        return module

    def prepare_import(self) -> None:
        """Sets what is missing of `import_environment`; logs a warning if that comes too late."""
        missing = [(name, value) for name, value in self.import_environment if name not in os.environ]
        if not missing:
            return
        if self.loaded_module() is not None:
            import logging

            logging.getLogger(__name__).warning(
                "%s was imported before %s could be set, so that the setting may have no effect",
                self.display_name,
                ", ".join([name for name, _ in missing]),
            )
        os.environ.update(missing)

    def import_module(self) -> ModuleType:
        """Its module, imported. Raises what the import raises."""
        self.prepare_import()
        return self._entry.module()

    def import_if_installed(self) -> ModuleType | None:
        """Its module, imported if it is installed, else None."""
        return self.import_module() if self.is_installed() else None

    @property
    def module(self) -> ModuleType:
        """Its module, imported on first use."""
        return self.loaded_module() or self.import_module()

    def extend_child_environment(self, environment: dict[str, str]) -> dict[str, str]:
        """Adds to `environment`, and returns, what a child process needs in order to import the library."""
        for name, value in self.import_environment:
            environment.setdefault(name, value)
        return environment

    @classmethod
    def child_environment(cls, environment: Mapping[str, str] | None = None) -> dict[str, str]:
        """A copy of `environment`, by default of this process's, in which every library can be imported."""
        prepared = dict(os.environ if environment is None else environment)
        for library in cls.all():
            prepared = library.extend_child_environment(prepared)
        return prepared

    # ----- devices -----

    def host_devices(self) -> tuple[HostDevice, ...]:
        """`(HOST,)` if it keeps arrays in main memory, else nothing; whether it is installed or not."""
        return (HOST,) if "host" in self._entry.device_kinds else ()

    def accelerator_devices(self) -> tuple[AcceleratorDevice, ...]:
        """The accelerators that it can use on this machine now; none if it is not installed."""
        return tuple([each for each in self._other_devices() if isinstance(each, AcceleratorDevice)])

    def available_devices(self) -> tuple[Device, ...]:
        """Every device that it can place arrays on: main memory, accelerators, named devices."""
        return (*self.host_devices(), *self._other_devices())

    def _other_devices(self) -> tuple[Device, ...]:
        if set(self._entry.device_kinds) <= {"host"} or not self.is_installed():
            return ()
        return tuple([each for each in self._entry.devices() if not isinstance(each, HostDevice)])

    def device_of(self, data: NativeT) -> Device:
        """Where `data` is."""
        return self._entry.device_of(data)

    def require_device(self, device: Device) -> None:
        """Raises ValueError, which names the devices there are, if it does not have `device` on this machine."""
        available = self.available_devices()
        if device not in available:
            labels = tuple([each.label for each in available])
            raise ValueError(
                f"{self.display_name} device {device.label} is unavailable; available devices are {labels}"
            )

    def move_to_device(self, data: NativeT, device: Device) -> NativeT:
        """`data` on `device`; the very object if it is there already. ValueError if there is no such device."""
        self.require_device(device)
        moved: NativeT = self._entry.move_to_device(data, device)
        return moved

    # ----- conversion -----

    def to_numpy(self, data: NativeT) -> np.ndarray[Any, Any]:
        """`data` as a NumPy array, which shares memory with it where that is the default for the two libraries."""
        array: np.ndarray[Any, Any] = self._entry.convert_to(data, _arraybridge.entry("numpy"), HOST, None)
        return array

    def from_numpy(self, data: np.ndarray[Any, Any], device: Device) -> NativeT:
        """The NumPy array as an array of this library on `device`, likewise."""
        array: NativeT = _arraybridge.entry("numpy").convert_to(data, self._entry, device, None)
        return array

    def convert_to(self, data: NativeT, target: ArrayLibrary[Any], device: Device, copy: bool | None = None) -> Any:
        """`data` as an array of `target` on one of its devices, by the first route that carries it.

        Args:
            data: An array of this library.
            target: Any library, this one included.
            device: A device of `target`.
            copy: True shares no memory with `data`, False does or raises BufferError, None shares where that is the
                default for the two libraries.

        Raises:
            ValueError: `target` does not have the device.
            Exception: What the last route's library raised, as it raised it.
        """
        return self._entry.convert_to(data, target._entry, device, copy)

    @property
    def imports_dlpack(self) -> bool:
        """Whether it can wrap memory that another library offers through DLPack."""
        return isinstance(self, DLPackImport)

    def imports_dlpack_from(self, device: Device) -> bool:
        """Whether it can wrap memory on `device` that another library offers through DLPack."""
        return self.imports_dlpack and _kind_of(device) in self._entry.dlpack_import_from

    def exports_dlpack_from(self, device: Device) -> bool:
        """Whether others can wrap its arrays on `device` by the route "dlpack"; NumPy's go by "shared host buffer"."""
        exports = isinstance(self, (DLPackProtocolExport, DLPackImport))
        return exports and _kind_of(device) in self._entry.dlpack_export_from

    def shares_numpy_buffer_on(self, device: Device) -> bool:
        """Whether one of its arrays on `device` and a NumPy array can be the same memory."""
        return isinstance(self, NumpyBufferSharing) and isinstance(device, HostDevice)

    def host_address_of(self, data: NativeT) -> int | None:
        """Address of the first element of `data`; None if no byte of it is in main memory."""
        return self._entry.host_address_of(data)

    def nbytes_of(self, data: NativeT) -> int:
        """Number of elements of `data` times bytes per element."""
        return self._entry.nbytes_of(data)

    def accepts(self, value: object) -> bool:
        """Whether `value` is an array of this library."""
        return self._entry.accepts(value)

    def dtype_name(self, dtype: object) -> str:
        """What NumPy calls `dtype`: "float32"."""
        import numpy as np

        try:
            return np.dtype(dtype).name  # type: ignore[call-overload, no-any-return]
        except TypeError:
            # A dtype of the library's own prints its name after a dot: "torch.float32".
            return str(np.dtype(str(dtype).rpartition(".")[2]).name)

    # ----- running out of memory -----

    def is_oom_error(self, error: BaseException) -> bool:
        """Whether `error` says that this library ran out of memory. Imports nothing."""
        module = self.loaded_module()
        for path in self.oom_exception_paths:
            exception: object = module
            for attribute in path:
                exception = getattr(exception, attribute, None)
            if isinstance(exception, type) and isinstance(error, exception):
                return True
        message = str(error).lower()
        return any(each in message for each in self.oom_messages)

    # ----- operations, each where its input is -----

    def max(self, data: NativeT, axis: int | Sequence[int] | None = None) -> NativeT:
        """The largest values along one axis, several, or (None) all of them, which are gone from the result."""
        return self._entry.max(data, axis)  # type: ignore[no-any-return]

    def min(self, data: NativeT, axis: int | Sequence[int] | None = None) -> NativeT:
        """The smallest values, likewise."""
        return self._entry.min(data, axis)  # type: ignore[no-any-return]

    def mean(self, data: NativeT, axis: int | Sequence[int] | None = None) -> NativeT:
        """The means, likewise; in which dtype is the library's own rule."""
        return self._entry.mean(data, axis)  # type: ignore[no-any-return]

    def sum(self, data: NativeT, axis: int | Sequence[int] | None = None) -> NativeT:
        """The sums, likewise; in which dtype is the library's own rule."""
        return self._entry.sum(data, axis)  # type: ignore[no-any-return]

    def astype(self, data: NativeT, dtype: object) -> NativeT:
        """The values as `dtype` (a NumPy dtype, a Python type, a name, or the library's own), not rescaled."""
        return self._entry.astype(data, dtype)  # type: ignore[no-any-return]

    def reshape(self, data: NativeT, shape: Sequence[int]) -> NativeT:
        """The same elements, in the same order, as an array of `shape`."""
        return self._entry.reshape(data, shape)  # type: ignore[no-any-return]

    def broadcast_to(self, data: NativeT, shape: Sequence[int]) -> NativeT:
        """`data` repeated along new axes and along axes of length one, up to `shape`."""
        return self._entry.broadcast_to(data, shape)  # type: ignore[no-any-return]

    def ones_like(self, reference: NativeT, *, shape: Sequence[int] | None = None, dtype: object = bool) -> NativeT:
        """Ones of `dtype` where `reference` is, of its shape or another."""
        return self._entry.ones_like(reference, shape, dtype)  # type: ignore[no-any-return]

    def prepend_axis(self, data: NativeT) -> NativeT:
        """`data` with a new first axis of length one."""
        return self._entry.prepend_axis(data)  # type: ignore[no-any-return]

    def assign(self, data: NativeT, index: slice, values: NativeT) -> NativeT:
        """`data` with `values` at `index`: the very object where the library's arrays are mutable, else a new one."""
        return self._entry.assign(data, index, values)  # type: ignore[no-any-return]

    def logical_and(self, left: NativeT, right: NativeT) -> NativeT:
        """Where both are not zero, as bool, element by element."""
        return self._entry.logical_and(left, right)  # type: ignore[no-any-return]

    def stack_arrays(self, arrays: Sequence[NativeT], device: Device) -> NativeT:
        """Arrays of one shape, on `device`, as one array with a new first axis."""
        return self._entry.stack_arrays(arrays, device)  # type: ignore[no-any-return]

    def normalize_planes(self, data: NativeT, dtype: object, scales: Sequence[float | None]) -> NativeT:
        """`data` as `dtype`, each plane along the first axis divided by its scale unless that is None.

        Raises:
            ValueError: There is not one scale per plane.
        """
        return self._entry.normalize_planes(data, dtype, scales)  # type: ignore[no-any-return]

    def scale_dtype(self, data: NativeT, target_dtype: object) -> NativeT:
        """`data` as `target_dtype`; a floating-point array on its way to an integer type is spread over its range."""
        if not hasattr(data, "dtype"):
            return data
        return self._entry.scale_dtype(data, target_dtype)  # type: ignore[no-any-return]


# ----- roles: what a library can be an instance of, known from its manifest -----


class HostDevices(ArrayLibrary[NativeT]):
    """Libraries that keep arrays in main memory."""


class NumpyBufferSharing(HostDevices[NativeT]):
    """Libraries whose arrays in main memory can be the same memory as a NumPy array."""


class AcceleratorDevices(ArrayLibrary[NativeT]):
    """Libraries that can keep arrays on an accelerator."""


class CudaLibrary(AcceleratorDevices[NativeT]):
    """Libraries with CUDA streams of their own and a cache of device memory."""


class DLPackImport(ArrayLibrary[NativeT]):
    """Libraries that can wrap memory that another library offers through DLPack."""


class DLPackProtocolExport(ArrayLibrary[NativeT]):
    """Libraries whose arrays offer their memory through DLPack's methods, on every device."""


class NvidiaWheelLibraries(ArrayLibrary[NativeT]):
    """Libraries that load CUDA from where the `nvidia-*` packages put it."""

    @staticmethod
    def nvidia_wheel_library_paths() -> tuple[str, ...]:
        """The folders with shared objects in the installed `nvidia-*` packages, sorted."""
        from importlib.util import find_spec

        try:
            spec = find_spec("nvidia")
        except (ImportError, ValueError):
            return ()
        found: set[str] = set()
        for root in (spec and spec.submodule_search_locations) or ():
            try:
                packages = [each.path for each in os.scandir(root)]
            except OSError:
                continue
            folders = [os.path.join(package, folder) for package in packages for folder in ("lib", "bin")]
            found.update(filter(os.path.isdir, folders))
        return tuple(sorted(found))

    def extend_child_environment(self, environment: dict[str, str]) -> dict[str, str]:
        """Likewise, with `nvidia_wheel_library_paths` in front of where the child's loader searches."""
        prepared = super().extend_child_environment(environment)
        paths = self.nvidia_wheel_library_paths()
        if paths:
            variable = "PATH" if os.name == "nt" else "LD_LIBRARY_PATH"
            known = [path for path in prepared.get(variable, "").split(os.pathsep) if path]
            prepared[variable] = os.pathsep.join(dict.fromkeys([*paths, *known]))
        return prepared


class InPlaceAssignment(ArrayLibrary[NativeT]):
    """Libraries whose arrays take `array[index] = values`."""


class ArrayMath(ArrayLibrary[NativeT]):
    """Libraries that can make arrays without having one already, on their default device."""

    def linspace(self, start: float, stop: float, num: int, *, endpoint: bool) -> NativeT:
        """`num` evenly spaced values from `start` on, the last one `stop` if `endpoint`, else a step before it."""
        return self._entry.linspace(start, stop, num, endpoint)  # type: ignore[no-any-return]

    def ones(self, shape: int | tuple[int, ...], dtype: object) -> NativeT:
        """Ones of `shape` and `dtype`."""
        return self._entry.ones(shape, dtype)  # type: ignore[no-any-return]

    def outer(self, left: NativeT, right: NativeT) -> NativeT:
        """The products of each element of one vector with each of another: [M] and [N] give [M, N]."""
        return self._entry.outer(left, right)  # type: ignore[no-any-return]

    def floor(self, value: float) -> NativeT:
        """The largest integer not above `value`, without axes, in the library's default floating-point type."""
        return self._entry.floor(value)  # type: ignore[no-any-return]


class NumpyArrayApi(ArrayMath[NativeT]):
    """Libraries whose functions and arrays are called as NumPy's are."""


class MutableArrays(NumpyArrayApi[NativeT], InPlaceAssignment[NativeT]):
    """Those of them whose arrays can be changed in place."""


# ----- the class of each library -----

_ROLES: dict[str, type[ArrayLibrary[Any]]] = {
    role.__name__: role
    for role in (
        HostDevices,
        NumpyBufferSharing,
        AcceleratorDevices,
        CudaLibrary,
        DLPackImport,
        DLPackProtocolExport,
        NvidiaWheelLibraries,
        InPlaceAssignment,
        ArrayMath,
        NumpyArrayApi,
        MutableArrays,
    )
}
_OPERATIONS = (
    "max",
    "min",
    "mean",
    "sum",
    "astype",
    "reshape",
    "broadcast_to",
    "ones_like",
    "prepend_axis",
    "assign",
    "logical_and",
    "stack_arrays",
    "normalize_planes",
    "scale_dtype",
    "linspace",
    "ones",
    "outer",
    "floor",
)
_classes: dict[str, type[ArrayLibrary[Any]]] = {}
_instances: dict[str, ArrayLibrary[Any]] = {}


class _Absent:
    """Takes the place of an inherited operation that the library does not have."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> object:
        raise AttributeError(f"{owner.__name__} has no {self._name}")


def _class_of(entry: _arraybridge.Entry) -> type[ArrayLibrary[Any]]:
    """The class of a library. Threads that race for the first use make one each and the first one stays."""
    made = _classes.get(entry.name)
    return made if made is not None else _classes.setdefault(entry.name, _make_class(entry))


def _make_class(entry: _arraybridge.Entry) -> type[ArrayLibrary[Any]]:
    name = _class_name(entry.name)
    import_name = entry.import_module or entry.name
    namespace: dict[str, object] = {
        "__module__": __name__,
        "__doc__": f"{entry.display_name}, as its manifest describes it: {entry.path}",
        "_entry": entry,
        "name": entry.name,
        "display_name": entry.display_name,
        "import_name": import_name,
        "module_aliases": tuple([each for each in entry.array_modules if each != import_name]),
        "import_environment": entry.environment,
        "oom_messages": entry.oom_messages,
        "oom_exception_paths": tuple([tuple(path.split(".")) for path in entry.oom_exceptions]),
        "array_class": array_class_of(entry.name, f"{name}.Array"),
    }
    parents = _parents_of(entry)
    namespace.update({each: _Absent() for each in _OPERATIONS if each not in entry.operations})
    made: Any = LibraryClass(name, parents, namespace)
    return made  # type: ignore[no-any-return]


def _class_name(library_name: str) -> str:
    """ "torch" gives "TorchLibrary", "my-arrays" gives "MyArraysLibrary"."""
    return "".join([part.capitalize() for part in library_name.replace("-", "_").split("_")]) + "Library"


def _parents_of(entry: _arraybridge.Entry) -> tuple[type[ArrayLibrary[Any]], ...]:
    """The roles of a manifest without those that another one of them implies. Roles of later versions are skipped."""
    roles = [_ROLES[name] for name in dict.fromkeys(entry.roles) if name in _ROLES]
    parents = [role for role in roles if not any(issubclass(other, role) for other in roles if other is not role)]
    return tuple(parents) or (ArrayLibrary,)


def _entry_named(name: str) -> _arraybridge.Entry:
    if isinstance(name, str):
        try:
            return _arraybridge.entry(name)
        except ValueError:
            pass
    known = sorted([each.name for each in _arraybridge.every_entry()])
    raise ValueError(f"'{name}' is not a registered array library. Available: {known}")


def _kind_of(device: Device) -> str:
    if isinstance(device, HostDevice):
        return "host"
    return "accelerator" if isinstance(device, AcceleratorDevice) else "named"


def __getattr__(name: str) -> type[ArrayLibrary[Any]]:
    if name.endswith("Library") and not name.startswith("_"):
        for entry in _arraybridge.every_entry():
            if _class_name(entry.name) == name:
                return _class_of(entry)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *[library.__name__ for library in ArrayLibrary.__registry__.values()]})
