"""Pictures of identification experiments: standard errors by method, and permuted experiments."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.analysis.permute import PermutedRates
from harness.analysis.replication_methods import MethodComparison
from harness.report.numbers import percent
from harness.report.plots.canvas import GREY, line, logarithmic, picture
from harness.report.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes


PANEL = 2.3


def plot_methods(comparisons: Sequence[MethodComparison], path: Path) -> None:
    """A panel of methods for each curve, and one with fewer units if strata have three or more."""
    panels = sum(1 + bool(one.fewer) for one in comparisons)
    with picture(path, height=PANEL * panels) as (figure, whole):
        whole.remove()
        sheets = iter(figure.subplots(panels, 1, squeeze=False)[:, 0])
        for one in comparisons:
            _error_lines(next(sheets), one, {name: se.tolist() for name, se in one.se.items()})
            if one.fewer:
                named = {f"{one.per_stratum} units": one.se["brr"].tolist()}
                named |= {f"without unit {n + 1}": se.tolist() for n, se in enumerate(one.fewer)}
                _error_lines(next(sheets), one, named)


def _error_lines(sheet: "Axes", comparison: MethodComparison, named: dict[str, list[float]]) -> None:
    for number, (name, se) in enumerate(named.items()):
        sheet.plot(comparison.ranks, se, label=name, **line(number))
    logarithmic(sheet, "x", dense=True)
    sheet.set(xlim=(1, max(2, comparison.ranks[-1])), xlabel="rank", ylabel="standard error")
    sheet.set_ylim(bottom=0)
    sheet.legend(loc="best", title=shortened(comparison.name), title_fontsize=7, alignment="left")


# Differences of more pairs would overlap.
MOST_PAIRS = 6
# Letters of a label that leave room for a second one on the line.
HALF = 24
# About as many bars in a histogram as the paper has; a bar is a whole number of people wide.
BARS = 25


def plot_permutation(result: PermutedRates, path: Path, other: PermutedRates | None = None) -> None:
    """The paper's figures 1 to 4 as panels; 3 needs two algorithms, 4 balanced and unbalanced draws."""
    pairs = [pair for pair in result.pairs if pair.rank == 1][:MOST_PAIRS]
    panels = 2 + bool(pairs) + (other is not None)
    with picture(path, height=PANEL * panels) as (figure, whole):
        whole.remove()
        sheets = iter(figure.subplots(panels, 1, squeeze=False)[:, 0])
        _rates(next(sheets), result)
        _over_rank(next(sheets), result)
        if pairs:
            _differences(next(sheets), result, [(pair.a, pair.b) for pair in pairs])
        if other is not None:
            _both(next(sheets), result, other)


def _rates(sheet: "Axes", result: PermutedRates) -> None:
    found_at_one = result.permuted.found[:, :, 0]
    counts = [found_at_one[:, number].tolist() for number in range(len(result.names))]
    _histograms(sheet, result.permuted.people, counts, [shortened(name) for name in result.names], 0)
    _labels(sheet, "recognition rate at rank 1")


def _over_rank(sheet: "Axes", result: PermutedRates) -> None:
    for number, (name, rates) in enumerate(zip(result.names, result.rates, strict=True)):
        ranks, look = [one.rank for one in rates], line(number)
        low, high = [one.interval.low for one in rates], [one.interval.high for one in rates]
        sheet.fill_between(ranks, low, high, color=look["color"], alpha=0.13, linewidth=0)
        sheet.plot(ranks, [one.mean for one in rates], label=shortened(name), marker=".", markersize=4, **look)
    sheet.set_xticks([one.rank for one in result.rates[0]] if result.request.ranks <= 12 else sheet.get_xticks())
    sheet.set(xlabel="rank", ylabel=f"rate, {percent(result.request.confidence)} interval")
    sheet.set_xlim(1 - 0.1, result.request.ranks + 0.1)


def _differences(sheet: "Axes", result: PermutedRates, pairs: Sequence[tuple[int, int]]) -> None:
    found_at_one = result.permuted.found[:, :, 0]
    labels = [f"{shortened(result.names[a], 16)} − {shortened(result.names[b], 16)}" for a, b in pairs]
    counts = [(found_at_one[:, a] - found_at_one[:, b]).tolist() for a, b in pairs]
    # A pair does not share the style of either algorithm.
    _histograms(sheet, result.permuted.people, counts, labels, len(result.names))
    sheet.axvline(0, color=GREY, linewidth=0.8, zorder=0)
    _labels(sheet, "difference of rates at rank 1")


def _both(sheet: "Axes", result: PermutedRates, other: PermutedRates) -> None:
    name = shortened(result.names[0])
    counts = [one.permuted.found[:, 0, 0].tolist() for one in (result, other)]
    _histograms(sheet, result.permuted.people, counts, [f"{name}, balanced", f"{name}, unbalanced"], 0)
    _labels(sheet, "recognition rate at rank 1")


def _histograms(sheet: "Axes", people: int, counts: Sequence[Sequence[int]], labels: Sequence[str], look: int) -> None:
    """Shares of experiments; a bar is a whole number of people wide, so that every bar covers equally many rates."""
    wide = max(max(one) - min(one) for one in counts) // BARS + 1
    for number, (one, label) in enumerate(zip(counts, labels, strict=True)):
        bars = Counter(count // wide for count in one)
        places = range(min(bars) - 1, max(bars) + 2)
        x = [(place * wide + (wide - 1) / 2) / people for place in places]
        sheet.plot(x, [bars[place] / len(one) for place in places], label=label, **line(look + number))


def _labels(sheet: "Axes", what: str) -> None:
    """Axis labels, and the legend above the axes, where it hides nothing."""
    sheet.set(xlabel=what, ylabel="share of experiments")
    sheet.set_ylim(bottom=0)
    labels = sheet.get_legend_handles_labels()[1]
    columns = 2 if max(map(len, labels)) <= HALF else 1
    sheet.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.2)
