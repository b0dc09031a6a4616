"""Conditions, order and the matching of two runs."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.cases import Pairing, key_of, select_cases, sort_by
from harness.analysis.run_identity import check_same_test, run_names
from harness.errors import HateError, TranscriptError, UsageError
from harness.files.conditions import parse_condition
from harness.model import Outcome, Trial
from harness.options.cases import CaseOptions
from harness.transcript.format import Header
from tests.analysis.runs import header, write_transcript


@pytest.mark.parametrize(("condition", "value", "holds"), [
    ("writer=17", "17", True), ("writer=17", "017", False), ("writer=17", 17, True), ("writer=17.0", 17, True),
    ("writer!=17", "18", True), ("writer!=17", None, True), ("writer=", None, True), ("writer=", "a", False),
    ("score>=0.5", 0.5, True), ("score>0.5", 0.5, False), ("score<1e3", "999", True), ("score<=-1", -1, True),
    ("score>0", None, False), ("score>0", "many", False), ("score>0", True, False), ("flag=true", True, True),
    ("a=b=c", "b=c", True), ("actual=[1,2]", [1, 2], True), (" x = y ", "y", True), ("score=abc", 1.0, False),
])  # fmt: skip
def test_conditions(condition: str, value: Any, holds: bool) -> None:
    assert parse_condition(condition).holds(value) is holds


@pytest.mark.parametrize("text", ["writer", "=3", "", "score>much", "score<"])
def test_what_is_not_a_condition(text: str) -> None:
    with pytest.raises(UsageError, match="--where"):
        parse_condition(text)


def test_numbers_sort_as_numbers_and_what_is_missing_comes_last() -> None:
    items = [{"v": value} for value in ("10", "9", None, "x", 2.5, "-1e1")]
    up = [item["v"] for item in sort_by(items, ["v"], dict.get)]
    down = [item["v"] for item in sort_by(items, ["-v"], dict.get)]
    assert up == ["-1e1", 2.5, "9", "10", "x", None]
    assert down == ["x", "10", "9", 2.5, "-1e1", None]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3))))
def test_several_keys_sort_like_one_key_of_several_parts(pairs: list[tuple[int, int]]) -> None:
    def get(item: tuple[int, int], name: str) -> int:
        return item["ab".index(name)]

    assert sort_by(pairs, ["a", "-b"], get) == sorted(pairs, key=lambda pair: (pair[0], -pair[1]))


@pytest.mark.parametrize("limit", [None, 1, 3])
@pytest.mark.parametrize("sort", [(), ("score",)])
def test_matches_are_counted_beyond_the_limit(tmp_path: Path, limit: int | None, sort: tuple[str, ...]) -> None:
    records = [{"id": f"{n}", "outcome": "FP" if n % 2 else "TP", "score": -n} for n in range(10)]
    path = write_transcript(tmp_path / "t.jsonl", records)
    view = select_cases(path, "t", CaseOptions(outcome=("FP",), where=("score>-9",), sort=sort, limit=limit))
    expected = ["7", "5", "3", "1"] if sort else ["1", "3", "5", "7"]
    assert view.matching == 4
    assert [trial.id for trial in view.trials] == expected[:limit]
    assert (view.run.counts.tests, view.run.counts.FP, view.run.complete) == (10, 5, True)


keys = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(1, 2)), unique=True)


def trials(given: list[tuple[str, int]]) -> list[Trial]:
    return [Trial(name, Outcome.TP, repeat=repeat) for name, repeat in given]


@given(keys, keys, st.integers(1, 4))
def test_pairing_agrees_with_dictionaries(one: list[tuple[str, int]], other: list[tuple[str, int]], size: int) -> None:
    def blocks(records: list[Trial]) -> list[list[Trial]]:
        return [records[start : start + size] for start in range(0, len(records), size)]

    pairing = Pairing(("A", "B"))
    a, b = trials(one), trials(other)
    pairs = sorted(pairing.pairs(blocks(a), blocks(b)), key=lambda pair: pair.position)
    twin = {key_of(trial): trial for trial in b}
    common = [trial for trial in a if key_of(trial) in twin]
    assert [pair.a for pair in pairs] == common
    assert [pair.b for pair in pairs] == [twin[key_of(trial)] for trial in common]
    assert list(pairing.waiting_a) == [key_of(trial) for trial in a if trial not in common]
    assert set(pairing.waiting_b) == set(twin) - {key_of(trial) for trial in a}


@pytest.mark.parametrize(("one", "other", "culprit"), [
    ("aba", "ab", "A"), ("ab", "abb", "B"), ("aa", "aa", "A"), ("a", "bb", "B"), ("xab", "abx" + "x", "B"),
])  # fmt: skip
def test_a_case_that_occurs_twice(one: str, other: str, culprit: str) -> None:
    with pytest.raises(TranscriptError, match=f"^{culprit}: case '.' occurs twice"):
        list(Pairing(("A", "B")).pairs([trials([(c, 1) for c in one])], [trials([(c, 1) for c in other])]))


def head(**changes: str) -> Header:
    return msgspec.convert(header(**changes), Header)


@pytest.mark.parametrize(("changes", "expected"), [
    ({"name": "other"}, "b: not of the same test as a: that is toy 1.0, this is other 1.0"),
    ({"version": "1.1"}, "b: not of the same test as a: that is version 1.0 of toy, this is version 1.1"),
    ({"digest": "1:" + "cd" * 32}, "digest 1:abababababab... there, 1:cdcdcdcdcdcd... here"),
])  # fmt: skip
def test_how_tests_differ(changes: dict[str, str], expected: str) -> None:
    check_same_test(["a", "b"], [head(), head()])
    with pytest.raises(TranscriptError) as caught:
        check_same_test(["a", "b", "c"], [head(), head(**changes), head()])
    assert expected in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_every_run_of_another_test_is_named_up_to_twenty() -> None:
    with pytest.raises(TranscriptError) as caught:
        check_same_test([str(n) for n in range(31)], [head()] + [head(version="2")] * 30)
    lines = str(caught.value).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "  and 10 more"


@pytest.mark.parametrize(("algorithms", "stems", "expected"), [
    (["a", "b"], ["x", "y"], ["a", "b"]),
    (["a", "a", "b"], ["x", "y", "z"], ["x", "y", "b"]),
    (["a", "a"], ["x", "x"], ["x", "x-2"]),
    (["a", "a", "b", "x-2"], ["x", "x", "x", "y"], ["x", "x-3", "b", "x-2"]),
    (["a", "a", "x"], ["x", "y", "z"], ["x", "y", "x-2"]),
])  # fmt: skip
def test_no_two_runs_have_the_same_name(algorithms: list[str], stems: list[str], expected: list[str]) -> None:
    assert run_names(algorithms, stems) == expected


def test_a_misspelt_column_is_named(tmp_path: Path) -> None:
    records = [{"id": "1", "outcome": "TP", "columns": {"writer": "17"}}]
    path = write_transcript(tmp_path / "t.jsonl", records, first=header())
    with pytest.raises(HateError, match="--where writr: no such column; did you mean 'writer'"):
        select_cases(path, "t", CaseOptions(where=("writr=17",)))
    with pytest.raises(HateError, match="--sort scores: no such column; did you mean 'score'"):
        select_cases(path, "t", CaseOptions(sort=("-scores",)))
