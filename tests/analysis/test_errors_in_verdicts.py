"""A verdict says how many cases were errors: without them, nobody would know why one is worse."""

from pathlib import Path

import pytest

import harness
from tests.analysis.transcripts import transcript
from tests.workshop import Workshop

KINDS = ["crash"] * 1100 + ["timeout"] * 30 + ["answer"] * 4 + [""] * 66


def ill(folder: Path, name: str, errors: int) -> Path:
    """A run of 1,200 cases, of which the last succeed; the first are errors."""
    own = [{"error": kind} if kind and n < errors else {} for n, kind in enumerate(KINDS)]
    path = transcript(folder / f"{name}.jsonl", [n >= 1150 for n in range(1200)])
    lines = path.read_text().splitlines()
    found = [
        line if not one else line[:-1] + f', "error": "{one["error"]}"}}'
        for line, one in zip(lines[1:], own, strict=False)
    ]
    body = "\n".join([lines[0], *found]) + "\n"
    path.write_text(body)
    return path


@pytest.fixture
def runs(shop: Workshop) -> list[str]:
    ill(shop.folder, "ill", 1134)
    ill(shop.folder, "one", 1)
    transcript(shop.folder / "well.jsonl", [True] * 1200, complete=False)
    return ["ill.jsonl", "one.jsonl", "well.jsonl"]


ILL = "1,134 of 1,200 cases of ill were errors (1,100 crash, 30 timeout, 4 answer)."
ONE = "1 of 1,200 cases of one was an error (crash)."


@pytest.mark.parametrize("words", ["", "--statistic tpr", "--baseline well", "--unpaired", "--format table", "--all"])
def test_compare_says_it_with_the_verdicts(words: str, shop: Workshop, runs: list[str]) -> None:
    done = shop.call("compare", *runs, "--partial", *words.split())
    assert done.status == 0, done.err
    shown = " ".join(done.out.split())
    first = shown.partition("Each by itself")[0] if words != "--unpaired" else shown.partition("Verdicts")[2]
    assert f"{ILL} {ONE}" in first
    assert "cases of well" not in shown


def test_rate_and_report_say_it(shop: Workshop, runs: list[str]) -> None:
    assert f"{ILL}\n{ONE}\n" in shop.call("rate", *runs, "--partial").out
    for name, files in (("several.md", runs), ("sheet.md", runs[:1])):
        assert shop.call("report", *files, "--partial", "-o", name).status == 0
        text = (shop.folder / name).read_text()
        assert ILL in text.partition("\n## ")[0].partition("<details>")[0]


def test_of_many_runs_those_with_the_most_errors_are_told(shop: Workshop) -> None:
    paths = [ill(shop.folder, f"a{n:02d}", n) for n in range(14)]
    shown = str(harness.compare(paths, partial=True))
    assert "13 of 1,200 cases of a13 were errors (crash)." in shown
    assert "4 of 1,200 cases of a04 were errors (crash)." in shown
    assert "cases of a03" not in shown
    assert "3 more runs have errors." in shown


def test_repeated_answers_are_answers(shop: Workshop) -> None:
    shop.script()
    shop.interface(
        "def answer(case, params):\n    if case.id == 'c0':\n        raise ValueError('no')\n    return 'x2'\n"
    )
    assert shop.call("run", "toy", "--repeat", "3", "-o", "out.jsonl").status == 0
    assert "3 of 18 answers of work were errors (crash).\n" in shop.call("rate", "out.jsonl").out


def test_without_errors_nothing_is_said(shop: Workshop) -> None:
    paths = [transcript(shop.folder / f"{name}.jsonl", [True, False] * 10) for name in "ab"]
    assert "error" not in str(harness.compare(paths)).partition("Each by itself")[0]
