"""Every format of every command says the same: the same rows and columns, and numbers that are those of the JSON.

What a format leaves out, or computes for people, is declared with each question, and is exactly what is found.
"""

import json
import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest

import harness
from harness.api.wording import PythonWords
from harness.cli.commands import PLUGINS, commands_here, hate
from harness.report.formats import Format
from tests.products.conftest import AllRuns
from tests.products.outputs import (
    Grid,
    is_rounding,
    numbers_in,
    read_csv,
    read_html,
    read_md,
    read_plain,
    read_terminal,
    read_tex,
    shown_numbers,
)
from tests.products.subjects import SUBJECTS, Runs
from tests.rooms import of_commands_here
from tests.workshop import Workshop

pytest.importorskip("pandas", reason="data frames are made by pandas")

# Where an estimate or a count stands that JSON does not have, and why.
INFINITE = {"threshold": "infinite ones are null in JSON"}
CASES = {"cases": "units times the cases of a unit"}
ALWAYS_COMPUTED = {"rank": "the number of a row"}
# How numbers are shown in larger units.
UNITS = {"MB": 1e-6}
# Journals have narrow columns.
COUNTS = frozenset({"TP", "TN", "FP", "FN"})


@dataclass(frozen=True)
class Declared:
    """What is not the same on purpose.

    computed   columns with numbers that JSON does not have, each with its reason
    not_tex    columns that a narrow page can do without
    wide       whether a terminal gets fewer columns than a page
    """

    computed: dict[str, str] = field(default_factory=dict)
    not_tex: frozenset[str] = frozenset()
    wide: bool = False


# What is asked: A and B are runs, RUNS all of them, TEST and PROGRAM what they were made with, MATRIX and TABLE files.
QUESTIONS: dict[str, Declared] = {
    "list": Declared(),
    "list --interfaces": Declared(),
    "list --transcripts": Declared(wide=True),
    "run TEST --interface PROGRAM -o out.jsonl --force": Declared(),
    "status A": Declared(),
    "sweep TEST --interface PROGRAM --param skill=0.5,1": Declared(),
    "tune TEST --interface PROGRAM --param skill=0.5,1 --on-test": Declared(),
    "roc RUNS --points 5": Declared(INFINITE),
    "det A B --points 5": Declared(INFINITE),
    "pr A B --points 5": Declared(INFINITE),
    "froc RUNS --points 5": Declared(INFINITE),
    "cmc RUNS": Declared(),
    "cmc MATRIX --gallery day=1 --probe day=2": Declared(),
    "confusion A B": Declared(),
    "show A --limit 9": Declared(),
    "diff A B": Declared(),
    "diff A B --answers --limit 9": Declared(),
    "rate RUNS": Declared(),
    "rate RUNS --by group": Declared(),
    "rate A B --statistic rate,blur --by group --by fold": Declared(),
    "rate A --sequential": Declared(),
    "compare RUNS": Declared(not_tex=COUNTS),
    "compare RUNS --by group": Declared(not_tex=COUNTS),
    "compare RUNS --items": Declared(not_tex=COUNTS),
    "compare RUNS --baseline ann": Declared(not_tex=COUNTS),
    "compare RUNS --statistic cost": Declared(not_tex=COUNTS),
    "compare RUNS --unpaired": Declared(),
    "compare A B --margin 0.1": Declared(not_tex=COUNTS),
    "compare A B --sequential": Declared(),
    "compare --table 58 31 9 902": Declared(not_tex=COUNTS),
    "fuse A B -o out.jsonl --force": Declared(),
    "power A B": Declared(CASES),
    "power --difference 0.05 --discordance 0.2": Declared(),
    "power --rule-of-30 0.01": Declared(),
    "permute MATRIX --experiments 20 --ranks 3": Declared(),
    "galleries MATRIX --by day --mix --permutations 50": Declared(),
    "methods RUNS": Declared(),
    "methods MATRIX --gallery day=1 --probe day=2 --stratum subject": Declared(),
    "urn A --group stratum --trial group --permutations 50": Declared(),
    "anova A B --by group": Declared(),
    "zoo hdigits/wisard --subjects expect,truth": Declared(),
    "import TABLE --test toy --algorithm x -o out.jsonl --force": Declared(),
    "cache list": Declared(),
}
QUESTIONS = of_commands_here(QUESTIONS)
# Commands with formats that are not asked.
NOT_ASKED = {
    "publish": "its table is a list of what was written, held in tests/site",
    "submit": "it needs a site that is served, held in tests/server",
    "fetch": "its table is a list of what was downloaded, held in tests/site",
    "token list": "held in tests/server",
    "cache verify": "it lists what is damaged, held in tests/site",
    "describe": "a page of prose about a test, without a table; held in tests/cli",
    "cases": "it gives the cases themselves, as lines of JSON and as CSV; see below",
}


@dataclass(frozen=True)
class Outputs:
    """What a command printed in each of its formats."""

    texts: dict[Format, str]

    @property
    def data(self) -> Any:
        return json.loads(self.texts[Format.JSON])

    def pages(self) -> list[Grid]:
        return read_md(self.texts[Format.MD])


def command_of(words: Sequence[str]) -> click.Command:
    """The command, or the command of a group, that the first words name."""
    found = hate.get_command(click.Context(hate), words[0])
    assert found is not None
    return found.commands[words[1]] if isinstance(found, click.Group) else found


def formats_of(command: click.Command) -> list[Format]:
    choices = [param.type.choices for param in command.params if "--format" in param.opts]  # type: ignore[attr-defined]
    return [Format(name) for name in choices[0] if name in set(Format)] if choices else []


def words_of(question: str, shop: Workshop, runs: Runs) -> list[str]:
    if "MATRIX" in question and not Path("one.npy").exists():
        done = shop.call("new", "matrix", "one.npy", "--subjects", "8", "--images", "2", "--effect", "day=0.5")
        assert done.status == 0, done.err
    if "TABLE" in question:
        shop.write("rows.csv", "id,y_true,y_pred\n" + "".join(f"{i},{i % 2},{i % 3 % 2}\n" for i in range(30)))
    paths = list(map(str, runs.paths))
    known = {
        "RUNS": paths, "A": paths[:1], "B": paths[1:2], "TEST": [str(runs.script)], "PROGRAM": [str(runs.interface())],
        "MATRIX": ["one.npy"], "TABLE": ["rows.csv"],
    }  # fmt: skip
    return [one for word in question.split() for one in known.get(word, [word])]


def ask(shop: Workshop, words: Sequence[str]) -> Outputs | None:
    """All formats; None if the command refuses the subject."""
    found: dict[Format, str] = {}
    for style in formats_of(command_of(words)):
        if style is Format.TRANSCRIPT:
            continue
        done = shop.call(*words, "--format", style)
        if done.status == 2:
            assert not found, f"{style}: {done.err}"
            return None
        found[style] = done.out
    return Outputs(found)


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """No table is split."""
    monkeypatch.setenv("COLUMNS", "100000")


def not_in(numbers: Sequence[float], grids: Sequence[Grid]) -> dict[str, list[str]]:
    """Cells that show no number of JSON, by column."""
    found: dict[str, list[str]] = {}
    for name, *cells in (column for grid in grids for column in grid.by_column()):
        known = [number * UNITS.get(name.split()[0], 1) for number in numbers] if name else numbers
        for cell in cells:
            if not all(_has(known, shown) for shown in shown_numbers(cell)):
                found.setdefault(name, []).append(cell)
    return found


def _has(known: Sequence[float], shown: str) -> bool:
    """Whether the number that is nearest is shown by these digits; they are in order."""
    place = bisect(known, float(shown))
    return any(is_rounding(shown, number) for number in known[max(0, place - 1) : place + 1])


def exact_not_in(numbers: Sequence[float], grid: Grid) -> dict[str, list[str]]:
    """Cells of CSV whose number is not one of JSON's, to the last digit."""
    known, found = set(numbers), dict[str, list[str]]()
    for name, *cells in grid.by_column():
        for cell in cells:
            if re.fullmatch(r"[-+]?(\d.*|inf|nan)", cell) and _number(cell) is not None and _number(cell) not in known:
                found.setdefault(name, []).append(cell)
    return found


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def shown_elsewhere(pages: Sequence[Grid], table: Grid) -> Iterator[str]:
    """Numbers on a page that are not those of CSV, in the row that has its words and the column that has its name."""
    for page in pages:
        for row in page.records():
            words = {word for cell in row.values() for word in re.split(" - | x ", cell) if _number(word) is None}
            words = {word for word in words if word and not shown_numbers(word)}
            same = [one for one in table.records() if words and words <= set(one.values())]
            if len(same) != 1:
                continue
            for name in row.keys() & same[0].keys():
                exact = _number(same[0][name])
                for shown in shown_numbers(row[name]):
                    if exact is None or not is_rounding(shown, exact):
                        yield f"{name} of {sorted(words)}: {shown} is not {same[0][name]}"


def check(outputs: Outputs, declared: Declared, *, exactly: bool) -> None:
    """Hold every format against the JSON, and the formats for people against one another."""
    texts = outputs.texts
    for style, text in texts.items():
        # gnuplot knows NaN, and plain columns have no other way to leave a number out.
        words = "nan|None|null" if style is Format.PLAIN else "nan|NaN|None|null|NULL"
        missing = re.findall(rf"(?:^|[|,&] ?|  )(?:{words})(?=$| ?[|,&]|  )", text, re.MULTILINE)
        assert not missing or style is Format.JSON, f"{style}: {missing}"
    numbers = sorted(set(numbers_in(outputs.data)))
    pages = outputs.pages()
    strange = not_in(numbers, pages)
    if Format.CSV in texts:
        table = read_csv(texts[Format.CSV])
        strange |= exact_not_in(numbers, table)
        assert not [*shown_elsewhere(pages, table)]
    strange = {name: cells for name, cells in strange.items() if name not in ALWAYS_COMPUTED}
    assert strange.keys() <= declared.computed.keys(), strange
    assert not exactly or strange.keys() == declared.computed.keys(), "JSON has it now; declare it no longer"
    if declared.wide:
        assert read_terminal(texts[Format.TABLE]) != pages
    else:
        assert read_terminal(texts[Format.TABLE]) == pages
    plain = read_plain(texts[Format.PLAIN]) or read_terminal(texts[Format.PLAIN])
    assert bool(plain) == bool(pages)
    assert not_in(numbers, plain).keys() <= declared.computed.keys() | ALWAYS_COMPUTED.keys(), "plain"
    if Format.TEX in texts:
        lacking = set[str]()
        for parts, page in zip(read_tex(texts[Format.TEX]), pages, strict=True):
            columns = [column for part in parts for column in part.by_column() if column[0]]
            assert set(columns) <= set(page.by_column())
            lacking |= {name for name in page.columns if name} - {column[0] for column in columns}
        assert lacking <= declared.not_tex
        assert not exactly or lacking == declared.not_tex


def function_of(command: str) -> Any:
    """What Python has by the name of a command; None if there is nothing."""
    home = import_module("harness.lab.experiments") if command in PLUGINS.here() else harness
    return getattr(home, command, None)


# What Python has with the same options.
FROM_PYTHON = [
    one
    for one in QUESTIONS
    if function_of(one.split()[0]) is not None and {"A", "RUNS", "hdigits/wisard"} & set(one.split())
    and " -o" not in one and "--sequential" not in one.split()  # which chooses another function
]  # fmt: skip


def check_python(words: Sequence[str], outputs: Outputs) -> None:
    """JSON, plain text, tables and frames of the function that has the name of the command."""
    result = called(words)
    assert result.to_dict() == outputs.data
    # Only who writes the sentence knows that the word behind the flag is a column.
    plain = re.sub(r"--by (\S+) shows", r"--by=\1 shows", outputs.texts[Format.PLAIN])
    assert str(result) == PythonWords()(plain)
    assert read_html(result._repr_html_()) == outputs.pages()
    assert "to_frame" in repr(result)
    frame, table = result.to_frame(), read_csv(outputs.texts[Format.CSV])
    assert list(frame.columns) == table.columns
    for told, row in zip(frame.itertuples(index=False), table.rows, strict=True):
        for cell, text in zip(told, row, strict=True):
            assert _same_cell(cell, text), (cell, text)


def called(words: Sequence[str]) -> Any:
    """The function of a command's name, with its words as Python has them."""
    command, *rest = words
    at = next((n for n, word in enumerate(rest) if word.startswith("--")), len(rest))
    runs, options = rest[:at], iter(rest[at:])
    flags = {param.name for param in command_of(words).params if isinstance(param, click.Option) and param.is_flag}
    settings: dict[str, Any] = {}
    for option in options:
        name = option.removeprefix("--").replace("-", "_")
        value = True if name in flags else next(options)
        settings[name] = [settings[name], value] if name in settings else value
    # All together, unless it takes one, or two by themselves.
    arguments = runs if command in ("status", "show", "diff") else [runs]
    return function_of(command)(*arguments, **settings)


def _same_cell(cell: Any, text: str) -> bool:
    if cell is None or cell != cell:
        return text == ""
    number = _number(text)
    return number == cell if isinstance(cell, (int, float)) and number is not None else str(cell) == text


def test_every_command_with_formats_is_asked() -> None:
    found = set()
    for name in commands_here():
        command = hate.get_command(click.Context(hate), name)
        assert command is not None
        inner = (
            {f"{name} {one}": each for one, each in command.commands.items()}
            if isinstance(command, click.Group)
            else {}
        )
        found |= {full for full, each in (inner or {name: command}).items() if formats_of(each)}
    asked = {" ".join(question.split()[: 2 if question.startswith("cache") else 1]) for question in QUESTIONS}
    assert found == asked | NOT_ASKED.keys()


@pytest.mark.sampled(13)
@pytest.mark.parametrize("question", QUESTIONS)
def test_formats_say_the_same(shop: Workshop, all_runs: AllRuns, question: str) -> None:
    """On the first subject that the command takes, beginning with another one for every question."""
    names, start = [*SUBJECTS], [*QUESTIONS].index(question)
    for number in range(len(names)):
        words = words_of(question, shop, all_runs.of(names[(start + number) % len(names)]))
        if (outputs := ask(shop, words)) is not None:
            check(outputs, QUESTIONS[question], exactly=True)
            if question in FROM_PYTHON:
                check_python(words, outputs)
            return
    pytest.fail("no subject is taken")


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("question", [one for one in QUESTIONS if {"A", "RUNS", "TEST"} & set(one.split())])
def test_formats_say_the_same_of_every_task(shop: Workshop, all_runs: AllRuns, question: str, name: str) -> None:
    words = words_of(question, shop, all_runs.of(name))
    if (outputs := ask(shop, words)) is not None:
        check(outputs, QUESTIONS[question], exactly=False)
        if question in FROM_PYTHON:
            check_python(words, outputs)


@pytest.mark.parametrize("name", SUBJECTS)
def test_cases_are_the_same_in_lines_and_in_a_table(shop: Workshop, all_runs: AllRuns, name: str) -> None:
    test = all_runs.of(name).script
    lines = list(map(json.loads, shop.call("cases", test, "--truth", "--format", "jsonl").out.splitlines()))
    rows = read_csv(shop.call("cases", test, "--truth", "--format", "csv").out).records()
    assert len(rows) == len(lines) > 0
    for line, row in zip(lines, rows, strict=True):
        flat = {key: value for key, value in line.items() if key != "columns"} | line.get("columns", {})
        for key, text in row.items():
            value = flat.get(key)
            assert text == (value or "") if value is None or isinstance(value, str) else json.loads(text) == value, key


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=() if one == "label" else pytest.mark.slow) for one in SUBJECTS]
)
def test_a_report_has_the_numbers_of_the_commands(shop: Workshop, all_runs: AllRuns, name: str) -> None:
    """Every number in its tables is one of the JSON of the commands that it tells the reader to call."""
    words = [*map(str, all_runs.of(name).paths), "--by", "group"]
    assert shop.call("report", *words, "-o", "page.html").status == 0
    asked = [shop.call(command, *words, "--format", "json") for command in ("compare", "rate")]
    curves = {"roc": ("--points", "2"), "pr": ("--points", "2"), "froc": ("--points", "2"), "cmc": ()}
    asked += [shop.call(one, *words[:-2], *more, "--format", "json") for one, more in curves.items()]
    told = [done.json for done in asked if done.status == 0]
    grids = read_html(Path("page.html").read_text(encoding="utf-8"))
    assert grids
    assert not not_in(sorted(set(numbers_in(told))), grids)
