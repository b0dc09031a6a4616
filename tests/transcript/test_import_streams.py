"""Tables that are not kept in memory: imported as if they were, and nothing is left behind by a mistake at the end."""

import json
import random

import pytest

from harness.files import sorting
from harness.transcript.importing import survey
from tests.transcript.imports import import_one, refused
from tests.workshop import Workshop


def table(count: int, *, numbers: list[int] | None = None) -> str:
    rng = random.Random(1)
    rows = [f"c{n},{rng.choice('abc')},{rng.choice('abc')},s{n % 3}" for n in numbers or range(count)]
    return "\n".join(["id,y_true,y_pred,site", *rows, ""])


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven answers at a time, and ids sorted in parts of ten."""
    monkeypatch.setattr(survey, "BLOCK", 7)
    monkeypatch.setattr(sorting.SortedTexts.__init__, "__defaults__", (10,))


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


@pytest.mark.parametrize(
    ("row", "words", "expected"),
    [
        ("c7,a,a,s1", (), "line 52: id 'c7' appears twice"),
        (",a,a,s1", (), "line 52: no id"),
        ("c99,a,s1", (), "line 52: 3 fields, the header has 4"),
        ("c99,,a,s1", (), "t.csv:52: no true label"),
        ("c99,a,a,s1", ("--success", "site"), "t.csv:2: site: 's0' is neither"),
        ("c99,a,a,s1", ("--psu", "y_true", "--stratum", "site"), "is in two strata"),
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
