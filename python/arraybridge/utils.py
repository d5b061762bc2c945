"""Small functions that code written for earlier versions imports from here."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

__all__ = ["optional_import"]


def optional_import(module_name: str) -> ModuleType | None:
    """The module, or None if it, or a package around it, is not installed.

    Raises:
        ModuleNotFoundError: It is there and what it imports is missing.
    """
    try:
        return import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module_name == missing or module_name.startswith(missing + "."):
            return None
        raise


def _ensure_module(module_name: str) -> ModuleType:
    """The module. ImportError, which says that it is required, if it cannot be imported."""
    try:
        return import_module(module_name)
    except ImportError:
        raise ImportError(f"Module {module_name} is required for this operation but is not installed") from None


def _supports_cuda_array_interface(obj: object) -> bool:
    """Whether `obj` describes its memory by the CUDA array interface."""
    return hasattr(obj, "__cuda_array_interface__")


def _supports_dlpack(obj: object) -> bool:
    """Whether `obj` has a method that exports it through DLPack, of whichever age."""
    return any(callable(getattr(obj, method, None)) for method in ("__dlpack__", "to_dlpack", "toDlpack"))
