"""Tables in every format, and hostile text that must be harmless in all of them."""

import csv
import io
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from enum import Flag, auto
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from harness.model import Counts
from harness.report.blocks import (
    Block,
    Column,
    ExactNumber,
    Heading,
    Paragraphs,
    Table,
    cell_text,
    plain_table_of,
    records_of,
    table_of,
)
from harness.report.counts import CountRow, count_row, count_table, parameter_cells, tidy_table
from harness.report.formats import TABULAR, WRITERS, Format, encode_json, notebook_html, render, render_document
from harness.report.text import markdown, one_word, safe, spreadsheet, tex, width
from harness.stats.rates import Interval
from tests.simulation import examples

quickly = examples(150)
TABLE = Table(
    ["name", "tests", "rate", "note"],
    [["wisard", 1434, 0.87654, "fine"], ["witch", 7, None, "not so fine"]],
    wide=frozenset({"rate"}),
)
HOSTILE = [
    "\x1b[2J\x1b]0;owned\x07", "\x9b31m", "a\rb", "line\nbreak", "tab\there", "\u202egnp.exe", "\u2028", "\u0085",
    "[red]markup[/red]", "[link=file:///etc]x[/link]", "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1",
    r"\input{/etc/passwd}", r"$\write18{ls}$", "50 % & more_#~^{}", "| a | b |", "<script>alert(1)</script>",
    "`code` *em* _em_ ![i](u) [l](u)", "[3pt]", "*", "#", "", " ", "\0", "\ud800", "ü 漢字 e\u0301", "\u061c",
]  # fmt: skip
texts = st.sampled_from(HOSTILE) | st.text(max_size=12)
ACTIVE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def test_plain_has_a_header_for_gnuplot_and_aligned_columns() -> None:
    assert render(TABLE, Format.PLAIN) == (
        "# name  tests  note\n"
        "wisard   1434  fine\n"
        "witch       7  not so fine\n"
    )  # fmt: skip


def test_a_terminal_sees_everything() -> None:
    shown = render(TABLE, Format.TABLE)
    assert [line.split() for line in shown.splitlines() if "wi" in line] == [
        ["wisard", "1434", "0.8765", "fine"],
        ["witch", "7", "not", "so", "fine"],
    ]


def test_csv_has_all_digits() -> None:
    rows = list(csv.reader(io.StringIO(render(TABLE, Format.CSV))))
    assert rows == [
        ["name", "tests", "rate", "note"],
        ["wisard", "1434", "0.87654", "fine"],
        ["witch", "7", "", "not so fine"],
    ]


def test_markdown_aligns_numbers_to_the_right() -> None:
    assert render(TABLE, Format.MD).splitlines() == [
        "| name | tests | rate | note |",
        "| --- | ---: | ---: | --- |",
        "| wisard | 1434 | 0.8765 | fine |",
        "| witch | 7 |  | not so fine |",
    ]


def test_tex_is_a_tabular_with_rules() -> None:
    assert [line for line in render(TABLE, Format.TEX).splitlines() if not line.startswith("%")] == [
        "",
        r"\begin{table}",
        r"\centering\footnotesize\setlength{\tabcolsep}{4pt}",
        r"\caption{What the table shows}",
        r"\begin{tabular}{@{}lrrl@{}}",
        r"\toprule",
        r"name & tests & rate & note \\",
        r"\midrule",
        r"wisard & 1434 & 0.8765 & fine \\",
        r"witch & 7 &  & not so fine \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


def test_a_page_has_numbers_to_the_right_in_a_box_that_scrolls() -> None:
    assert render(TABLE, Format.HTML).splitlines() == [
        '<div class="table" tabindex="0"><table>',
        '<thead><tr><th>name</th><th class="number">tests</th><th class="number">rate</th><th>note</th></tr></thead>',
        "<tbody>",
        '<tr><td>wisard</td><td class="number">1434</td><td class="number">0.8765</td><td>fine</td></tr>',
        '<tr><td>witch</td><td class="number">7</td><td class="number"></td><td>not so fine</td></tr>',
        "</tbody>",
        "</table></div>",
    ]


class Seen(HTMLParser):
    """The elements and the text that a browser would see."""

    def __init__(self, page: str, attributes: set[str] | None = None) -> None:
        super().__init__()
        self.attributes = attributes or {"class", "tabindex"}
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert dict(attrs).keys() <= self.attributes

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.tags.append("comment")


@quickly
@given(texts, texts)
def test_no_text_is_markup_on_a_page(header: str, text: str) -> None:
    blocks: list[Block] = [Heading(header), Paragraphs([text]), Table([header, "x"], [[text, 1]])]
    seen = Seen(render_document(blocks, Format.HTML))
    assert seen.tags == ["h2", "p", "div", "table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"]
    assert seen.text.count(safe(text)) >= 2
    assert not ACTIVE.search(seen.text)


@pytest.mark.parametrize("style", [Format.TABLE, Format.PLAIN, Format.CSV, Format.TEX, Format.MD, Format.HTML])
def test_a_table_without_rows_has_its_header(style: Format) -> None:
    assert "name" in render(Table(["name", "tests"], []), style)


@quickly
@given(texts, texts, st.sampled_from([Format.TABLE, Format.PLAIN, Format.TEX, Format.MD]))
def test_text_is_harmless_on_a_terminal_and_stays_on_one_line(header: str, text: str, style: Format) -> None:
    """The names of columns are untrusted too."""
    table = Table(["id", header, "last"], [[1, text, text], [2, "x", "y"]])
    plain = Table(["id", "header", "last"], [[1, "x", "x"], [2, "x", "y"]])
    shown = render(table, style, terminal_width=400)
    assert not ACTIVE.search(shown)
    if style is Format.TEX:
        # One that is too wide for a column is split into several, of two rows each.
        bodies = [part.partition("\\bottomrule")[0] for part in shown.split("\\midrule\n")[1:]]
        assert bodies
        assert all(body.count("\n") == body.count("\\\\\n") == 2 for body in bodies)
    else:
        assert shown.count("\n") == render(plain, style, terminal_width=400).count("\n")
    shown.encode()


@quickly
@given(texts)
def test_csv_cells_are_read_back_and_are_not_formulas(text: str) -> None:
    shown = render(Table(["a", text], [[text, 1]]), Format.CSV)
    header, row = csv.reader(io.StringIO(shown, newline=""))
    for cell in (header[1], row[0]):
        assert not cell or cell[0] not in "=+-@\t\r" or re.fullmatch(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?", cell)
        assert "\x1b" not in cell
    shown.encode()


def test_numbers_that_are_texts_stay_numbers_in_a_spreadsheet() -> None:
    assert [spreadsheet(text) for text in ("-1", "+2.5", "-1e-3")] == ["-1", "+2.5", "-1e-3"]
    assert [spreadsheet(text)[0] for text in ("-1+1", "=1", "+A1", "@x", "-")] == ["'"] * 5


@quickly
@given(st.lists(texts, min_size=3, max_size=3))
def test_a_plain_line_splits_into_its_columns(cells: list[str]) -> None:
    """As awk, gnuplot and R split it; only the last column may have blanks, and none begins a comment."""
    header, line = render(Table(["a", "b", "c"], [cells]), Format.PLAIN).split("\n")[:2]
    assert header.startswith("# a")
    assert len(line.split(maxsplit=2)) == 3
    assert "#" not in line


@quickly
@given(texts)
def test_markdown_cells_stay_cells(text: str) -> None:
    (line,) = render(Table(["a", "b"], [[text, "x"]]), Format.MD).splitlines()[2:]
    bare = re.sub(r"\\.", "", line)
    assert bare.count("|") == 3
    assert not set(bare) & set("<>`*[]!#_")


@pytest.mark.parametrize("text", HOSTILE)
def test_tex_has_no_commands_but_our_own(text: str) -> None:
    known = r"\\(textbackslash|textasciicircum|textasciitilde|textless|textgreater|textbar)\{\}|\\[{}$&#_%]|^\{\}"
    assert not set(re.sub(known, "", tex(text))) & set("\\{}$&#^_~%<>")
    assert not tex(text).lstrip().startswith(("[", "*"))


def test_tex_compiles(tmp_path: Path) -> None:
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("TeX is not installed")
    body = render(Table(["name", "n"], [[text, "x"] for text in HOSTILE if text.isascii()]), Format.TEX)
    document = rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{body}\end{{document}}"
    (tmp_path / "t.tex").write_text(document)
    command = [program, "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout


def test_what_is_harmless_is_left_alone() -> None:
    for text in ("wisard", "ü 漢字", "a-b_c", "3.5 %"):
        assert safe(text) == text
    assert safe("\x1b[0m") == "\\x1b[0m"
    assert one_word("two words") == "two_words"
    assert one_word("") == "-"
    assert markdown("plain text") == tex("plain text") == "plain text"


def test_wide_and_combining_letters_are_counted_as_terminals_show_them() -> None:
    assert [width(text) for text in ("abc", "漢字", "e\u0301", "ü", "")] == [3, 4, 1, 1, 0]


def test_long_text_is_folded_and_not_lost() -> None:
    text = "word" * 100
    shown = render(Table(["a", "b"], [[1, text]]), Format.TABLE, terminal_width=40)
    assert shown.count("word") >= 80
    assert all(len(line) <= 40 for line in shown.splitlines())


def test_counts_are_rows_with_the_promised_keys() -> None:
    row = count_row({"threshold": 0.5}, Counts(TP=5, TN=3, FP=1, FN=1, ER=1))
    assert list(row) == ["params", "tests", "TP", "TN", "FP", "FN", "ER", "rate", "interval", "replication"]
    assert (row["tests"], row["rate"], row["params"]) == (10, 0.8, {"threshold": 0.5})
    assert row["interval"] == pytest.approx(proportion_confint(8, 10, method="wilson"))
    assert row["replication"] is None
    assert "0.4902 to 0.9433" in render(count_table([({}, Counts(TP=5, TN=3, FP=1, FN=1))]), Format.TABLE)


def test_swept_values_are_shown_exactly_and_stay_apart() -> None:
    values = [100000.1, 100000.2, 1e-7, -1.0, 0.1 + 0.2]
    rows: list[CountRow] = [({"x": value, "flag": True, "mode": "a"}, Counts(TP=1)) for value in values]
    table = count_table(rows, ["x", "flag", "mode"])
    cells = [line.split()[0] for line in render(table, Format.PLAIN).splitlines()[1:]]
    assert [float(cell) for cell in cells] == values
    in_csv = list(csv.reader(io.StringIO(render(table, Format.CSV))))
    assert [float(row[0]) for row in in_csv[1:]] == values
    assert in_csv[1][1:3] == ["true", "a"]


def test_every_format_of_tables_is_offered_and_nothing_else() -> None:
    """A format is an entry of WRITERS; commands offer all of them but those for pages."""
    assert [style.value for style in TABULAR] == ["table", "plain", "json", "csv", "tex", "md"]
    assert set(WRITERS) - {Format.HTML} == set(TABULAR) - {Format.JSON}


@quickly
@given(texts, texts)
def test_no_text_is_markup_in_a_notebook(header: str, text: str) -> None:
    blocks: list[Block] = [Heading(header), Paragraphs([text]), Table([header, "x"], [[text, 1]])]
    seen = Seen(notebook_html(blocks), {"style"})
    assert set(seen.tags) == {"div", "h4", "p", "table", "thead", "tbody", "tr", "th", "td"}
    assert "".join(seen.text.split()) == "".join(f"{safe(header)}{safe(text)}{safe(header)}x{safe(text)}1".split())


def test_a_notebook_has_numbers_at_the_right_and_no_colours_of_its_own() -> None:
    page = notebook_html([TABLE])
    assert page.count('<td style="text-align: right">1434</td>') == 1
    assert page.count('<td style="text-align: left">wisard</td>') == 1
    assert "color" not in page
    assert "<style" not in page


@pytest.mark.parametrize(
    ("values", "lines"),
    [
        ([0.1, 1, 10], ["# C  TP", "0.1   5", "  1   5", " 10   5"]),
        ([1, 1.0], ["# C  TP", "  1   5", "1.0   5"]),
        ([1, None], ["# C   TP", "1      5", "None   5"]),
    ],
)
def test_values_of_a_parameter_stand_as_numbers_do_unless_there_is_a_word_among_them(
    values: list[float | None], lines: list[str]
) -> None:
    cells = parameter_cells([{"C": value} for value in values], ["C"])
    assert render(Table(["C", "TP"], [[*row, 5] for row in cells]), Format.PLAIN).splitlines() == lines


def test_records_are_rows_by_name() -> None:
    table = Table(["name", "threshold"], [["a", ExactNumber(0.5)], ["b", None]])
    assert table.records() == [{"name": "a", "threshold": 0.5}, {"name": "b", "threshold": None}]
    assert type(table.records()[0]["threshold"]) is float


def test_tidy_counts_are_numbers_only() -> None:
    counts = Counts(TP=8, TN=0, FP=0, FN=2)
    table = tidy_table([({"threshold": 0.5}, counts)], ["threshold"])
    low, high = proportion_confint(8, 10, method="wilson")
    assert table.records() == [
        {"threshold": 0.5, "tests": 10, "TP": 8, "TN": 0, "FP": 0, "FN": 2, "ER": 0, "rate": 0.8, "estimate": 0.8,
         "low": pytest.approx(low), "high": pytest.approx(high)}
    ]  # fmt: skip
    assert all(table.numeric())


class Shelf(Flag):
    """Where the numbers of a book are shown, in the tests below."""

    TABLE = auto()
    CSV = auto()
    JSON = auto()


@dataclass(frozen=True)
class Price:
    value: float
    interval: Interval | None = None


@dataclass(frozen=True)
class Book:
    title: str
    pages: int | None = None
    price: Price | None = None


BOOKS = [Book("Emma", 474, Price(9.5, Interval(9.0, 10.0))), Book("Persuasion")]
COLUMNS = [
    Column[Book]("title", shown=Shelf.TABLE | Shelf.CSV | Shelf.JSON, head="book"),
    Column[Book]("pages", shown=Shelf.TABLE | Shelf.JSON),
    Column[Book]("price", "price.value", shown=Shelf.TABLE | Shelf.CSV | Shelf.JSON, form=".2f"),
    Column[Book]("interval", "price.interval", shown=Shelf.TABLE | Shelf.JSON, form=".1f"),
    Column[Book]("low", "price.interval.low", shown=Shelf.CSV),
    Column[Book]("letters", lambda book: len(book.title), shown=Shelf.CSV),
]


def test_a_column_is_declared_once_for_people_spreadsheets_and_programs() -> None:
    """People see heads and forms, and dashes for what is not known; programs get names and all digits."""
    shown = table_of(BOOKS, COLUMNS, Shelf.TABLE)
    assert list(shown.columns) == ["book", "pages", "price", "interval"]
    assert [[cell_text(cell) for cell in row] for row in shown.rows] == [
        ["Emma", "474", "9.50", "9.0 to 10.0"],
        ["Persuasion", "", "-", "-"],
    ]
    assert table_of(BOOKS, COLUMNS, Shelf.TABLE, missing="?").rows[1][:2] == ["Persuasion", "?"]
    sheet = plain_table_of(BOOKS, COLUMNS, Shelf.CSV)
    assert render(sheet, Format.CSV) == "title,price,low,letters\nEmma,9.5,9.0,4\nPersuasion,,,10\n"
    assert json.loads(encode_json(list(records_of(BOOKS, COLUMNS, Shelf.JSON)))) == [
        {"title": "Emma", "pages": 474, "price": 9.5, "interval": [9.0, 10.0]},
        {"title": "Persuasion", "pages": None, "price": None, "interval": None},
    ]
