"""A 4x4 float32 array to another library, against the framework's own call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from arrays import names_for_statements
from figures import Figure, Target, at_most
from timing import Effort, Ratio, compare, text_of


@dataclass(frozen=True)
class Comparison:
    """One statement of ours, and those of the frameworks that do the same; the fastest of these counts."""

    name: str
    ours: str
    theirs: tuple[str, ...]
    target: Target | None = None


COMPARISONS = (
    Comparison(
        "numpy -> torch",
        "convert_memory(array, 'numpy', 'torch', HOST)",
        ("torch.from_numpy(array)",),
        at_most(0.75),
    ),
    Comparison(
        "torch -> numpy",
        "convert_memory(tensor, 'torch', 'numpy', HOST)",
        ("tensor.numpy()",),
        at_most(0.55),
    ),
    Comparison("numpy -> torch, convert", "convert(array, 'torch')", ("torch.from_numpy(array)",)),
    Comparison("torch -> numpy, convert", "convert(tensor, 'numpy')", ("tensor.numpy()",)),
    Comparison(
        "numpy -> torch, copy=True",
        "convert_memory(array, 'numpy', 'torch', HOST, copy=True)",
        ("torch.tensor(array)", "torch.from_numpy(array).clone()", "torch.from_numpy(array.copy())"),
    ),
    Comparison(
        "torch -> numpy, copy=True",
        "convert_memory(tensor, 'torch', 'numpy', HOST, copy=True)",
        ("tensor.numpy().copy()", "tensor.clone().numpy()", "np.array(tensor)"),
    ),
    Comparison("numpy -> numpy, copy=True", "convert(array, 'numpy', copy=True)", ("array.copy()",)),
    Comparison("torch -> torch, copy=True", "convert(tensor, 'torch', copy=True)", ("tensor.clone()",)),
)


def measure(effort: Effort) -> Iterator[Figure]:
    """A figure per comparison."""
    names = names_for_statements((4, 4))
    for comparison in COMPARISONS:
        ours, *theirs = compare((comparison.ours, *comparison.theirs), names, effort)
        best = min(range(len(theirs)), key=lambda i: theirs[i].median)
        ratio = Ratio.of(ours, theirs[best])
        statement = comparison.theirs[best]
        yield Figure(
            comparison.name,
            ratio.median,
            ratio.minimum,
            f"of {statement}",
            comparison.target,
            f"{text_of(ours.median)} against {text_of(theirs[best].median)}",
        )
