"""The extension module: the C++ core as Python sees it. Private; the modules of the package are its public face."""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from types import ModuleType
from typing import Any, Literal, final

from arraybridge.devices import Device

abi: str
"""Version of the binary interface between core and plugins, "1.0"."""
stamp: str
"""C++ ABI stamp of this build."""
runtime: str
"""Python implementation and version that plugins must be built for, "cpython-311"."""
core_path: str
"""The libarraybridge that is loaded."""

def convert_memory(
    data: Any, source_type: Any, target_type: Any, device: Device, *, copy: bool | None = None
) -> Any: ...
def convert(data: Any, to: Any, *, device: Device | None = None, copy: bool | None = None) -> Any: ...
def detect_memory_type(data: object) -> str: ...
def explain(
    data: Any, to: Any, device: Device | None, copy: bool | None
) -> tuple[
    str,  # source library
    Device,  # source device
    str,  # target library
    Device,  # target device
    int,  # bytes of the array's elements
    str | None,  # mechanism that would be taken; None: the conversion would fail
    str,  # why it would fail, or ""
    tuple[tuple[str, str], ...],  # (mechanism, why declined), best first
]: ...

@final
class ForeignArray:
    """An array of a library that is written in C++."""

    shape: tuple[int, ...]
    dtype: str
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

@final
class Entry:
    """One library of the registry. The same object for the same library. Attributes come from the manifest alone."""

    name: str
    display_name: str
    listing: int | None
    source: str  # "plugin path", "own", "package", "user", "program"
    path: str  # of the manifest
    shared_object: str
    import_module: str
    array_modules: tuple[str, ...]
    array_types: tuple[str, ...]
    detected: bool
    distribution: str
    extra: str
    minimum_version: str
    environment: tuple[tuple[str, str], ...]
    device_kinds: tuple[str, ...]  # of "host", "accelerator", "named"
    dlpack_import_from: tuple[str, ...]
    dlpack_export_from: tuple[str, ...]
    mutable_arrays: bool
    dtypes: str  # names separated by ", "
    roles: tuple[str, ...]
    operations: tuple[str, ...]
    oom_messages: tuple[str, ...]
    oom_exceptions: tuple[str, ...]
    manifest_json: str

    @property
    def loaded(self) -> bool:
        """Whether the library was used before."""

    def sharing_with(self, target: Entry) -> Literal["never", "on request", "by default"]:
        """How main memory is shared when this library's arrays go to `target`."""
    # Everything below loads the library: its shared object and its framework.
    def load(self) -> None: ...
    def module(self) -> ModuleType: ...
    def accepts(self, value: object) -> bool: ...
    def devices(self) -> tuple[Device, ...]: ...
    def device_of(self, array: Any) -> Device: ...
    def move_to_device(self, array: Any, device: Device) -> Any: ...
    def convert_to(self, array: Any, target: Entry, device: Device, copy: bool | None) -> Any:
        """The conversion with its bare error, not wrapped in MemoryConversionError."""
    def host_address_of(self, array: Any) -> int | None: ...
    def nbytes_of(self, array: Any) -> int: ...
    def max(self, array: Any, axis: int | Sequence[int] | None = None) -> Any: ...
    def min(self, array: Any, axis: int | Sequence[int] | None = None) -> Any: ...
    def mean(self, array: Any, axis: int | Sequence[int] | None = None) -> Any: ...
    def sum(self, array: Any, axis: int | Sequence[int] | None = None) -> Any: ...
    def astype(self, array: Any, dtype: object) -> Any: ...
    def reshape(self, array: Any, shape: Sequence[int]) -> Any: ...
    def broadcast_to(self, array: Any, shape: Sequence[int]) -> Any: ...
    def ones_like(self, reference: Any, shape: Sequence[int] | None = None, dtype: object = ...) -> Any: ...
    def prepend_axis(self, array: Any) -> Any: ...
    def assign(self, array: Any, index: slice, values: Any) -> Any: ...
    def logical_and(self, left: Any, right: Any) -> Any: ...
    def stack_arrays(self, arrays: Sequence[Any], device: Device) -> Any: ...
    def normalize_planes(self, array: Any, dtype: object, scales: Sequence[float | None]) -> Any: ...
    def scale_dtype(self, array: Any, dtype: object) -> Any: ...
    def linspace(self, start: float, stop: float, count: int, endpoint: bool) -> Any: ...
    def ones(self, shape: int | Sequence[int], dtype: object) -> Any: ...
    def outer(self, left: Any, right: Any) -> Any: ...
    def floor(self, value: float) -> Any: ...

@final
class Problem:
    name: str
    path: str
    reason: str
    shadowed: bool

def entry(name: str) -> Entry:
    """The entry called `name`. ValueError (unknown name, listing the known ones) or ImportError (broken manifest)."""

def all_entries() -> tuple[Entry, ...]:
    """The listed libraries, then those asked for by name so far."""

def every_entry() -> tuple[Entry, ...]:
    """Every entry of every source."""

def problems() -> tuple[Problem, ...]: ...
def generation() -> int:
    """Counts additions to the registry."""

def entry_of(value: object) -> Entry | None:
    """Which library made `value`, by its type. Loads nothing."""

def planned(
    source: Entry, source_device: Device, target: Entry, target_device: Device, copy: bool | None
) -> tuple[str, ...]:
    """The mechanisms that are tried in order."""

def observe(current: ContextVar[Any], record_class: Callable[..., Any]) -> None:
    """From now on every conversion looks up `current` and, if its `wants_records`, hands it a `record_class(...)`.

    Called once, when the first observer is installed; `record_class` takes the fields of ConversionRecord in order.
    """
