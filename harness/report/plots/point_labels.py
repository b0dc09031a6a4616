"""Names beside points: where they cover neither a line nor each other, and left out where there is no room."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.report.plots.legends import touches
from harness.report.plots.style import SMALL

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

# Points away from a mark, and how the text is aligned there; the first that is free is taken.
OFFSETS = (
    (5, -2, "left", "top"),
    (5, 2, "left", "bottom"),
    (-5, 2, "right", "bottom"),
    (-5, -2, "right", "top"),
    (0, -6, "center", "top"),
    (0, 6, "center", "bottom"),
)


@dataclass(frozen=True)
class PointLabel:
    """A text beside a point of a panel."""

    sheet: "Axes"
    x: float
    y: float
    text: str
    colour: str


def place_labels(labels: Sequence[PointLabel]) -> None:
    """Write those that fit; the layout must have been done."""
    taken: list[Bbox] = []
    for label in labels:
        _place(label, taken)


def _place(label: PointLabel, taken: "list[Bbox]") -> None:
    """First where no line is, then where at least no other label is."""
    sheet = label.sheet
    if not _try(label, taken, [*sheet.lines, *sheet.collections]):
        _try(label, taken, [])


def _try(label: PointLabel, taken: "list[Bbox]", drawn: "Sequence[Artist]") -> bool:
    sheet, inside = label.sheet, label.sheet.get_window_extent()
    for x, y, across, along in OFFSETS:
        text = sheet.annotate(
            label.text,
            (label.x, label.y),
            xytext=(x, y),
            textcoords="offset points",
            ha=across,
            va=along,
            fontsize=SMALL,
            color=label.colour,
            annotation_clip=True,
        )
        box = text.get_window_extent()
        free = box.x0 >= inside.x0 and box.x1 <= inside.x1 and box.y0 >= inside.y0 and box.y1 <= inside.y1
        if free and not any(box.overlaps(other) for other in taken) and not any(touches(one, box) for one in drawn):
            taken.append(box)
            return True
        text.remove()
    return False
