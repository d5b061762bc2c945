"""Every operation gives what arraybridge 0.5.2 gives: values, dtype, type, shared memory, or the same kind of error."""

from __future__ import annotations

import pickle
import re
import subprocess
from pathlib import Path

import numpy as np
import operation_cases
import pytest
import torch
from operation_cases import FLOATS, Outcome

OPERATIONS = (
    *operation_cases.REDUCTIONS,
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

Outcomes = dict[tuple[str, str], Outcome]

# Where the package under test answers otherwise on purpose: library, operation, and the cases as a regular expression.
# Each such case has to differ, so that none outlives its reason here.
DIFFERENCES: tuple[tuple[str, str, str], ...] = (
    # A tuple of one axis is that axis, which NumPy lets a number without axes have. The oracle raises AxisError.
    *(("numpy", name, r"(\w+\(\)|scalar), axis=\(0,\)") for name in ("max", "min", "sum")),
    # A number is a shape of one axis, as it is for `ones`. The oracle raises TypeError.
    *((library, name, r".* to 6") for library in ("numpy", "torch") for name in ("reshape", "broadcast_to")),
    # The result is in the library's default floating-point type. The oracle keeps an integer, or fails.
    *((library, "floor", "2|True") for library in ("numpy", "torch")),
    # The library's own dtypes are understood. The oracle raises TypeError.
    ("torch", "scale_dtype", r".* to torch\.\w+"),
    # Computed in float32, because float16 does not reach the limits of these dtypes. The oracle raises RuntimeError.
    ("torch", "scale_dtype", r"float16\((5,|2, 3|2, 3, 4)\) to ('(uint16|uint32|int32)'|<class 'numpy\.uint16'>)"),
    ("torch", "scale_dtype", r"(unit|negative|tiny) float16 to (uint16|uint32|int32)"),
)


def is_known_difference(library: str, operation: str, label: str) -> bool:
    return any((library, operation) == known[:2] and re.fullmatch(known[2], label) is not None for known in DIFFERENCES)


@pytest.fixture(scope="session")
def expected(
    oracle_python: str, oracle_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Outcomes]:
    results = tmp_path_factory.mktemp("oracle") / "outcomes.pickle"
    command = [oracle_python, operation_cases.__file__, str(results)]
    done = subprocess.run(command, capture_output=True, text=True, env=oracle_environment, check=False)
    assert done.returncode == 0, done.stderr
    found = pickle.loads(Path(results).read_bytes())
    return {
        library: {key: Outcome(**fields) for key, fields in outcomes.items()} for library, outcomes in found.items()
    }


@pytest.fixture(scope="session")
def actual() -> dict[str, Outcomes]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the order of a sum depends on it
    try:
        return {library: operation_cases.outcomes(library) for library in ("numpy", "torch")}
    finally:
        torch.set_num_threads(threads)


def difference(ours: Outcome, theirs: Outcome) -> str:
    """In words; empty if there is none. The texts of errors are ours."""
    if ours.error != theirs.error:
        return f"{in_short(ours)} instead of {in_short(theirs)}"
    if theirs.error:
        return ""
    for field in ("type", "dtype", "is_input", "shares_input", "warnings"):
        if getattr(ours, field) != getattr(theirs, field):
            return f"{field} {getattr(ours, field)!r} instead of {getattr(theirs, field)!r}"
    if ours.values.shape != theirs.values.shape:
        return f"shape {ours.values.shape} instead of {theirs.values.shape}"
    if ours.values.tobytes() != theirs.values.tobytes() and not nearly_equal(ours.values, theirs.values, theirs.dtype):
        return f"{ours.values!r} instead of {theirs.values!r}"
    return ""


def in_short(outcome: Outcome) -> str:
    return f"{outcome.error}: {outcome.message.partition(chr(10))[0]}" if outcome.error else repr(outcome.values)


def nearly_equal(ours: np.ndarray, theirs: np.ndarray, dtype: str) -> bool:
    """Floating-point numbers may differ in their last bits between two releases of a framework."""
    if theirs.dtype.kind not in "fc":
        return bool(np.array_equal(ours, theirs))
    step = float(np.finfo(dtype).eps) if dtype in FLOATS else 1e-7
    return bool(np.allclose(ours, theirs, rtol=4 * step, atol=0, equal_nan=True))


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_same_outcomes(
    library: str, operation: str, expected: dict[str, Outcomes], actual: dict[str, Outcomes]
) -> None:
    theirs = {label: each for (name, label), each in expected[library].items() if name == operation}
    ours = {label: each for (name, label), each in actual[library].items() if name == operation}
    assert theirs.keys() == ours.keys()
    assert theirs
    found = {label: difference(ours[label], each) for label, each in theirs.items()}
    wrong = [
        f"{label}: {words or 'no difference any more'}"
        for label, words in found.items()
        if bool(words) != is_known_difference(library, operation, label)
    ]
    assert not wrong, f"{len(wrong)} of {len(found)} cases:\n" + "\n".join(wrong[:20])
