"""Answers of a blind run, judged where the truth is: the same records as a run that has the truth at once."""

import json
from typing import Any

import msgspec
import numpy as np
import pytest

from harness.model import BlindTrial, Case, ErrorKind, Question, Reply, Trial
from harness.params import Value
from harness.tasks import find_task
from harness.tasks.judge import BlindJudge, Judge, judged_trial
from harness.tasks.rank import Gallery
from harness.tasks.task import TaskRules

GALLERY = [Case("g1", "a.png", "ann"), Case("g2", "b.png", "bob"), Case("g3", "c.png", "ann")]
LABELS = ["yes", 3, 3.0, ("yes", 0.4), ["no", 2], {"yes": 2, "no": 1.5}, {3: 2.0, 5: 1.0}, None, "", object(),
          ("yes", float("nan")), {"scores": {"yes": 1}}, {"label": "yes", "score": 0.1}, np.float64(3), np.int64(3),
          [1, 2, 3]]  # fmt: skip
SCORES = [0.7, 1, "0.2", None, {"score": 0.9}, float("inf"), np.float32(0.5), "x", True]
VALUES = [9.9, "10.05", None, {"value": 10.2}, float("nan"), np.float64(10), [1]]
RANKS = [["ann", "bob"], ["g2", "g1"], {"ann": 2.0, "bob": 1.0}, {"ranking": ["bob", "ann"]}, [0.2, 0.9, 0.1],
         np.array([0.9, 0.1, 0.3]), None, [0.5, None, 0.4], ["nobody"], [1, 2], ("bob", "ann")]  # fmt: skip
ANSWERS: dict[str, list[Any]] = {"label": LABELS, "score": SCORES, "value": VALUES, "rank": RANKS}
PARAMS: dict[str, dict[str, Value]] = {
    "label": {"threshold": 0.3},
    "score": {"threshold": 0.5},
    "value": {"tolerance": 0.1},
    "rank": {"rank": 1},
}
EXPECT = {"label": "yes", "score": "a claim", "value": "10", "rank": "ann"}


def judges(task: str) -> tuple[Judge, BlindJudge]:
    known = find_task(task)
    assert known is not None
    rules = TaskRules(gallery=Gallery(GALLERY) if known.uses_gallery else None)
    return Judge(known, rules, PARAMS[task], repeated=True), BlindJudge(known, rules, PARAMS[task], repeated=True)


def over_the_wire(trial: Trial) -> BlindTrial:
    """As it is written by one program and read by another."""
    data = msgspec.json.encode(trial)
    assert not json.loads(data).keys() & {
        "outcome",
        "positive",
        "expect",
        "truth",
        "score",
        "stratum",
        "psu",
        "columns",
    }
    return msgspec.json.decode(data, type=BlindTrial)


@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize(("task", "number"), [(task, n) for task, raws in ANSWERS.items() for n in range(len(raws))])
def test_the_outcome_is_the_same(task: str, number: int, positive: bool) -> None:
    raw = ANSWERS[task][number]
    open_judge, blind_judge = judges(task)
    case = Case("c1", "x.png", EXPECT[task], positive, "bob" if task == "rank" and not positive else "")
    public = Case("c1", "x.png", case.expect if task == "score" else "")
    reply = Reply(Question(0, "c1", "x.png", repeat=2), raw, seconds=0.25, memory=7)
    expected = open_judge.trial(case, reply)
    found = judged_trial(open_judge, case, over_the_wire(blind_judge.trial(public, reply)))
    assert (found.outcome, found.error) == (expected.outcome, expected.error)
    assert (found.seconds, found.memory, found.repeat) == (0.25, 7, 2)
    if not expected.error:
        assert found == expected


@pytest.mark.parametrize("kind", [ErrorKind.CRASH, ErrorKind.TIMEOUT])
def test_an_error_stays_an_error(kind: ErrorKind) -> None:
    open_judge, blind_judge = judges("label")
    case = Case("c1", "x", "yes")
    reply = Reply(Question(0, "c1", "x"), None, kind, "it broke", 1.5)
    found = judged_trial(open_judge, case, over_the_wire(blind_judge.trial(Case("c1", "x"), reply)))
    assert found == open_judge.trial(case, reply)
