"""Pictures of matrices: a confusion matrix, the difference of two, and a sweep over two parameters."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import UsageError
from harness.report.plots.canvas import WIDTH, picture
from harness.report.text import safe

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# With more classes, a cell has no room for a number.
MOST_CLASSES = 15
LONGEST_LABEL = 12
REFUSED = "refused"


def plot_confusion(labels: Sequence[str], matrix: Sequence[Sequence[int]], path: Path, *, title: str = "") -> None:
    """Shades are shares of a row, so that rare classes are visible too; numbers are counts."""
    sums = [sum(row) or 1 for row in matrix]
    shares = [[count / total for count in row] for row, total in zip(matrix, sums, strict=True)]
    _plot_matrix(labels, matrix, shares, path, title, signed=False)


def plot_difference(labels: Sequence[str], matrix: Sequence[Sequence[int]], path: Path, *, title: str = "") -> None:
    """Blue for more of an answer, red for fewer, which the colour-blind can distinguish; the numbers are signed."""
    largest = max((abs(count) for row in matrix for count in row), default=0) or 1
    _plot_matrix(labels, matrix, [[count / largest for count in row] for row in matrix], path, title, signed=True)


def _plot_matrix(
    labels: Sequence[str],
    matrix: Sequence[Sequence[int]],
    shades: Sequence[Sequence[float]],
    path: Path,
    title: str,
    *,
    signed: bool,
) -> None:
    width = WIDTH if len(labels) <= MOST_CLASSES else 2 * WIDTH
    with picture(path, width=width, height=width * 0.92) as (_, sheet):
        limits = {"vmin": -1.0, "vmax": 1.0, "cmap": "RdBu"} if signed else {"vmin": 0.0, "vmax": 1.0, "cmap": "Blues"}
        sheet.imshow(shades, aspect="equal", interpolation="nearest", **limits)  # type: ignore[arg-type]
        sheet.grid(visible=False)
        _label_classes(sheet, labels)
        if len(labels) <= MOST_CLASSES:
            _write_counts(sheet, matrix, shades, signed=signed)
        # Refusals are not a class: a line separates them from the answers.
        sheet.axvline(len(labels) - 0.5, color="black", linewidth=0.6)
        if title:
            sheet.set_title(safe(title), fontsize=8)


def _label_classes(sheet: "Axes", labels: Sequence[str]) -> None:
    step = max(1, len(labels) // 60)
    shown = [safe(label)[:LONGEST_LABEL] for label in labels]
    places = list(range(0, len(labels), step))
    turned = 0 if max(map(len, shown)) <= 3 and len(labels) <= MOST_CLASSES else 90
    sheet.set_xticks([*places, len(labels)], [*(shown[i] for i in places), REFUSED], rotation=turned)
    sheet.set_yticks(places, [shown[i] for i in places])
    if not turned:
        sheet.get_xticklabels()[-1].set_rotation(90)
    sheet.set(xlabel="answer", ylabel="truth")
    sheet.tick_params(length=0)


def _write_counts(
    sheet: "Axes", matrix: Sequence[Sequence[int]], shades: Sequence[Sequence[float]], *, signed: bool
) -> None:
    size = 7.0 if len(matrix) <= 10 else 5.5
    for i, row in enumerate(matrix):
        for j, count in enumerate(row):
            if count:
                colour = "white" if abs(shades[i][j]) > 0.6 else "black"
                text = f"{count:+d}" if signed else f"{count}"
                sheet.text(j, i, text, ha="center", va="center", color=colour, fontsize=size)


MOST_NUMBERS = 8
MOST_TICKS = 12


def plot_sweep(rows: Sequence[Mapping[str, Any]], x: str, y: str, path: Path, *, value: str = "rate") -> None:
    """Draw the rows of a sweep's JSON over two of its parameters; the best cell has a frame."""
    cells = _cells(rows, x, y, value)
    across, down = _ordered(key[0] for key in cells), _ordered(key[1] for key in cells)
    grid = [[cells.get((a, b), float("nan")) for a in across] for b in down]
    height = min(1.6 * WIDTH, max(0.45 * WIDTH, WIDTH * len(down) / max(len(across), 1) * 0.8))
    with picture(path, height=height) as (figure, sheet):
        image = sheet.imshow(grid, aspect="auto", origin="lower", cmap="cividis", interpolation="nearest")
        sheet.grid(visible=False)
        sheet.set_xticks(*_ticks(across))
        sheet.set_yticks(*_ticks(down))
        sheet.set(xlabel=safe(x), ylabel=safe(y))
        if len(across) <= MOST_NUMBERS and len(down) <= 2 * MOST_NUMBERS:
            _write_values(sheet, grid)
        column, row = _best(grid)
        _frame(sheet, column, row)
        bar = figure.colorbar(image, ax=sheet, label=safe(value), fraction=0.05, pad=0.02)
        bar.outline.set_linewidth(0.6)


def _cells(rows: Sequence[Mapping[str, Any]], x: str, y: str, value: str) -> dict[tuple[Any, Any], float]:
    """One number for each pair of values: the best of the rows that have them."""
    cells: dict[tuple[Any, Any], float] = {}
    for row in rows:
        params = row["params"]
        missing = [name for name in (x, y) if name not in params]
        if missing:
            raise UsageError(f"--plot: the sweep has no parameter '{missing[0]}'")
        key = params[x], params[y]
        cells[key] = max(float(row[value]), cells.get(key, float("-inf")))
    if not cells:
        raise UsageError("--plot: the sweep has no rows to draw")
    return cells


def _ordered(values: Any) -> list[Any]:
    """Numbers by size, texts by name, false before true."""
    return sorted(set(values), key=lambda one: (isinstance(one, str), one))


def _ticks(values: Sequence[Any]) -> tuple[list[int], list[str]]:
    step = next(10**k * n for k in range(9) for n in (1, 2, 5) if len(values) <= MOST_TICKS * 10**k * n)
    places = list(range(0, len(values), step))
    return places, [f"{v:g}" if isinstance(v := values[i], float) else safe(str(v))[:10] for i in places]


def _best(grid: Sequence[Sequence[float]]) -> tuple[int, int]:
    known = [(value, -j, -i) for j, row in enumerate(grid) for i, value in enumerate(row) if value == value]
    _, row, column = max(known)
    return -column, -row


def _write_values(sheet: Any, grid: Sequence[Sequence[float]]) -> None:
    known = [value for row in grid for value in row if value == value]
    low, span = min(known), (max(known) - min(known)) or 1.0
    for j, row in enumerate(grid):
        for i, value in enumerate(row):
            if value == value:
                colour = "white" if (value - low) / span < 0.5 else "black"
                sheet.text(i, j, f"{value:.3g}", ha="center", va="center", fontsize=6, color=colour)


def _frame(sheet: Any, column: int, row: int) -> None:
    from matplotlib.patches import Rectangle

    corner = (column - 0.5, row - 0.5)
    sheet.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="#D55E00", linewidth=1.4, clip_on=False))
