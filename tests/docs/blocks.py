"""The code blocks of a Markdown file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Attributes:
        path: Of the file, from the root of the repository.
        line: Where its first line is, counted from 1.
        language: What stands after the fence.
        text: What is inside, without the indentation of the fence.
    """

    path: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


def blocks_of(path: Path) -> list[Block]:
    """Every fenced block of one file, in order."""
    content = path.read_text(encoding="utf-8")
    assert content.count("```") == 2 * len(FENCE.findall(content)), f"{path}: a block without a language"
    return [
        Block(
            str(path.relative_to(ROOT)),
            content.count("\n", 0, match.start(3)) + 1,
            match[2],
            re.sub(rf"^{match[1]}", "", match[3], flags=re.MULTILINE),
        )
        for match in FENCE.finditer(content)
    ]
