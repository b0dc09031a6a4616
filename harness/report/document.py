"""A report of several parts: headings, sentences and tables, in every format."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from harness.report.table import Format, Table, render
from harness.report.text import html, markdown, safe, tex


@dataclass(frozen=True)
class Heading:
    """The title of a part."""

    text: str


@dataclass(frozen=True)
class Lines:
    """Sentences, a paragraph each."""

    texts: Sequence[str]


Block = Heading | Lines | Table


def render_document(blocks: Sequence[Block], style: Format, *, terminal_width: int = 100) -> str:
    """All blocks in one format; CSV has only the tables."""
    if style is Format.CSV:
        return "\n".join(render(block, style) for block in blocks if isinstance(block, Table))
    parts = [_render(block, style, terminal_width) for block in blocks]
    return "\n".join(part.strip("\n") + "\n" for part in parts if part)


def _render(block: Block, style: Format, width: int) -> str:
    if isinstance(block, Table):
        # The # of a plain table is for gnuplot; between paragraphs an aligned table reads better.
        return render(
            block,
            Format.TABLE if style is Format.PLAIN else style,
            terminal_width=max(width, _FREE * (style is Format.PLAIN)),
        )
    if isinstance(block, Heading):
        return _heading(block.text, style)
    return _lines(block.texts, style, width)


# Piped text is not cut to the width of a terminal.
_FREE = 400


def _heading(text: str, style: Format) -> str:
    if style is Format.TEX:
        return rf"\paragraph{{{tex(text)}}}"
    if style is Format.MD:
        return f"## {markdown(text)}"
    if style is Format.HTML:
        return f"<h2>{html(text)}</h2>"
    return f"{safe(text)}\n{'-' * len(safe(text))}"


def _lines(texts: Sequence[str], style: Format, width: int) -> str:
    if style is Format.TEX:
        return "\n\n".join(tex(text) for text in texts)
    if style is Format.MD:
        return "\n\n".join(markdown(text) for text in texts)
    if style is Format.HTML:
        return "\n".join(f"<p>{html(text)}</p>" for text in texts)
    if style is Format.PLAIN:
        return "\n".join(safe(text) for text in texts)
    return "\n".join(textwrap.fill(safe(text), max(40, min(width, 100))) for text in texts)
