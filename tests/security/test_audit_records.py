"""Transcripts are judged again: honest ones pass, and whatever is changed in one is found with its line."""

import copy
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.api.runs import load_test
from harness.errors import TranscriptError
from harness.model import Counts
from harness.script.gallery import select_gallery_cases
from harness.site.audit import Audit, audit
from tests.security.forging import Lines, all_right, forge, read_lines, write_lines
from tests.tasks.rank_tests import GALLERY, PROBES
from tests.workshop import Workshop

# Wrong on some cases, refuses one, and crashes on one.
MIXED = """\
def answer(case, params):
    n = int(case.input[1:])
    if n == 5:
        raise ValueError("five")
    return None if n == 4 else (case.input if n % 3 else "y1", n / 2)
"""
ROWS = "id,input,expect,positive,truth,writer\n" + "".join(
    f"c{n},x{n},{'xy'[n % 2]}{n},{'false' if n % 2 else 'true'},x{n},w{n // 2}\n" for n in range(12)
)
DESIGN = '[design]\nstratum = "writer"\npsu = "id"\n'
THRESHOLD = "[params.threshold]\ntype = 'float'\ndefault = 2.4\ndecision = true\n"
SCORES = "def answer(case, params):\n    return len(case.expect) + int(case.input[1:]) / 10\n"
VALUES = "def answer(case, params):\n    return float(case.input[1:]) * 1.1 if case.input != 'x3' else None\n"
RANKING = "def answer(case, params):\n    return ['bob', 'ann', 'cat'] if case.id != 'q3' else None\n"


def mixed(shop: Workshop, *words: str, keys: str = "") -> Path:
    """A run of a test with strata, refusals and an error."""
    shop.script(rows=ROWS, sections=DESIGN, keys=keys)
    shop.interface(MIXED)
    done = shop.call("run", "toy", "-o", "out.jsonl", *words)
    assert done.status == 0, done.err
    return shop.folder / "out.jsonl"


def audited(path: Path, test: str = "toy") -> Audit:
    return audit(path, load_test(test), name=path.name)


def mistakes(path: Path) -> list[str]:
    """What is wrong with a transcript; each with the name of the file and a line."""
    result = audited(path).mistakes
    assert all(text.startswith(f"{path.name}:") for text in result.shown)
    return list(result.shown)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "words",
    [
        (), ("--limit", "7"), ("--repeat", "3"), ("--repeat", "2", "--limit", "5"), ("-j", "2"), ("--isolate",),
        ("--param", "threshold=2.5"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("errors", ["failure", "refuse"])
def test_honest_runs_pass(shop: Workshop, words: tuple[str, ...], errors: str) -> None:
    path = mixed(shop, *words, keys=f'errors = "{errors}"')
    result = audited(path)
    assert (result.mistakes.shown, result.self_reported, result.complete) == ([], "", True)
    # Counted a second time, from the lines alone.
    records = read_lines(path)[1:-1]
    tally = {name: sum(record["outcome"] == name for record in records) for name in ("TP", "TN", "FP", "FN")}
    assert result.counts == Counts(**tally, ER=sum("error" in record for record in records))
    assert audit(path, None).mistakes.shown == []


@pytest.mark.parametrize(
    ("task", "keys", "sections", "interface"),
    [
        ("score", "larger_is_better = false", THRESHOLD, SCORES),
        ("value", "tolerance = {absolute = 0.3}", "", VALUES),
        ("value", "tolerance = {relative = 0.05}", "", VALUES),
    ],
)  # fmt: skip
def test_honest_runs_of_other_tasks_pass(shop: Workshop, task: str, keys: str, sections: str, interface: str) -> None:
    rows = "id,input,expect,positive\n" + "".join(f"c{n},x{n},{n + 1},{'01'[n % 4 > 0]}\n" for n in range(9))
    shop.script(task=task, keys=keys, sections=sections, rows=rows)
    shop.interface(interface)
    assert shop.run()
    result = audited(shop.folder / "out.jsonl")
    assert (result.mistakes.shown, result.self_reported) == ([], "")
    # Each of these follows from the answer.
    forged = forge(shop.folder / "out.jsonl", shop.folder / "f.jsonl", lambda lines: lines[3].update(score=0.01))
    assert [text for text in mistakes(forged) if text.startswith("f.jsonl:4: case 'c2': score 0.01, but its answer")]


def identified(shop: Workshop, *words: str) -> Path:
    shop.script(task="rank", sections='[gallery]\ntable = "gallery.csv"\n', rows=PROBES)
    shop.write("toy/gallery.csv", GALLERY)
    shop.interface(RANKING)
    done = shop.call("run", "toy", "-o", "out.jsonl", *words)
    assert done.status == 0, done.err
    return shop.folder / "out.jsonl"


def test_honest_identification_passes(shop: Workshop) -> None:
    assert mistakes(identified(shop)) == []


def test_a_part_of_a_gallery_is_judged_by_that_part(shop: Workshop) -> None:
    path = identified(shop, "--gallery", "session=1")
    assert "1:1: test: digest" in audited(path).mistakes.shown[0].replace("out.jsonl", "1")
    assert audit(path, select_gallery_cases(load_test("toy"), ["session=1"], [])).mistakes.shown == []
    assert shop.call("check", "out.jsonl").out.endswith("records, judged again\n")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"actual": "ann"}, "the first candidate is 'ann', so the rank of the right one cannot be 2"),
        ({"rank": 1, "outcome": "TP"}, "the first candidate is 'bob', so the rank of the right one cannot be 1"),
        ({"rank": 9}, "rank 9 is not possible"),
        ({"actual": "zoe"}, "'zoe' is not an identity in the gallery"),
        ({"outcome": "TP"}, "outcome TP, but the answer 'bob' to the true claim 'ann' is FN"),
        ({"score": 0.5, "best_wrong": 0.4}, "rank 2 contradicts score 0.5 and best_wrong 0.4"),
    ],
)
def test_invented_ranks_are_found(shop: Workshop, change: dict[str, Any], words: str) -> None:
    path = identified(shop)
    assert read_lines(path)[1] | {"actual": "bob", "rank": 2, "outcome": "FN"} == read_lines(path)[1]
    forged = forge(path, shop.folder / "f.jsonl", lambda lines: lines[1].update(change))
    assert mistakes(forged) == [f"f.jsonl:2: case 'q1': {words}"]


def test_invented_successes_are_found(shop: Workshop) -> None:
    path = mixed(shop)
    failed = {line for line, record in enumerate(read_lines(path)[1:-1], 2) if record["outcome"] in ("FN", "FP")}
    forged = forge(path, shop.folder / "f.jsonl", all_right)
    assert {int(text.split(":")[1]) for text in mistakes(forged)} == failed
    assert len(failed) > 3
    # It contradicts itself, too, except where there is no answer: other tools need not record one.
    refused = {line for line, record in enumerate(read_lines(path)[1:-1], 2) if not {"actual", "error"} & record.keys()}
    assert {int(text.split(":")[1]) for text in audit(forged, None, name="f.jsonl").mistakes.shown} == failed - refused


FORGERIES: dict[str, tuple[Callable[[Lines], object], str]] = {
    "outcome": (
        lambda lines: lines[1].update(outcome="TP"),
        "2: case 'c0': outcome TP, but the answer 'y1' to the true claim 'x0' is FN",
    ),
    "claim": (
        lambda lines: lines[1].update(expect="y1", outcome="TP"),
        "2: case 'c0': expect 'y1', but the test has 'x0'",
    ),
    "no claim": (lambda lines: lines[2].pop("expect"), "3: case 'c1': expect nothing, but the test has 'y1'"),
    "sign": (
        lambda lines: lines[1].update(positive=False, outcome="TN"),
        "2: case 'c0': positive False, but the test has True",
    ),
    "no sign": (lambda lines: lines[1].pop("positive"), "2: case 'c0': positive nothing, but the test has True"),
    "truth": (lambda lines: lines[2].update(truth="y1"), "3: case 'c1': truth 'y1', but the test has 'x1'"),
    "stratum": (lambda lines: lines[1].update(stratum="w9"), "2: case 'c0': stratum 'w9', but the test has 'w0'"),
    "PSU": (lambda lines: lines[1].update(psu="c9"), "2: case 'c0': psu 'c9', but the test has 'c0'"),
    "no PSU": (lambda lines: lines[1].pop("psu"), "2: case 'c0': psu nothing, but the test has 'c0'"),
    "columns": (
        lambda lines: lines[1].update(columns={"writer": "w5"}),
        "2: case 'c0': columns {'writer': 'w5'}, but the test has {'writer': 'w0'}",
    ),
    "a new column": (
        lambda lines: lines[1]["columns"].update(day="1"),
        "2: case 'c0': columns {'writer': 'w0', 'day': '1'}, but the test has",
    ),
    "score of a refusal": (
        lambda lines: lines[5].update(score=9.0),
        "6: case 'c4': score 9.0, but its answer gives nothing",
    ),
    "an error that was none": (
        lambda lines: lines[6].update(outcome="TN"),
        "7: case 'c5': outcome TN, but an error counts as FP here",
    ),
    "an answer of an error": (
        lambda lines: lines[6].update(actual="x"),
        "7: case 'c5': actual 'x', but its answer gives nothing",
    ),
    "an unknown case": (lambda lines: lines[3].update(id="c99"), "4: the test has no case 'c99'"),
    "a case twice": (lambda lines: lines.insert(4, copy.deepcopy(lines[3])), "5: case 'c2' appears twice"),
    "a second answer": (
        lambda lines: lines.insert(4, lines[3] | {"repeat": 2}),
        "5: case 'c2': answer 2 in a run with 1 a case",
    ),
    "a missing case": (lambda lines: lines.pop(3), "13: 1 case has no record, such as 'c2'"),
    "no parameter": (
        lambda lines: lines[0]["params"].update(threshold="low"),
        "1: params: threshold 'low' is not a number, so nothing can be decided",
    ),
    "another design": (
        lambda lines: lines[0].update(design={}),
        "1: design: stratum nothing, but the test has 'writer'",
    ),
    "weights": (
        lambda lines: lines[0]["design"].update(weights={"w0": 9.0}),
        "1: design: weights {'w0': 9.0}, but the test has nothing",
    ),
    "another rule": (
        lambda lines: lines[0]["test"].update(errors="refuse"),
        "1: test: errors 'refuse', but the test has nothing",
    ),
    "another task": (
        lambda lines: lines[0]["test"].update(task="score"),
        "1: test: task 'score', but the test has 'label'",
    ),
    "many answers": (
        lambda lines: lines[0].update(repeat=10**12),
        "1: repeat 1000000000000 is not a number from 1 to 10,000",
    ),
    "an endless limit": (
        lambda lines: lines[0].update(limit=10**30),
        "1: limit 1000000000000000000000000000000 is not",
    ),
    "an endless threshold": (
        lambda lines: lines[0]["params"].update(threshold=10**400),
        "1: params: threshold 100000000000000000000000000000000000000000000000000000000... is not a number",
    ),
    "a negative limit": (lambda lines: lines[0].update(limit=-1), "1: limit -1 is not a number from 1 to "),
    "a hidden limit": (
        lambda lines: lines[0].update(extent={"limit": 3}),
        "1: extent {'limit': 3}, but limit and train make it {}",
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", FORGERIES)
def test_what_is_changed_is_found_with_its_line(shop: Workshop, name: str) -> None:
    change, words = FORGERIES[name]
    forged = forge(mixed(shop), shop.folder / "f.jsonl", change)
    assert any(text.startswith(f"f.jsonl:{words}") for text in mistakes(forged)), mistakes(forged)
    with pytest.raises(TranscriptError, match=r"f\.jsonl:"):
        audited(forged).raise_if_any()


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ({"sha256": ""}, "14: the last line has no sha256; let hate write the transcript"),
        ({"TP": 11}, "14: the last line says tests=12 TP=11 TN="),
        ({"tests": 99}, "14: the last line says tests=99 TP="),
        ({"ER": 0}, "14: the last line says tests=12 TP="),
    ],
)
def test_the_last_line_must_fit(shop: Workshop, end: dict[str, Any], words: str) -> None:
    forged = forge(mixed(shop), shop.folder / "f.jsonl", lambda lines: None, end=end)
    (mistake,) = mistakes(forged)
    assert mistake.startswith(f"f.jsonl:{words}")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(12))
def test_any_change_of_a_record_is_found(shop: Workshop, seed: int) -> None:
    """Any key, any record: a random change by someone who knows the format, but not the answers."""
    rng = random.Random(seed)
    path = mixed(shop)
    for number in range(15):
        lines = read_lines(path)[:-1]
        record = rng.choice(lines[1:])
        key = rng.choice(["outcome", "positive", "expect", "truth", "stratum", "psu", "columns", "id"])
        if key not in record:
            record[key] = "new"
        elif key == "outcome":
            record[key] = rng.choice([outcome for outcome in ("TP", "TN", "FP", "FN") if outcome != record[key]])
        elif key == "positive" or rng.random() < 0.3:
            del record[key]
        else:
            record[key] = {"writer": "other"} if key == "columns" else "other"
        if "id" not in record:
            continue
        forged = write_lines(shop.folder / f"f{number}.jsonl", lines)
        assert mistakes(forged), (key, record)


def test_numbers_that_no_task_computes_are_left_alone(shop: Workshop) -> None:
    more = forge(mixed(shop), shop.folder / "f.jsonl", lambda lines: lines[1].update(values={"f1": 0.5}))
    assert mistakes(more) == []


def test_twenty_are_shown_and_the_rest_counted(shop: Workshop) -> None:
    shop.script(60)
    shop.interface("def answer(case, params):\n    return 'no'\n")
    shop.run()
    forged = forge(shop.folder / "out.jsonl", shop.folder / "f.jsonl", all_right)
    with pytest.raises(TranscriptError) as caught:
        audited(forged).raise_if_any()
    lines = str(caught.value).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "  and 10 more"


def test_records_in_any_order_pass(shop: Workshop) -> None:
    """A run that was killed with several workers has its records as they came."""
    path = mixed(shop, "--repeat", "3")
    header, *records = read_lines(path)[:-1]
    random.Random(1).shuffle(records)
    assert mistakes(write_lines(shop.folder / "f.jsonl", [header, *records])) == []
    lost = write_lines(shop.folder / "g.jsonl", [header, *records[:-2]])
    (mistake,) = mistakes(lost)
    assert " have no record, such as " in mistake


def test_an_unfinished_run_lacks_nothing(shop: Workshop) -> None:
    path = mixed(shop)
    text = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(text[:6]), encoding="utf-8")
    result = audited(path)
    assert (result.complete, result.mistakes.shown, result.counts.tests) == (False, [], 5)


@pytest.mark.parametrize(
    ("task", "header", "record"),
    [
        ("value", {"relative_tolerance": True}, {"expect": "0", "actual": 1.5, "score": 1.5}),
        ("value", {"relative_tolerance": True}, {"expect": "1e-999999999", "actual": 1.5, "score": 1.5}),
        ("value", {}, {"expect": "text", "actual": 1.5}),
        ("value", {}, {"expect": "1", "actual": [1, {"a": 2}]}),
        ("score", {}, {"actual": "NaN"}),
        ("label", {"errors": "whatever"}, {"actual": {"a": 1}}),
        ("rank", {}, {"actual": "a", "rank": 2}),
        ("no such task", {}, {"actual": "a"}),
    ],
)
def test_any_record_can_be_judged_without_its_test(
    tmp_path: Path, task: str, header: dict[str, Any], record: dict[str, Any]
) -> None:
    """Files from anywhere: whatever they hold, there is a verdict."""
    first: dict[str, Any] = {"hate": "transcript", "format": 1, "algorithm": {"name": "a"}}
    first |= {"test": {"name": "t", "version": "1", "digest": "1:0", "task": task} | header}
    path = write_lines(tmp_path / "t.jsonl", [first, {"id": "1", "outcome": "TP", "positive": True} | record])
    result = audit(path, None)
    assert result.mistakes.count == (0 if task == "no such task" else 1)
    assert result.counts.tests == 1


def test_a_task_that_records_no_answers_is_self_reported(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for images, of which only the agreement with the truth is kept: the facts of a case must still be right."""
    path = mixed(shop)
    monkeypatch.setattr(type(load_test("toy").script.task), "records_answers", False)
    monkeypatch.setattr(type(load_test("toy").script.task), "recorded_answer", None)
    result = audited(path)
    assert result.self_reported == "a record of a label test has no answer to judge again"
    assert result.mistakes.shown == []
    believed = forge(path, shop.folder / "f.jsonl", lambda lines: lines[1].update(outcome="TP"))
    assert mistakes(believed) == []
    wrong = forge(path, shop.folder / "g.jsonl", lambda lines: lines[1].update(psu="c9", outcome="TN"))
    assert mistakes(wrong) == [
        "g.jsonl:2: case 'c0': psu 'c9', but the test has 'c0'",
        "g.jsonl:2: case 'c0' is positive, its outcome cannot be TN",
    ]
