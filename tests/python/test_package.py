"""What the first import brings in, and what the package says it has."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import arraybridge

# Each of these costs milliseconds, or is an array library.
STANDARD = {
    "enum",
    "typing",
    "dataclasses",
    "functools",
    "contextlib",
    "re",
    "json",
    "pathlib",
    "inspect",
    "logging",
    "importlib.metadata",
    "collections.abc",
}
FRAMEWORKS = {"numpy", "torch", "jax", "tensorflow", "cupy", "pyclesperanto"}


def modules_after(statement: str) -> set[str]:
    code = f"import sys; before = set(sys.modules); {statement}; print('\\n'.join(set(sys.modules) - before))"
    # Without site-packages' .pth files, some of which import half of the standard library.
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_the_first_import_is_light() -> None:
    brought_in = modules_after("from arraybridge import convert_memory, HOST, ArrayLibrary")
    assert brought_in.isdisjoint(STANDARD | FRAMEWORKS)
    assert "arraybridge.libraries" in brought_in


def test_importing_the_package_imports_nothing_of_it() -> None:
    assert {name for name in modules_after("import arraybridge") if name.startswith("arraybridge.")} == set()


def test_looking_at_the_libraries_imports_none() -> None:
    statement = (
        "from arraybridge import ArrayLibrary, MemoryType, ConversionRoute, HOST; from arraybridge.libraries import *; "
        "a = [(each.is_installed(), each.host_devices(), isinstance(each, DLPackImport)) "
        "for each in ArrayLibrary.all()];"
        "b = [each.library for each in MemoryType]; c = ConversionRoute.planned(b[0], HOST, b[1], HOST)"
    )
    assert modules_after(statement).isdisjoint(FRAMEWORKS)


def test_every_exported_name_is_there() -> None:
    for name in arraybridge.__all__:
        assert getattr(arraybridge, name) is not None
        assert name in dir(arraybridge)
    namespace: dict[str, object] = {}
    exec("from arraybridge import *", namespace)
    assert set(arraybridge.__all__) <= set(namespace)


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        arraybridge.no_such_name  # noqa: B018
    with pytest.raises(ImportError):
        from arraybridge import no_such_name  # noqa: F401


def test_version() -> None:
    assert arraybridge.__version__ == "0.6.0"


def test_a_module_of_its_own_for_each_name() -> None:
    from arraybridge.arrays import Array
    from arraybridge.conversion import ConversionCounters
    from arraybridge.converters import convert_memory, detect_memory_type
    from arraybridge.libraries import Array as ArrayOfLibraries
    from arraybridge.libraries import ArrayLibrary
    from arraybridge.types import MemoryType

    assert arraybridge.Array is Array is ArrayOfLibraries
    assert arraybridge.ConversionCounters is ConversionCounters
    assert arraybridge.convert_memory is convert_memory
    assert arraybridge.detect_memory_type is detect_memory_type
    assert arraybridge.ArrayLibrary is ArrayLibrary
    assert arraybridge.MemoryType is MemoryType


def test_typed() -> None:
    import importlib.resources

    assert importlib.resources.files(arraybridge).joinpath("py.typed").is_file()


def test_json_is_not_needed_to_convert() -> None:
    code = (
        "import sys, numpy; sys.modules['json'] = sys.modules['logging'] = None; import arraybridge as a; "
        "print(a.convert_memory(numpy.ones(3), 'numpy', 'numpy', a.HOST, copy=True))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.split() == ["[1.", "1.", "1.]"], run.stderr
    assert json.dumps(arraybridge.__all__)
