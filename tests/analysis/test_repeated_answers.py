"""Answers given several times compared with answers given once: a case counts once, by the mean of its answers."""

import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from harness.analysis.sampling import take_sample
from harness.errors import TranscriptError
from harness.options import DesignOptions
from harness.stats.arrays import BoolArray
from tests.analysis.score_runs import compare_files
from tests.analysis.transcripts import aligned, transcript
from tests.workshop import Workshop

N = 24


def answers(seed: int, count: int, rate: float = 0.7) -> BoolArray:
    """Successes (N, count) of cases that are not equally hard."""
    rng = np.random.default_rng(seed)
    ease = np.clip(rng.normal(rate, 0.3, N), 0, 1)
    return np.asarray(rng.random((N, count)) < ease[:, None])


def write_answers(path: Path, good: BoolArray, *, by_round: bool = False, **cases: list[Any]) -> Path:
    """Write a transcript case by case or, with `by_round`, round by round; `cases` are keys with one value per case."""
    count = good.shape[1]
    places = [(case, turn) for case in range(len(good)) for turn in range(count)]
    if by_round:
        places.sort(key=lambda place: (-place[1], place[0]))
    fields: dict[str, Any] = {key: [values[case] for case, _ in places] for key, values in cases.items()}
    if count > 1:
        fields["repeat"] = [turn + 1 for _, turn in places]
    return transcript(
        path, [bool(good[place]) for place in places], ids=[f"c{case:03d}" for case, _ in places], **fields
    )


@pytest.mark.parametrize("counts", [(3, 1), (1, 3), (2, 3), (4, 6), (3, 1, 2)])
def test_the_value_is_the_mean_of_the_cases_and_the_error_is_over_cases(
    tmp_path: Path, counts: tuple[int, ...]
) -> None:
    """Student's error of means, and of differences of means, over cases; each run counts its own answers."""
    made = [answers(seed, count, 0.8 - seed / 10) for seed, count in enumerate(counts)]
    paths = [write_answers(tmp_path / f"{'abc'[k]}.jsonl", good, by_round=k == 1) for k, good in enumerate(made)]
    found = compare_files(*paths)
    means = [good.mean(axis=1) for good in made]
    assert (found.sampling.psu, found.sampling.sample.units) == ("case", N)
    for place, (run, mean) in enumerate(zip(found.runs, means, strict=True)):
        assert run.estimate is not None
        assert run.value == pytest.approx(mean.mean())
        assert run.rate == pytest.approx(made[place].mean())
        assert run.estimate.se == pytest.approx(mean.std(ddof=1) / math.sqrt(N))
        assert (run.estimate.df, run.estimate.units) == (N - 1, N)
        assert found.aligned.counts[place].tests == made[place].size
        assert made[place].sum() == found.aligned.counts[place].TP
    for pair, (a, b) in zip(found.pairs, combinations(means, 2), strict=True):
        assert pair.estimate is not None
        assert pair.estimate.value == pytest.approx((a - b).mean())
        assert pair.estimate.se == pytest.approx((a - b).std(ddof=1) / math.sqrt(N))


def test_the_order_of_answers_does_not_matter(tmp_path: Path) -> None:
    """The order of several answers is random, and so is which of them are matched."""
    one, other = answers(1, 3), answers(2, 2)
    shuffled = np.random.default_rng(3).permuted(one, axis=1)
    b = write_answers(tmp_path / "b.jsonl", other)
    found = [
        compare_files(write_answers(tmp_path / f"{k}.jsonl", good), b).pairs[0].estimate
        for k, good in enumerate((one, shuffled))
    ]
    assert found[0] is not None
    assert found[1] is not None
    assert (found[0].value, found[0].se) == pytest.approx((found[1].value, found[1].se), rel=1e-12)


def test_with_a_design_the_unit_is_its_psu(tmp_path: Path) -> None:
    """Patients of four cases: means over all answers of a patient, one patient left out at a time."""
    patients, sites = [f"p{case // 4}" for case in range(N)], [f"s{case // 12}" for case in range(N)]
    made = [answers(5, 3), answers(6, 1)]
    paths = [write_answers(tmp_path / f"{'ab'[k]}.jsonl", good, psu=patients) for k, good in enumerate(made)]
    found = compare_files(*paths)
    assert (found.sampling.psu, found.sampling.sample.units) == ("psu", 6)
    units = [good.reshape(6, -1).mean(axis=1) for good in made]
    pair = found.pairs[0].estimate
    assert pair is not None
    assert pair.se == pytest.approx((units[0] - units[1]).std(ddof=1) / math.sqrt(6))
    paths = [write_answers(tmp_path / f"{'ab'[k]}.jsonl", good, stratum=sites) for k, good in enumerate(made)]
    found = compare_files(*paths)
    assert (found.sampling.psu, found.sampling.stratum, found.sampling.sample.units) == ("case", "stratum", N)
    gaps = (made[0].mean(axis=1) - made[1].mean(axis=1)).reshape(2, 12)
    pair = found.pairs[0].estimate
    assert pair is not None
    assert pair.se == pytest.approx(math.sqrt((gaps.var(axis=1, ddof=1) / 12 / 4).sum()))


def test_other_measures_weight_each_answer_by_its_share_of_the_case(tmp_path: Path) -> None:
    """Every answer of a run weighs the same, whatever the others have: scikit-learn on its own records."""
    rng = np.random.default_rng(7)
    positive = [case % 2 == 0 for case in range(N)]
    scores = [np.round(rng.normal(size=(N, count)) + 1.5 * np.array(positive)[:, None], 1) for count in (3, 1)]
    paths = []
    for k, own in enumerate(scores):
        truth = np.repeat(positive, own.shape[1])
        path = tmp_path / f"{'ab'[k]}.jsonl"
        repeat = np.tile(np.arange(own.shape[1]) + 1, N).tolist()
        ids = [f"c{case}" for case in range(N) for _ in range(own.shape[1])]
        more: dict[str, Any] = {"repeat": repeat} if k == 0 else {}
        good = (own.ravel() >= 0.5) == truth
        paths.append(transcript(path, good, ids=ids, positive=truth.tolist(), score=own.ravel().tolist(),
                                test={"task": "score"}, **more))  # fmt: skip
    for name in ("auc", "f1", "precision"):
        found = compare_files(*paths, statistic=name)
        for run, own in zip(found.runs, scores, strict=True):
            truth, given = np.repeat(positive, own.shape[1]), own.ravel()
            expected = {
                "auc": lambda t, s: metrics.roc_auc_score(t, s),
                "f1": lambda t, s: metrics.f1_score(t, s >= 0.5),
                "precision": lambda t, s: metrics.precision_score(t, s >= 0.5),
            }[name](truth, given)
            assert run.value == pytest.approx(expected)


def test_the_command_compares_them(shop: Workshop) -> None:
    shop.script(20)
    shop.interface("NAME = 'sure'\ndef answer(case, params):\n    return case.input\n")
    shop.call("run", "toy", "-o", "sure.jsonl")
    shop.interface(
        "NAME = 'dice'\nturn = {}\ndef answer(case, params):\n"
        "    turn[case.id] = turn.get(case.id, 0) + 1\n"
        "    return case.input if turn[case.id] != 2 else 'no'\n"
    )
    shop.call("run", "toy", "-o", "dice.jsonl", "--repeat", "3")
    done = shop.call("compare", "dice.jsonl", "sure.jsonl", "--format", "json")
    assert done.status == 0, done.err
    dice, sure = done.json["transcripts"]
    assert (dice["tests"], sure["tests"]) == (60, 20)
    # Refusing a false claim is right: one answer in three fails on the ten true ones.
    assert dice["value"] == pytest.approx(1 - 10 / 60)
    pair = done.json["pairs"][0]["replication"]
    assert (pair["units"], pair["psu"], pair["target"]) == (20, "case", "new cases")
    assert pair["estimate"] == pytest.approx(-1 / 6)
    assert shop.call("compare", "sure.jsonl", "dice.jsonl", "--format", "json").json["pairs"][0]["replication"][
        "estimate"
    ] == pytest.approx(1 / 6)
    rows = shop.call("confusion", "sure.jsonl", "dice.jsonl", "--positives", "--format", "json").json["transcripts"]
    assert [np.sum(one["matrix"]) for one in rows] == [10, 30]
    for one, tests in zip(rows, (1, 3), strict=True):
        assert {recall["cases"] for recall in one["recall"] if recall["label"] != "no"} == {tests}


def test_answers_that_do_not_match_up_are_refused_in_a_line(tmp_path: Path, shop: Workshop) -> None:
    """7 x 11 x 13 is more than can be matched; a missing answer is named."""
    paths = [write_answers(tmp_path / f"{k}.jsonl", answers(k, k)) for k in (7, 11, 13)]
    with pytest.raises(TranscriptError, match="7, 11, 13 answers per case, with a common multiple over 1000"):
        aligned(*paths)
    done = shop.call("compare", *paths)
    assert (done.status, len(done.err.splitlines())) == (2, 1)
    ids, repeat = ["x", "x", "y"], [1, 2, 1]
    uneven = transcript(tmp_path / "u.jsonl", [True] * 3, ids=ids, repeat=repeat)
    even = transcript(tmp_path / "e.jsonl", [True, False], ids=["x", "y"])
    with pytest.raises(TranscriptError, match=r"u\.jsonl lacks 1 \(y \(answer 2\)\)"):
        aligned(uneven, even)
    assert aligned(uneven, even, intersect=True).n == 3
    done = shop.call("compare", uneven, even, "--intersect")
    assert "answers that not all runs have." in done.out


def test_the_same_numbers_of_answers_are_matched_as_before(tmp_path: Path) -> None:
    """Nothing is copied unnecessarily."""
    runs = aligned(*(write_answers(tmp_path / f"{k}.jsonl", answers(k, 5)) for k in range(2)))
    assert runs.n == 5 * N
    assert take_sample(runs, DesignOptions()).sample.units == N


@pytest.mark.parametrize("wrong", [0, 1, 3])
def test_the_same_answer_again_says_nothing_new(tmp_path: Path, wrong: int) -> None:
    """Five times the same answer is one answer: neither its own limits nor those of an opponent get narrower."""
    once, other = (np.arange(N) >= count for count in (wrong, 2))
    units = [f"u{case // 2}" for case in range(N)]

    def limits(times: int) -> list[tuple[float, float]]:
        path = tmp_path / f"{times}"
        path.mkdir()
        good = np.repeat(once[:, None], times, axis=1)
        paths = [
            write_answers(path / "a.jsonl", good, psu=units),
            write_answers(path / "b.jsonl", other[:, None], psu=units),
        ]
        found = compare_files(*paths)
        intervals = [run.estimate.interval for run in found.runs if run.estimate]
        return [(one.low, one.high) for one in intervals if one]

    np.testing.assert_allclose(limits(5), limits(1), atol=1e-12)
