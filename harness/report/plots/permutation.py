"""Pictures of permuted experiments: how often each rate, and each difference of two, came out."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from harness.analysis.permute import PermutedRates
from harness.options import PictureOptions
from harness.report.numbers import percent
from harness.report.plots.canvas import Picture
from harness.report.plots.style import BAND, guide, line

if TYPE_CHECKING:
    from matplotlib.axes import Axes


PANEL = 2.3
# Differences of more pairs would overlap.
MOST_PAIRS = 6
# About as many bars in a histogram as the paper has; a bar is a whole number of people wide.
BARS = 25


def plot_permutation(
    result: PermutedRates, look: PictureOptions | None = None, other: PermutedRates | None = None
) -> Picture:
    """The paper's figures 1 to 4 as panels; 3 needs two algorithms, 4 balanced and unbalanced draws."""
    pairs = list(combinations(range(len(result.names)), 2))[:MOST_PAIRS]
    panels = 2 + bool(pairs) + (other is not None)
    wide = _bar_width(result, other, pairs)
    with Picture(look, height=PANEL * panels, panels=panels) as page:
        sheets = iter(page.sheets)
        _rates(page, next(sheets), result, wide)
        _over_rank(page, next(sheets), result)
        if pairs:
            _differences(page, next(sheets), result, pairs, wide)
        if other is not None:
            _both(page, next(sheets), (result, other), wide)
    return page


def _found(result: PermutedRates) -> list[list[int]]:
    """How many people each algorithm found at rank 1, in every experiment."""
    return [result.permuted.found[:, number, 0].tolist() for number in range(len(result.names))]


def _gaps(result: PermutedRates, pairs: Sequence[tuple[int, int]]) -> list[list[int]]:
    found = result.permuted.found[:, :, 0]
    return [(found[:, a] - found[:, b]).tolist() for a, b in pairs]


def _bar_width(result: PermutedRates, other: PermutedRates | None, pairs: Sequence[tuple[int, int]]) -> int:
    """How many people a bar covers: as many in all panels, so that their heights can be compared."""
    counts = [*_found(result), *_gaps(result, pairs), *(_found(other)[:1] if other else [])]
    return max(max(one) - min(one) for one in counts) // BARS + 1


def _rates(page: Picture, sheet: "Axes", result: PermutedRates, wide: int) -> None:
    labels = [page.name(name) for name in result.names]
    _histograms(sheet, result.permuted.people, _found(result), labels, 0, wide)
    _labels(page, sheet, "recognition rate at rank 1")


def _over_rank(page: Picture, sheet: "Axes", result: PermutedRates) -> None:
    for number, (name, rates) in enumerate(zip(result.names, result.rates, strict=True)):
        ranks, own = [one.rank for one in rates], line(number)
        low, high = [one.interval.low for one in rates], [one.interval.high for one in rates]
        sheet.fill_between(ranks, low, high, color=own["color"], alpha=BAND, linewidth=0)
        sheet.plot(ranks, [one.mean for one in rates], label=page.name(name), marker=".", markersize=4, **own)
    sheet.set_xticks([one.rank for one in result.rates[0]] if result.options.ranks <= 12 else sheet.get_xticks())
    sheet.set(xlabel=page.name("rank"), ylabel=f"{page.name('rate')}, {percent(result.options.confidence)} interval")
    sheet.set_xlim(1 - 0.1, result.options.ranks + 0.1)


def _differences(
    page: Picture, sheet: "Axes", result: PermutedRates, pairs: Sequence[tuple[int, int]], wide: int
) -> None:
    labels = [f"{page.name(result.names[a], 16)} − {page.name(result.names[b], 16)}" for a, b in pairs]
    # A pair does not share the style of either algorithm.
    _histograms(sheet, result.permuted.people, _gaps(result, pairs), labels, len(result.names), wide)
    sheet.axvline(0, **guide(linewidth=0.8))
    _labels(page, sheet, "difference of rates at rank 1")


def _both(page: Picture, sheet: "Axes", results: Sequence[PermutedRates], wide: int) -> None:
    name = page.name(results[0].names[0])
    labels = [f"{name}, balanced", f"{name}, unbalanced"]
    _histograms(sheet, results[0].permuted.people, [_found(one)[0] for one in results], labels, 0, wide)
    _labels(page, sheet, "recognition rate at rank 1")


def _histograms(
    sheet: "Axes", people: int, counts: Sequence[Sequence[int]], labels: Sequence[str], look: int, wide: int
) -> None:
    """Shares of experiments; a bar is a whole number of people wide, so that every bar covers equally many rates."""
    for number, (one, label) in enumerate(zip(counts, labels, strict=True)):
        bars = Counter(count // wide for count in one)
        places = range(min(bars) - 1, max(bars) + 2)
        x = [(place * wide + (wide - 1) / 2) / people for place in places]
        sheet.plot(x, [bars[place] / len(one) for place in places], label=label, **line(look + number))


def _labels(page: Picture, sheet: "Axes", what: str) -> None:
    sheet.set(xlabel=page.name(what, 40), ylabel=page.name("share of experiments"))
    sheet.set_ylim(bottom=0)
    page.legend(sheet, inside=False)
