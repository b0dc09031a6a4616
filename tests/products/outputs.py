"""Readers of what commands print: every format back into tables of texts, to compare one format with another."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

NUMBER = re.compile(r"<?([-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?)")
INTERVAL = re.compile(r"([-+]?[\d.]+(?:e[-+]?\d+)?) to ([-+]?[\d.]+(?:e[-+]?\d+)?)")


@dataclass(frozen=True)
class Grid:
    """A table as it is printed: column names, and rows of texts."""

    columns: list[str]
    rows: list[list[str]]

    def by_column(self) -> list[tuple[str, ...]]:
        """Every column with its name first."""
        return [(name, *(row[i] for row in self.rows)) for i, name in enumerate(self.columns)]

    def records(self) -> list[dict[str, str]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def _grid(rows: Sequence[Sequence[str]]) -> Grid:
    head, *body = rows
    assert all(len(row) == len(head) for row in body), rows
    return Grid([same_text(cell) for cell in head], [[same_text(cell) for cell in row] for row in body])


def same_text(text: str) -> str:
    """A cell without what formats add: spaces, and zeros of an exponent."""
    return re.sub(
        r"(?<=\d)e([-+]?)0*(\d)", lambda found: f"e{found[1].replace('+', '')}{found[2]}", " ".join(text.split())
    )


def read_csv(text: str) -> Grid:
    head, *rows = csv.reader(io.StringIO(text))
    assert len(set(head)) == len(head), f"two columns of one name: {head}"
    assert all(len(row) == len(head) for row in rows)
    return Grid(head, rows)


def read_md(text: str) -> list[Grid]:
    found, table = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            table.append([re.sub(r"\\(.)", r"\1", cell.strip()) for cell in cells])
        elif table:
            assert all(set(cell) <= set("-:") for cell in table.pop(1))
            found.append(_grid(table))
            table = []
    return found


def read_terminal(text: str) -> list[Grid]:
    """Tables begin above a rule; columns are where no line has anything for two blanks or more."""
    lines, found = text.splitlines(), []
    for number, line in enumerate(lines):
        if line.strip() and set(line) <= {" ", "─"}:
            stop = next((n for n in range(number + 1, len(lines)) if not lines[n].strip()), len(lines))
            block = [lines[number - 1], *lines[number + 1 : stop]]
            width = max(map(len, block))
            taken = "".join("x" if any(one[i : i + 1].strip() for one in block) else " " for i in range(width))
            spans = [match.span() for match in re.finditer(r"x+(?: x+)*", taken)]
            found.append(_grid([[one[start:end] for start, end in spans] for one in block]))
    return found


def read_plain(text: str) -> list[Grid]:
    """Columns for gnuplot: below the last line that begins with #, up to a blank one. Texts have no blanks in them."""
    found = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        lines = block.splitlines()
        count = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
        if count:
            head = lines[count - 1].lstrip("# ").split()
            rows = [line.split(maxsplit=len(head) - 1) for line in lines[count:]]
            found.append(_grid([head, *rows]))
    return found


def read_tex(text: str) -> list[list[Grid]]:
    """The tables, each as the parts that stand below one another."""
    return [
        [
            _grid([[_tex_cell(cell) for cell in re.split(r"(?<!\\) & ", row)] for row in _tex_rows(part)])
            for part in re.findall(r"\\toprule\n(.*?)\\bottomrule", table, re.DOTALL)
        ]
        for table in re.findall(r"\\begin\{table\}.*?\\end\{table\}", text, re.DOTALL)
    ]


def _tex_rows(part: str) -> list[str]:
    return [line.removesuffix(r" \\") for line in part.splitlines() if line.endswith(r"\\")]


_TEX = {
    r"\allowbreak{}": "", r"\strut": "", r"\raggedright ": "", "$-$": "-", r"\,\%": " %", "$<$": "<", "$>$": ">",
    "$p$": "p", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^", r"\textbackslash{}": "\\", r"$\infty$": "inf",
    r"\textless{}": "<", r"\textgreater{}": ">", r"\textbar{}": "|", "{}": "",
}  # fmt: skip


def _tex_cell(cell: str) -> str:
    cell = re.sub(r"\\parbox\[t\]\{\d+pt\}\{(.*)\}", r"\1", cell)
    cell = re.sub(r"\$\\cdot10\^\{(-?\d+)\}\$", r"e\1", cell)
    for written, meant in _TEX.items():
        cell = cell.replace(written, meant)
    cell = re.sub(r"\\([&%$#_{}])", r"\1", cell)
    cell = re.sub(r"^\[([^,\[\]]+), ([^,\[\]]+)\]$", r"\1 to \2", cell)
    return "-" if cell == "--" else cell


class _Tables(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self._cell: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self._cell = []

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.tables[-1][-1].append("".join(self._cell or []))
            self._cell = None


def read_html(text: str) -> list[Grid]:
    parser = _Tables()
    parser.feed(text)
    return [_grid(table) for table in parser.tables]


def numbers_in(data: Any) -> Iterator[float]:
    """All numbers of JSON."""
    if isinstance(data, dict):
        for value in data.values():
            yield from numbers_in(value)
    elif isinstance(data, list):
        for value in data:
            yield from numbers_in(value)
    elif isinstance(data, str) and NUMBER.fullmatch(data) is None:
        return
    elif isinstance(data, (int, float, str)) and not isinstance(data, bool):  # texts are columns of the cases
        yield float(data)


def shown_numbers(cell: str) -> list[str]:
    """The numbers that a cell consists of: one, the limits of an interval, or none."""
    if (limits := INTERVAL.fullmatch(cell)) is not None:
        return list(limits.groups())
    return [found[1]] if (found := NUMBER.fullmatch(cell)) is not None and not cell.startswith("<") else []


def is_rounding(shown: str, number: float) -> bool:
    """Whether a number is shown by these digits."""
    digits, _, power = shown.partition("e")
    places = len(digits.partition(".")[2]) - int(power or 0)
    return abs(float(shown) - number) <= 0.5 * 10.0**-places * (1 + 1e-6) + 1e-12 * abs(number)
