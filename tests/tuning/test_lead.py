"""Goals and leads, against scikit-learn, replication and the statistics of curves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from harness.analysis.decisions import AnswerLimits
from harness.analysis.lead import Candidate, Lead, compare_winner, curve_cases, parse_goal
from harness.errors import TranscriptError, UsageError
from harness.stats.curves.summaries import SUMMARIES, summary_difference, summary_estimate
from harness.stats.estimate import Estimate
from harness.stats.replication.estimates import make_estimate, make_estimates
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import Sample, make_sample
from harness.stats.replication.statistic import SmoothFormula, difference, rate

LINEAR = Replication(method="linearised")
UNITS = np.repeat(np.arange(60), 5)


@pytest.fixture
def sample() -> Sample:
    return make_sample(300, strata=(UNITS % 6).tolist(), units=UNITS.tolist())


def answers(seed: int, *, falling: bool = True) -> AnswerLimits:
    rng = np.random.default_rng(seed)
    positive = np.arange(300) % 2 == 0
    scores = np.round(rng.normal(size=300) + 1.2 * positive + rng.normal(size=60)[UNITS], 1)
    return recorded(scores if falling else -scores, positive, falling=falling)


def recorded(limit: Any, positive: Any, *, unscored: int = 0, falling: bool = True) -> AnswerLimits:
    return AnswerLimits(limit.tolist(), positive.tolist(), 0, unscored, falling)


@pytest.fixture
def pair() -> tuple[Candidate, Candidate]:
    return Candidate(answers(1), 0.7), Candidate(answers(2), 0.5)


def figure(goal: str, one: Candidate, sample: Sample) -> Estimate:
    """A candidate by itself."""
    return compare_winner(parse_goal(goal), [one], 0, 0, sample).winner


def lead(goal: str, candidates: Sequence[Candidate], winner: int, default: int, sample: Sample) -> Lead:
    return compare_winner(parse_goal(goal), candidates, winner, default, sample).lead


def f1(totals: Any) -> Any:
    return 2 * totals[..., 0] / (2 * totals[..., 0] + totals[..., 1] + totals[..., 2])


def columns(one: Candidate) -> Any:
    accepted, positive = one.accepted, one.positive
    return np.stack([accepted & positive, ~accepted & positive, accepted & ~positive], axis=1).astype(float)


def test_goals_agree_with_scikit_learn() -> None:
    one = answers(3)
    (counts,) = one.counts([0.6])
    positive, accepted = np.array(one.positive), np.array(one.limit) >= 0.6
    assert parse_goal("rate").of_counts(counts) == (accepted == positive).mean()
    assert parse_goal("f1").of_counts(counts) == pytest.approx(metrics.f1_score(positive, accepted), abs=1e-12)
    assert parse_goal("auc").of_scores(one) == pytest.approx(metrics.roc_auc_score(positive, one.limit), abs=1e-12)
    cost = (10 * (accepted & ~positive) + 3 * (~accepted & positive)).mean()
    assert parse_goal("cost:fp=10,fn=3").of_counts(counts) == pytest.approx(cost, abs=1e-12)
    # Every measure of the outcomes is a goal.
    mcc, kappa = metrics.matthews_corrcoef(positive, accepted), metrics.cohen_kappa_score(positive, accepted)
    assert parse_goal("mcc").of_counts(counts) == pytest.approx(mcc, abs=1e-12)
    assert parse_goal("kappa").of_counts(counts) == pytest.approx(kappa, abs=1e-12)
    fnr = 1 - metrics.recall_score(positive, accepted)
    assert parse_goal("fnr").of_counts(counts) == pytest.approx(fnr, abs=1e-12)
    assert (parse_goal("mcc").maximised, parse_goal("fnr").maximised) == (True, False)


def test_distances_have_the_same_curve_reversed() -> None:
    for name in ("auc", "eer"):
        goal = parse_goal(name)
        assert goal.of_scores(answers(4)) == goal.of_scores(answers(4, falling=False))


def test_a_rate_and_its_lead_are_those_of_replication(sample: Sample, pair: tuple[Candidate, Candidate]) -> None:
    own = make_estimate(sample, rate(pair[0].success), LINEAR)
    found = figure("rate", pair[0], sample)
    assert (found.value, found.se, found.df) == pytest.approx((own.value, own.se, own.df), abs=1e-12)
    assert found.interval is not None
    assert own.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((own.interval.low, own.interval.high), abs=1e-12)
    both = make_estimate(sample, difference(pair[0].success, pair[1].success), LINEAR)
    ahead = lead("rate", pair, 0, 1, sample)
    one = ahead.estimate
    assert (one.value, one.se, one.p_value) == pytest.approx((both.value, both.se, both.p_value), abs=1e-12)
    assert ahead.discordant is not None
    assert ahead.discordant.winner == int((pair[0].success & ~pair[1].success).sum())


def test_an_f1_and_its_lead_are_those_of_linearised_totals(sample: Sample, pair: tuple[Candidate, Candidate]) -> None:
    own = make_estimate(sample, SmoothFormula(columns(pair[0]), formula=f1, parts=3), LINEAR)
    found = figure("f1", pair[0], sample)
    assert (found.value, found.se) == pytest.approx((own.value, own.se), abs=1e-12)
    stacked = np.concatenate([columns(pair[0]), columns(pair[1])], axis=1)
    both = make_estimates(sample, SmoothFormula(stacked, formula=f1, parts=3), LINEAR).difference(0, 1)
    ahead = lead("f1", pair, 0, 1, sample).estimate
    assert (ahead.value, ahead.se) == pytest.approx((both.value, both.se), abs=1e-12)


@pytest.mark.parametrize("name", ["auc", "eer"])
def test_curves_have_their_own_linear_forms(sample: Sample, pair: tuple[Candidate, Candidate], name: str) -> None:
    a, b = (curve_cases(one.answers) for one in pair)
    own = summary_estimate(SUMMARIES[name], a, sample, LINEAR)
    found = figure(name, pair[0], sample)
    assert (found.value, found.se) == pytest.approx((own.value, own.se), abs=1e-12)
    both = summary_difference(SUMMARIES[name], a, b, sample, LINEAR)
    ahead = lead(name, pair, 0, 1, sample).estimate
    sign = 1 if name == "auc" else -1
    assert (sign * ahead.value, ahead.se, ahead.p_value) == pytest.approx((both.value, both.se, both.p_value))


def test_a_cost_of_one_each_is_the_rate_of_failure(sample: Sample, pair: tuple[Candidate, Candidate]) -> None:
    by_cost, by_rate = (lead(goal, pair, 0, 1, sample) for goal in ("cost", "rate"))
    assert by_cost.estimate.value == pytest.approx(by_rate.estimate.value, abs=1e-12)
    assert (by_cost.estimate.se, by_cost.p_chosen) == pytest.approx((by_rate.estimate.se, by_rate.p_chosen), abs=1e-12)


def test_a_real_lead_is_more_than_noise_and_the_best_of_many_equals_is_not(sample: Sample) -> None:
    rng = np.random.default_rng(0)
    positive = np.arange(300) % 2 == 0

    def skilled(skill: float) -> Candidate:
        right = rng.random(300) < skill
        return Candidate(recorded(np.where(right == positive, 1.0, -1.0), positive), 0.0)

    alike = [skilled(0.7) for _ in range(40)]
    best = max(range(40), key=lambda place: alike[place].success.sum())
    lucky = lead("rate", [*alike, skilled(0.7)], best, 40, sample)
    assert lucky.estimate.p_value is not None
    assert lucky.estimate.p_value < 0.05 < lucky.p_chosen
    assert lucky.within_noise
    better = [*alike, skilled(0.9)]
    assert not lead("rate", better, 40, 0, sample).within_noise


def test_nothing_is_certain_if_nothing_varies() -> None:
    sample = make_sample(8)
    always = Candidate(recorded(np.ones(8), np.ones(8, bool)), 0.0)
    found = figure("rate", always, sample)
    assert found.interval is not None
    assert found.interval.high == 1
    assert found.interval.low < 0.7
    same = lead("rate", [always], 0, 0, sample)
    assert (same.estimate.p_value, same.p_chosen, same.within_noise) == (1.0, 1.0, True)


@pytest.mark.parametrize(
    "text", ["", "speed", "seconds", "rank1", "rate:fp=1", "cost:fp=x", "cost:tp=1", "cost:fp=-1", "cost:fp=0,fn=0"]
)
def test_what_is_not_a_goal_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--goal"):
        parse_goal(text)


@pytest.mark.parametrize("text", ["rate", "f1", "mcc", "auc", "eer", "cost:fp=10,fn=1", "cost:fp=0.5,fn=2"])
def test_the_name_of_a_goal_is_the_text_it_was_parsed_from(text: str) -> None:
    assert parse_goal(text).name == text


def test_curves_refuse_answers_without_a_score_and_a_single_class() -> None:
    one = answers(6)
    with pytest.raises(TranscriptError, match="2 answers without a score"):
        curve_cases(recorded(np.array(one.limit), np.array(one.positive), unscored=2))
    with pytest.raises(TranscriptError, match="positive and negative"):
        curve_cases(recorded(np.array(one.limit), np.ones(300, bool)))
