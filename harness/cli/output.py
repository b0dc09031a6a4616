"""Printing results: the chosen format, or the one that fits where they go."""

import shutil
import sys
from pathlib import Path
from typing import Any, Protocol

from harness.api.result import Result
from harness.report.blocks import Table
from harness.report.formats import Format, render, render_data


class Drawable(Protocol):
    """A result with a picture."""

    def plot(self, path: Path) -> None:
        """Draw it into a file."""


def output_format(style: str | None) -> Format:
    """The format that was asked for; else a table on a terminal, plain columns elsewhere."""
    if style is not None:
        return Format(style)
    return Format.TABLE if sys.stdout.isatty() else Format.PLAIN


def terminal_width() -> int:
    """Columns of the terminal; 100 where there is none."""
    return shutil.get_terminal_size((100, 24)).columns


def emit(style: Format, table: Table, payload: Any) -> None:
    """Print a table, or the payload as JSON."""
    if style is Format.JSON:
        print(render_data(payload, style), end="")
    else:
        print(render(table, style, terminal_width=terminal_width()), end="")


def emit_result(result: Result, style: Format) -> None:
    """Print a result, and its remarks beside it."""
    print(result.render(style, terminal_width()), end="")
    for text in result.remarks_in(style):
        remark(text)


def draw(result: Drawable, path: Path | None) -> None:
    """Draw a result into a file, if one was named."""
    if path is not None:
        result.plot(path)
        remark(f"picture: {path}")


def check_plot(path: Path | None) -> None:
    """Refuse early what cannot be drawn in the end."""
    if path is not None:
        from harness.report.plots.canvas import check_picture

        check_picture(path)


def remark(text: str) -> None:
    """A line beside the results: on stderr, so that piped output stays clean."""
    from harness.report.text import safe

    print(safe(text), file=sys.stderr)
