"""Texts in pictures: legends that cover no curve (inside where it is empty, else beside or above), labels, names."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from harness.errors import UsageError
from harness.options import PictureOptions
from harness.report.plots.style import GUIDE, SMALL
from harness.report.text import safe, shortened, wrapped

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.transforms import Bbox

CORNERS = ("lower right", "lower left", "upper right", "upper left")
SPOTS: tuple[Any, ...] = (*CORNERS, "center right", "center left", "center")
# Pixels around a legend that are kept free.
MARGIN = 3
# Inches from which a picture has room for a legend beside the axes, and the share of it that it may take.
WIDE, SHARE = 5.0, 0.5
MAX_COLUMNS = 4
# The share of given axes that a legend above the data may take.
MAX_TAKEN = 0.6
# Characters per line, tried in this order until the text fits.
LINES = (60, 48, 40, 34, 28, 22, 16)
# Points away from a mark, and how the text is aligned there; the first that is free is taken.
OFFSETS = (
    (5, -2, "left", "top"),
    (5, 2, "left", "bottom"),
    (-5, 2, "right", "bottom"),
    (-5, -2, "right", "top"),
    (0, -6, "center", "top"),
    (0, 6, "center", "bottom"),
)
# How many names an error lists.
MAX_LISTED = 12
HAIR_SPACE = "\u200a"


@dataclass(frozen=True)
class LegendRequest:
    """A legend of a panel; `inside` if it may lie on the axes."""

    axes: "Axes"
    inside: bool
    title: str | None


def place_legends(figure: "Figure", requests: Sequence[LegendRequest]) -> None:
    """Find room for every legend once the layout is done; the picture grows by those above its panels."""
    needed = [request for request in requests if request.axes.get_legend_handles_labels()[1]]
    more = sum(_place_legend(figure, request, alone=len(needed) == 1) for request in needed)
    if more:
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height + more)


def _place_legend(figure: "Figure", request: LegendRequest, *, alone: bool) -> float:
    """Returns the inches that the legend needs above its axes."""
    axes = request.axes
    for spot in SPOTS if request.inside else ():
        if not covers(axes.legend(**_titled(request), loc=spot), axes):
            return 0.0
    if (last := axes.get_legend()) is not None:
        last.remove()
    if request.inside and alone and figure.get_size_inches()[0] >= WIDE:
        return _beside(figure, request)
    return _above(figure, request, alone=alone)


def place_inside(request: LegendRequest, *, may_grow: bool) -> None:
    """A legend in axes that are given: narrower or smaller where it would cover something, else above what is drawn.

    `may_grow`: whether the y axis may go on above the data.
    """
    axes = request.axes
    if not axes.get_legend_handles_labels()[1]:
        return
    room = float(axes.get_window_extent().width / axes.figure.dpi)
    for size, share in product((None, SMALL), (1.0, 0.75, 0.6, SHARE)):
        legend = axes.legend(**_titled(request), loc=SPOTS[0], fontsize=size, title_fontsize=size)
        _wrap(legend, share * room)
        for spot in SPOTS if request.inside else CORNERS:
            legend.set_loc(spot)
            if not covers(legend, axes):
                return
    shares_y = len(axes.get_shared_y_axes().get_siblings(axes)) > 1
    if may_grow and not shares_y and axes.get_yscale() == "linear" and axes.get_aspect() == "auto":
        legend = _in_columns(
            partial(axes.legend, loc="upper left", fontsize=SMALL, title_fontsize=SMALL), request, room - 0.1
        )
        taken = (legend.get_window_extent().height + 4 * MARGIN) / axes.get_window_extent().height
        if taken < MAX_TAKEN:
            low, high = axes.get_ylim()
            axes.set_ylim(low, low + (high - low) / (1 - taken))
            return
    legend.set_loc("best")


def _titled(request: LegendRequest) -> dict[str, Any]:
    return {"title": request.title, "alignment": "left"}


def _beside(figure: "Figure", request: LegendRequest) -> float:
    """Right of the axes; a long one makes the picture higher."""
    labelled = request.axes.get_legend_handles_labels()
    legend = figure.legend(*labelled, loc="outside right upper", **_titled(request))
    width, height = figure.get_size_inches()
    _wrap(legend, width * SHARE)
    return float(max(0.0, _inches(legend).height + 0.1 - height))


def _above(figure: "Figure", request: LegendRequest, *, alone: bool) -> float:
    """Above the axes, in as many columns as fit; of a picture with one legend, across its whole width."""
    left = 0.0 if alone else float(request.axes.get_window_extent().x0 / figure.dpi)
    room = figure.get_size_inches()[0] - left - 0.1
    labelled = request.axes.get_legend_handles_labels()
    if alone:
        make = partial(figure.legend, *labelled, loc="outside upper left")
    else:
        make = partial(request.axes.legend, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2)
    return _inches(_in_columns(make, request, room)).height


def _in_columns(make: Callable[..., "Legend"], request: LegendRequest, room: float) -> "Legend":
    """A legend in as many columns as fit."""
    look: dict[str, Any] = {"handlelength": 2.2, "handletextpad": 0.4, "columnspacing": 1.0, **_titled(request)}
    for columns in range(min(len(request.axes.get_legend_handles_labels()[1]), MAX_COLUMNS), 0, -1):
        legend = make(ncols=columns, **look)
        if columns == 1 or _inches(legend).width <= room:
            break
        legend.remove()
    _wrap(legend, room)
    return legend


def _wrap(legend: "Legend", room: float) -> None:
    """Break the lines of a legend until it is as narrow as it must be."""
    texts = {text: text.get_text() for text in legend.get_texts()}
    for letters in LINES:
        if _inches(legend).width <= room:
            return
        for text, whole in texts.items():
            text.set_text(wrapped(whole, letters, cut=True))


def _inches(legend: "Legend") -> "Bbox":
    from matplotlib.transforms import Bbox

    box, dpi = legend.get_window_extent(), legend.figure.dpi
    return Bbox.from_bounds(box.x0 / dpi, box.y0 / dpi, box.width / dpi, box.height / dpi)


def covers(legend: "Legend", axes: "Axes") -> bool:
    """Whether a legend lies on anything that is drawn, or goes past the axes."""
    box = legend.get_window_extent()
    inside = axes.get_window_extent()
    if box.x0 < inside.x0 or box.x1 > inside.x1 or box.y0 < inside.y0 or box.y1 > inside.y1:
        return True
    near = box.padded(MARGIN)
    artists = [*axes.lines, *axes.collections, *axes.patches, *axes.texts, *axes.images, *axes.child_axes]
    return any(touches(artist, near) for artist in artists if artist.get_gid() != GUIDE and artist.get_visible())


def touches(artist: "Artist", box: "Bbox") -> bool:
    """Whether something drawn reaches into a box of pixels; what is clipped at the axes does not reach further."""
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

    if isinstance(artist, Axes):
        whole = artist.get_tightbbox()
        return whole is not None and bool(box.overlaps(whole))
    shown: Bbox | None = box
    if artist.get_clip_on() and artist.axes is not None:
        shown = Bbox.intersection(box, artist.axes.get_window_extent())
    return shown is not None and _reaches(artist, shown)


def _reaches(artist: "Artist", box: "Bbox") -> bool:
    from matplotlib.collections import Collection, PathCollection
    from matplotlib.lines import Line2D

    if isinstance(artist, Line2D):
        path = artist.get_transform().transform_path(artist.get_path())
        dots = artist.get_linestyle() in ("None", "none", "", " ")
        return bool(box.count_contains(path.vertices) if dots else path.intersects_bbox(box, filled=False))
    if isinstance(artist, PathCollection):
        return bool(box.count_contains(artist.get_offset_transform().transform(artist.get_offsets())))
    if isinstance(artist, Collection):
        paths = [artist.get_transform().transform_path(path) for path in artist.get_paths()]
        return any(path.intersects_bbox(box, filled=True) for path in paths)
    return bool(box.overlaps(artist.get_window_extent()))


@dataclass(frozen=True)
class PointLabel:
    """A text beside a point of a panel."""

    axes: "Axes"
    x: float
    y: float
    text: str
    colour: str


def place_labels(labels: Sequence[PointLabel]) -> None:
    """Write those that fit; the layout must have been done."""
    taken: list[Bbox] = []
    for label in labels:
        # First where no line is, then where at least no other label is.
        if not _write_label(label, taken, [*label.axes.lines, *label.axes.collections]):
            _write_label(label, taken, [])


def _write_label(label: PointLabel, taken: "list[Bbox]", shapes: "Sequence[Artist]") -> bool:
    axes, inside = label.axes, label.axes.get_window_extent()
    for x, y, across, along in OFFSETS:
        look: dict[str, Any] = {"ha": across, "va": along, "fontsize": SMALL, "color": label.colour}
        where = (label.x, label.y), (x, y)
        text = axes.annotate(label.text, *where, textcoords="offset points", annotation_clip=True, **look)
        box = text.get_window_extent()
        free = box.x0 >= inside.x0 and box.x1 <= inside.x1 and box.y0 >= inside.y0 and box.y1 <= inside.y1
        covered = any(box.overlaps(other) for other in taken) or any(touches(shape, box) for shape in shapes)
        if free and not covered:
            taken.append(box)
            return True
        text.remove()
    return False


class PictureNames:
    """Remembers which names a picture has, so that a label for another one can be refused."""

    def __init__(self, options: PictureOptions) -> None:
        self._labels = options.label
        self._known: dict[str, None] = {}

    def shown(self, name: str, max_length: int = 28) -> str:
        """What --label says, else the name, short enough for a legend."""
        self._known[name] = None
        label = next((word[len(name) + 1 :] for word in self._labels_of(name)), None)
        text = shortened(name, max_length) if label is None else safe(label)
        # A legend leaves out what begins with an underscore.
        return f"{HAIR_SPACE}{text}" if text.startswith("_") else text

    def _labels_of(self, name: str) -> list[str]:
        return [word for word in self._labels if word.startswith(f"{name}=")]

    def check(self) -> None:
        """Raise an error for a label whose name is not in the picture, and for a name with two labels."""
        for name in self._known:
            longer = {word for other in self._known if other.startswith(f"{name}=") for word in self._labels_of(other)}
            if len(words := set(self._labels_of(name)) - longer) > 1:
                raise UsageError(f"--label: '{safe(name)}' is given twice: {', '.join(sorted(words))}; leave one out")
        for word in self._labels:
            if not any(word.startswith(f"{name}=") for name in self._known):
                known = ", ".join(safe(name) for name in list(self._known)[:MAX_LISTED])
                raise UsageError(f"--label {word}: write NAME=TEXT, with a name in the picture: {known}")
