"""The picture of a sweep over two parameters: a cell for each pair of values."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.report.plots.canvas import WIDTH, picture
from harness.report.text import safe

MOST_NUMBERS = 8
MOST_TICKS = 12


def heat_map(rows: Sequence[Mapping[str, Any]], x: str, y: str, path: Path, *, value: str = "rate") -> None:
    """Draw the rows of a sweep, as its JSON has them, over two of its parameters; the best cell has a frame."""
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
            _numbers(sheet, grid)
        column, row = _best(grid)
        _frame(sheet, column, row)
        bar = figure.colorbar(image, ax=sheet, label=safe(value), fraction=0.05, pad=0.02)
        bar.outline.set_linewidth(0.6)


def _cells(rows: Sequence[Mapping[str, Any]], x: str, y: str, value: str) -> dict[tuple[Any, Any], float]:
    """One number for each pair of values; of several rows the best, other parameters being what they may."""
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
    """Numbers by size, texts by name, truth values false first."""
    return sorted(set(values), key=lambda one: (isinstance(one, str), one))


def _ticks(values: Sequence[Any]) -> tuple[list[int], list[str]]:
    step = next(10**k * n for k in range(9) for n in (1, 2, 5) if len(values) <= MOST_TICKS * 10**k * n)
    places = list(range(0, len(values), step))
    return places, [f"{v:g}" if isinstance(v := values[i], float) else safe(str(v))[:10] for i in places]


def _best(grid: Sequence[Sequence[float]]) -> tuple[int, int]:
    known = [(value, -j, -i) for j, row in enumerate(grid) for i, value in enumerate(row) if value == value]
    _, row, column = max(known)
    return -column, -row


def _numbers(sheet: Any, grid: Sequence[Sequence[float]]) -> None:
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
