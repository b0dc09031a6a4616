"""With `--repeat`, cases are cases and answers are answers, wherever they are counted."""

from typing import Any

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


def test_what_a_third_run_repeats_does_not_count_for_a_pair(shop: Workshop) -> None:
    """A law: a pair's counts, and the tests and limits that follow from them, are its own, whoever is beside it."""
    shop.script(rows="\n".join(["id,input,expect", *(f"c{n},x{n},x{n}" for n in range(40)), ""]))
    for name, repeat in (("once", 1), ("also", 1), ("thrice", 3), ("twice", 2)):
        shop.interface(DICE.format(name=name, rate=0.6 if repeat == 1 else 0.5))
        shop.run("--repeat", str(repeat), output=f"{name}.jsonl")

    def pairs(*names: str) -> dict[tuple[str, str], Any]:
        words = [f"{name}.jsonl" for name in names]
        found = shop.call("compare", *words, "--format", "json").json["pairs"]
        keys = ("n_ff", "n_sf", "n_fs", "n_ss", "z", "p_exact", "p_mid", "difference", "interval")
        return {(pair["a"], pair["b"]): [pair[key] for key in keys] for pair in found}

    everyone = pairs("once", "also", "thrice", "twice")
    assert sum(everyone["once", "also"][:4]) == 40
    for pair, numbers in everyone.items():
        assert pairs(*pair)[pair] == numbers, pair


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
