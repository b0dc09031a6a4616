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


# What a program of each task answers, so that the template's cases run without an error.
ANSWERS = {
    "label": "'yes'", "score": "0.7", "rank": "['a']", "value": "1.5", "boxes": "[]",
    "mask": "[[0] * 4 for _ in range(4)]",
}  # fmt: skip


@pytest.mark.parametrize("task", ANSWERS)
def test_a_template_is_a_test_that_runs_and_is_not_published(shop: Workshop, task: str) -> None:
    assert shop.call("new", "script", "mine", "--task", task).status == 0
    checked = shop.call("check", "mine")
    assert checked.status == 0
    assert "warning: test.synopsis: still that of the template" in checked.out
    shop.interface(f"def answer(case, params):\n    return {ANSWERS[task]}\n")
    row = shop.call("run", "mine", "--format", "json").row
    assert row["tests"] >= 2
    refused = shop.call("publish", "mine", "--to", "site")
    assert refused.status == 2
    for key in ("test.synopsis", "test.description", "cases."):
        assert key in refused.err
    assert not (shop.folder / "site").exists()


def test_a_template_that_is_filled_in_is_published(shop: Workshop) -> None:
    shop.call("new", "script", "mine")
    path = shop.folder / "mine" / "mine.hate.toml"
    text = path.read_text(encoding="utf-8").replace("What is tested, in a line", "Yes or no")
    path.write_text(text.replace("What the cases are, where they", "Questions; they"), encoding="utf-8")
    refused = shop.call("publish", "mine", "--to", "site")
    assert refused.status == 2
    assert "cases.csv: still the cases of the template" in refused.err
    assert "synopsis" not in refused.err
    shop.write("mine/cases.csv", "id,input,expect\n1,a,yes\n2,b,yes\n")
    assert "warning" not in shop.call("check", "mine").out
    assert shop.call("publish", "mine", "--to", "site").status == 0
