"""A report as GitHub Markdown, for a pull request: verdicts, tables, and details that are folded."""

from collections.abc import Callable, Sequence
from typing import Any

from harness.report.blocks import Cell, Heading, Paragraphs, Table
from harness.report.chart import Chart
from harness.report.formats import Format, render
from harness.report.page import document
from harness.report.text import html, markdown, safe

# Sections that a reader of a pull request sees at once; the others are folded.
OPEN = ("ranking", "measures")
# A comment on GitHub may have 65,536 characters: longer tables are cut.
MAX_ROWS = 60


def page_markdown(page: document.ReportPage) -> str:
    parts = [f"# {text(page.title)}", text(page.about), _parts(page.lead), *map(_section, page.sections)]
    return "\n\n".join(part for part in parts if part) + f"\n\n---\n\n{text(page.colophon)}\n"


def text(words: str) -> str:
    """Text as it is, without markup."""
    return _without_mentions(markdown(words))


def _without_mentions(escaped: str) -> str:
    """So that nobody is notified of a name after an @."""
    return escaped.replace("@", "@<!-- -->")


def _section(section: document.ReportSection) -> str:
    body = _parts(section.parts)
    if not body:
        return ""
    if section.key in OPEN:
        return f"## {text(section.title)}\n\n{body}"
    return _details(section.title, body)


def _details(summary: str, body: str) -> str:
    """The summary is HTML, where no Markdown is read; what follows a blank line is Markdown again."""
    return f"<details><summary>{_without_mentions(html(summary))}</summary>\n\n{body}\n\n</details>"


def _parts(parts: Sequence[document.Part]) -> str:
    return "\n\n".join(filter(None, (_WRITERS[type(part)](part) for part in parts)))


def _key_figures(part: document.KeyFigures) -> str:
    first, *rest = part.figures
    counts = ", ".join(f"{text(figure.label)} {text(figure.value)}" for figure in rest)
    return f"**{text(first.label)} {text(first.value)}**, {text(first.note)}\n\n{counts}"


def _data_table(part: document.DataTable) -> str:
    rows = part.table.rows
    table = _without_mentions(render(Table(part.table.columns, rows[:MAX_ROWS]), Format.MD).strip())
    more = f"\n\n{len(rows) - MAX_ROWS:,} more rows." if len(rows) > MAX_ROWS else ""
    return f"{text(part.caption)}\n\n{table}{more}"


def _case_cards(part: document.CaseCards) -> str:
    names = [answer.run for answer in part.cards[0].answers]
    columns = ["case", "claim", *(name or "answer" for name in names)]
    rows: list[list[Cell]] = []
    for card in part.cards:
        marked = [("✓" if answer.right else "✗", answer) for answer in card.answers]
        answers = [f"{mark} {answer.outcome} {answer.answer}".rstrip() for mark, answer in marked]
        rows.append([card.id, card.claim, *answers])
    return _data_table(document.DataTable(part.caption, Table(columns, rows)))


def _commands(part: document.CommandLines) -> str:
    """A fence that is longer than any inside."""
    lines = "\n".join(map(safe, part.lines))
    fence = "```" if "```" not in lines else "`" * (2 + len(lines))
    return f"{fence}sh\n{lines}\n{fence}"


_WRITERS: dict[type, Callable[[Any], str]] = {
    Heading: lambda part: f"### {text(part.text)}",
    Paragraphs: lambda part: "\n\n".join(map(text, part.texts)),
    document.KeyFigures: _key_figures,
    document.Verdicts: lambda part: "\n".join(
        f"- **{text(first)}**{''.join(f' {text(line)}' for line in rest)}" for first, *rest in part.pairs
    ),
    document.Facts: lambda part: "\n".join(f"- {text(name)}: {text(value)}" for name, value in part.rows),
    document.DataTable: _data_table,
    # A comment has no room for a picture; the tables beside it have its summary.
    Chart: lambda _part: "",
    document.CaseCards: _case_cards,
    document.CommandLines: _commands,
    document.Folded: lambda part: _details(part.summary, _parts(part.parts)),
}
