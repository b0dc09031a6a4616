"""With `--repeat`, cases are cases and answers are answers, wherever they are counted."""

import pytest

from tests.workshop import Workshop

REPEAT, CASES = 3, 12
# Right at random, and another each time; it never answers as the others do.
DICE = """\
import random
NAME = "{name}"
dice = random.Random("{name}")
def answer(case, params):
    return case.input if dice.random() < {rate} else "no"
"""


@pytest.fixture
def repeated(shop: Workshop) -> Workshop:
    rows = [f"c{n},x{n},x{n},true,{'dim' if n < 4 else 'bright'}" for n in range(CASES)]
    shop.script(rows="\n".join(["id,input,expect,positive,light", *rows, ""]))
    for name, rate in (("a", 0.7), ("b", 0.4)):
        shop.interface(DICE.format(name=name, rate=rate))
        shop.run("--repeat", str(REPEAT), output=f"{name}.jsonl")
    return shop


@pytest.mark.parametrize("command", [["rate", "a.jsonl"], ["compare", "a.jsonl", "b.jsonl"],
                                     ["compare", "a.jsonl", "b.jsonl", "--unpaired"]])  # fmt: skip
def test_groups_count_cases(command: list[str], repeated: Workshop) -> None:
    done = repeated.call(*command, "--by", "light", "--format", "json")
    groups = done.json["by"]["groups"]
    counted = {"dim": 4, "bright": 8}
    if "--unpaired" in command:  # each side has its own
        counted = {label: 2 * count for label, count in counted.items()}
    assert {group["label"]: group["cases"] for group in groups} == counted
    assert {group["label"]: group["tests"] for group in groups} == {
        label: REPEAT * count for label, count in counted.items()
    }
    assert all(run["tests"] == REPEAT * CASES for run in done.json["transcripts"])


def test_answers_of_runs_side_by_side_do_not_depend_on_their_order(repeated: Workshop) -> None:
    repeated.run(output="once.jsonl")
    for files in (["a.jsonl", "once.jsonl"], ["once.jsonl", "a.jsonl"]):
        groups = repeated.call("rate", *files, "--by", "light", "--format", "json").json["by"]["groups"]
        assert {group["label"]: (group["cases"], group["tests"]) for group in groups} == {
            "dim": (4, 12),
            "bright": (8, 24),
        }


def test_sentences_say_answers_where_they_count_answers(repeated: Workshop) -> None:
    compared = repeated.call("compare", "a.jsonl", "b.jsonl").out
    assert f"{CASES} cases of {REPEAT} answers" in compared
    assert "Answers on which one succeeded and another failed" in compared
    assert "succeeds on many answers where the other fails" in compared
    assert (
        "only A: answers on which A succeeded" in repeated.call("compare", "a.jsonl", "b.jsonl", "--format", "md").out
    )
    assert f"a: {REPEAT * CASES} answers, TP" in repeated.call("show", "a.jsonl").err
    assert f"of {REPEAT * CASES} answers: A right and B wrong" in repeated.call("diff", "a.jsonl", "b.jsonl").err
    assert f"{REPEAT * CASES} of {REPEAT * CASES} answers (100.0 %)" in repeated.call("status", "a.jsonl").out
    assert repeated.call("report", "a.jsonl", "b.jsonl", "-o", "page.md").status == 0
    page = (repeated.folder / "page.md").read_text()
    assert "Answers on which the one of the row was right" in page
    assert "only A: answers on which A succeeded" in page


def test_a_case_that_is_asked_once_is_one_case(shop: Workshop) -> None:
    shop.script()
    for name, rate in (("a", 0.7), ("b", 0.4)):
        shop.interface(DICE.format(name=name, rate=rate))
        shop.run(output=f"{name}.jsonl")
    assert "Cases on which one succeeded and another failed" in shop.call("compare", "a.jsonl", "b.jsonl").out
    assert "a: 6 cases, TP" in shop.call("show", "a.jsonl").err
    assert "6 of 6 cases (100.0 %)" in shop.call("status", "a.jsonl").out
