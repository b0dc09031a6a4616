"""What `hate permute` found, for people and for programs: JSON, tables, sentences and the picture."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from harness.api.result import PictureResult
from harness.lab.permute.analysis import DifferenceAtRank, PermutedRates, rule_words
from harness.options import PictureOptions
from harness.report.blocks import Block, Cell, Column, Heading, P, Paragraphs, Table, table_of
from harness.report.numbers import interval_cell, percent
from harness.report.plots.canvas import Picture
from harness.report.plots.style import BAND, guide, line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Ranks that a person is shown; the other formats have all.
RANKS = (1, 5, 10)
MAX_NAMES = 3
PANEL = 2.3
# Differences of more pairs would overlap.
MAX_PAIRS = 6
# About as many bars in a histogram as the paper has; a bar is a whole number of people wide.
BARS = 25


@dataclass(frozen=True, repr=False)
class PermutationResult(PictureResult):
    """Recognition rates of the same people with other choices of image; `other` is with the other way of sampling."""

    permuted: PermutedRates
    other: PermutedRates | None = None

    def payload(self) -> Any:
        permuted, options = self.permuted, self.permuted.options
        payload = {
            "experiments": options.experiments,
            "seed": options.seed,
            "sampling": "balanced" if options.balanced else "unbalanced",
            "target": "these people, other choices of image",
            "people": permuted.permuted.people,
            "left_out": permuted.left_out,
            "image_pairs": permuted.image_pairs,
            "differ": options.differ,
            "agree": options.agree,
            "confidence": options.confidence,
            **_distributions(permuted),
        }
        return payload if self.other is None else payload | {"unbalanced": _distributions(self.other)}

    def blocks(self) -> Sequence[Block]:
        """Rates, differences at rank 1, and what they are about."""
        result = self.permuted
        blocks: list[Block] = [Heading("Recognition rate"), rate_table(result)]
        if self.other is not None:
            blocks += [Heading("The same with unbalanced draws"), rate_table(self.other)]
        if result.pairs:
            blocks += [Heading("Difference at rank 1, on the same draws"), pair_table(result)]
        return [*blocks, Paragraphs([*_facts(result), *_meaning(result)])]

    def table(self) -> Table:
        """Every rank of every algorithm; a row with `less` is about the difference from that algorithm."""
        result = self.permuted
        columns = ["algorithm", "rank", "mean", "sd", "low", "high"]
        rows: list[list[Cell]] = [
            [name, rate.rank, rate.mean, rate.sd, *rate.interval]
            for name, rates in zip(result.names, result.rates, strict=True)
            for rate in rates
        ]
        if not result.pairs:
            return Table(columns, rows)
        pairs: list[list[Cell]] = [
            [pair.a, pair.rank, pair.difference, None, *pair.interval, pair.b, pair.p_not_better]
            for pair in result.pairs
        ]
        return Table([*columns, "less", "p_not_better"], [*([*row, None, None] for row in rows), *pairs])

    def make_picture(self, options: PictureOptions, ax: "Axes | None" = None) -> Picture:
        return plot_permutation(self.permuted, self.other, options, ax)


def _distributions(permuted: PermutedRates) -> dict[str, Any]:
    named = zip(permuted.names, permuted.rates, strict=True)
    return {"algorithms": [{"name": name, "rates": rates} for name, rates in named], "pairs": permuted.pairs}


def rate_table(result: PermutedRates) -> Table:
    """A row for each algorithm, means and intervals at a few ranks."""
    ranks = [rank for rank in RANKS if rank <= len(result.rates[0])]
    level = percent(result.options.confidence)
    columns = ["algorithm", *(word for rank in ranks for word in (f"rank {rank}", level))]
    rows: list[list[Cell]] = []
    for name, rates in zip(result.names, result.rates, strict=True):
        row: list[Cell] = [name]
        for rank in ranks:
            rate = rates[rank - 1]
            row += [rate.mean, interval_cell(rate.interval, ".3f")]
        rows.append(row)
    return Table(columns, rows)


def pair_table(result: PermutedRates) -> Table:
    """A row for each pair, at rank 1."""
    columns: list[Column[DifferenceAtRank]] = [
        Column("A", "a"),
        Column("B", "b"),
        Column("A - B", "difference", form="+.4f"),
        Column(percent(result.options.confidence), "interval", form="+.3f"),
        Column("A, tie, B", lambda pair: f"{pair.a_better}, {pair.ties}, {pair.b_better}"),
        Column("A <= B", "p_not_better", form=P),
        Column("B <= A", "p_b_not_better", form=P),
    ]
    return table_of([pair for pair in result.pairs if pair.rank == 1], columns)


def _facts(result: PermutedRates) -> list[str]:
    options = result.options
    sampling, level = "balanced" if options.balanced else "unbalanced", percent(options.confidence)
    lines = [
        f"{options.experiments:,} virtual experiments, {sampling}, seed {options.seed}: {result.permuted.people:,} "
        f"people, each with one gallery and one probe image, {result.image_pairs:,} pairs of images to draw from; "
        f"{rule_words(options)}. The {level} columns hold the middle {level} of the experiments, each rank by itself."
    ]
    if result.left_out:
        names = ", ".join(result.left_out[:MAX_NAMES]) + (", ..." if len(result.left_out) > MAX_NAMES else "")
        who = "1 person has" if len(result.left_out) == 1 else f"{len(result.left_out):,} people have"
        lines.append(f"Left out: {who} no such pair of images ({names}).")
    if options.balanced and result.patterns > result.permuted.people // 2:
        lines.append("Few people have images of the same pattern, so there is little to balance.")
    return lines


def _meaning(result: PermutedRates) -> list[str]:
    lines = [
        f"All of this is about these {result.permuted.people:,} people under other choices of image, not about new "
        "people: for those, `hate cmc` has bands and `hate compare` tests."
    ]
    if result.pairs:
        lines.append(
            "A, tie, B: experiments in which A was better, neither was, B was. A <= B: the share of the experiments in "
            "which A was not better than B, as (b + 1)/(N + 1) with b such experiments of N; B <= A: the other way "
            "round. Neither is a p-value: images were drawn, people were not."
        )
    return lines


def plot_permutation(
    result: PermutedRates, other: PermutedRates | None, options: PictureOptions, ax: "Axes | None"
) -> Picture:
    """The paper's figures 1 to 4 as panels; 3 needs two algorithms, 4 balanced and unbalanced draws."""
    pairs = list(combinations(range(len(result.names)), 2))[:MAX_PAIRS]
    panels = 2 + bool(pairs) + (other is not None)
    people, at_rank_1 = result.permuted.people, result.permuted.identified[:, :, 0]
    identified: list[list[int]] = at_rank_1.T.tolist()
    gaps: list[list[int]] = [(at_rank_1[:, a] - at_rank_1[:, b]).tolist() for a, b in pairs]
    unbalanced: list[list[int]] = [] if other is None else [other.permuted.identified[:, 0, 0].tolist()]
    # A bar covers equally many people in all panels, so that their heights can be compared.
    wide = max(max(counts) - min(counts) for counts in [*identified, *gaps, *unbalanced]) // BARS + 1
    with Picture(options, ax, height=PANEL * panels, panels=panels) as picture:
        first, second, *others = picture.panels
        names = [picture.name(name) for name in result.names]
        _histograms(first, people, identified, names, 0, wide)
        _labels(picture, first, "recognition rate at rank 1")
        _over_rank(picture, second, result)
        if pairs:
            labels = [f"{picture.name(result.names[a], 16)} − {picture.name(result.names[b], 16)}" for a, b in pairs]
            # A pair does not share the style of either algorithm.
            _histograms(others[0], people, gaps, labels, len(names), wide)
            others[0].axvline(0, **guide(linewidth=0.8))
            _labels(picture, others[0], "difference of rates at rank 1")
        if unbalanced:
            labels = [f"{names[0]}, balanced", f"{names[0]}, unbalanced"]
            _histograms(others[-1], people, [identified[0], *unbalanced], labels, 0, wide)
            _labels(picture, others[-1], "recognition rate at rank 1")
    return picture


def _over_rank(picture: Picture, axes: "Axes", result: PermutedRates) -> None:
    for number, (name, rates) in enumerate(zip(result.names, result.rates, strict=True)):
        ranks, style = [rate.rank for rate in rates], line(number)
        low, high = [rate.interval.low for rate in rates], [rate.interval.high for rate in rates]
        axes.fill_between(ranks, low, high, color=style["color"], alpha=BAND, linewidth=0)
        axes.plot(ranks, [rate.mean for rate in rates], label=picture.name(name), marker=".", markersize=4, **style)
    axes.set_xticks([rate.rank for rate in result.rates[0]] if len(result.rates[0]) <= 12 else axes.get_xticks())
    axes.set(xlabel=picture.name("rank"), xlim=(1 - 0.1, len(result.rates[0]) + 0.1))
    axes.set_ylabel(f"{picture.name('rate')}, {percent(result.options.confidence)} interval")


def _histograms(
    axes: "Axes", people: int, counts: Sequence[Sequence[int]], labels: Sequence[str], first_style: int, wide: int
) -> None:
    """Shares of experiments; a bar is a whole number of people wide, so that every bar covers equally many rates."""
    for number, (by_experiment, label) in enumerate(zip(counts, labels, strict=True)):
        bars = Counter(count // wide for count in by_experiment)
        bins = range(min(bars) - 1, max(bars) + 2)
        x = [(position * wide + (wide - 1) / 2) / people for position in bins]
        shares = [bars[position] / len(by_experiment) for position in bins]
        axes.plot(x, shares, label=label, **line(first_style + number))


def _labels(picture: Picture, axes: "Axes", what: str) -> None:
    axes.set(xlabel=picture.name(what, 40), ylabel=picture.name("share of experiments"))
    axes.set_ylim(bottom=0)
    picture.legend(axes, inside=False)
