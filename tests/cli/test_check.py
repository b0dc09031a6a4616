"""`hate check` finds mistakes that loading alone does not."""

import json

import pytest

from tests.workshop import Workshop

HEADER = {
    "hate": "transcript",
    "format": 1,
    "test": {"name": "t", "version": "1", "digest": "1:0"},
    "algorithm": {"name": "a"},
}


def test_a_misspelt_column_is_reported(shop: Workshop) -> None:
    shop.script(rows="id,input,expect,positve\nc1,x,x,true\n")
    done = shop.call("check", "toy")
    assert done.status == 0
    assert "warning: column 'positve' is not one that the harness knows; did you mean 'positive'?" in done.out


def test_other_columns_are_not_reported(shop: Workshop) -> None:
    shop.script(rows="id,input,expect,positive,writer\nc1,x,x,true,17\n")
    assert "warning" not in shop.call("check", "toy").out


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([{"id": "x", "outcome": "TP"}, {"id": "x", "outcome": "FN"}], "t.jsonl:3: case 'x' appears twice"),
        (
            [{"id": "x", "outcome": "TP", "positive": False}],
            "t.jsonl:2: case 'x' is negative, its outcome cannot be TP",
        ),
    ],
)
def test_contradictory_records(shop: Workshop, records: list[dict[str, object]], words: str) -> None:
    shop.write("t.jsonl", "".join(json.dumps(line) + "\n" for line in [HEADER, *records]))
    done = shop.call("check", "t.jsonl")
    assert done.status == 1
    assert words in done.out


def test_several_answers_to_a_case_are_not_a_contradiction(shop: Workshop) -> None:
    records = [{"id": "x", "outcome": "TP", "repeat": turn} for turn in (1, 2)]
    shop.write("t.jsonl", "".join(json.dumps(line) + "\n" for line in [HEADER, *records]))
    assert shop.call("check", "t.jsonl").status == 0


def test_training_claims_of_a_score_test_say_whether_they_are_true(shop: Workshop) -> None:
    shop.script(
        task="score",
        sections='[train]\ntable = "train.csv"\n[params.threshold]\ntype = "float"\ndefault = 0\ndecision = true',
    )
    shop.write("toy/train.csv", "input,expect,positive\na,ann,true\nb,ann,false\n")
    shop.interface(
        "def train(cases, params):\n"
        "    assert [(c.expect, c.columns['positive']) for c in cases] == [('ann', True), ('ann', False)]\n"
        "def answer(case, params):\n    return 1.0\n"
    )
    assert shop.call("run", "toy").status == 0
