"""The benchmarks run, and what they write has the form that it should have. Times are nobody's business here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RUN = Path(__file__).parents[2] / "benchmarks" / "run.py"
NAMES = ("conversions", "manifests", "size_independence")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(RUN), *arguments], capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """What a quick run printed, and what it wrote."""
    file = tmp_path_factory.mktemp("figures") / "figures.json"
    finished = run("--quick", "--json", str(file), *NAMES)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout, json.loads(file.read_text(encoding="utf-8"))


def test_says_where_it_was_measured(measured: tuple[str, dict[str, Any]]) -> None:
    printed, written = measured
    for name in ("processor", "python", "arraybridge", "numpy", "torch"):
        assert written["machine"][name]
        assert f"{name}: {written['machine'][name]}" in printed
    assert written["quick"] is True


def test_every_figure_has_a_number_and_a_verdict(measured: tuple[str, dict[str, Any]]) -> None:
    _, written = measured
    assert {figure["benchmark"] for figure in written["figures"]} == set(NAMES)
    for figure in written["figures"]:
        assert isinstance(figure["measured"], float)
        assert figure["unit"] and figure["detail"]
        assert figure["verdict"] in ({"no target"} if figure["target"] is None else {"met", "missed"})


def test_targets_stand_beside_their_figures(measured: tuple[str, dict[str, Any]]) -> None:
    printed, written = measured
    targets = {(each["benchmark"], each["name"]): each["target"] for each in written["figures"]}
    assert targets["conversions", "numpy -> torch"] == {"bound": "at most", "value": 0.75}
    assert targets["conversions", "torch -> numpy"] == {"bound": "at most", "value": 0.55}
    assert targets["manifests", "1,000 manifests"] == {"bound": "at most", "value": 50.0}
    assert "target at most 0.75: " in printed


def test_a_verdict_is_on_the_right_side_of_its_target() -> None:
    code = (
        "from figures import at_least, at_most; "
        "print(*[target.verdict(2.0) for target in (at_most(1), at_most(2), at_least(2), at_least(3))])"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code], cwd=RUN.parent, capture_output=True, text=True, check=True, timeout=60
    )
    assert finished.stdout.split() == ["missed", "met", "met", "missed"]


def test_an_unknown_name_is_an_error_that_lists_the_names() -> None:
    finished = run("convresions")
    assert finished.returncode == 2
    assert "convresions" in finished.stderr and "previous_release" in finished.stderr
