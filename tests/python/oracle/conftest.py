"""The release whose answers are the measure, in an environment of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

VERSION = "0.5.2"
HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def oracle_python() -> str:
    """An interpreter that has arraybridge 0.5.2, NumPy and PyTorch; fails, and does not skip, if there is none."""
    default = HERE.parents[2] / ".venv-oracle" / "bin" / "python"
    python = os.environ.get("ARRAYBRIDGE_ORACLE_PYTHON", str(default))
    how = (
        f"These tests compare with arraybridge {VERSION}. Make an environment at the root of the repository with "
        "`python3 -m venv .venv-oracle` and "
        f"`.venv-oracle/bin/pip install arraybridge=={VERSION} numpy torch`, "
        "or put the path of the python of another one into ARRAYBRIDGE_ORACLE_PYTHON."
    )
    question = "import importlib.metadata, numpy, torch; print(importlib.metadata.version('arraybridge'))"
    try:
        answer = subprocess.run(
            [python, "-c", question], capture_output=True, text=True, env=environment(), check=False
        )
    except OSError as error:
        pytest.fail(f"{python} cannot be run ({error.strerror}). {how}", pytrace=False)
    if answer.stdout.strip() != VERSION:
        found = answer.stdout.strip() or (answer.stderr.strip().splitlines() or ["nothing"])[-1]
        pytest.fail(f"{python} answers {found!r}. {how}", pytrace=False)
    return python


def environment() -> dict[str, str]:
    """This process's environment without what would lead the oracle to the package under test."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


@pytest.fixture(scope="session")
def oracle_environment() -> dict[str, str]:
    return environment()
