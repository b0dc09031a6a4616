"""Transcripts as columns: equal to a brute-force twin that goes through the records one at a time."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from harness.model import ErrorKind, Outcome, Trial, plain_text
from harness.transcript.columns import OUTCOMES, Coded, read_columns
from tests.simulation import examples
from tests.transcript.transcript_files import FIRST_LINE, trials, write

quickly = examples(80)
TEXTS = ("expect", "truth", "actual", "error", "stratum", "psu")


def texts(coded: Coded) -> list[str | None]:
    return [None if code < 0 else coded.labels[code] for code in coded.codes]


def text(value: Any) -> str | None:
    return None if value is UNSET or value is None else plain_text(value)


def real_class(trial: Trial) -> str | None:
    claim = text(trial.expect) if trial.outcome.positive else None
    return claim if text(trial.truth) is None else text(trial.truth)


def number(value: Any) -> float:
    return math.nan if value is UNSET or value is None else float(value)


@quickly
@given(st.lists(trials, max_size=15))
def test_columns_equal_the_records(tmp_path_factory: pytest.TempPathFactory, given_trials: Sequence[Trial]) -> None:
    columns = read_columns(write(tmp_path_factory.mktemp("t") / "t.jsonl", given_trials))
    assert texts(columns.real_class) == [real_class(trial) for trial in given_trials]
    assert columns.complete
    assert columns.ids == [trial.id for trial in given_trials]
    assert [OUTCOMES[code] for code in columns.outcome] == [trial.outcome for trial in given_trials]
    assert columns.success.tolist() == [trial.outcome in ("TP", "TN") for trial in given_trials]
    assert columns.positive.tolist() == [trial.outcome in ("TP", "FN") for trial in given_trials]
    assert columns.repeat.tolist() == [1 if trial.repeat is UNSET else trial.repeat for trial in given_trials]
    for name in ("score", "seconds", "memory"):
        np.testing.assert_array_equal(getattr(columns, name), [number(getattr(t, name)) for t in given_trials])
    for name in TEXTS:
        assert texts(getattr(columns, name)) == [text(getattr(trial, name)) for trial in given_trials]
    dicts = [{} if trial.columns is UNSET else trial.columns for trial in given_trials]
    assert set(columns.columns) == {key for given_columns in dicts for key in given_columns}
    for name, coded in columns.columns.items():
        assert texts(coded) == [text(given_columns.get(name)) for given_columns in dicts]
    values = [{} if trial.values is UNSET else trial.values for trial in given_trials]
    assert set(columns.values) == {name for given_values in values for name in given_values}
    for name, numbers in columns.values.items():
        np.testing.assert_array_equal(numbers, [number(given_values.get(name)) for given_values in values])


@quickly
@given(st.lists(trials, min_size=1, max_size=15))
def test_a_label_has_one_code(tmp_path_factory: pytest.TempPathFactory, given_trials: Sequence[Trial]) -> None:
    columns = read_columns(write(tmp_path_factory.mktemp("t") / "t.jsonl", given_trials))
    for coded in (columns.actual, columns.stratum, columns.psu, *columns.columns.values()):
        assert len(set(coded.labels)) == len(coded.labels)


def test_columns_that_come_and_go_between_blocks(tmp_path: Path) -> None:
    """Blocks have several megabytes: a column may begin in a later one, or be missing there."""
    long = "x" * 100_000
    given_trials = [
        Trial(
            str(i),
            Outcome.TP,
            message=long,
            columns={"early": "a"} if i < 60 else {"late": i % 3, "flag": True},
            values=UNSET if i < 20 or i >= 100 else {"f1": i / 8} if i < 60 else {"rouge": i / 4},
        )
        for i in range(120)
    ]
    columns = read_columns(write(tmp_path / "t.jsonl", given_trials))
    assert texts(columns.columns["early"]) == ["a"] * 60 + [None] * 60
    assert texts(columns.columns["late"]) == [None] * 60 + [str(i % 3) for i in range(60, 120)]
    assert set(columns.columns["flag"].labels) == {"true"}
    nothing = [math.nan]
    f1 = nothing * 20 + [i / 8 for i in range(20, 60)] + nothing * 60
    rouge = nothing * 60 + [i / 4 for i in range(60, 100)] + nothing * 20
    np.testing.assert_array_equal(columns.values["f1"], f1)
    np.testing.assert_array_equal(columns.values["rouge"], rouge)


def test_errors_are_read_by_name(tmp_path: Path) -> None:
    given_trials = [Trial("1", Outcome.FN, error=ErrorKind.TIMEOUT), Trial("2", Outcome.TP)]
    assert texts(read_columns(write(tmp_path / "t.jsonl", given_trials)).error) == ["timeout", None]


def test_an_empty_and_an_incomplete_transcript_have_columns_too(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(FIRST_LINE)
    columns = read_columns(path)
    assert not columns.complete
    assert columns.ids == []
    assert columns.score.shape == columns.outcome.shape == columns.psu.codes.shape == (0,)


@pytest.mark.slow
def test_two_hundred_thousand_records_become_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    line = b'{"id":"%d","outcome":"TP","score":%d,"psu":"%d","columns":{"writer":"%d"}}\n'
    path.write_bytes(FIRST_LINE + b"".join(line % (i, i, i // 2, i % 13) for i in range(200_000)))
    columns = read_columns(path)
    assert columns.score.sum() == 199_999 * 200_000 / 2
    assert len(columns.psu.labels) == 100_000
    assert np.bincount(columns.columns["writer"].codes).tolist() == [len(range(w, 200_000, 13)) for w in range(13)]
