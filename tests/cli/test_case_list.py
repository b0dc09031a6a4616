"""`hate cases`: what a program is told about each case, for those who compute answers elsewhere."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.workshop import Workshop

RECORDING = """\
import json
def answer(case, params):
    with open("seen.jsonl", "a") as file:
        told = {"id": case.id, "input": str(case.input), "expect": case.expect, "columns": dict(case.columns)}
        file.write(json.dumps(told) + "\\n")
    return %s
"""


def listed(shop: Workshop, *words: str) -> list[dict[str, Any]]:
    done = shop.call("cases", *words)
    assert done.status == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.mark.parametrize(("test", "answer"), [("hdigits", "'1'"), ("shapes", "[]")])
def test_the_list_is_what_a_program_is_told(shop: Workshop, test: str, answer: str) -> None:
    shop.interface(RECORDING % answer)
    shop.call("run", test, "--limit", "12", "-o", "out.jsonl")
    seen = [json.loads(line) for line in (shop.folder / "seen.jsonl").read_text().splitlines()]
    found = [{"expect": "", "columns": {}} | one for one in listed(shop, test, "--limit", "12")]
    assert found == seen
    assert all(Path(one["input"]).is_file() for one in found)


def test_a_claim_is_shown_where_a_program_is_told_it(shop: Workshop) -> None:
    sections = '[params.threshold]\ntype = "float"\ndefault = 0\ndecision = true'
    shop.script(task="score", sections=sections)
    assert [one["expect"] for one in listed(shop, "toy")] == ["x0", "y1", "x2", "y3", "x4", "y5"]
    assert all("positive" not in one for one in listed(shop, "toy"))


def test_the_truth_is_shown_only_when_asked_for(shop: Workshop) -> None:
    for one in listed(shop, "hdigits", "--limit", "50"):
        assert set(one) == {"id", "input", "columns"}
        assert not {"truth", "expect", "positive"} & set(one["columns"])
    first = listed(shop, "hdigits", "--limit", "1", "--truth")[0]
    assert (first["expect"], first["positive"], first["truth"]) == ("6", False, "4")


def test_answers_come_back_through_scores(shop: Workshop) -> None:
    """The twin: the same algorithm, run by the harness."""
    shop.call("run", "hdigits", "--interface", "witch", "--limit", "100", "-o", "run.jsonl")
    answers = {one["id"]: one for one in shop.records("run.jsonl")}
    rows = [
        f"{one['id']},{answers[one['id']]['actual']},{answers[one['id']]['score']}"
        for one in listed(shop, "hdigits", "--limit", "100")
    ]
    shop.write("answers.csv", "\n".join(["id,label,score", *rows]))
    shop.toml('[algorithm]\nname = "elsewhere"\n[scores]\ntable = "answers.csv"\n')
    shop.call("run", "hdigits", "--limit", "100", "-o", "again.jsonl")
    outcomes = [[one["outcome"] for one in shop.records(name)] for name in ("run.jsonl", "again.jsonl")]
    assert outcomes[0] == outcomes[1]


def test_a_table_has_a_column_for_each_column(shop: Workshop) -> None:
    text = shop.call("cases", "hdigits", "--limit", "3", "--format", "csv").out
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["id"], row["image"]) for row in rows] == [("0001a", "0001"), ("0001b", "0001"), ("0002a", "0002")]
    assert set(rows[0]) == {"id", "input", "image"}


def test_training_and_gallery(shop: Workshop) -> None:
    train = listed(shop, "hdigits", "--part", "train", "--limit", "3")
    assert [one["expect"] for one in train] == ["0", "1", "2"]
    assert listed(shop, "faces", "--part", "gallery", "--limit", "1")[0]["expect"] == "s01"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("hdigits", "--part", "gallery"), "no gallery"),
        (("shapes", "--part", "train"), "no training part"),
        (("hdigits", "--part", "train", "--truth"), "shows its labels anyway"),
        (("nonesuch",), "no test 'nonesuch'"),
    ],
)
def test_what_is_refused(shop: Workshop, words: tuple[str, ...], said: str) -> None:
    done = shop.call("cases", *words)
    assert done.status == 2
    assert said in done.err


def test_hostile_inputs_stay_text(shop: Workshop) -> None:
    shop.script(rows='id,input,expect\n"=1+1","\x1b[31m",x\n')
    done = shop.call("cases", "toy")
    assert "\x1b" not in done.out
    assert json.loads(done.out)["input"] == "\x1b[31m"
    assert "'=1+1" in shop.call("cases", "toy", "--format", "csv").out
