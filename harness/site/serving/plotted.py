"""Intervals as lines on a common scale, for a row of a table each; the numbers stand beside them."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.site.serving.ranking import Ranked

WIDTH = 200.0
MARGIN = 5.0


@dataclass(frozen=True)
class Plot:
    """Places on a line of 200 units."""

    low: str
    value: str
    high: str


def plotted(rows: Sequence[Ranked]) -> list[Plot]:
    """A plot for each row."""
    low, high = min(row.low for row in rows), max(row.high for row in rows)
    scale = (WIDTH - 2 * MARGIN) / ((high - low) or 1.0)

    def place(value: float) -> str:
        return f"{MARGIN + (value - low) * scale:.1f}"

    return [Plot(place(row.low), place(row.value), place(row.high)) for row in rows]
