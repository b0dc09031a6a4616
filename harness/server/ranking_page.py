"""The page of a test: its ranking, how to run it, its curves, facts and files; and the ranking as data."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import msgspec
from markupsafe import Markup

from harness.report.blocks import Cell, Table
from harness.report.chart import round_ticks
from harness.report.counts import TALLY
from harness.report.formats import Format, json_lines, render
from harness.server.ranking import MAX_CHOSEN, Ranking, affordable, best_first, header_of, rank
from harness.server.render import PageSite, markdown_html, param_text, render_page, script_summary, shortened
from harness.server.state import SiteState, transcripts_of
from harness.server.transcript_pages import MAX_CURVES, curves_html
from harness.site.catalogue import SiteTest
from harness.site.layout import TranscriptEntry

MAX_LISTED = 500
MAX_FILES = 200
MAX_INTERFACES = 20
MAX_PARAMS_LENGTH = 60
# By which column a ranking can be sorted; the first is the default.
ORDERS = ("rank", "name", "date")
# What is behind the page of a test, for programs: its type and format.
PAGE_DATA = {
    "ranking.csv": ("text/csv; charset=utf-8", Format.CSV),
    "ranking.json": ("application/json", Format.JSON),
}
# Intervals are bars on a line of so many units, with a margin at both ends.
PLOT_WIDTH = 200.0
PLOT_MARGIN = 6.0
# The axis is at most so many times as long as the distance from the best limit to the median of the lower ones.
MAX_AXIS = 4.0
MAX_TICKS = 5


@dataclass(frozen=True)
class IntervalPlot:
    """A bar on a line of 200 units; `cut` if it lies below the axis, in part or as a whole."""

    low: str
    value: str | None
    high: str | None
    cut: bool


@dataclass(frozen=True)
class Tick:
    """A mark on the axis."""

    x: str
    text: str


@dataclass(frozen=True)
class IntervalAxis:
    """Values between two ends on a line of 200 units."""

    low: float
    high: float

    def x(self, value: float) -> float:
        """Where a value is; outside of the line if it is beyond the ends."""
        return PLOT_MARGIN + (value - self.low) / ((self.high - self.low) or 1.0) * (PLOT_WIDTH - 2 * PLOT_MARGIN)

    def plot(self, low: float, value: float, high: float) -> IntervalPlot:
        shown = [f"{self.x(end):.1f}" if end >= self.low else None for end in (low, value, high)]
        return IntervalPlot(shown[0] or f"{PLOT_MARGIN / 2:.1f}", shown[1], shown[2], cut=low < self.low)

    @property
    def ticks(self) -> list[Tick]:
        """Round values, as on the scales of reports."""
        return [Tick(f"{self.x(tick):.1f}", f"{tick:g}") for tick in round_ticks(self.low, self.high, MAX_TICKS)]


def interval_axis(intervals: Sequence[tuple[float, float]]) -> IntervalAxis:
    """An axis for these intervals, from the best down; what lies far below the others is cut off."""
    lows, high = [low for low, _ in intervals], max(high for _, high in intervals)
    length = max(high - median(lows), 1e-9)
    return IntervalAxis(max(min(lows), high - MAX_AXIS * length), high)


@dataclass(frozen=True)
class RankingRow:
    """A line of a ranking; without rank and interval if the run could not be measured."""

    entry: TranscriptEntry
    value: float
    params: str
    code: str
    paper: str
    baseline: bool
    rank: int | None = None
    letters: str = ""
    low: float | None = None
    high: float | None = None
    plot: IntervalPlot | None = None


@dataclass(frozen=True)
class RankingTable:
    """All lines of a ranking, the best first, and what their intervals say."""

    rows: list[RankingRow]
    ranking: Ranking | None
    axis: IntervalAxis | None

    @property
    def measure(self) -> str:
        if self.ranking is not None:
            return self.ranking.measure
        return next((row.entry.ranked_by.measure for row in self.rows), "")


def make_ranking_table(state: SiteState, entries: Sequence[TranscriptEntry], baseline: str) -> RankingTable:
    """All that can be measured, the best first, and the others below them."""
    ranking = rank(state, entries)
    rows: list[RankingRow] = []
    axis = None
    if ranking is not None:
        axis = interval_axis([(row.low, row.high) for row in ranking.rows])
        for number, row in enumerate(ranking.rows, start=1):
            ranked = {"rank": number, "letters": row.letters, "low": row.low, "high": row.high}
            plot = axis.plot(row.low, row.value, row.high)
            rows.append(_row(state, row.entry, row.value, baseline, plot=plot, **ranked))
    names = {row.entry.name for row in rows}
    rows += [_row(state, entry, entry.ranked_by.value, baseline) for entry in entries if entry.name not in names]
    return RankingTable(rows, ranking, axis)


def _row(state: SiteState, entry: TranscriptEntry, value: float, baseline: str, **ranked: Any) -> RankingRow:
    header = header_of(state, entry)
    # Those that differ from their defaults; all of them if these are not known.
    defaults = header.defaults if isinstance(header.defaults, dict) else {}
    changed = {name: value for name, value in header.params.items() if name not in defaults or defaults[name] != value}
    params = ", ".join(f"{name}={param_text(value)}" for name, value in changed.items())
    return RankingRow(
        entry,
        value,
        params=shortened(params, MAX_PARAMS_LENGTH),
        code=_web_address(header.algorithm.code),
        paper=_web_address(header.algorithm.paper),
        baseline=bool(baseline) and baseline in (entry.name, entry.algorithm),
        **ranked,
    )


def _web_address(text: str | msgspec.UnsetType) -> str:
    """The address, if a page may link to it: a header may say anything."""
    return text if isinstance(text, str) and text.lower().startswith(("http://", "https://")) else ""


def render_test_page(site: PageSite, text: str, order: str = ORDERS[0]) -> str:
    state, links = site.state, site.links
    test = site.test(text)
    entries = transcripts_of(state, test)
    release = test.release
    summary = script_summary(state, release)
    return render_page(
        "test.html",
        links=links,
        title=f"{test.name} {test.version.version}",
        site=state.title,
        test=test,
        about=summary,
        description=markdown_html(summary.description),
        ranking=_ranking_html(site, test, entries, summary.baseline, order if order in ORDERS else ORDERS[0]),
        transcripts=len(entries),
        curves=_curves(site, test, entries),
        files=[(file.path, file.bytes, links.file(file.sha256)) for file in release.files[:MAX_FILES]],
        more_files=max(0, len(release.files) - MAX_FILES),
        interfaces=[
            (entry.name, [(file.path, file.bytes, links.file(file.sha256)) for file in entry.files])
            for entry in test.index.interfaces[:MAX_INTERFACES]
        ],
    )


def _curves(site: PageSite, test: SiteTest, entries: Sequence[TranscriptEntry]) -> Markup:
    if test.version.blind or not entries:
        return Markup()
    best = affordable(best_first(site.state, entries))[:MAX_CURVES]
    return site.part("curves", test, best, lambda: curves_html(site, test, best))


def _ranking_html(
    site: PageSite, test: SiteTest, entries: Sequence[TranscriptEntry], baseline: str, order: str
) -> Markup:
    if not entries:
        return Markup()

    def make() -> str:
        table = make_ranking_table(site.state, entries, baseline)
        listed = table.rows[:MAX_LISTED]
        if order == "name":
            listed.sort(key=lambda row: row.entry.name.casefold())
        elif order == "date":
            listed.sort(key=lambda row: row.entry.published, reverse=True)
        return render_page(
            "ranking.html",
            links=site.links,
            test=test,
            table=table,
            ranking=table.ranking,
            rows=listed,
            more=max(0, len(table.rows) - MAX_LISTED),
            order=order,
            # Columns that would be empty are left out.
            shown={
                "params": any(row.params for row in table.rows),
                "ER": any(row.entry.ER for row in table.rows),
                "by": any(row.entry.by for row in table.rows),
            },
            compared=sum(bool(row.letters) for row in table.rows),
            max_chosen=MAX_CHOSEN,
            reported=any(entry.self_reported for entry in entries),
            inside=any(entry.isolation != "process" for entry in entries),
        )

    return site.part(f"ranking by {order}", test, entries, make)


def ranking_data(site: PageSite, text: str, style: Format) -> str:
    """The ranking of a test for programs, as CSV or JSON."""
    test = site.test(text)
    about = script_summary(site.state, test.release)
    table = make_ranking_table(site.state, transcripts_of(site.state, test), about.baseline)
    rows = data_table(table)
    if style is not Format.JSON:
        return render(rows, style)
    ranking = table.ranking
    return json_lines(
        {
            "test": {"name": test.name, "version": test.version.version, "digest": test.version.digest},
            "measure": table.measure,
            "confidence": None if ranking is None else ranking.confidence,
            "method": None if ranking is None else ranking.method,
            "target": None if ranking is None else ranking.target,
            "transcripts": rows.records(),
        },
    )


def data_table(table: RankingTable) -> Table:
    columns = ["rank", "name", "letters", "measure", "value", "low", "high", "rate", *TALLY]
    columns += ["params", "published", "by", "code", "paper", "self_reported", "isolation", "sha256"]
    rows: list[list[Cell]] = []
    for row in table.rows:
        entry = row.entry
        ranked = [row.rank, entry.name, row.letters, table.measure, row.value, row.low, row.high]
        counts = [entry.rate, *(getattr(entry, name) for name in TALLY)]
        about = [row.params, entry.published, entry.by, row.code, row.paper, entry.self_reported, entry.isolation]
        rows.append([*ranked, *counts, *about, entry.file.sha256])
    return Table(columns, rows)
