"""Goals and leads, against scikit-learn, replication and the statistics of curves."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from harness.analysis.decisions import Setting, read_answers
from harness.analysis.tune import Lead, compare_winner, goal_values, parse_goal
from harness.errors import UsageError
from harness.stats.arrays import BoolArray, FloatArray
from harness.stats.curves.scores import ScoredCases, make_scored_cases
from harness.stats.curves.summaries import SUMMARIES, summary_difference, summary_estimate
from harness.stats.estimate import Estimate
from harness.stats.replication.estimates import make_estimate, make_estimates
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import Sample, make_sample
from harness.stats.replication.statistic import SmoothFormula, difference, rate
from harness.tasks import TASKS
from tests.analysis.transcripts import transcript

LINEAR = Replication(method="linearised")
UNITS = np.repeat(np.arange(60), 5)
SCORE = TASKS["score"]


@pytest.fixture
def sample() -> Sample:
    return make_sample(300, strata=(UNITS % 6).tolist(), units=UNITS.tolist())


@dataclass(frozen=True)
class Candidate:
    """Scores of cases and a threshold, as a setting whose run is on disk."""

    setting: Setting
    scores: FloatArray
    positive: BoolArray
    accepted: BoolArray

    @property
    def success(self) -> BoolArray:
        return np.asarray(self.accepted == self.positive)

    @property
    def curve_cases(self) -> ScoredCases:
        return make_scored_cases(self.scores, self.positive, larger_is_better=True)


def recorded(path: Path, scores: Any, positive: Any, threshold: float, *, falling: bool = True) -> Candidate:
    accepted = scores >= threshold if falling else scores <= threshold
    groups: dict[str, Any] = {}
    if len(scores) == 300:
        groups = {"stratum": [f"s{unit % 6}" for unit in UNITS], "psu": [f"u{unit:02d}" for unit in UNITS]}
    test = {"task": "score", "larger_is_better": falling}
    design = {"stratum": "s", "psu": "u"} if groups else {}
    fields = {"positive": positive.tolist(), "score": scores.tolist(), **groups}
    transcript(path, accepted == positive, test=test, design=design, params={"threshold": 0.0}, **fields)
    setting = Setting({"threshold": threshold}, (path,), read_answers(path))
    return Candidate(setting, scores, positive, accepted)


def candidate(folder: Path, seed: int, threshold: float, *, falling: bool = True) -> Candidate:
    rng = np.random.default_rng(seed)
    positive = np.arange(300) % 2 == 0
    scores = np.round(rng.normal(size=300) + 1.2 * positive + rng.normal(size=60)[UNITS], 1)
    path = folder / f"{seed}{falling}.jsonl"
    return recorded(path, scores if falling else -scores, positive, threshold, falling=falling)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Candidate, Candidate]:
    return candidate(tmp_path, 1, 0.7), candidate(tmp_path, 2, 0.5)


def figure(goal: str, one: Candidate) -> Estimate:
    """A candidate by itself."""
    return lead(goal, [one], 0, 0).winner


def lead(goal: str, candidates: Sequence[Candidate], winner: int, default: int) -> Lead:
    return compare_winner(parse_goal(goal, SCORE), [one.setting for one in candidates], winner, default)[0]


def value(goal: str, one: Candidate) -> float:
    return goal_values(parse_goal(goal, SCORE), [one.setting])[0]


def f1(totals: Any) -> Any:
    return 2 * totals[..., 0] / (2 * totals[..., 0] + totals[..., 1] + totals[..., 2])


def columns(one: Candidate) -> Any:
    accepted, positive = one.accepted, one.positive
    return np.stack([accepted & positive, ~accepted & positive, accepted & ~positive], axis=1).astype(float)


def test_goals_agree_with_scikit_learn(tmp_path: Path) -> None:
    one = candidate(tmp_path, 3, 0.6)
    positive, accepted = one.positive, one.accepted
    assert value("rate", one) == (accepted == positive).mean()
    assert value("f1", one) == pytest.approx(metrics.f1_score(positive, accepted), abs=1e-12)
    assert value("auc", one) == pytest.approx(metrics.roc_auc_score(positive, one.scores), abs=1e-12)
    cost = (10 * (accepted & ~positive) + 3 * (~accepted & positive)).mean()
    assert value("cost:fp=10,fn=3", one) == pytest.approx(cost, abs=1e-12)
    # Every measure of the outcomes is a goal.
    mcc, kappa = metrics.matthews_corrcoef(positive, accepted), metrics.cohen_kappa_score(positive, accepted)
    assert value("mcc", one) == pytest.approx(mcc, abs=1e-12)
    assert value("kappa", one) == pytest.approx(kappa, abs=1e-12)
    fnr = 1 - metrics.recall_score(positive, accepted)
    assert value("fnr", one) == pytest.approx(fnr, abs=1e-12)
    better = (parse_goal(goal, SCORE).larger_is_better for goal in ("mcc", "fnr"))
    assert tuple(better) == (True, False)


def test_distances_have_the_same_curve_reversed(tmp_path: Path) -> None:
    for goal in ("auc", "eer"):
        assert value(goal, candidate(tmp_path, 4, 0.0)) == value(goal, candidate(tmp_path, 4, 0.0, falling=False))


def test_a_rate_and_its_lead_are_those_of_replication(sample: Sample, pair: tuple[Candidate, Candidate]) -> None:
    own = make_estimate(sample, rate(pair[0].success), LINEAR)
    found = figure("rate", pair[0])
    assert (found.value, found.se, found.df) == pytest.approx((own.value, own.se, own.df), abs=1e-12)
    assert found.interval is not None
    assert own.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((own.interval.low, own.interval.high), abs=1e-12)
    both = make_estimate(sample, difference(pair[0].success, pair[1].success), LINEAR)
    ahead = lead("rate", pair, 0, 1)
    one = ahead.estimate
    assert (one.value, one.se, one.p_value) == pytest.approx((both.value, both.se, both.p_value), abs=1e-12)
    assert ahead.n_sf == int((pair[0].success & ~pair[1].success).sum())


def test_an_f1_and_its_lead_are_those_of_linearised_totals(sample: Sample, pair: tuple[Candidate, Candidate]) -> None:
    own = make_estimate(sample, SmoothFormula(columns(pair[0]), formula=f1, parts=3), LINEAR)
    found = figure("f1", pair[0])
    assert (found.value, found.se) == pytest.approx((own.value, own.se), abs=1e-12)
    stacked = np.concatenate([columns(pair[0]), columns(pair[1])], axis=1)
    both = make_estimates(sample, SmoothFormula(stacked, formula=f1, parts=3), LINEAR).difference(0, 1)
    ahead = lead("f1", pair, 0, 1).estimate
    assert (ahead.value, ahead.se) == pytest.approx((both.value, both.se), abs=1e-12)


@pytest.mark.parametrize("name", ["auc", "eer"])
def test_curves_have_their_own_linear_forms(sample: Sample, pair: tuple[Candidate, Candidate], name: str) -> None:
    a, b = (one.curve_cases for one in pair)
    own = summary_estimate(SUMMARIES[name], a, sample, LINEAR)
    found = figure(name, pair[0])
    assert (found.value, found.se) == pytest.approx((own.value, own.se), abs=1e-12)
    both = summary_difference(SUMMARIES[name], a, b, sample, LINEAR)
    ahead = lead(name, pair, 0, 1).estimate
    sign = 1 if name == "auc" else -1
    assert (sign * ahead.value, ahead.se, ahead.p_value) == pytest.approx((both.value, both.se, both.p_value))


def test_a_cost_of_one_each_is_the_rate_of_failure(pair: tuple[Candidate, Candidate]) -> None:
    by_cost, by_rate = (lead(goal, pair, 0, 1) for goal in ("cost", "rate"))
    assert by_cost.estimate.value == pytest.approx(by_rate.estimate.value, abs=1e-12)
    assert (by_cost.estimate.se, by_cost.p_chosen) == pytest.approx((by_rate.estimate.se, by_rate.p_chosen), abs=1e-12)


def test_a_real_lead_is_more_than_noise_and_the_best_of_many_equals_is_not(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    positive = np.arange(300) % 2 == 0

    def skilled(skill: float) -> Candidate:
        right, path = rng.random(300) < skill, tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"
        return recorded(path, np.where(right == positive, 1.0, -1.0), positive, 0.0)

    alike = [skilled(0.7) for _ in range(40)]
    best = max(range(40), key=lambda place: alike[place].success.sum())
    lucky = lead("rate", [*alike, skilled(0.7)], best, 40)
    assert lucky.estimate.p_value is not None
    assert lucky.estimate.p_value < 0.05 < lucky.p_chosen
    assert lucky.within_noise
    better = [*alike, skilled(0.9)]
    assert not lead("rate", better, 40, 0).within_noise


def test_nothing_is_certain_if_nothing_varies(tmp_path: Path) -> None:
    always = recorded(tmp_path / "always.jsonl", np.ones(8), np.ones(8, bool), 0.0)
    found = figure("rate", always)
    assert found.interval is not None
    assert found.interval.high == 1
    assert found.interval.low < 0.7
    same = lead("rate", [always], 0, 0)
    assert (same.estimate.p_value, same.p_chosen, same.within_noise) == (1.0, 1.0, True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "speed",
        "pass@2",
        "rank1",
        "rate:fp=1",
        "cost:fp=x",
        "cost:tp=1",
        "cost:fp=-1",
        "cost:fp=0,fn=0",
    ],
)
def test_what_is_not_a_goal_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--goal"):
        parse_goal(text, SCORE)


@pytest.mark.parametrize("text", ["rate", "f1", "mcc", "auc", "eer", "cost:fp=10,fn=1", "cost:fp=0.5,fn=2"])
def test_the_name_of_a_goal_is_the_text_it_was_parsed_from(text: str) -> None:
    assert parse_goal(text, SCORE).name == text


def test_a_candidate_without_a_value_is_no_candidate(tmp_path: Path) -> None:
    """A threshold that accepts nothing has no precision: it is the worst, and does not spoil the choice."""
    one = candidate(tmp_path, 5, 1.0)
    path = one.setting.transcripts[0]
    thresholds = (1.0, 0.0, 99.0)
    settings = [Setting({"threshold": at}, (path,), one.setting.answers) for at in thresholds]
    goal = parse_goal("precision", SCORE)
    values = goal_values(goal, settings)
    assert values[2] == 0.0
    alone, _ = compare_winner(goal, settings[:2], 0, 1)
    beside, _ = compare_winner(goal, settings, 0, 1)
    assert (alone.p_chosen, alone.candidates) == (beside.p_chosen, 2)
    assert beside.candidates == 3
