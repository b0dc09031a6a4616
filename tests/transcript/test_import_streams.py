"""Tables that are not kept in memory: imported as if they were, and nothing is left behind by a mistake at the end."""

import csv
import json
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.files import external_sort
from harness.transcript.importing import metrics
from harness.transcript.importing.contract import ImportedAnswer, ImportOptions
from harness.transcript.importing.file import ForeignFile
from harness.transcript.importing.tools import table as tables
from harness.transcript.importing.tools.table import read_delimited, read_lines
from tests.transcript.imports import import_one, refused
from tests.workshop import Workshop


def table(count: int, *, numbers: list[int] | None = None) -> str:
    rng = random.Random(1)
    rows = [f"c{n},{rng.choice('abc')},{rng.choice('abc')},s{n % 3}" for n in numbers or range(count)]
    return "\n".join(["id,y_true,y_pred,site", *rows, ""])


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven answers at a time, and ids sorted in parts of ten."""
    monkeypatch.setattr(metrics, "BLOCK", 7)
    monkeypatch.setattr(tables, "BLOCK", 7)
    monkeypatch.setattr(external_sort.SortedTexts.__init__, "__defaults__", (10,))


def test_in_parts_as_at_once(shop: Workshop, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    numbers = list(range(200))
    random.Random(2).shuffle(numbers)
    shop.write("t.csv", table(200, numbers=numbers))
    words = ("t.csv", "--stratum", "site", "--test", "t", "--algorithm", "a")
    header, records = import_one(shop, *words)
    request.getfixturevalue("in_parts")
    again, same = import_one(shop, *words)
    assert again["test"] == header["test"]
    assert header["test"]["cases"] == 200
    assert list(same) == list(records) == [f"c{n}" for n in numbers]
    assert same == records


def test_json_lines_are_the_same_test_as_csv(shop: Workshop, in_parts: None) -> None:
    shop.write("t.csv", table(50))
    header, records = import_one(shop, "t.csv")
    keys = ("id", "y_true", "y_pred", "site")
    lines = [dict(zip(keys, row.split(","), strict=True)) for row in table(50).splitlines()[1:]]
    shop.write("t.jsonl", "\ufeff" + "\n\n".join(map(json.dumps, lines)))
    other, same = import_one(shop, "t.jsonl")
    assert other["test"]["digest"] == header["test"]["digest"]
    assert same == records


MARKS = st.sampled_from(["", "0", "1", "0.25", "-3", "1e-3", "yes", "FAIL", " 1 "])
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "claim": st.sampled_from(["a", "b", "1.0", "é"]),
            "said": st.sampled_from(["a", "b", "1", ""]),
            "points": MARKS,
            "extra": MARKS,
            "real": st.sampled_from(["yes", "no", "1", "0", ""]),
        }
    ),
    min_size=1,
    max_size=20,
)
ASKED = [
    {"expect": "claim", "actual": "said"},
    {"expect": "claim", "actual": "said", "score": "points", "positive": "real", "values": ("extra",)},
    {"score": "points", "success_at": 0.5, "positive": "real", "repeat": "turn"},
    {"success": "points", "values": ("extra",)},
]


@given(ROWS, st.sampled_from(ASKED))
def test_many_rows_at_once_are_read_as_one_by_one(table: list[dict[str, str]], asked: dict[str, Any]) -> None:
    """As lines of JSON and as CSV, a file of many rows and one file for each row."""
    rows = [{"id": f"c{number}", "turn": str(number), **row} for number, row in enumerate(table)]
    options = ImportOptions(**asked)
    with tempfile.TemporaryDirectory() as folder:
        whole = _answers(Path(folder), rows, options)
        assert [len(found) for found in whole.values()] == [len(rows)] * 2
        for kind, found in whole.items():
            assert [_answers(Path(folder), [row], options)[kind][0] for row in rows] == found


def _answers(folder: Path, rows: list[dict[str, str]], options: ImportOptions) -> dict[str, list[ImportedAnswer]]:
    lines, delimited = folder / "t.jsonl", folder / "t.csv"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows) + "\n")
    with delimited.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    read = {"lines": read_lines(ForeignFile(lines), options), "csv": read_delimited(ForeignFile(delimited), options)}
    return {kind: [replace(answer, location="") for answer in run.results] for kind, [run] in read.items()}


@pytest.mark.parametrize(
    ("row", "words", "expected"),
    [
        ("c7,a,a,s1", (), "line 52: id 'c7' appears twice"),
        (",a,a,s1", (), "line 52: no id"),
        ("c99,a,s1", (), "line 52: 3 fields, the header has 4"),
        ("c99,,a,s1", (), "t.csv:52: no true label"),
        ("c99,a,a,s1", ("--success", "site"), "t.csv:2: site: 's0' is neither"),
        ("c99,a,a,s1", ("--psu", "y_true", "--stratum", "site"), "is in two strata"),
        ("c99,a,a,", ("--psu", "site"), "t.csv:52: no value for site; cases without one would form one unit"),
    ],
)
def test_a_mistake_in_the_last_row(
    row: str, words: tuple[str, ...], expected: str, shop: Workshop, in_parts: None
) -> None:
    shop.write("t.csv", f"{table(50)}{row}\n")
    assert expected in refused(shop, "t.csv", *words)


def test_a_mistake_in_the_second_file_leaves_nothing_of_the_first(shop: Workshop) -> None:
    shop.write("good.csv", table(5))
    shop.write("bad.csv", table(5) + "c9,a,a,s0\n")
    message = refused(shop, "good.csv", "bad.csv", "--psu", "y_true", "--stratum", "site")
    assert "is in two strata" in message
