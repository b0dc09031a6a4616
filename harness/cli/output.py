"""Printing results: the chosen format, or the one that fits where they go."""

import shutil
import sys
from pathlib import Path

from harness.api.result import PictureResult, Result
from harness.options import PictureOptions, PlotOptions
from harness.report.formats import Format


def output_format(style: str | None) -> Format:
    """The format that was asked for; else a table on a terminal, plain columns elsewhere."""
    if style is not None:
        return Format(style)
    return Format.TABLE if sys.stdout.isatty() else Format.PLAIN


def terminal_width() -> int:
    """Columns of the terminal; 100 where there is none."""
    return shutil.get_terminal_size((100, 24)).columns


def emit_result(result: Result, style: str | None, *, everything: bool = False) -> None:
    """Print a result, and its remarks beside it; `style` is as for `output_format`."""
    style = output_format(style)
    sys.stdout.writelines(result.parts(style, terminal_width(), everything=everything))
    for text in result.remarks_in(style):
        remark(text)


def draw(result: PictureResult, options: PlotOptions, look: PictureOptions | None = None) -> None:
    """Draw a result into a file, if one was named; `look` if the picture's options are not those of the command."""
    if options.plot is not None:
        result.make_picture(look or options).save(options.plot, force=options.force)
        remark(f"picture: {options.plot}")


def check_plot(path: Path | None, option: str = "--plot") -> None:
    """Refuse early what cannot be drawn in the end."""
    if path is not None:
        from harness.report.plots.canvas import check_picture

        check_picture(path, option)


def remark(text: str) -> None:
    """A line beside the results: on stderr, so that piped output stays clean."""
    from harness.report.text import safe, say

    say(safe(text))
