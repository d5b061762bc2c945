"""Plugins that are wrong, each in its way: all else works, the reason is listed, and asking for them raises."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("torch")


def fixtures() -> Path:
    """The folder of the fixture plugins, which the build makes."""
    if folder := os.environ.get("ARRAYBRIDGE_TEST_FIXTURES"):
        return Path(folder)
    if build := os.environ.get("ARRAYBRIDGE_BUILD_DIR"):
        return Path(build) / "tests" / "fixtures"
    pytest.fail(
        "ARRAYBRIDGE_TEST_FIXTURES has to name the folder of the fixture plugins, tests/fixtures in the build folder"
    )


PREAMBLE = """
import json, sys
import numpy as np
import arraybridge
from arraybridge import HOST, ArrayLibrary, MemoryConversionError, convert, convert_memory, explain
from arraybridge import _arraybridge

def numpy_works():
    array = np.arange(6.0)
    assert convert(array, "numpy") is array
    assert convert(array, "numpy", copy=True).sum() == 15
    assert [library.name for library in ArrayLibrary.all()][0] == "numpy"

def all_else_works():
    numpy_works()
    array = np.arange(6.0).reshape(2, 3)
    tensor = convert_memory(array, "numpy", "torch", HOST)
    assert convert(tensor, "numpy").ctypes.data == array.ctypes.data
    assert ArrayLibrary.named("numpy").is_installed() and ArrayLibrary.named("torch").is_installed()
    assert arraybridge.detect_memory_type(tensor) == "torch"

def raised(call):
    try:
        return ["nothing", repr(call())]
    except BaseException as error:
        kinds = [base.__name__ for each in (error, error.__cause__) if each for base in type(each).__mro__]
        return [" ".join(kinds), str(error)]
"""


def run(code: str, *names: str, **environment: str) -> str:
    folder = fixtures()
    for name in names:
        if not (folder / name).is_dir():
            pytest.fail(f"the fixture plugin {name} is not in {folder}: build the tests")
    path = os.pathsep.join(str(folder / name) for name in names)
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE + textwrap.dedent(code)],
        env={**os.environ, "ARRAYBRIDGE_PLUGIN_PATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


@dataclass(frozen=True)
class Fault:
    """One way to be wrong: what is raised, what the reason says, and whether the manifest already tells."""

    reason: str
    raises: str = "ImportError"
    listed_before_use: bool = False
    listed_after_use: bool = True


FAULTS = {
    "bad_json": Fault("4:", listed_before_use=True),
    "wrong_schema": Fault("alignment", listed_before_use=True),
    "newer_schema": Fault("schema_version", listed_before_use=True),
    "outside": Fault("shared_object", listed_before_use=True),
    "outside_link": Fault("symbolic link", listed_before_use=True),
    "missing_object": Fault("libarraybridge_missing_object.so"),
    "not_an_object": Fault("libarraybridge_not_an_object.so"),
    "undefined_symbol": Fault("undefined symbol"),
    "no_entry_symbol": Fault("symbol"),
    "null_descriptor": Fault("descriptor"),
    "other_abi": Fault("2.0"),
    "newer_abi": Fault("1.999"),
    "other_stamp": Fault("itanium-libstdc++-cxx98-64"),
    "needs_python": Fault(""),
    "descriptor_abi": Fault("2."),
    "descriptor_stamp": Fault("itanium-libstdc++-cxx98-64"),
    "descriptor_name": Fault("somebody_else"),
    "descriptor_runtime": Fault("cpython-311"),
    "descriptor_core": Fault("core"),
    "descriptor_throw": Fault("throw"),
    "factory_throws": Fault("no luck today"),
    "factory_throws_int": Fault("", raises="Exception"),
    "factory_not_installed": Fault("nowhere is not installed", raises="ModuleNotFoundError", listed_after_use=False),
}


def broken_here(name: str) -> bool:
    # This one is right for the interpreter it was made for.
    return name != "needs_python" or sys.version_info[:2] != (3, 11)


@pytest.fixture(scope="module")
def told_by_one_process() -> dict[str, dict[str, list]]:
    """For every fault, all of them on one path: what asking raises, and what is listed before and after."""
    code = f"""
    names = {list(FAULTS)!r}
    all_else_works()

    def listed(name):
        return [[each.reason, each.path, each.shadowed] for each in _arraybridge.problems() if each.name == name]

    told = {{}}
    array = np.ones(3, np.float32)
    for name in names:
        before = listed(name)
        ways = [raised(lambda: convert(array, name)), raised(lambda: convert_memory(array, name, "torch", HOST)),
                raised(lambda: convert_memory(array, "numpy", name, HOST)), raised(lambda: explain(array, name).error),
                raised(lambda: ArrayLibrary.named(name)._entry.load()), raised(lambda: convert(array, name))]
        told[name] = {{"before": before, "ways": ways, "after": listed(name)}}
        all_else_works()
    assert convert(array, "good", copy=True).shape == (3,)
    print(json.dumps(told))
    """
    return json.loads(run(code, *FAULTS, "good"))


@pytest.fixture(scope="module")
def told_by_the_command_line() -> dict[str, list]:
    path = os.pathsep.join(str(fixtures() / name) for name in FAULTS)
    done = subprocess.run(
        [sys.executable, "-m", "arraybridge", "--json"],
        env={**os.environ, "ARRAYBRIDGE_PLUGIN_PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", FAULTS)
def test_asking_for_it_raises_its_reason(name: str, told_by_one_process: dict[str, dict[str, list]]) -> None:
    if not broken_here(name):
        pytest.skip("this plugin is right for this interpreter")
    fault = FAULTS[name]
    by_convert, *_, explained, loading, again = ways = told_by_one_process[name]["ways"]
    for kinds, text in ways:
        if kinds != "nothing":
            assert fault.reason in text, text
    assert [by_convert[0], loading[0], again[0]].count("nothing") == 0
    assert fault.raises in loading[0].split()
    assert again == by_convert
    assert explained[0] == "nothing" or fault.raises in explained[0].split()
    assert fault.reason in explained[1]


@pytest.mark.parametrize("name", FAULTS)
def test_it_is_listed_with_its_reason(name: str, told_by_one_process: dict[str, dict[str, list]]) -> None:
    if not broken_here(name):
        pytest.skip("this plugin is right for this interpreter")
    fault = FAULTS[name]
    told = told_by_one_process[name]
    assert len(told["before"]) == fault.listed_before_use
    assert len(told["after"]) == fault.listed_after_use
    for reason, path, shadowed in told["after"]:
        assert fault.reason in reason
        assert reason
        assert Path(path).is_relative_to(fixtures() / name)
        assert not shadowed


@pytest.mark.parametrize("name", FAULTS)
def test_the_command_line_lists_it(name: str, told_by_the_command_line: dict[str, list]) -> None:
    if not broken_here(name):
        pytest.skip("this plugin is right for this interpreter")
    fault = FAULTS[name]
    problems = [each for each in told_by_the_command_line["problems"] if each["name"] == name]
    libraries = [each for each in told_by_the_command_line["libraries"] if each["name"] == name]
    texts = [each["reason"] for each in problems] + [each["error"] + each["install"] for each in libraries]
    assert any(fault.reason in text for text in texts), texts
    assert len(libraries) == (0 if fault.listed_before_use else 1)
    if libraries:
        # What says that it is not installed is not broken.
        assert libraries[0]["state"] == ("not installed" if name == "factory_not_installed" else "broken")
    usual = {each["name"]: each["state"] for each in told_by_the_command_line["libraries"]}
    assert (usual["numpy"], usual["torch"]) == ("ready", "ready")


@pytest.mark.parametrize("name", ["bad_json", "undefined_symbol", "factory_throws"])
def test_alone_on_the_path(name: str) -> None:
    told = run(f"print(*raised(lambda: convert(np.ones(3), {name!r}))); numpy_works()", name)
    assert FAULTS[name].raises in told
    assert FAULTS[name].reason in told


def test_a_library_that_throws_from_every_function() -> None:
    told = run(
        """
        array = np.ones(3, np.float32)
        print(raised(lambda: convert_memory(array, "numpy", "throws", HOST)))
        print(raised(lambda: convert(array, "throws", copy=True)))
        print(raised(lambda: ArrayLibrary.named("throws")._entry.devices()))
        print(raised(lambda: convert(array, "throws", device=arraybridge.AcceleratorDevice(0))))
        print(len(_arraybridge.problems()))
        import gc, weakref
        seen = weakref.ref(array)
        del array
        gc.collect()
        assert seen() is None
        numpy_works()
        """,
        "throws",
    )
    first, second, devices, device, problems = told.splitlines()
    for each in (first, second):
        assert "MemoryConversionError" in each and "always throws" in each
    assert "RuntimeError" in devices and "devices always throws" in devices
    assert "always throws" in device
    assert problems == "0"


def test_the_second_manifest_of_a_name_is_shadowed() -> None:
    told = run(
        """
        (problem,) = [each for each in _arraybridge.problems() if each.name == "name_clash"]
        print(problem.shadowed, problem.path)
        print(ArrayLibrary.named("name_clash").name)
        numpy_works()
        """,
        "name_clash",
    )
    shadowed, name = told.splitlines()[0], told.splitlines()[-1]
    assert shadowed.startswith("True ") and "name_clash_again" in shadowed
    assert name == "name_clash"


def test_a_plugin_cannot_take_the_place_of_one_of_ours_by_accident(tmp_path: Path) -> None:
    # The path comes first: who puts a "numpy" there means it, and the other one is listed as shadowed.
    (tmp_path / "numpy").mkdir()
    text = json.loads((fixtures() / "missing_object" / "missing_object" / "manifest.json").read_text())
    (tmp_path / "numpy" / "manifest.json").write_text(json.dumps({**text, "name": "numpy"}))
    told = run(
        """
        print(raised(lambda: convert_memory(np.ones(3), "numpy", "numpy", HOST, copy=True)))
        print([each.path for each in _arraybridge.problems() if each.shadowed])
        """,
        ARRAYBRIDGE_PLUGIN_PATH=str(tmp_path),
    )
    assert "ImportError" in told and "missing_object" in told


def test_paths_that_lead_nowhere() -> None:
    elements = [
        "",
        "/nowhere/at/all",
        "/dev/null",
        ".",
        "relative/path",
        "\x01",
        "x" * 5000,
        "",
        str(fixtures() / "good"),
    ]
    code = "numpy_works(); _arraybridge.problems(); print(convert(np.ones(3), 'good').shape)"
    assert run(code, ARRAYBRIDGE_PLUGIN_PATH=os.pathsep.join(elements)) == "(3,)\n"


def test_what_is_disabled_is_not_there() -> None:
    told = run(
        """
        print(raised(lambda: convert(np.ones(3), "factory_throws")))
        print([each.name for each in _arraybridge.problems()])
        numpy_works()
        """,
        "bad_json",
        "factory_throws",
        ARRAYBRIDGE_DISABLE="factory_*, bad_*",
    )
    assert "ValueError" in told and "factory_throws" in told.splitlines()[0]
    assert told.splitlines()[1] == "[]"


# ----- a good one, of C++ alone -----


def test_arrays_of_a_library_without_python() -> None:
    run(
        """
        import gc, weakref, torch
        array = np.arange(12, dtype=np.float32).reshape(3, 4)
        good = convert_memory(array, "numpy", "good", HOST)
        assert type(good).__name__ == "ForeignArray"
        assert (tuple(good.shape), good.dtype) == ((3, 4), "float32")
        assert "good" in repr(good)
        again = convert_memory(good, "good", "numpy", HOST)
        tensor = convert_memory(good, "good", "torch", HOST)
        assert again.ctypes.data == tensor.data_ptr() == array.ctypes.data
        array[0, 0] = 100
        assert again[0, 0] == tensor[0, 0] == 100
        for told, source in ((explain(good, "numpy"), good), (explain(array, "good"), array)):
            assert told.mechanism == "shared host buffer" and told.nbytes == 48, told
        assert explain(good, "torch").mechanism == "dlpack"
        assert explain(tensor, "good").mechanism == "dlpack"
        assert convert(good, "good") is good or convert(good, "good").shape == good.shape
        seen = weakref.ref(array)
        address = array.ctypes.data
        del array, good, again
        gc.collect()
        assert seen() is not None and tensor.data_ptr() == address and tensor.sum() == 166
        del tensor, told, source
        gc.collect()
        assert seen() is None
        """,
        "good",
    )


def test_layouts_that_such_a_library_lacks_are_copied() -> None:
    run(
        """
        import torch
        array = np.arange(12, dtype=np.float32).reshape(3, 4)
        for source in (array.T, array[::-1], array[:, ::2], np.broadcast_to(array, (2, 3, 4)), array.astype(">f4"),
                       torch.ones(3, 4).T, torch.ones(2, dtype=torch.complex64).conj(), np.float32(3), np.array(2.0),
                       np.ones((0, 3)), torch.ones(4, dtype=torch.bfloat16)[::2]):
            for copy in (None, True):
                good = convert(source, "good", copy=copy)
                told = explain(source, "good", copy=copy)
                assert tuple(good.shape) == tuple(source.shape)
                name = str(source.dtype).replace("torch.", "").replace(">f4", "float32")
                assert good.dtype == name, (good.dtype, name)
                back = convert(good, "numpy")
                expected = source.to(torch.complex64).resolve_conj() if isinstance(source, torch.Tensor) else source
                assert np.array_equal(back.astype(np.complex64), np.asarray(expected).astype(np.complex64))
        assert raised(lambda: convert(array.T, "good", copy=False))[0].startswith("ConversionBufferError")
        """,
        "good",
    )


def test_a_read_only_array_through_such_a_library_stays_read_only() -> None:
    run(
        """
        array = np.arange(4.0)
        array.flags.writeable = False
        good = convert(array, "good", copy=False)
        again = convert(good, "numpy")
        assert again.ctypes.data == array.ctypes.data and not again.flags.writeable
        tensor = convert(good, "torch")
        assert tensor.data_ptr() != array.ctypes.data
        tensor[0] = 5
        assert array[0] == 0
        assert "read-only" in raised(lambda: convert(good, "torch", copy=False))[1]
        try:
            legacy = good.__dlpack__()
        except BufferError:
            pass
        else:
            raise AssertionError("a legacy capsule cannot say that memory is read-only")
        assert not np.from_dlpack(good).flags.writeable
        """,
        "good",
    )


def test_such_an_array_speaks_dlpack() -> None:
    run(
        """
        import gc, weakref, torch
        array = np.arange(4.0)
        good = convert(array, "good")
        assert good.__dlpack_device__() == (1, 0)
        for capsule in (good.__dlpack__(), good.__dlpack__(max_version=(1, 0)), good.__dlpack__(stream=None)):
            del capsule
        assert torch.from_dlpack(good).data_ptr() == np.from_dlpack(good).ctypes.data == array.ctypes.data
        seen = weakref.ref(array)
        del array, good
        gc.collect()
        assert seen() is None
        """,
        "good",
    )


def test_what_consumers_ask_of_dlpack() -> None:
    run(
        """
        good = convert(np.arange(4.0), "good")
        for keywords in ({}, {"copy": False}, {"copy": None}, {"dl_device": (1, 0)}, {"stream": None},
                         {"max_version": None}, {"max_version": (0, 8)}, {"max_version": (1, 3)}):
            assert "capsule object" in raised(lambda: good.__dlpack__(**keywords))[1], keywords
        for keywords in ({"dl_device": (2, 0)}, {"dl_device": (1, 0, 0)}, {"nonsense": 1}):
            assert "Error" in raised(lambda: good.__dlpack__(**keywords))[0], keywords
        """,
        "good",
    )


def test_a_copy_by_dlpack_is_a_copy() -> None:
    run(
        """
        array = np.arange(4.0)
        good = convert(array, "good")
        copied = np.from_dlpack(good, copy=True)
        assert copied.ctypes.data != array.ctypes.data
        """,
        "good",
    )


def test_objects_that_are_no_arrays_of_it() -> None:
    told = run(
        """
        good = convert(np.ones(3), "good")
        for call in (lambda: convert_memory(np.ones(3), "good", "numpy", HOST),
                     lambda: convert_memory(None, "good", "torch", HOST),
                     lambda: convert_memory(good, "numpy", "torch", HOST),
                     lambda: convert_memory(good, "torch", "numpy", HOST),
                     lambda: type(good)(),
                     lambda: convert(np.ones(3, "longdouble"), "good")):
            print(raised(call))
        """,
        "good",
    )
    lines = told.splitlines()
    assert all("MemoryConversionError" in line for line in lines[:4])
    assert [name in line for name, line in zip(("ndarray", "NoneType", "ForeignArray"), lines, strict=False)] == [
        True
    ] * 3
    assert "TypeError" in lines[4]
    assert "float128" in lines[5]


def test_a_missing_ndarray_type_of_another_library_in_one_process(tmp_path: Path) -> None:
    # Arrays of two libraries of C++ alone are of one Python type; each knows its own.
    told = run(
        """
        good = convert(np.ones(3, np.float32), "good")
        print(raised(lambda: convert_memory(good, "throws", "numpy", HOST)))
        """,
        "good",
        "throws",
    )
    assert "MemoryConversionError" in told and "ForeignArray" in told


def test_one_python_type_stands_for_the_arrays_of_two_libraries() -> None:
    run(
        """
        array = np.ones((2, 3), np.float32)
        good = convert_memory(array, "numpy", "good", HOST)
        strict = convert_memory(array, "numpy", "strict", HOST)
        assert type(good) is type(strict)
        good_array, strict_array = (ArrayLibrary.named(name).array_class for name in ("good", "strict"))
        for _ in range(2):
            assert isinstance(good, good_array) and isinstance(strict, strict_array)
            assert not isinstance(good, strict_array) and not isinstance(strict, good_array)
        """,
        "good",
        "strict",
    )
