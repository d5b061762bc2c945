"""One interface to every array library.

Which arrays are mine, on which device are they, hand this one to that library, and do these operations where the data
is::

    from arraybridge import HOST, convert_memory

    tensor = convert_memory(array, "numpy", "torch", HOST)

Importing the package imports nothing else: a public name is looked up in its module on first use, and an array library,
NumPy included, is imported when one of its arrays is first needed.
"""

from __future__ import annotations

# A constant that type checkers read as true: importing `typing` for it would cost more than the rest of this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from arraybridge._arraybridge import convert as convert
    from arraybridge._arraybridge import convert_memory as convert_memory
    from arraybridge._arraybridge import detect_memory_type as detect_memory_type
    from arraybridge.arrays import Array as Array
    from arraybridge.conversion import ConversionCounters as ConversionCounters
    from arraybridge.conversion import ConversionObserver as ConversionObserver
    from arraybridge.conversion import ConversionRecord as ConversionRecord
    from arraybridge.conversion import ConversionRoute as ConversionRoute
    from arraybridge.devices import HOST as HOST
    from arraybridge.devices import AcceleratorDevice as AcceleratorDevice
    from arraybridge.devices import Device as Device
    from arraybridge.devices import HostDevice as HostDevice
    from arraybridge.devices import NamedDevice as NamedDevice
    from arraybridge.exceptions import MemoryConversionError as MemoryConversionError
    from arraybridge.exceptions import PrecisionWarning as PrecisionWarning
    from arraybridge.explanation import explain as explain
    from arraybridge.libraries import ArrayLibrary as ArrayLibrary
    from arraybridge.types import MemoryContractAttribute as MemoryContractAttribute
    from arraybridge.types import MemoryType as MemoryType
    from arraybridge.utils import _ensure_module as _ensure_module
    from arraybridge.utils import _supports_dlpack as _supports_dlpack

__version__ = "0.6.0"

_MODULE_OF = {
    "MemoryType": "arraybridge.types",
    "ArrayLibrary": "arraybridge.libraries",
    "Array": "arraybridge.arrays",
    "Device": "arraybridge.devices",
    "HostDevice": "arraybridge.devices",
    "AcceleratorDevice": "arraybridge.devices",
    "NamedDevice": "arraybridge.devices",
    "HOST": "arraybridge.devices",
    "ConversionRoute": "arraybridge.conversion",
    "ConversionRecord": "arraybridge.conversion",
    "ConversionObserver": "arraybridge.conversion",
    "ConversionCounters": "arraybridge.conversion",
    "MemoryContractAttribute": "arraybridge.types",
    "convert_memory": "arraybridge._arraybridge",
    "detect_memory_type": "arraybridge._arraybridge",
    "convert": "arraybridge._arraybridge",
    "explain": "arraybridge.explanation",
    "MemoryConversionError": "arraybridge.exceptions",
    "PrecisionWarning": "arraybridge.exceptions",
    "_ensure_module": "arraybridge.utils",
    "_supports_dlpack": "arraybridge.utils",
}


def __getattr__(name: str) -> object:
    if name == "__all__":
        return list(_MODULE_OF)
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(__import__(module, fromlist=(name,)), name)
    globals()[name] = value  # found without this function from now on
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
