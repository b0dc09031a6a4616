"""What a page of a report is made of, before it is drawn: sections with sentences, tables, charts and cases.

A section is made once and drawn as HTML or Markdown; the pages of a site can take single sections. The blocks of all
other reports (`harness.report.blocks`) are parts too, so that sentences and tables are the ones that commands print.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.report.blocks import Block, Heading, Paragraphs, Table
from harness.report.chart import Chart, widened
from harness.stats.estimate import Estimate
from harness.stats.rates import Interval


@dataclass(frozen=True)
class KeyFigure:
    """A number that a reader should see first, and what it is."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class KeyFigures:
    """A few of them, in a row."""

    figures: Sequence[KeyFigure]


@dataclass(frozen=True)
class Verdicts:
    """What was found about each pair: a sentence, and more about it."""

    pairs: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Facts:
    """Names and values, such as parameters."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Bar:
    """A value with its limits; both are the value if there is no interval."""

    value: float
    low: float
    high: float

    @staticmethod
    def of(value: float | None, interval: Interval | None) -> "Bar | None":
        """None if there is no value to draw."""
        if value is None or not math.isfinite(value):
            return None
        if interval is None or not (math.isfinite(interval.low) and math.isfinite(interval.high)):
            return Bar(value, value, value)
        return Bar(value, interval.low, interval.high)

    @staticmethod
    def of_estimate(estimate: Estimate | None) -> "Bar | None":
        return None if estimate is None else Bar.of(estimate.value, estimate.interval)


@dataclass(frozen=True)
class BarColumn:
    """A bar for each row of a table, or several, one for each of the `names`."""

    title: str
    rows: Sequence[Sequence[Bar | None]]
    names: Sequence[str] = ("",)
    # Where the scale must reach, and where a line stands across all rows.
    bounds: tuple[float, float] | None = None
    zero: float | None = None

    @property
    def limits(self) -> tuple[float, float]:
        """The scale that all bars fit on."""
        bars = [bar for row in self.rows for bar in row if bar is not None]
        ends = [end for bar in bars for end in (bar.low, bar.high)]
        ends += [] if self.zero is None else [self.zero]
        return self.bounds or widened(ends)


@dataclass(frozen=True)
class DataTable:
    """A table with a caption; perhaps with a column of bars, or with its cells shaded.

    `data` is what can be downloaded, if that is not the table itself.
    """

    caption: str
    table: Table
    bars: BarColumn | None = None
    # From 0 to 1 for each cell after the first of each row.
    shades: Sequence[Sequence[float]] | None = None
    data: Table | None = None


@dataclass(frozen=True)
class CaseAnswer:
    """What a run answered to a case, and whether that was right; `outcome` may be a share of several answers."""

    run: str
    outcome: str
    answer: str
    right: bool


@dataclass(frozen=True)
class CaseCard:
    """A case: its input as a picture (a PNG) or as text, what was to be found, and what was answered."""

    id: str
    claim: str
    answers: Sequence[CaseAnswer]
    picture: bytes | None = None
    text: str = ""


@dataclass(frozen=True)
class CaseCards:
    """Some cases side by side."""

    caption: str
    cards: Sequence[CaseCard]


@dataclass(frozen=True)
class CommandLines:
    """What to type in a shell."""

    lines: Sequence[str]


@dataclass(frozen=True)
class Folded:
    """What a reader may open: it supports what is above it."""

    summary: str
    parts: "Sequence[Part]"


Part = Heading | Paragraphs | KeyFigures | Verdicts | Facts | DataTable | Chart | CaseCards | CommandLines | Folded


@dataclass(frozen=True)
class ReportSection:
    """A part of a page with a heading; `key` is its address within the page."""

    key: str
    title: str
    parts: Sequence[Part]


@dataclass(frozen=True)
class ReportPage:
    """A whole page: what stands first, and the sections below it."""

    title: str
    # What kind of page it is, above the title, and what it is about, below it.
    kind: str
    about: str
    lead: Sequence[Part]
    sections: Sequence[ReportSection]
    # The last line: which program made it, and when.
    colophon: str


def parts_of(blocks: Iterable[Block], *captions: str) -> list[Part]:
    """The blocks of another report; a table has the heading above it as its caption, else the next that is given."""
    parts: list[Part] = []
    heading, others = "", iter(captions)
    for block in blocks:
        if isinstance(block, Table):
            parts.append(DataTable(heading or next(others), block))
        else:
            parts.append(block)
        heading = block.text if isinstance(block, Heading) else ""
    return parts
