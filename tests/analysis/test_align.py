"""Transcripts of one test, case by case: matched by id, refused if they cannot be compared."""

from pathlib import Path

import numpy as np
import pytest

from harness.errors import TranscriptError
from tests.analysis.transcripts import aligned, transcript


def test_cases_are_matched_by_id_whatever_their_order(tmp_path: Path) -> None:
    a = transcript(tmp_path / "a.jsonl", [True, False, True], ids=["x", "y", "z"])
    b = transcript(tmp_path / "b.jsonl", [False, True, True], ids=["z", "x", "y"])
    found = aligned(a, b)
    assert found.ids == ["x", "y", "z"]
    assert found.success.tolist() == [[True, False, True], [True, True, False]]


def test_cases_that_only_some_have_are_counted_and_named(tmp_path: Path) -> None:
    a = transcript(tmp_path / "a.jsonl", [True] * 9, ids=[f"c{i}" for i in range(9)])
    b = transcript(tmp_path / "b.jsonl", [True] * 2, ids=["c0", "new"])
    with pytest.raises(TranscriptError) as error:
        aligned(a, b)
    assert "a.jsonl lacks 1 (new)" in str(error.value)
    assert "b.jsonl lacks 8 (c1, c2, c3, c4, c5, ...)" in str(error.value)
    assert "--intersect" in str(error.value)


def test_intersect_compares_the_cases_that_all_have(tmp_path: Path) -> None:
    a = transcript(tmp_path / "a.jsonl", [True, False, True], ids=["x", "y", "z"], stratum=["1", "2", "3"])
    b = transcript(tmp_path / "b.jsonl", [False, True], ids=["z", "y"], stratum=["3", "2"])
    found = aligned(a, b, intersect=True)
    assert found.ids == ["y", "z"]
    assert found.success.tolist() == [[False, True], [True, False]]
    assert found.left_out == 1
    stratum = found.column("stratum")
    assert stratum is not None
    assert [stratum.labels[code] for code in stratum.codes] == ["2", "3"]
    assert found.counts[0].tests == 2


def test_nothing_in_common_is_an_error_even_with_intersect(tmp_path: Path) -> None:
    a = transcript(tmp_path / "a.jsonl", [True], ids=["x"])
    b = transcript(tmp_path / "b.jsonl", [True], ids=["y"])
    with pytest.raises(TranscriptError, match="no case in common"):
        aligned(a, b, intersect=True)


def test_incomplete_transcripts_are_refused_unless_partial(tmp_path: Path) -> None:
    a = transcript(tmp_path / "a.jsonl", [True, True])
    b = transcript(tmp_path / "b.jsonl", [True], complete=False)
    with pytest.raises(TranscriptError, match=r"b\.jsonl: incomplete.*--partial"):
        aligned(a, b)
    assert aligned(a, b, partial=True).n == 1


@pytest.mark.parametrize("change", [{"name": "other"}, {"version": "2.0"}, {"digest": "1:ff"}])
def test_another_test_is_refused(tmp_path: Path, change: dict[str, str]) -> None:
    a = transcript(tmp_path / "a.jsonl", [True])
    b = transcript(tmp_path / "b.jsonl", [True], test=change)
    with pytest.raises(TranscriptError, match=r"b\.jsonl: not of the same test as a\.jsonl"):
        aligned(a, b)


def test_a_case_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    a = transcript(tmp_path / "a.jsonl", [True, False], ids=["x", "x"])
    with pytest.raises(TranscriptError, match="case 'x' occurs twice"):
        aligned(a, a)


def test_several_answers_to_a_case_are_matched_by_their_number(tmp_path: Path) -> None:
    a = transcript(tmp_path / "a.jsonl", [True, False], ids=["x", "x"], repeat=[1, 2])
    b = transcript(tmp_path / "b.jsonl", [False, True], ids=["x", "x"], repeat=[2, 1])
    found = aligned(a, b)
    assert found.repeated
    assert found.success.tolist() == [[True, False], [True, False]]


def test_runs_of_one_algorithm_are_named_after_their_files(tmp_path: Path) -> None:
    a = transcript(tmp_path / "first.jsonl", [True], name="same")
    b = transcript(tmp_path / "second.jsonl", [True], name="same")
    assert aligned(a, b).names == ["first", "second"]


def test_truth_is_the_claim_if_the_claim_is_true(tmp_path: Path) -> None:
    a = transcript(
        tmp_path / "a.jsonl", [True] * 3, positive=[True, False, False], expect=["3", "5", "7"], truth=["3", "3", "4"]
    )
    b = transcript(tmp_path / "b.jsonl", [True] * 2, positive=[True, False], expect=["3", "5"])
    truth = aligned(a, a).column("truth")
    assert truth is not None
    assert [truth.labels[code] for code in truth.codes] == ["3", "3", "4"]
    unknown = aligned(b, b).column("truth")
    assert unknown is not None
    assert unknown.codes[1] == -1
    assert np.asarray(unknown.labels)[unknown.codes[0]] == "3"
