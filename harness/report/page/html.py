"""A report as one HTML file that needs nothing else: style, script, pictures and data are in it."""

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from harness.report.blocks import Heading, Limits, Paragraphs, Table, cell_text
from harness.report.chart import Chart
from harness.report.formats import Format, render
from harness.report.page import document
from harness.report.page.svg import bar_row, bar_scale, line_chart, swatch
from harness.report.text import html, safe_lines, shortened

FOLDER = Path(__file__).parent
STYLE = FOLDER / "report.css"
# Shades of a cell that the style sheet has.
SHADES = 10
# A label may be a whole text; the data behind the table have all of it.
MAX_CELL_LENGTH = 200
# Sorting a table is no help if it has fewer rows.
MIN_SORTED = 3
_CODE = re.compile(r"`([^`]+)`|(?<![\w-])(--[a-z][a-z-]+)")


def page_html(page: document.ReportPage) -> str:
    style, script = ((FOLDER / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    contents = "".join(f'<li><a href="#{entry.key}">{html(entry.title)}</a></li>\n' for entry in page.sections)
    body = "\n".join(section_html(section) for section in page.sections)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{html(page.title)}</title>
<style>{style}</style>
</head>
<body>
<header>
<p class="kind">{html(page.kind)}</p>
<h1>{html(page.title)}</h1>
<p class="about">{html(page.about)}</p>
</header>
<main>
<div class="lead">
{parts_html(page.lead)}
</div>
<nav aria-label="Contents"><ul>
{contents}</ul></nav>
{body}
</main>
<footer><p>{html(page.colophon)}</p></footer>
<script>{script}</script>
</body>
</html>
"""


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def section_html(section: document.ReportSection) -> str:
    """A section with its heading; it escapes all text itself."""
    return f'<section id="{section.key}">\n<h2>{html(section.title)}</h2>\n{parts_html(section.parts)}\n</section>'


def parts_html(parts: Sequence[document.Part]) -> str:
    return "\n".join(_WRITERS[type(part)](part) for part in parts)


def prose(text: str) -> str:
    """A sentence; options, and what stands between backticks, are set as code."""
    return _CODE.sub(
        lambda match: f"<code{_class('' if match[1] else 'flag')}>{match[1] or match[2]}</code>", html(text)
    )


def _key_figures(part: document.KeyFigures) -> str:
    items = "".join(
        f"<div><dt>{html(figure.label)}</dt><dd><b>{html(figure.value)}</b>"
        f"{f' <span>{html(figure.note)}</span>' if figure.note else ''}</dd></div>\n"
        for figure in part.figures
    )
    return f'<dl class="figures">\n{items}</dl>'


def _verdicts(part: document.Verdicts) -> str:
    items = ""
    for first, *rest in part.pairs:
        more = "".join(f'<p class="quiet">{prose(line)}</p>' for line in rest)
        items += f"<li><p>{prose(first)}</p>{more}</li>\n"
    return f'<ul class="verdicts">\n{items}</ul>'


def _facts(part: document.Facts) -> str:
    rows = "".join(f"<dt>{html(name)}</dt><dd>{html(value)}</dd>\n" for name, value in part.rows)
    return f'<dl class="facts">\n{rows}</dl>'


# Tables


def _data_table(part: document.DataTable) -> str:
    table, bars = part.table, part.bars
    # The first column is what a row is about, even if that is a number.
    kinds = ["", *("number" if right else "" for right in _right_aligned(table)[1:])]
    head = [f'<th scope="col"{_class(kind)}>{html(name)}</th>' for name, kind in zip(table.columns, kinds, strict=True)]
    if bars is not None:
        head.insert(1, f'<th scope="col" class="bars">{html(bars.title)}{bar_scale(bars)}</th>')
    legend = ""
    if bars is not None and len(bars.names) > 1:
        legend = _legend([(name, swatch(number, line=False, dots=True)) for number, name in enumerate(bars.names)])
    rows = "".join(f"<tr>{''.join(_cells(part, index, kinds))}</tr>\n" for index in range(len(table.rows)))
    sortable = " sortable" if len(table.rows) >= MIN_SORTED and part.shades is None else ""
    return (
        f'<div class="table" tabindex="0" role="group" aria-label="{html(part.caption)}">\n'
        f'<table class="data{sortable}">\n<caption>{html(part.caption)}</caption>\n'
        f"<thead><tr>{''.join(head)}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
        f'<p class="get">{legend}{_download(part.caption, part.data or table.tidied())}</p>'
    )


def _right_aligned(table: Table) -> list[bool]:
    """Which columns have numbers, or dashes and crosses in their place."""
    if not table.rows:
        return [False] * len(table.columns)
    columns = zip(*table.rows, strict=True)
    return [all(not isinstance(cell, (str, Limits)) or cell in ("", "-", "x") for cell in column) for column in columns]


def _cells(part: document.DataTable, index: int, kinds: Sequence[str]) -> list[str]:
    texts = [html(shortened(cell_text(cell), MAX_CELL_LENGTH)) for cell in part.table.rows[index]]
    shades = [] if part.shades is None else [f"h{round(share * SHADES)}" for share in part.shades[index]]
    cells = [f'<th scope="row">{texts[0]}</th>']
    for number, (text, kind) in enumerate(zip(texts[1:], kinds[1:], strict=True)):
        cells.append(f"<td{_class(kind, *shades[number : number + 1])}>{text}</td>")
    if part.bars is not None:
        cells.insert(1, f'<td class="bars">{bar_row(part.bars, part.bars.rows[index])}</td>')
    return cells


def _class(*names: str | None) -> str:
    known = " ".join(filter(None, names))
    return f' class="{known}"' if known else ""


def _legend(runs: Iterable[tuple[str, str]]) -> str:
    items = (f"<span>{mark} {html(name)}</span>" for name, mark in runs)
    return f'<span class="legend">{" ".join(items)}</span> '


def _download(caption: str, table: Table) -> str:
    """A link to the numbers; what it points to is in the page."""
    data = base64.b64encode(render(table, Format.CSV).encode()).decode()
    name = re.sub(r"[^a-z0-9]+", "-", caption.lower())[:60].strip("-") or "data"
    link = f'<a download="{name}.csv" href="data:text/csv;charset=utf-8;base64,{data}">'
    return f'{link}CSV<span class="unseen"> of {html(caption)}</span></a>'


# Charts, cases, commands


def _chart(part: Chart) -> str:
    runs = [
        (series.name, swatch(number, line=series.line, dots=series.dots)) for number, series in enumerate(part.series)
    ]
    return (
        f"<figure>\n<figcaption>{html(part.caption)}</figcaption>\n{line_chart(part)}\n"
        f'<p class="get">{_legend(runs)}{_download(part.caption, part.data)}</p>\n</figure>'
    )


def _case_cards(part: document.CaseCards) -> str:
    cards = "\n".join(f"<li>{_card(card)}</li>" for card in part.cards)
    return f'<p class="caption">{html(part.caption)}</p>\n<ul class="cases">\n{cards}\n</ul>'


def _card(card: document.CaseCard) -> str:
    shown = ""
    if card.picture is not None:
        data = base64.b64encode(card.picture).decode()
        shown = f'<img src="data:image/png;base64,{data}" alt="The input of case {html(card.id)}">'
    elif card.text:
        shown = f'<pre class="input">{html_lines(card.text)}</pre>'
    answers = "".join(_answer(answer) for answer in card.answers)
    claim = f'<p class="claim">{html(card.claim)}</p>' if card.claim else ""
    return f'{shown}<div><p class="id">{html(card.id)}</p>{claim}<ul>{answers}</ul></div>'


def _answer(answer: document.CaseAnswer) -> str:
    right, name = ("right", "✓") if answer.right else ("wrong", "✗")
    text = f": {html(answer.answer)}" if answer.answer else ""
    who = f"{html(answer.run)} " if answer.run else ""
    return (
        f'<li class="{right}"><span aria-hidden="true">{name}</span><span class="unseen">{right}: </span> '
        f"{who}<small>{html(answer.outcome)}</small>{text}</li>"
    )


def html_lines(text: str) -> str:
    """Text of several lines for a page."""
    return "\n".join(map(html, safe_lines(text).split("\n")))


_WRITERS: dict[type, Callable[[Any], str]] = {
    Heading: lambda part: f"<h3>{html(part.text)}</h3>",
    Paragraphs: lambda part: "\n".join(f"<p>{prose(text)}</p>" for text in part.texts),
    document.KeyFigures: _key_figures,
    document.Verdicts: _verdicts,
    document.Facts: _facts,
    document.DataTable: _data_table,
    Chart: _chart,
    document.CaseCards: _case_cards,
    document.CommandLines: lambda part: f"<pre><code>{html_lines(chr(10).join(part.lines))}</code></pre>",
    document.Folded: lambda part: (
        f"<details>\n<summary>{html(part.summary)}</summary>\n{parts_html(part.parts)}\n</details>"
    ),
}
