"""Pictures of matrices: a confusion matrix, the difference of two, and a sweep over two parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.options import PictureOptions
from harness.report.plots.canvas import Picture, axes_inches
from harness.report.plots.style import BACKGROUND, COLOURS, INK, SMALL, WIDTH
from harness.report.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage


# With more classes, a cell has no room for a number.
MAX_CLASSES = 15
MAX_LABEL_LENGTH = 12
# Inches that a class needs for its count, and the margins; inches of a digit and of a line.
CELL, MARGINS = 0.22, 1.05
DIGIT, LINE = 0.062, 0.105
# The share of given axes that a colour bar leaves for the cells.
BAR_LEAVES = 0.85
REFUSED = "refused"
# Of a cell, where there is room for it.
LOWER_NUMBER = " (lower number)"


def plot_confusion(
    labels: Sequence[str],
    matrix: Sequence[Sequence[int]],
    options: PictureOptions | None = None,
    ax: "Axes | None" = None,
    *,
    name: str = "",
) -> Picture:
    """Shades are shares of a row, so that rare classes are visible too; a cell has its count and its share."""
    sums = [sum(row) or 1 for row in matrix]
    shares = [[count / total for count in row] for row, total in zip(matrix, sums, strict=True)]
    counts = [[f"{count}" if count else "" for count in row] for row in matrix]
    percentages = [
        ["" if not share else f"{100 * share:.0f}" if share >= 0.01 else "<1" for share in row] for row in shares
    ]
    scale = HeatScale("Blues", 0.0, 1.0, f"share of the row{LOWER_NUMBER}, %")
    return _plot_matrix(labels, [counts, percentages], shares, scale, name, options, ax)


def plot_difference(
    labels: Sequence[str],
    matrix: Sequence[Sequence[int]],
    options: PictureOptions | None = None,
    ax: "Axes | None" = None,
    *,
    name: str = "",
) -> Picture:
    """Blue for more of an answer, red for fewer, which the colour-blind can distinguish; the numbers are signed."""
    largest = max((abs(count) for row in matrix for count in row), default=0) or 1
    texts = [[f"{count:+d}" if count else "" for count in row] for row in matrix]
    shades = [[float(count) for count in row] for row in matrix]
    scale = HeatScale("RdBu", -largest, largest, "difference of counts")
    return _plot_matrix(labels, [texts], shades, scale, name, options, ax)


@dataclass(frozen=True)
class HeatScale:
    """Colours from the lowest number to the highest, and what they show."""

    colours: str
    low: float
    high: float
    words: str


def _plot_matrix(
    labels: Sequence[str],
    texts: Sequence[Sequence[Sequence[str]]],
    shades: Sequence[Sequence[float]],
    scale: HeatScale,
    name: str,
    options: PictureOptions | None,
    ax: "Axes | None",
) -> Picture:
    """Cells are square; those that are large enough have all texts, else the first, else none."""
    width = max(WIDTH, min(2 * WIDTH, MARGINS + CELL * (len(labels) + 1)))
    width = options.width if options is not None and options.width is not None else width
    cell = (width - MARGINS) / (len(labels) + 1)
    height = max(1.8, MARGINS + 0.2 * bool(name) + cell * len(labels))
    with Picture(options, ax, width=width, height=height) as picture:
        picture.scales = ""
        axes = picture.axes
        image = axes.imshow(
            shades, aspect="equal", interpolation="nearest", vmin=scale.low, vmax=scale.high, cmap=scale.colours
        )
        axes.grid(visible=False)
        _label_classes(picture, labels)
        if ax is not None:
            cell = min(_cell_inches(axes, image))
        lines = _fitting(texts, cell)
        joined = [
            ["\n".join(filter(None, cells)) for cells in zip(*rows, strict=True)] for rows in zip(*lines, strict=True)
        ]
        _write_texts(axes, joined, [[abs(value) > 0.6 * scale.high for value in row] for row in shades])
        # Refusals are not a class: a line separates them from the answers.
        axes.axvline(len(labels) - 0.5, color=INK, linewidth=0.6)
        if name:
            axes.set_title(picture.name(name, 60))
        words = scale.words if len(lines) == len(texts) else scale.words.replace(LOWER_NUMBER, "")
        _bar(picture, image, words, percent="%" in words)
    return picture


def _cell_inches(axes: "Axes", image: "AxesImage") -> tuple[float, float]:
    """The width and the height of a cell in axes that are given, once they have a colour bar beside them."""
    axes.apply_aspect()
    (rows, columns), (width, height) = image.get_size(), axes_inches(axes)
    return width * BAR_LEAVES / columns, height * BAR_LEAVES / rows


def _bar(picture: Picture, image: "AxesImage", words: str, *, percent: bool = False) -> None:
    axes, label = picture.axes, picture.name(words, 40)
    if not picture.in_given_axes:
        bar = axes.figure.colorbar(image, ax=axes, label=label, fraction=0.045, pad=0.02)
    elif axes.figure.get_layout_engine() is not None:
        # As high as the cells, however the axes are shaped; the layout makes room for it.
        bar = axes.figure.colorbar(image, cax=axes.inset_axes((1.03, 0.0, 0.045, 1.0)), label=label)
    else:
        # The axes themselves make room, with what stands beside the bar.
        whole = axes.get_position(original=True).height
        bar = axes.figure.colorbar(image, ax=axes, label=label, shrink=axes.get_position().height / whole)
    bar.outline.set_linewidth(0.6)
    if percent:
        bar.ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}")


def _label_classes(picture: Picture, labels: Sequence[str]) -> None:
    axes, step = picture.axes, max(1, len(labels) // 60)
    shown = [picture.name(label, MAX_LABEL_LENGTH) for label in labels]
    indices = list(range(0, len(labels), step))
    turned = 0 if max(map(len, shown), default=0) <= 3 and len(labels) <= MAX_CLASSES else 90
    refused = picture.name(REFUSED)
    axes.set_xticks([*indices, len(labels)], [*(shown[i] for i in indices), refused], rotation=turned)
    axes.set_yticks(indices, [shown[i] for i in indices])
    if not turned:
        axes.get_xticklabels()[-1].set_rotation(90)
    axes.set(xlabel=picture.name("answer"), ylabel=picture.name("truth"))
    axes.tick_params(length=0)


def _fitting(texts: Sequence[Sequence[Sequence[str]]], cell: float) -> Sequence[Sequence[Sequence[str]]]:
    """The texts, a line of each cell after the other, that a cell of so many inches has room for."""
    for lines in range(len(texts), 0, -1):
        longest = max((len(text) for part in texts[:lines] for row in part for text in row), default=0)
        if cell >= DIGIT * longest + 0.02 and cell >= LINE * lines:
            return texts[:lines]
    return []


def _write_texts(axes: "Axes", texts: Sequence[Sequence[str]], dark: Sequence[Sequence[bool]]) -> None:
    for i, row in enumerate(texts):
        for j, text in enumerate(row):
            if text:
                letters = BACKGROUND if dark[i][j] else INK
                axes.text(j, i, text, ha="center", va="center", color=letters, fontsize=SMALL, linespacing=0.95)


MAX_NUMBERS = 8
# Letters of a number in a cell.
MAX_VALUE_LENGTH = 6
MAX_TICKS = 12


def draw_grid(
    picture: Picture,
    grid: Sequence[Sequence[float]],
    values: tuple[Sequence[Any], Sequence[Any]],
    words: str,
    *,
    larger: bool,
) -> None:
    """Numbers over two parameters, whose values are given; the best cell has a frame."""
    from matplotlib.patches import Rectangle

    picture.scales = ""
    axes, (across, down) = picture.axes, values
    image = axes.imshow(
        grid, aspect="auto", origin="lower", cmap="cividis" if larger else "cividis_r", interpolation="nearest"
    )
    axes.grid(visible=False)
    axes.set_xticks(*_ticks(across))
    axes.set_yticks(*_ticks(down))
    wide_enough = not picture.in_given_axes or _cell_inches(axes, image)[0] >= DIGIT * MAX_VALUE_LENGTH
    if len(across) <= MAX_NUMBERS and len(down) <= 2 * MAX_NUMBERS and wide_enough:
        known = [value for row in grid for value in row if value == value]
        low, span = min(known), (max(known) - min(known)) or 1.0
        texts = [[f"{value:.3g}" if value == value else "" for value in row] for row in grid]
        _write_texts(axes, texts, [[((value - low) / span < 0.5) == larger for value in row] for row in grid])
    sign = 1.0 if larger else -1.0
    ranked = [(sign * value, -j, -i) for j, row in enumerate(grid) for i, value in enumerate(row) if value == value]
    _, best_row, best_column = max(ranked)
    corner = (-best_column - 0.5, -best_row - 0.5)
    axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=COLOURS[1], linewidth=1.4, clip_on=False))
    _bar(picture, image, words)


def _ticks(values: Sequence[Any]) -> tuple[list[int], list[str]]:
    step = next(10**k * n for k in range(9) for n in (1, 2, 5) if len(values) <= MAX_TICKS * 10**k * n)
    indices = list(range(0, len(values), step))
    words = value_words(values)
    return indices, [words[i] for i in indices]


def value_words(values: Sequence[Any]) -> list[str]:
    """The values of a parameter on an axis, different ones in different words."""
    words = [f"{value:g}" if isinstance(value, float) else shortened(str(value), 10) for value in values]
    return words if len(set(words)) == len(words) else [shortened(str(value), 10) for value in values]
