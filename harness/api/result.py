"""What the Python API returns: typed results that know their JSON, their text and their table."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, Unpack

import msgspec

from harness.api.keywords import draws
from harness.api.wording import ForReaders
from harness.errors import MissingExtra, UsageError
from harness.options import PictureKeywords, PictureOptions
from harness.report.blocks import Block, Paragraphs, Table
from harness.report.brief import brief_text
from harness.report.formats import Format, encode_json, json_lines, notebook_html, render, render_document, render_parts
from harness.report.plots.canvas import Picture, check_picture
from harness.report.text import safe

if TYPE_CHECKING:
    from pandas import DataFrame

    from harness.report.plots.canvas import Axes


class Addition(NamedTuple):
    """What options of a room or of another package add to a result."""

    # What its JSON is made of.
    payload: Any
    # What people read, after the rest.
    blocks: Sequence[Block]
    remarks: Sequence[str] = ()


class Result(ForReaders, ABC):
    """The base of all results. A command prints what `render` returns, and the remarks on stderr."""

    # What a reader should know beside the results: which file was taken, what was left out.
    remarks: Sequence[str] = ()

    # Those of the remarks without which the numbers would mislead; they stand below them wherever these are shown.
    cautions: Sequence[str] = ()

    # By the names of those who added it, which are keys of the JSON.
    additions: Mapping[str, Addition] = MappingProxyType({})

    # Programs read JSON: there, some results say everything in it.
    remarks_beside_json: ClassVar[bool] = True

    @property
    def further(self) -> str:
        """What a Python prompt names below the numbers."""
        return "print(), .to_dict(), .to_frame()"

    def remarks_in(self, style: Format) -> Sequence[str]:
        """The remarks that go with a format: all of them, unless a result knows better."""
        return self.remarks if self.remarks_beside_json or style is not Format.JSON else ()

    @abstractmethod
    def payload(self) -> Any:
        """What the command's JSON is made of: whatever `encode_json` writes."""

    @abstractmethod
    def blocks(self) -> Sequence[Block]:
        """What people read: headings, sentences and tables."""

    def summary(self) -> Sequence[Block]:
        """What people are shown first, where `blocks` is more than they want to read."""
        return self.blocks()

    def with_additions(self, additions: Mapping[str, Addition]) -> Self:
        """The same result, with what was added to it."""
        if not additions:
            return self
        remarks = [*self.remarks, *(text for addition in additions.values() for text in addition.remarks)]
        extended = copy(self)
        vars(extended).update(additions=additions, remarks=remarks)
        return extended

    def _with_added(self, payload: Any) -> Any:
        """A payload with what was added; a UsageError if it has a key of that name."""
        for name in self.additions:
            if name in payload:
                raise UsageError(f"hate.options: {name}: the JSON of the command has this key; uninstall the plug-in")
        added = {name: addition.payload for name, addition in self.additions.items()}
        return payload | added if added else payload

    def _added_blocks(self) -> list[Block]:
        return [block for addition in self.additions.values() for block in addition.blocks]

    def whole_payload(self) -> Any:
        """What the command's JSON is made of, with what was added."""
        return self._with_added(self.payload())

    def table(self) -> Table:
        """The one table that spreadsheets and data frames get: tidy, an interval as two numbers."""
        return next(block for block in self.blocks() if isinstance(block, Table)).tidied()

    def plain(self) -> str:
        """Text without frames: columns for gnuplot and R where the result is a single table."""
        return self._rendered(self.blocks(), Format.PLAIN)

    def _rendered(self, blocks: Sequence[Block], style: Format, width: int = 100) -> str:
        blocks = self.shown([*blocks, *self._added_blocks()])
        if len(blocks) == 1 and isinstance(blocks[0], Table):
            return render(blocks[0], style, terminal_width=width)
        return render_document(blocks, style, terminal_width=width)

    def to_dict(self) -> dict[str, Any]:
        """The same as the command's JSON."""
        found: dict[str, Any] = msgspec.json.decode(encode_json(self.whole_payload()))
        return found

    def to_frame(self) -> "DataFrame":
        """The table as a pandas data frame."""
        try:
            from pandas import DataFrame, Series
        except ImportError:
            raise MissingExtra("to_frame: pandas is not installed; install it with: pip install pandas") from None
        table = self.table()
        frame = DataFrame(table.records(), columns=list(table.columns))
        # Else pandas makes 10.0 of 10 in a column that also has None or fractions.
        for name, values in table.mixed().items():
            frame[name] = Series(values, dtype=object)
        return frame

    def render(self, style: Format | str = Format.PLAIN, width: int = 100, *, everything: bool = False) -> str:
        """The result in a format; `width` is that of a terminal. Plain text has everything, the others a summary."""
        try:
            style = Format(style)
        except ValueError:
            raise UsageError(f"style={style!r:.60}: not one of {', '.join(Format)}") from None
        if style is Format.JSON:
            return json_lines(self.whole_payload())
        if style is Format.CSV:
            return render(self.table(), style)
        if style is Format.PLAIN:
            return self.plain()
        return self._rendered(self.blocks() if everything else self.summary(), style, width)

    def parts(self, style: Format, width: int = 100, *, everything: bool = False) -> Iterator[str]:
        """What `render` returns, in parts where it may be too much to be held at once."""
        if style is Format.CSV:
            return render_parts(self.table(), style)
        return iter([self.render(style, width, everything=everything)])

    def __str__(self) -> str:
        return self.render(Format.PLAIN) + "".join(f"{safe(text)}\n" for text in self.cautions)

    def __repr__(self) -> str:
        return brief_text(type(self).__name__, self.shown(self.summary()), self.further, self.cautions)

    def _repr_html_(self) -> str:
        remarks = self.remarks_in(Format.TABLE)
        blocks = [*self.summary(), *self._added_blocks(), *([Paragraphs(remarks)] if remarks else [])]
        return notebook_html(self.shown(blocks))


class PictureResult(Result):
    """A result that can be drawn."""

    @property
    def has_picture(self) -> bool:
        """Whether there is something to draw; `make_picture` says why not."""
        return True

    @property
    def further(self) -> str:
        return super().further + (", .plot()" if self.has_picture else "")

    @abstractmethod
    def make_picture(self, options: PictureOptions, ax: "Axes | None" = None) -> Picture:
        """The picture, in a figure of its own or in axes that are given: what commands and the methods below call."""

    @draws
    def plot(
        self,
        path: str | Path | None = None,
        *,
        ax: "Axes | None" = None,
        force: bool = False,
        **look: Unpack[PictureKeywords],
    ) -> "Axes":
        """Draw the result and return the axes, which may be changed further; of several panels, the first.

        >>> result.plot("roc.pdf", width=3.3)
        >>> result.plot(ax=axes[0])

        A file has the same bytes every time. With neither `path` nor `ax` the figure is one of pyplot's, as if made by
        plt.subplots(): a notebook shows it once, when the cell is done; elsewhere plt.show() does. Into `ax` it is
        drawn in your own style, with the legend inside; a file then has the whole figure.

        Args:
            path: The file to write, .svg, .png or .pdf, which must not be there.
            ax: Axes of your own figure to draw into; a picture that has several panels refuses them.
            force: Overwrite a file that is there.
        """
        return plotted(self.make_picture, PictureOptions.of(look), path, ax, force=force)

    @draws
    def picture(self, **look: Unpack[PictureKeywords]) -> Picture:
        """The picture, not written anywhere: `.svg(prefix=, alt=)` is text for a page, `.save(path)` writes it."""
        return self.make_picture(PictureOptions.of(look))


def plotted(
    make: Callable[[PictureOptions, "Axes | None"], Picture],
    options: PictureOptions,
    path: str | Path | None,
    ax: "Axes | None",
    *,
    force: bool,
) -> "Axes":
    """What `plot` does: make the picture, and write it, or show it unless it is in axes that were given."""
    if path is not None:
        check_picture(Path(path), "picture")
    picture = make(options, ax)
    if path is not None:
        picture.save(Path(path), force=force)
    elif ax is None:
        picture.show()
    return picture.axes
