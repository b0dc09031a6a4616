"""Methods of replication side by side, for people and for programs: JSON, tables, sentences and the picture."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.api.result import PictureResult
from harness.lab.methods.analysis import NO_STRATA, MethodComparison
from harness.options import PictureOptions
from harness.report.blocks import Block, Cell, Heading, Number, Paragraphs, Table
from harness.report.plots.canvas import Picture
from harness.report.plots.style import line, logarithmic
from harness.stats.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Ranks that a person is shown; the other formats have all.
METHOD_RANKS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
PANEL = 2.3


@dataclass(frozen=True, repr=False)
class MethodsResult(PictureResult):
    """Standard errors of recognition rates by several methods."""

    comparisons: Sequence[MethodComparison]
    remarks: Sequence[str] = ()

    def payload(self) -> Any:
        return {"methods": self.comparisons}

    def blocks(self) -> Sequence[Block]:
        return method_blocks(self.comparisons)

    def table(self) -> Table:
        """A row for each method and rank."""
        return tidy_method_table(self.comparisons)

    def make_picture(self, options: PictureOptions, ax: "Axes | None" = None) -> Picture:
        return plot_methods(self.comparisons, options, ax)


def method_blocks(comparisons: Sequence[MethodComparison]) -> list[Block]:
    """Standard errors by method, and with one unit fewer in each stratum."""
    blocks: list[Block] = []
    for comparison in comparisons:
        shown = [rank for rank in METHOD_RANKS if rank <= comparison.rates.size]
        blocks += [Heading(f"{comparison.name}: standard errors over the rank"), method_table(comparison, shown)]
        if comparison.se_with_a_unit_less:
            blocks += [
                Heading(f"By BRR, with {comparison.units_per_stratum} units per stratum, and with one fewer"),
                unit_table(comparison, shown),
            ]
        blocks.append(Paragraphs(_method_lines(comparison)))
    return blocks


def method_table(comparison: MethodComparison, ranks: Sequence[int]) -> Table:
    """A row for each rank, a column for each method."""
    rows: list[list[Cell]] = [
        [rank, float(comparison.rates[rank - 1]), *_se_cells(comparison.se.values(), rank)] for rank in ranks
    ]
    return Table(["rank", "rate", *map(method_label, comparison.se)], rows)


def unit_table(comparison: MethodComparison, ranks: Sequence[int]) -> Table:
    """A row for each rank: all units, and each sample without one of them."""
    fewer = comparison.se_with_a_unit_less
    columns = ["rank", f"{comparison.units_per_stratum} units", *(f"without unit {n + 1}" for n in range(len(fewer)))]
    return Table(columns, [[rank, *_se_cells((comparison.se["brr"], *fewer), rank)] for rank in ranks])


def tidy_method_table(comparisons: Sequence[MethodComparison]) -> Table:
    """Every rank, for programs."""
    most = max(len(comparison.se_with_a_unit_less) for comparison in comparisons)
    fewer = (f"brr without unit {n + 1}" for n in range(most))
    rows: list[list[Cell]] = []
    for comparison in comparisons:
        missing = [None] * (most - len(comparison.se_with_a_unit_less))
        errors = (*comparison.se.values(), *comparison.se_with_a_unit_less)
        for rank, rate in zip(comparison.ranks, comparison.rates.tolist(), strict=True):
            rows.append([comparison.name, rank, rate, *_se_cells(errors, rank), *missing])
    return Table(["name", "rank", "rate", *map(method_label, comparisons[0].se), *fewer], rows).tidied()


def _se_cells(errors: Iterable[FloatArray], rank: int) -> list[Cell]:
    return [Number(float(se[rank - 1]), ".5f") for se in errors]


def method_label(name: str) -> str:
    """A method for people, which may ignore the strata."""
    return name.replace(NO_STRATA, ", no strata")


def _method_lines(comparison: MethodComparison) -> list[str]:
    known = {name: count for name, count in comparison.replicates.items() if count is not None}
    counts = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in known.items())
    text = f"{comparison.strata:,} strata, {comparison.units:,} units. Replicates: {counts}."
    return [
        text,
        "A rate is linear, so with the strata BRR and the jackknife give the same number, and the bootstrap nearly "
        "the same. What differs is 'no strata': it counts the differences between the strata as error.",
    ]


def plot_methods(comparisons: Sequence[MethodComparison], options: PictureOptions, ax: "Axes | None") -> Picture:
    """A panel of methods for each curve, and one with fewer units if strata have three or more."""
    count = sum(1 + bool(comparison.se_with_a_unit_less) for comparison in comparisons)
    with Picture(options, ax, height=PANEL * count, panels=count) as picture:
        panels = iter(picture.panels)
        for comparison in comparisons:
            _error_lines(
                picture,
                next(panels),
                comparison,
                {method_label(name): se.tolist() for name, se in comparison.se.items()},
            )
            if comparison.se_with_a_unit_less:
                named = {f"{comparison.units_per_stratum} units": comparison.se["brr"].tolist()}
                named |= {f"without unit {n + 1}": se.tolist() for n, se in enumerate(comparison.se_with_a_unit_less)}
                _error_lines(picture, next(panels), comparison, named)
    return picture


def _error_lines(picture: Picture, axes: "Axes", comparison: MethodComparison, named: dict[str, list[float]]) -> None:
    for number, (name, se) in enumerate(named.items()):
        axes.plot(comparison.ranks, se, label=picture.name(name), **line(number))
    logarithmic(axes, "x", dense=True)
    axes.set(xlim=(1, max(2, comparison.ranks[-1])), xlabel=picture.name("rank"), ylabel=picture.name("standard error"))
    axes.set_ylim(bottom=0)
    picture.legend(axes, title=picture.name(comparison.name))
