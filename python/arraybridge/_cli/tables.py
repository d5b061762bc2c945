"""Tables for people: with rich on a terminal, else plain text in columns."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str] = ()) -> None:
    """Writes a table to standard output.

    Args:
        heads: What is above each column.
        rows: The cells.
        numbers: The heads of the columns that are aligned to the right.
    """
    if sys.stdout.isatty() and _print_with_rich(heads, rows, numbers):
        return
    # No box, no colour, no cut-off lines: what is read by a pager, a file or grep.
    lines = [tuple(heads), *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    for line in lines:
        cells = [
            cell.rjust(width) if head in numbers else cell.ljust(width)
            for cell, width, head in zip(line, widths, heads, strict=True)
        ]
        print("  ".join(cells).rstrip())


def _print_with_rich(heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str]) -> bool:
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    table = Table(header_style="bold")
    for head in heads:
        table.add_column(head, justify="right" if head in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*[Text(cell, _STYLES.get(cell, "")) for cell in row])
    Console().print(table)  # leaves colours out by itself where NO_COLOR is set
    return True


_STYLES = {
    "ready": "green",
    "yes": "green",
    "broken": "red",
    "too old": "red",
    "unusable": "red",
    "fails": "red",
    "not installed": "dim",
    "hidden": "dim",
}
