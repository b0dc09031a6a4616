"""Whether the choice of the gallery matters, for people and for programs: JSON, tables, sentences and the picture."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.analysis.curves.curve import Curve, curves_json
from harness.api.curves import CMC
from harness.api.result import PictureResult
from harness.lab.galleries.analysis import GalleryComparison, GalleryTest
from harness.options import PictureOptions
from harness.report.blocks import Audience, Block, Column, Heading, P, Paragraphs, Table, table_of, tidy_table_of
from harness.report.curve_chart import curve_chart
from harness.report.curves import rank_band_lines, rank_table
from harness.report.plots.canvas import Picture
from harness.report.plots.chart import plot_chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A test at 5 %, as everywhere.
ALPHA = 0.05
MAX_NAMES = 3


@dataclass(frozen=True, repr=False)
class GalleriesResult(PictureResult):
    """The experiment with each set of images as the gallery, and a test of whether they differ."""

    comparisons: Sequence[GalleryComparison]
    # The curve of every gallery.
    curves: Sequence[Curve]
    confidence: float

    def payload(self) -> Any:
        return curves_json(self.curves, self.confidence) | {"galleries": self.comparisons}

    def blocks(self) -> Sequence[Block]:
        """Curves of all galleries, and the tests."""
        first = self.comparisons[0]
        blocks: list[Block] = [rank_table(self.curves, self.confidence)]
        blocks += [Paragraphs(bands)] if (bands := rank_band_lines(self.curves)) else []
        blocks += [Heading("Do the galleries differ?"), table_of(self._tested, _EFFECTS)]
        lines = [line for comparison in self.comparisons for line in _gallery_lines(comparison)]
        lines.append(
            f"p: how often random galleries of the same people and images lie as far apart; "
            f"{first.permutations:,} permutations within people, seed {first.seed}."
        )
        return [*blocks, Paragraphs(lines)]

    def table(self) -> Table:
        return tidy_table_of(self._tested, _EFFECTS)

    @property
    def _tested(self) -> "list[_Tested]":
        return [(comparison, test) for comparison in self.comparisons for test in comparison.tests]

    def make_picture(self, options: PictureOptions, ax: "Axes | None" = None) -> Picture:
        return plot_chart(curve_chart(CMC, self.curves, self.confidence), options, ax, height=CMC.height)


_Tested = tuple[GalleryComparison, GalleryTest]


def _extreme(tested: _Tested, which: Callable[..., tuple[float, str]]) -> tuple[float, str]:
    """The best or the worst gallery with its rate at rank 1; of equal ones the first."""
    rates = zip(tested[1].rates[:, 0].tolist(), tested[1].galleries, strict=True)
    return which(rates, key=lambda pair: pair[0])


def _extreme_columns(name: str, which: Callable[..., tuple[float, str]]) -> list[Column[_Tested]]:
    def words(tested: _Tested) -> str:
        rate, gallery = _extreme(tested, which)
        return f"{rate:.4f} ({gallery})"

    return [
        Column(name, words, Audience.PEOPLE, head=f"{name}, rank 1"),
        Column(name, lambda tested: _extreme(tested, which)[1], Audience.PROGRAMS),
        Column(f"{name}_rate", lambda tested: _extreme(tested, which)[0], Audience.PROGRAMS),
    ]


# A row for each test, at rank 1.
_EFFECTS: list[Column[_Tested]] = [
    Column("name", lambda tested: tested[0].name),
    Column("galleries", lambda tested: "mixed" if tested[1].mixed else f"by {tested[0].column}"),
    Column("number", lambda tested: len(tested[1].galleries)),
    *_extreme_columns("best", max),
    *_extreme_columns("worst", min),
    Column("apart", lambda tested: float(tested[1].range[0])),
    Column("p_value", lambda tested: float(tested[1].p_values[0]), head="p", form=P),
]


def _gallery_lines(comparison: GalleryComparison) -> list[str]:
    lines = [_gallery_verdict(comparison, tested) for tested in comparison.tests]
    left_out = comparison.left_out
    if left_out:
        names = ", ".join(left_out[:MAX_NAMES]) + (", ..." if len(left_out) > MAX_NAMES else "")
        lines.append(
            f"{comparison.name}: {len(left_out):,} people lack an image in a gallery and are left out: {names}."
        )
    return lines


def _gallery_verdict(comparison: GalleryComparison, tested: GalleryTest) -> str:
    which = "mixed galleries" if tested.mixed else f"galleries by {comparison.column}"
    if tested.p_values[0] > ALPHA:
        return f"{comparison.name}: no difference between {which} was shown."
    advice = "" if len(comparison.tests) > 1 else "; --mix gives each an equal share of all images"
    return f"{comparison.name}: the {which} differ{advice}."
