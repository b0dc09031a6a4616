"""Identification for people: the gallery effect, and methods of replication side by side."""

from collections.abc import Sequence

from harness.analysis.galleries import GalleryComparison, GalleryTest
from harness.analysis.replication_methods import NO_STRATA, MethodComparison
from harness.report.blocks import Block, Cell, Heading, Number, Paragraphs, Table
from harness.report.curves import rank_band_lines, rank_table
from harness.report.numbers import p_cell

# A test at 5 %, as everywhere.
ALPHA = 0.05
MOST_NAMES = 3


def gallery_blocks(comparisons: Sequence[GalleryComparison], confidence: float) -> list[Block]:
    """Curves of all galleries, and the tests."""
    curves = [curve for one in comparisons for curve in one.curves]
    blocks: list[Block] = [rank_table(curves, confidence)]
    blocks += [Paragraphs(lines)] if (lines := rank_band_lines(curves)) else []
    blocks += [Heading("Do the galleries differ?"), effect_table(comparisons)]
    return [
        *blocks,
        Paragraphs([line for one in comparisons for line in _gallery_lines(one)] + _gallery_meaning(comparisons)),
    ]


def effect_table(comparisons: Sequence[GalleryComparison]) -> Table:
    """A row for each test, at rank 1."""
    rows: list[list[Cell]] = []
    for one in comparisons:
        for tested in one.tests:
            ends = [f"{rate:.4f} ({name})" for name, rate in _extremes(tested)]
            rows.append([*_partition(one, tested), *ends, float(tested.effect.ranges[0]), p_cell(_p_first(tested))])
    return Table(["name", "galleries", "number", "best, rank 1", "worst, rank 1", "apart", "p"], rows)


def tidy_effect_table(comparisons: Sequence[GalleryComparison]) -> Table:
    """The same for programs."""
    columns = ["name", "galleries", "number", "best", "best_rate", "worst", "worst_rate", "apart", "p_value"]
    rows: list[list[Cell]] = []
    for one in comparisons:
        for tested in one.tests:
            best, worst = _extremes(tested)
            figures = [float(tested.effect.ranges[0]), _p_first(tested)]
            rows.append([*_partition(one, tested), *best, *worst, *figures])
    return Table(columns, rows)


def _partition(comparison: GalleryComparison, tested: GalleryTest) -> list[Cell]:
    how = "mixed" if tested.mixed else f"by {tested.sets.column}"
    return [comparison.name, how, len(tested.sets.names)]


def _extremes(tested: GalleryTest) -> tuple[tuple[str, float], tuple[str, float]]:
    """The best and the worst gallery, each with its rate at rank 1."""
    rates = list(zip(tested.sets.names, tested.effect.rates[:, 0].tolist(), strict=True))
    return max(rates, key=lambda one: one[1]), min(rates, key=lambda one: one[1])


def _p_first(tested: GalleryTest) -> float:
    return float(tested.effect.p_values[0])


def _gallery_lines(comparison: GalleryComparison) -> list[str]:
    lines = [_gallery_verdict(comparison, tested) for tested in comparison.tests]
    left_out = comparison.tests[0].sets.left_out
    if left_out:
        names = ", ".join(left_out[:MOST_NAMES]) + (", ..." if len(left_out) > MOST_NAMES else "")
        lines.append(
            f"{comparison.name}: {len(left_out):,} people lack an image in a gallery and are left out: {names}."
        )
    return lines


def _gallery_verdict(comparison: GalleryComparison, tested: GalleryTest) -> str:
    p = float(tested.effect.p_values[0])
    which = "mixed galleries" if tested.mixed else f"galleries by {tested.sets.column}"
    if p > ALPHA:
        return f"{comparison.name}: no difference between {which} was shown."
    advice = "" if len(comparison.tests) > 1 else "; --mix gives each an equal share of all images"
    return f"{comparison.name}: the {which} differ{advice}."


def _gallery_meaning(comparisons: Sequence[GalleryComparison]) -> list[str]:
    first = comparisons[0]
    return [
        f"p: how often random galleries of the same people and images lie as far apart; "
        f"{first.permutations:,} permutations within people, seed {first.seed}."
    ]


# Ranks that a person is shown; the other formats have all.
METHOD_RANKS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


def method_blocks(comparisons: Sequence[MethodComparison]) -> list[Block]:
    """Standard errors by method, and with one unit fewer in each stratum."""
    blocks: list[Block] = []
    for one in comparisons:
        shown = [rank for rank in METHOD_RANKS if rank <= one.rates.size]
        blocks += [Heading(f"{one.name}: standard errors over the rank"), method_table(one, shown)]
        if one.fewer:
            blocks += [
                Heading(f"By BRR, with {one.per_stratum} units per stratum, and with one fewer"),
                unit_table(one, shown),
            ]
        blocks.append(Paragraphs(_method_lines(one)))
    return blocks


def method_table(comparison: MethodComparison, ranks: Sequence[int]) -> Table:
    """A row for each rank, a column for each method."""
    rows: list[list[Cell]] = [
        [rank, float(comparison.rates[rank - 1]), *(_se(float(se[rank - 1])) for se in comparison.se.values())]
        for rank in ranks
    ]
    return Table(["rank", "rate", *comparison.se], rows)


def unit_table(comparison: MethodComparison, ranks: Sequence[int]) -> Table:
    """A row for each rank: all units, and each sample without one of them."""
    columns = [
        "rank",
        f"{comparison.per_stratum} units",
        *(f"without unit {n + 1}" for n in range(len(comparison.fewer))),
    ]
    all_units = comparison.se["brr"]
    rows: list[list[Cell]] = [
        [rank, *(_se(float(se[rank - 1])) for se in (all_units, *comparison.fewer))] for rank in ranks
    ]
    return Table(columns, rows)


def _se(value: float) -> Number:
    return Number(value, ".5f")


def tidy_method_table(comparisons: Sequence[MethodComparison]) -> Table:
    """Every rank, for programs."""
    most = max(len(one.fewer) for one in comparisons)
    columns = ["name", "rank", "rate", *comparisons[0].se, *(f"brr without unit {n + 1}" for n in range(most))]
    rows: list[list[Cell]] = []
    for one in comparisons:
        for at, rank in enumerate(one.ranks):
            fewer: list[Cell] = [float(se[at]) for se in one.fewer]
            known: list[Cell] = [float(one.rates[at]), *(float(se[at]) for se in one.se.values())]
            rows.append([one.name, rank, *known, *fewer, *[None] * (most - len(fewer))])
    return Table(columns, rows)


def _method_lines(comparison: MethodComparison) -> list[str]:
    known = {name.replace(",", ""): count for name, count in comparison.replicates.items() if count is not None}
    counts = ", ".join(f"{name} {count:,}" for name, count in known.items())
    text = f"{comparison.strata:,} strata, {comparison.units:,} units. Replicates: {counts}."
    return [
        text,
        "A rate is linear, so with the strata BRR and the jackknife give the same number, and the bootstrap nearly "
        f"the same. What differs is '{NO_STRATA[2:]}': it counts the differences between the strata as error.",
    ]
