"""Options of pictures, the same for every command that draws one."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from harness.options.declaration import OptionSet, Range, Writes, option
from harness.options.shared import OverwriteOptions

# Inches of a journal's columns: IEEE's, which nearly all others come close to.
COLUMNS = {"1column": 3.5, "2column": 7.16}
WIDTHS = Range(2, 40)
# The options that draw something.
PICTURES = ("plot", "scores", "gnuplot")


def inches(text: str) -> float:
    """The width of a picture: inches, or the columns of a journal."""
    try:
        width = COLUMNS.get(text.strip().lower()) or float(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a width; write inches, such as 3.3, or 1column, or 2column") from None
    if width not in WIDTHS:
        raise ValueError(f"{width:g} inches: a picture is {WIDTHS.low:g} to {WIDTHS.high:g} inches wide")
    return width


@dataclass(frozen=True)
class AxisLimits:
    """Where an axis begins and ends; None for an end that the data decides."""

    low: float | None
    high: float | None

    @classmethod
    def parse(cls, text: str) -> "AxisLimits":
        """LOW,HIGH, of which one may be left out."""
        try:
            low, high = (float(word) if word.strip() else None for word in text.split(","))
        except ValueError:
            raise ValueError(f"'{text}' is not LOW,HIGH, such as 0,0.1; one may be left out, as in 0.5,") from None
        known = [end for end in (low, high) if end is not None]
        if not known or not all(map(math.isfinite, known)) or known != sorted(set(known)):
            raise ValueError(f"'{text}': an axis goes from a number to a larger one, such as 0,0.1")
        return cls(low, high)


def label_words(labels: Mapping[str, str] | Sequence[str]) -> Sequence[str]:
    """Labels as the command line has them: NAME=TEXT each."""
    return [f"{name}={text}" for name, text in labels.items()] if isinstance(labels, Mapping) else labels


def limit_words(ends: tuple[float | None, float | None]) -> "str | AxisLimits":
    """The ends of an axis as the command line has them: LOW,HIGH."""
    return ends if isinstance(ends, AxisLimits) else ",".join("" if end is None else str(end) for end in ends)


class PictureOptions(OptionSet):
    """How a picture looks."""

    title: str | None = option("--title TEXT", "A line above the picture.", default=None, needs=PICTURES)
    label: tuple[str, ...] = option(
        "--label NAME=TEXT",
        "Write TEXT for a name in the picture; may be repeated.",
        default=(),
        from_python=label_words,
        needs=PICTURES,
    )
    width: float | None = option(
        "--width INCHES|1column|2column",
        "How wide the picture is; by default a journal's column, 3.5 inches.",
        default=None,
        parse=inches,
        within=WIDTHS,
        needs=PICTURES,
    )
    xlim: AxisLimits | None = option(
        "--xlim LOW,HIGH",
        "Show this part of the x axis; one end may be left out.",
        default=None,
        parse=AxisLimits.parse,
        from_python=limit_words,
        needs=PICTURES,
    )
    ylim: AxisLimits | None = option(
        "--ylim LOW,HIGH",
        "Show this part of the y axis.",
        default=None,
        parse=AxisLimits.parse,
        from_python=limit_words,
        needs=PICTURES,
    )


class PictureKeywords(TypedDict, total=False):
    """`PictureOptions` as Python gives them, for editors and type checkers."""

    title: str | None
    label: Mapping[str, str] | Sequence[str] | str | None
    width: float | str | None
    xlim: tuple[float | None, float | None] | str | None
    ylim: tuple[float | None, float | None] | str | None


class CurvePictureOptions(PictureOptions):
    """How a picture of curves over a threshold looks."""

    # Which there are depends on the kind of curve.
    axes: str | None = option(default=None)
    zoom: float | None = option(default=None, within=Range(0, 1, high_open=True))


class PlotOptions(PictureOptions, OverwriteOptions):
    """A picture: where it goes, and how it looks."""

    plot: Path | None = option("--plot FILE.svg|png|pdf", "Draw it.", default=None, writes=Writes.FILE)
