"""Printing results: the chosen format, or the one that fits where they go."""

import shutil
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from harness.report.document import Block, render_document
from harness.report.table import Format, Table, render
from harness.report.text import json_text


def chosen(style: str | None) -> Format:
    """The format that was asked for; else a table on a terminal, plain columns elsewhere."""
    if style is not None:
        return Format(style)
    return Format.TABLE if sys.stdout.isatty() else Format.PLAIN


def _number(value: Any) -> Any:
    """numpy's numbers as Python's, without importing numpy."""
    if callable(getattr(value, "item", None)):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _print_json(payload: Any) -> None:
    print(json_text(msgspec.json.format(msgspec.json.encode(payload, enc_hook=_number), indent=1).decode()))


def _columns() -> int:
    return shutil.get_terminal_size((100, 24)).columns


def emit(style: Format, table: Table, payload: Any) -> None:
    """Print a table, or the payload as JSON."""
    if style is Format.JSON:
        _print_json(payload)
    else:
        print(render(table, style, terminal_width=_columns()), end="")


def emit_document(style: Format, blocks: Sequence[Block], payload: Any) -> None:
    """Print a report of several parts, or the payload as JSON."""
    if style is Format.JSON:
        _print_json(payload)
    else:
        print(render_document(blocks, style, terminal_width=_columns()), end="")


def remark(text: str) -> None:
    """A line beside the results: on stderr, so that piped output stays clean."""
    from harness.report.text import safe

    print(safe(text), file=sys.stderr)
