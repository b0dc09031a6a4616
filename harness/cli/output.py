"""Printing results: the chosen format, or the one that fits where they go."""

import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from harness.engine.units import has_design
from harness.model import plural
from harness.report.counts import design_words
from harness.report.document import Block, render_document
from harness.report.table import Format, Table, render
from harness.report.text import json_text

if TYPE_CHECKING:
    from harness.analysis.rates import DesignRate
    from harness.engine.run import Result
    from harness.transcript.format import Header


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


def tell_design(style: Format, designs: "Sequence[DesignRate | None]") -> None:
    """What the intervals of a table are, where it has any."""
    if style in (Format.TABLE, Format.MD, Format.TEX, Format.CSV):
        for text in dict.fromkeys(design_words(design) for design in designs if design is not None):
            remark(text)


def psu_words(header: "Header | None") -> str:
    """What the test's units are, in the plural; units where it does not say."""
    name = None if header is None else header.design.get("psu")
    return plural(name) if isinstance(name, str) else "units"


def design_rate(result: "Result") -> "DesignRate | None":
    """The rate of a run by the test's design; None where there is none."""
    if result.header is None or not (has_design(result.header.design) or result.header.repeat):
        return None
    from harness.analysis.rates import DesignRate, rate_of_transcript, rate_of_units

    # Sums by unit are all that it takes, unless single cases have weights.
    if result.units is not None and not result.header.weighs_cases:
        return rate_of_units(result.units.sums, result.header)
    if result.path is None:
        return DesignRate(None, None, "single cases have weights, which takes a transcript: -o FILE leaves one")
    return rate_of_transcript(result.path)
