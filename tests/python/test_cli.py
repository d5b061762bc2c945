"""python -m arraybridge."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from arraybridge._cli import inventory, tables
from arraybridge._cli.arguments import main


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "arraybridge", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    status = main([*arguments, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_as_a_command() -> None:
    told = run("--no-load", NO_COLOR="1")
    assert "NumPy" in told.stdout
    assert "\x1b" not in told.stdout
    assert told.stderr == ""
    assert told.returncode == 0
    assert run("--no-such-option").returncode == 2
    assert "Exit status" in run("--help").stdout


def test_inventory_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    import numpy

    status, told = as_json(capsys)
    assert status == 0
    assert told["arraybridge"]["version"] == "0.6.0"
    assert told["arraybridge"]["abi"]
    (found,) = [each for each in told["libraries"] if each["name"] == "numpy"]
    assert found["display_name"] == "NumPy"
    assert found["state"] == "ready"
    assert found["version"] == numpy.__version__
    assert found["devices"] == ["host"]
    assert found["error"] == ""
    assert Path(found["manifest"]).is_file()
    assert Path(found["shared_object"]).is_file()
    assert isinstance(told["problems"], list)


def test_without_loading_devices_are_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    _, told = as_json(capsys, "--no-load")
    assert all(each["devices"] == [] for each in told["libraries"])
    assert {each["state"] for each in told["libraries"]} <= {"installed", "not installed", "too old"}


@pytest.mark.parametrize("failure", [RuntimeError("it broke"), SystemExit("it broke"), ImportError("it broke")])
def test_a_broken_library_does_not_hide_the_others(
    failure: BaseException, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(name: str) -> None:
        if name == "torch":
            raise failure
        return named(name)

    named = inventory.ArrayLibrary.named
    monkeypatch.setattr(inventory.ArrayLibrary, "named", fails)
    status, told = as_json(capsys)
    states = {each["name"]: (each["state"], each["error"]) for each in told["libraries"]}
    assert status == 1
    assert states["torch"] == ("broken", f"{type(failure).__name__}: it broke")
    assert states["numpy"] == ("ready", "")
    assert main([]) == 1
    assert "PyTorch is broken" in capsys.readouterr().out


def test_problems_are_listed(tmp_path: Path) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "manifest.json").write_text("{")
    told = run("--no-load", "--json", ARRAYBRIDGE_PLUGIN_PATH=str(tmp_path / "bad"))
    assert told.returncode == 1
    (problem,) = [each for each in json.loads(told.stdout)["problems"] if each["name"] == "bad"]
    assert not problem["shadowed"]
    assert problem["reason"]
    assert problem["path"].startswith(str(tmp_path))


@pytest.mark.parametrize(
    ("version", "minimum", "older"),
    [
        ("1.9", "1.10", True),
        ("2.13.0+cpu", "2.1", False),
        ("2.1", "2.1", False),
        ("0.4.0rc1", "0.4.1", True),
        (None, "2.1", False),
        ("1.0", "", False),
    ],
)
def test_versions_are_compared_by_their_numbers(version: str | None, minimum: str, older: bool) -> None:
    assert inventory._is_older(version, minimum) is older


def test_routes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("torch")
    output = tmp_path / "routes.svg"
    arguments = ("routes", "--shape", "4x4", "--repeat", "1")
    status, told = as_json(capsys, *arguments, "--output", str(output))
    assert status == 0
    pairs = {(each["source"], each["target"]): each for each in told["pairs"]}
    pair = pairs["numpy host", "torch host"]
    assert (pair["route"], pair["shared"], pair["copied_nbytes"], pair["error"]) == ("shared host buffer", True, 0, "")
    assert pair["microseconds"] > 0
    assert "shared host buffer" in output.read_text() or output.stat().st_size > 0
    assert main([*arguments, "--no-picture"]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[0].split("  ")[0] == "from"
    assert "shared host buffer" in printed


def test_routes_without_matplotlib(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "arraybridge._cli.picture", raising=False)
    monkeypatch.chdir(tmp_path)
    arguments = ["routes", "--shape", "2x2", "--repeat", "1"]
    assert main(arguments) == 0
    assert "matplotlib is not installed" in capsys.readouterr().err
    assert main([*arguments, "--output", "asked-for.png"]) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [("--shape", "3x-1"), ("--shape", "large"), ("--repeat", "0")])
def test_wrong_calls(wrong: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["routes", *wrong])
    assert caught.value.code == 2
    assert wrong[1] in capsys.readouterr().err


def test_an_unknown_dtype(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["routes", "--dtype", "float7"]) == 2
    assert "float7" in capsys.readouterr().err


def test_plain_tables(capsys: pytest.CaptureFixture[str]) -> None:
    tables.print_table(("name", "size"), [("a", "1"), ("long name", "1,000")], numbers=("size",))
    assert capsys.readouterr().out == "name        size\na              1\nlong name  1,000\n"


def test_tables_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    tables.print_table(("name", "state"), [("numpy", "ready")])
    printed = capsys.readouterr().out
    assert "numpy" in printed and "│" in printed
    assert "\x1b[3" not in printed  # no colour
    monkeypatch.setitem(sys.modules, "rich.console", None)
    tables.print_table(("name", "state"), [("numpy", "ready")])
    assert capsys.readouterr().out == "name   state\nnumpy  ready\n"


def test_a_reader_that_has_seen_enough() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "arraybridge", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    told = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), told) == (1, "")
