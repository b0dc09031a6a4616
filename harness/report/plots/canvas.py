"""The canvas of all pictures: drawn without a window, then written, the same bytes every time, or taken as SVG.

with Picture(options, height=3.3) as picture:
    picture.axes.plot(x, y, label=picture.name("wisard"))
    picture.legend()
picture.save(Path("roc.pdf"))          # or picture.svg(prefix="roc-") for a page

With `ax` it is drawn into axes of a user's own figure, in the user's own style: nothing else of the figure changes.
"""

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from harness.errors import MissingExtra, OutputError, UsageError
from harness.files.outputs import write_output
from harness.options import AxisLimits, PictureOptions
from harness.report.plots.labels import (
    LegendRequest,
    PictureNames,
    PointLabel,
    place_inside,
    place_labels,
    place_legends,
)
from harness.report.plots.style import BAND, DIM, FURTHER_FONTS, SMALL, STYLE, WIDTH
from harness.report.text import html, safe, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

SUFFIXES = (".svg", ".png", ".pdf")
DPI = 300
# Letters in an inch, at the size of a title.
LETTERS, TITLE_SIZE = 14, 8.5
# More bands than this are drawn lighter.
MAX_BANDS = 6
# Inches that the numbers and the name of an axis take beside the axes.
BESIDE = 0.8
# In a user's own figure, names are no formulas either.
LITERAL = {"text.parse_math": False, "text.usetex": False}


def check_picture(path: Path, option: str = "--plot") -> None:
    """Raise an error before anything is run if the picture cannot be drawn."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{option} {path}: the name of a picture must end in .svg, .png or .pdf")
    if not path.parent.is_dir():
        raise OutputError(f"{option} {path}: no folder {path.parent}; create it first")
    library()


def library() -> Any:
    """Matplotlib, or a hint on how to install it."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra("pictures need matplotlib: pip install 'hate-harness[plots]'") from None
    return matplotlib


class Picture:
    """A picture while it is drawn, inside `with`, and afterwards, to be saved.

    scales  the axes that have numbers: "xy" unless they have classes or groups, which have no limits to set
    placing where a number is drawn on each axis, if not at itself
    limited the panels whose limits can be set, if not all
    """

    def __init__(
        self,
        options: PictureOptions | None = None,
        ax: "Axes | None" = None,
        *,
        height: float,
        width: float = WIDTH,
        panels: int = 1,
        **share: Any,
    ) -> None:
        self.options = options or PictureOptions()
        self._given = ax
        if ax is None:
            self.width = self.options.width or width
            # A wider picture is higher too, but not as much: two columns would be a whole page.
            self.height = height * (self.width / width) ** 0.5
        else:
            _check_axes(ax, panels, self.options)
            # In inches of a picture's own: with letters twice as large, given axes are half as wide.
            letters = float(ax.xaxis.get_major_ticks(1)[0].label1.get_fontsize())
            self.width = axes_inches(ax)[0] * SMALL / letters + BESIDE
        self.scales = "xy"
        self.limited: list[Axes] = []
        # The number of the first curve, for its colour: those that given axes have already keep theirs.
        self.first = 0 if ax is None else len(ax.get_legend_handles_labels()[1])
        self.placing: dict[str, Callable[[float], float]] = {}
        self._names = PictureNames(self.options)
        self._legends: list[LegendRequest] = []
        self._labels: list[PointLabel] = []
        self._panels, self._share = panels, share
        self._style = ExitStack()
        self.figure: Figure

    def __enter__(self) -> Self:
        if self._given is not None:
            self._style.enter_context(library().rc_context(LITERAL))
            self.panels: list[Axes] = [self._given]
            # A part of a figure, too, is written as a whole.
            self.figure = self._given.figure.figure
            return self
        self._style.enter_context(_style())
        # Not pyplot: no window and no global state, whatever backend the user has set.
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.figure = Figure(figsize=(self.width, self.height), layout="constrained")
        FigureCanvasAgg(self.figure)
        self.panels = list(self.figure.subplots(self._panels, 1, squeeze=False, **self._share)[:, 0])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._style:
            if kind is None:
                self._finish()

    @property
    def in_given_axes(self) -> bool:
        """Whether it is a part of a user's own figure."""
        return self._given is not None

    @property
    def axes(self) -> "Axes":
        """The only panel, or the first."""
        return self.panels[0]

    def name(self, text: str, max_length: int = 28) -> str:
        """A name as the picture writes it: what --label says, else short enough for a legend."""
        return self._names.shown(text, max_length)

    def legend(self, axes: "Axes | None" = None, *, inside: bool = True, title: str | None = None) -> None:
        """A legend for a panel, where it covers no curve: inside if there is room, else beside or above."""
        self._legends.append(LegendRequest(axes or self.axes, inside, title))

    def label_point(self, axes: "Axes", point: tuple[float, float], text: str, colour: str) -> None:
        """A text beside a point, if there is room for it."""
        self._labels.append(PointLabel(axes, *point, text, colour))

    def note(self, text: str) -> None:
        """A sentence below the picture, if there is one; in a user's own figure, below the name of the x axis."""
        if text and self._given is not None:
            label = self.axes.xaxis.label
            label.set_text(f"{label.get_text()}\n{wrapped(safe(text), self._letters(label))}")
        elif text:
            letters = int(self.width * LETTERS * TITLE_SIZE / SMALL)
            self.figure.supxlabel(wrapped(safe(text), letters), fontsize=SMALL, color=DIM)

    def _letters(self, text: "Text") -> int:
        """How many letters of a text fit side by side above or below given axes."""
        return max(20, int(axes_inches(self.axes)[0] * LETTERS * TITLE_SIZE / float(text.get_fontsize())))

    def save(self, path: Path, *, force: bool = False) -> None:
        """Write it; the name's end says in which format. An existing file is refused, unless forced."""
        check_picture(path, "picture")
        write_output(path, self._rendered(path.suffix.lower()[1:]), force=force, what="the picture")

    def svg(self, *, prefix: str = "", alt: str = "") -> str:
        """An <svg> element for a page, with colours as attributes, so that a page may map them: see `style`.

        `prefix` keeps its ids apart from those of others, `alt` says what it shows.
        """
        return svg_element(self._rendered("svg").decode("utf-8"), prefix, alt)

    def show(self) -> None:
        """Hand the figure over to pyplot, which shows it in a notebook when the cell is done, or in a window."""
        from matplotlib import pyplot

        # Only once it is drawn: a mistake leaves no empty figure behind.
        pyplot.figure(FigureClass=lambda **_: self.figure)  # type: ignore[arg-type]

    def _rendered(self, kind: str) -> bytes:
        dates: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}[kind]
        file = io.BytesIO()
        with _style() if self._given is None else nullcontext(), _any_letters():
            self.figure.savefig(file, format=kind, dpi=DPI, metadata=dates)
        return file.getvalue()

    def _finish(self) -> None:
        self._write_title()
        for axes in self.panels:
            # Many bands would hide the lines.
            bands = [artist for artist in axes.collections if artist.get_alpha() == BAND]
            for band in bands if len(bands) > MAX_BANDS else ():
                band.set_alpha(BAND * MAX_BANDS / (2 * len(bands)))
        self._limit("x", self.options.xlim)
        self._limit("y", self.options.ylim)
        self._names.check()
        with _any_letters():
            if self._given is None:
                self.figure.draw_without_rendering()
                place_labels(self._labels)
                place_legends(self.figure, self._legends)
                return
            # Brings limits, aspect and ticks of these axes up to date, and leaves the others alone.
            self._given.get_tightbbox()
            place_labels(self._labels)
            for request in self._legends:
                place_inside(request, may_grow="y" in self.scales and self.options.ylim is None)

    def _write_title(self) -> None:
        """Above the axes; above the whole picture, if its panels have legends of their own."""
        if not self.options.title:
            return
        if self._given is not None:
            self.axes.set_title(wrapped(safe(self.options.title), self._letters(self.axes.title)))
            return
        lines = wrapped(safe(self.options.title), max(20, int(LETTERS * min(self.width, WIDTH))))
        if len(self._legends) == 1:
            self.axes.set_title(lines)
        else:
            self.figure.suptitle(lines)

    def _limit(self, axis: str, limits: AxisLimits | None) -> None:
        if limits is None:
            return
        if axis not in self.scales:
            raise UsageError(f"--{axis}lim: the {axis} axis of this picture has no scale; leave it out")
        position = self.placing.get(axis, float)
        try:
            low, high = (None if end is None else position(end) for end in (limits.low, limits.high))
        except ValueError:
            raise UsageError(f"--{axis}lim: this axis has rates above 0 and below 1") from None
        for axes in self.limited or self.panels:
            axes.set(**{f"{axis}lim": (low, high)})
            if axes.get_aspect() != "auto":
                axes.set_aspect("auto")


def _check_axes(ax: "Axes", panels: int, options: PictureOptions) -> None:
    """Refuse what cannot be drawn into given axes."""
    library()
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise UsageError(f"ax: {type(ax).__name__} is not an Axes of matplotlib; give one, such as axes[0]")
    if panels > 1:
        raise UsageError(
            f"ax: this picture has {panels} panels, and there is room for one; leave it out, and the picture has a "
            "figure of its own"
        )
    if options.width is not None:
        raise UsageError("--width: axes that are given have a width of their own; leave it out")


def axes_inches(ax: "Axes") -> tuple[float, float]:
    """The width and the height of axes."""
    box = ax.get_window_extent()
    dpi = ax.figure.dpi
    return float(box.width / dpi), float(box.height / dpi)


@contextmanager
def _style() -> Iterator[None]:
    matplotlib = library()
    from matplotlib import font_manager

    installed = {font.name for font in font_manager.fontManager.ttflist}
    fonts = ["DejaVu Sans", *(name for name in FURTHER_FONTS if name in installed)]
    with matplotlib.rc_context({**STYLE, "font.family": fonts}):
        yield


@contextmanager
def _any_letters() -> Iterator[None]:
    """Letters that no font has are drawn as boxes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


# An SVG file as an element of a page: no names in comments, no ids or rules that reach other pictures, no styles.
# A page may forbid style attributes (a content security policy), and can map colours that are attributes: [fill="..."].

_NOT_SHOWN = re.compile(
    r"<!--.*?(?:-->\n?|\Z)|(?<!\s)\s*+(?:<metadata>.*?(?:</metadata>|\Z)|<style.*?(?:</style>|\Z))", re.DOTALL
)
_REFERENCE = re.compile(r"(href=\"|url\()#([^\")]+)")
# What the file says in its <style>, for all lines that say nothing else.
_LINES = {"stroke-linejoin": "round", "stroke-linecap": "butt"}


def svg_element(text: str, prefix: str, alt: str) -> str:
    """The element; `prefix` is put before its ids, `alt` says what it shows."""
    text = _NOT_SHOWN.sub("", text[text.index("<svg") :])
    used = {name for _, name in _REFERENCE.findall(text)}
    text = re.sub(r' id="([^"]*)"', lambda match: f' id="{prefix}{match[1]}"' if match[1] in used else "", text)
    text = _REFERENCE.sub(rf"\1#{prefix}\2", text)
    text = re.sub(r' style="([^"]*)"', lambda match: _style_attributes(match[1]), text)
    words = f'role="img" aria-label="{html(alt)}"' if alt else 'aria-hidden="true"'
    return text.replace("<svg", f"<svg {words}{_attributes(_LINES)}", 1)


def _style_attributes(style: str) -> str:
    """The rules of a style attribute as attributes."""
    rules = dict(rule.split(":", 1) for rule in style.split(";") if ":" in rule)
    return _attributes({name.strip(): value.strip() for name, value in rules.items() if "blend" not in name})


def _attributes(attributes: dict[str, str]) -> str:
    return "".join(f' {name}="{value}"' for name, value in attributes.items())
