"""The gallery effect, for people."""

from collections.abc import Sequence

from harness.analysis.galleries.effect import Galleries, Tested
from harness.report.document import Block, Heading, Lines
from harness.report.match import match_table
from harness.report.numbers import p_text
from harness.report.table import Cell, Table

# A test at 5 %, as everywhere.
ALPHA = 0.05
MOST_NAMES = 3


def gallery_blocks(found: Sequence[Galleries], confidence: float) -> list[Block]:
    """Curves of all galleries, and the tests."""
    curves = [curve for one in found for curve in one.curves]
    bands = list(dict.fromkeys(f"Bands: {c.bands}, pointwise, for {c.target}." for c in curves if c.bands))
    blocks: list[Block] = [match_table(curves, confidence), *([Lines(bands)] if bands else [])]
    blocks += [Heading("Do the galleries differ?"), effect_table(found)]
    return [*blocks, Lines([line for one in found for line in _lines(one)] + _meaning(found))]


def effect_table(found: Sequence[Galleries]) -> Table:
    """A row a test, at rank 1."""
    rows: list[list[Cell]] = []
    for one in found:
        for tested in one.tested:
            rates = tested.effect.rates[:, 0].tolist()
            best, worst = rates.index(max(rates)), rates.index(min(rates))
            names = tested.sets.names
            rows.append([
                one.name, "mixed" if tested.mixed else f"by {tested.sets.column}", len(names),
                f"{rates[best]:.4f} ({names[best]})", f"{rates[worst]:.4f} ({names[worst]})",
                float(tested.effect.ranges[0]), p_text(float(tested.effect.p_values[0])),
            ])  # fmt: skip
    return Table(["name", "galleries", "number", "best, rank 1", "worst, rank 1", "apart", "p"], rows)


def _lines(found: Galleries) -> list[str]:
    lines = [_verdict(found, tested) for tested in found.tested]
    left_out = found.tested[0].sets.left_out
    if left_out:
        names = ", ".join(left_out[:MOST_NAMES]) + (", ..." if len(left_out) > MOST_NAMES else "")
        lines.append(f"{found.name}: {len(left_out):,} people lack an image in a gallery and are left out: {names}.")
    return lines


def _verdict(found: Galleries, tested: Tested) -> str:
    p = float(tested.effect.p_values[0])
    which = "mixed galleries" if tested.mixed else f"galleries by {tested.sets.column}"
    if p > ALPHA:
        return f"{found.name}: no difference between {which} is shown."
    advice = "" if len(found.tested) > 1 else "; --mix gives each an equal share of all images"
    return f"{found.name}: the {which} differ{advice}."


def _meaning(found: Sequence[Galleries]) -> list[str]:
    first = found[0]
    return [
        f"p: how often galleries made at random, of the same people and images, lie as far apart; "
        f"{first.permutations:,} permutations within people, seed {first.seed}."
    ]
