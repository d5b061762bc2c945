"""The pair table as a picture. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib import colormaps
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from arraybridge._cli.measurement import Pair

NO_CONVERSION = "0.93"  # a light grey


def draw_pairs(labels: Sequence[str], pairs: Sequence[Pair], output: Path) -> None:
    """Writes a picture with a row per source and a column per target; the colour is the time, on a logarithmic scale.

    Args:
        labels: The places, in the order of rows and columns.
        pairs: The conversions between them.
        output: The file; its suffix is the format.

    Raises:
        OSError: The file cannot be written.
        ValueError: There is no such format.
    """
    count = len(labels)
    figure = Figure(figsize=(2.5 + 1.5 * count, 1.5 + 1.0 * count), layout="constrained")
    axes = figure.add_subplot()
    times = [pair.microseconds for pair in pairs if not pair.error] or [1.0]
    norm = LogNorm(max(min(times), 1e-3), max(*times, 1e-2, min(times) * 1.01))
    colours = colormaps["YlGnBu"]
    axes.set_facecolor(NO_CONVERSION)
    for pair in pairs:
        row, column = labels.index(pair.source), labels.index(pair.target)
        shade = "white" if pair.error else colours(norm(pair.microseconds) * 0.8)
        axes.fill([column, column + 1, column + 1, column], [row, row, row + 1, row + 1], color=shade, ec="white", lw=2)
        words = "fails" if pair.error else f"{pair.route}\n{pair.microseconds:,.2f} µs"
        dark = not pair.error and norm(pair.microseconds) > 0.7
        weight = "bold" if pair.shared else "normal"
        axes.text(
            column + 0.5,
            row + 0.5,
            words,
            ha="center",
            va="center",
            fontsize=8,
            weight=weight,
            color="w" if dark else "k",
        )
    ticks = [index + 0.5 for index in range(count)]
    axes.set_xticks(ticks, [label.replace(" ", "\n") for label in labels])
    axes.set_yticks(ticks, [label.replace(" ", "\n") for label in labels])
    axes.set(
        xlim=(0, count), ylim=(count, 0), xlabel="to", ylabel="from", title="Conversions on this machine (bold: shared)"
    )
    axes.tick_params(length=0)
    figure.savefig(output, dpi=150)
