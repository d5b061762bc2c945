"""A process that converts when asked: one of each environment is kept alive, so that they can be timed in turn.

It also runs under release 0.5.2, and so uses only what both have. Started as a program it answers one line of JSON for
each line of JSON that it reads: `["pairs"]`, `["loops", source, target, seconds]`, `["time", source, target, loops]`,
`["observe", "counters" or "nobody"]`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import permutations
from pathlib import Path
from types import TracebackType
from typing import Any

from timing import Effort, loops_for

Pair = tuple[str, str]
# How each library makes a 4x4 float32 array of zeros.
MAKERS = {
    "numpy": lambda: import_module("numpy").zeros((4, 4), "float32"),
    "torch": lambda: import_module("torch").zeros(4, 4),
    "jax": lambda: import_module("jax.numpy").zeros((4, 4), "float32"),
    "tensorflow": lambda: import_module("tensorflow").zeros((4, 4)),
}


def environment_of(python: str) -> dict[str, str]:
    """The environment variables for an interpreter: another one must not find what this one's path leads to."""
    hidden = () if python == sys.executable else ("PYTHONPATH", "PYTHONHOME")
    return {name: value for name, value in os.environ.items() if name not in hidden}


class Worker:
    """The asking side."""

    def __init__(self, python: str) -> None:
        self._process = subprocess.Popen(
            [python, __file__],
            env=environment_of(python),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._process.communicate()

    def _ask(self, *question: object) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the worker {self._process.args!r} ended with {self._process.wait()}")
        return json.loads(answer)

    def pairs(self) -> list[Pair]:
        """The pairs of libraries between which it can convert."""
        return [(source, target) for source, target in self._ask("pairs")]

    def loops(self, pair: Pair, seconds: float) -> int:
        """How many conversions take that long."""
        loops: int = self._ask("loops", *pair, seconds)
        return loops

    def time(self, pair: Pair, loops: int) -> float:
        """Seconds per conversion."""
        seconds: float = self._ask("time", *pair, loops)
        return seconds

    def observe(self, observer: str) -> None:
        """Installs "counters", or "nobody" again."""
        self._ask("observe", observer)


def rounds_of(worker: Worker, pair: Pair, effort: Effort) -> Callable[[], float]:
    """A function that times one round. Rounds last as long for every worker, so a slower one converts less often."""
    return partial(worker.time, pair, worker.loops(pair, effort.round_seconds))


class Answers:
    """The answering side."""

    def __init__(self) -> None:
        from arraybridge import HOST, convert_memory

        self._names: dict[str, Any] = {"convert_memory": convert_memory, "HOST": HOST}

    def _timer(self, source: str, target: str) -> Any:
        from timeit import Timer

        array = MAKERS[source]()
        statement = f"convert_memory(array, {source!r}, {target!r}, HOST)"
        return Timer(statement, globals={**self._names, "array": array})

    def _can(self, source: str, target: str) -> bool:
        try:
            self._timer(source, target).timeit(1)
        except Exception:
            return False
        return True

    def pairs(self) -> list[Pair]:
        installed = [name for name in MAKERS if find_spec(name) is not None]
        return [pair for pair in permutations(installed, 2) if self._can(*pair)]

    def loops(self, source: str, target: str, seconds: float) -> int:
        return loops_for(self._timer(source, target).timeit, seconds)

    def time(self, source: str, target: str, loops: int) -> float:
        seconds: float = self._timer(source, target).timeit(loops)
        return seconds / loops

    def observe(self, observer: str) -> None:
        from arraybridge.conversion import ConversionCounters, IgnoreConversions

        (ConversionCounters() if observer == "counters" else IgnoreConversions()).install()


def answer_questions() -> None:
    """Until the input ends."""
    answers = Answers()
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(getattr(answers, name)(*arguments)), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    answer_questions()
