"""The picture of a confusion matrix, or of the difference of two."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.report.plots.canvas import WIDTH, picture
from harness.report.text import safe

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Beyond so many classes there is no room for a number in a cell.
MOST_NUMBERS = 15
LONGEST_LABEL = 12
REFUSED = "refused"


def plot_confusion(labels: Sequence[str], matrix: Sequence[Sequence[int]], path: Path, *, title: str = "") -> None:
    """Shades are shares of a row, so that rare classes are seen too; numbers are counts."""
    sums = [sum(row) or 1 for row in matrix]
    shares = [[count / total for count in row] for row, total in zip(matrix, sums, strict=True)]
    _plot(labels, matrix, shares, path, title, signed=False)


def plot_difference(labels: Sequence[str], matrix: Sequence[Sequence[int]], path: Path, *, title: str = "") -> None:
    """More of an answer in blue, fewer in red; both are told apart by everyone, and the sign is in the number."""
    largest = max((abs(count) for row in matrix for count in row), default=0) or 1
    _plot(labels, matrix, [[count / largest for count in row] for row in matrix], path, title, signed=True)


def _plot(
    labels: Sequence[str],
    matrix: Sequence[Sequence[int]],
    shades: Sequence[Sequence[float]],
    path: Path,
    title: str,
    *,
    signed: bool,
) -> None:
    width = WIDTH if len(labels) <= MOST_NUMBERS else 2 * WIDTH
    with picture(path, width=width, height=width * 0.92) as (_, sheet):
        limits = {"vmin": -1.0, "vmax": 1.0, "cmap": "RdBu"} if signed else {"vmin": 0.0, "vmax": 1.0, "cmap": "Blues"}
        sheet.imshow(shades, aspect="equal", interpolation="nearest", **limits)  # type: ignore[arg-type]
        sheet.grid(visible=False)
        _label(sheet, labels)
        if len(labels) <= MOST_NUMBERS:
            _numbers(sheet, matrix, shades, signed=signed)
        # Refusals are not a class: a line parts them from the answers.
        sheet.axvline(len(labels) - 0.5, color="black", linewidth=0.6)
        if title:
            sheet.set_title(safe(title), fontsize=8)


def _label(sheet: "Axes", labels: Sequence[str]) -> None:
    step = max(1, len(labels) // 60)
    shown = [safe(label)[:LONGEST_LABEL] for label in labels]
    places = list(range(0, len(labels), step))
    turned = 0 if max(map(len, shown)) <= 3 and len(labels) <= MOST_NUMBERS else 90
    sheet.set_xticks([*places, len(labels)], [*(shown[i] for i in places), REFUSED], rotation=turned)
    sheet.set_yticks(places, [shown[i] for i in places])
    if not turned:
        sheet.get_xticklabels()[-1].set_rotation(90)
    sheet.set(xlabel="answer", ylabel="truth")
    sheet.tick_params(length=0)


def _numbers(
    sheet: "Axes", matrix: Sequence[Sequence[int]], shades: Sequence[Sequence[float]], *, signed: bool
) -> None:
    size = 7.0 if len(matrix) <= 10 else 5.5
    for i, row in enumerate(matrix):
        for j, count in enumerate(row):
            if count:
                colour = "white" if abs(shades[i][j]) > 0.6 else "black"
                text = f"{count:+d}" if signed else f"{count}"
                sheet.text(j, i, text, ha="center", va="center", color=colour, fontsize=size)
