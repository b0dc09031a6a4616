"""Methods of replication side by side, for people and for programs: JSON, tables, sentences and the picture."""

from collections.abc import Sequence
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
        """Standard errors by method, and with one unit fewer in each stratum."""
        blocks: list[Block] = []
        for comparison in self.comparisons:
            ranks = [rank for rank in METHOD_RANKS if rank <= comparison.rates.size]
            by_method, by_unit = _errors(comparison)
            rows = [[rank, float(comparison.rates[rank - 1]), *_cells(by_method, rank)] for rank in ranks]
            title = f"{comparison.name}: standard errors over the rank"
            blocks += [Heading(title), Table(["rank", "rate", *by_method], rows)]
            if by_unit:
                title = f"By BRR, with {comparison.units_per_stratum} units per stratum, and with one fewer"
                blocks += [
                    Heading(title),
                    Table(["rank", *by_unit], [[rank, *_cells(by_unit, rank)] for rank in ranks]),
                ]
            blocks.append(Paragraphs(_method_lines(comparison)))
        return blocks

    def table(self) -> Table:
        """A row for each method and rank."""
        most = max(len(comparison.se_with_a_unit_less) for comparison in self.comparisons)
        rows: list[list[Cell]] = []
        for comparison in self.comparisons:
            missing = [None] * (most - len(comparison.se_with_a_unit_less))
            errors = [*comparison.se.values(), *comparison.se_with_a_unit_less]
            for rank, rate in zip(comparison.ranks, comparison.rates.tolist(), strict=True):
                rows.append([comparison.name, rank, rate, *(float(se[rank - 1]) for se in errors), *missing])
        fewer = (f"brr without unit {n + 1}" for n in range(most))
        return Table(["name", "rank", "rate", *_errors(self.comparisons[0])[0], *fewer], rows).tidied()

    def make_picture(self, options: PictureOptions, ax: "Axes | None" = None) -> Picture:
        """A panel of methods for each curve, and one with fewer units if strata have three or more."""
        panels = [(comparison, errors) for comparison in self.comparisons for errors in _errors(comparison) if errors]
        with Picture(options, ax, height=PANEL * len(panels), panels=len(panels)) as picture:
            for axes, (comparison, errors) in zip(picture.panels, panels, strict=True):
                for number, (name, se) in enumerate(errors.items()):
                    axes.plot(comparison.ranks, se.tolist(), label=picture.name(name), **line(number))
                logarithmic(axes, "x", dense=True)
                axes.set(xlim=(1, max(2, comparison.ranks[-1])), xlabel=picture.name("rank"))
                axes.set_ylabel(picture.name("standard error"))
                axes.set_ylim(bottom=0)
                picture.legend(axes, title=picture.name(comparison.name))
        return picture


Errors = dict[str, FloatArray]


def _errors(comparison: MethodComparison) -> tuple[Errors, Errors]:
    """Standard errors over the ranks by each method, and by BRR with all units and without one of them, if known."""
    by_method = {name.replace(NO_STRATA, ", no strata"): se for name, se in comparison.se.items()}
    if not comparison.se_with_a_unit_less:
        return by_method, {}
    fewer = {f"without unit {n + 1}": se for n, se in enumerate(comparison.se_with_a_unit_less)}
    return by_method, {f"{comparison.units_per_stratum} units": comparison.se["brr"], **fewer}


def _cells(errors: Errors, rank: int) -> list[Cell]:
    return [Number(float(se[rank - 1]), ".5f") for se in errors.values()]


def _method_lines(comparison: MethodComparison) -> list[str]:
    known = {name: count for name, count in comparison.replicates.items() if count is not None}
    counts = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in known.items())
    return [
        f"{comparison.strata:,} strata, {comparison.units:,} units. Replicates: {counts}.",
        "A rate is linear, so with the strata BRR and the jackknife give the same number, and the bootstrap nearly "
        "the same. What differs is 'no strata': it counts the differences between the strata as error.",
    ]
