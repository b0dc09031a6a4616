"""What a comparison finds: the tutorial's figure, identities with the statistics it calls, and invariances."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.sampling import take_sample
from harness.api.transcripts import metric_remark
from harness.errors import TranscriptError, UsageError
from harness.options import DesignOptions
from harness.report.comparison import comparison_json
from harness.report.comparison_details import tutorial_lines
from harness.report.verdicts import pair_verdict
from harness.stats.arrays import BoolArray
from harness.stats.designs import intraclass_correlation, intraclass_of_differences
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.method import Replication
from harness.stats.replication.statistic import difference
from tests.analysis.score_runs import compare_files
from tests.analysis.transcripts import aligned, clustered, figure_5, transcript


def test_figure_5_of_the_tutorial_to_the_digit(tmp_path: Path) -> None:
    found = compare_files(*figure_5(tmp_path))
    assert found.better == [[None, 1254, 130], [180, None, 180], [0, 1124, None]]
    tables = [(pair.n_ff, pair.n_sf, pair.n_fs, pair.n_ss) for pair in found.pairs]
    assert tables == [(0, 1254, 180, 0), (180, 130, 0, 1124), (130, 180, 1124, 0)]
    assert [f"{pair.z:.3f}" for pair in found.pairs] == ["28.335", "11.314", "26.114"]
    assert tutorial_lines(found, found.pairs[2]) == [
        "Z score is 26.114",
        "99% confident that witch and warlock do not give equivalent results",
        "99.5% confident that warlock was superior to witch",
    ]


@pytest.mark.parametrize(("more", "less", "p"), [(60, 38, 0.01668), (22, 8, 0.00806)])
def test_one_sided_p_values_that_a_paper_misprints(tmp_path: Path, more: int, less: int, p: float) -> None:
    a = transcript(tmp_path / "a.jsonl", [True] * more + [False] * less)
    b = transcript(tmp_path / "b.jsonl", [False] * more + [True] * less)
    assert compare_files(a, b).pairs[0].p_one_sided == pytest.approx(p, abs=5e-6)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "plan",
    [Replication(), Replication(fay=0.3), Replication(method="jackknife"), Replication(method="bootstrap", seed=3)],
)
@pytest.mark.parametrize("units", [2, 3, 6])
@pytest.mark.parametrize("weights", [None, "equal", "weight"])
def test_pairs_have_the_replication_of_their_difference(
    tmp_path: Path, plan: Replication, units: int, weights: str | None
) -> None:
    """All pairs share one covariance; pair by pair, `replicate` must give the same."""
    paths = clustered(tmp_path, 1, strata=7, units=units, size=4)
    found = compare_files(*paths, weights=weights, plan=plan)
    one = found.pairs[0].estimate
    alone = make_estimate(found.sampling.sample, difference(*found.aligned.success), plan)
    assert one is not None
    assert one.interval is not None
    assert alone.interval is not None
    assert (one.value, one.se, one.df) == pytest.approx((alone.value, alone.se, alone.df), rel=1e-9)
    assert (one.interval.low, one.interval.high) == pytest.approx((alone.interval.low, alone.interval.high), rel=1e-9)
    assert one.p_value == pytest.approx(alone.p_value, rel=1e-6)
    assert one.design_effect == pytest.approx(alone.design_effect, rel=1e-9)
    assert (one.replicates, one.groupings, one.method) == (alone.replicates, alone.groupings, alone.method)


def test_design_effect_is_over_the_variance_of_independent_cases(tmp_path: Path) -> None:
    found = compare_files(*clustered(tmp_path, 2, strata=5, units=8, size=5))
    pair, n = found.pairs[0], found.aligned.n
    independent = ((pair.n_sf + pair.n_fs) / n - pair.difference**2) / (n - 1)
    assert pair.estimate is not None
    assert pair.estimate.design_effect == pytest.approx(pair.estimate.se**2 / independent, rel=1e-12)


@given(
    successes=st.integers(2, 5).flatmap(
        lambda m: st.lists(st.lists(st.booleans(), min_size=12, max_size=12), min_size=m, max_size=m)
    ),
    groups=st.lists(st.integers(0, 4), min_size=12, max_size=12),
)
def test_intraclass_correlation_of_all_differences_at_once(successes: list[list[bool]], groups: list[int]) -> None:
    rows = np.array(successes)
    found = intraclass_of_differences(rows, groups)
    for i in range(len(rows)):
        for j in range(len(rows)):
            alone = intraclass_correlation(rows[i].astype(float) - rows[j], groups).icc
            assert found[i, j] == pytest.approx(alone, abs=1e-9, nan_ok=True)


def test_swapping_the_two_runs_changes_every_sign(tmp_path: Path) -> None:
    a, b = clustered(tmp_path, 3, strata=6, units=4, size=3)
    one, other = compare_files(a, b).pairs[0], compare_files(b, a).pairs[0]
    assert (one.n_sf, one.n_fs) == (other.n_fs, other.n_sf)
    assert one.difference == -other.difference
    assert (one.interval.low, one.interval.high) == pytest.approx((-other.interval.high, -other.interval.low))
    assert one.estimate is not None
    assert other.estimate is not None
    assert one.estimate.value == pytest.approx(-other.estimate.value)
    assert one.estimate.se == pytest.approx(other.estimate.se)
    assert (one.p_exact, one.p_mid) == (other.p_exact, other.p_mid)


def test_identical_runs_cannot_be_told_apart(tmp_path: Path) -> None:
    a, _ = clustered(tmp_path, 4, strata=4, units=4, size=2)
    found = compare_files(a, a)
    pair = found.pairs[0]
    assert (pair.z, pair.p_exact, pair.p_mid, pair.better) == (0, 1, 1, None)
    assert pair.estimate is not None
    assert pair.estimate.p_value == 1
    assert pair.estimate.interval is not None
    assert pair.estimate.interval.low < 0 < pair.estimate.interval.high
    assert found.groups == [["a", "a-2"]] or len(found.groups) == 1
    assert "same cases" in pair_verdict(found, pair)[0]


def test_without_a_design_replication_is_null(tmp_path: Path) -> None:
    a = transcript(tmp_path / "a.jsonl", [True, False, True, True])
    b = transcript(tmp_path / "b.jsonl", [True, True, False, False])
    found = comparison_json(compare_files(a, b))
    assert found["pairs"][0]["replication"] is None
    assert found["transcripts"][0]["replication"] is None


def test_mcnemar_and_replication_disagree_and_the_reader_is_told_why(tmp_path: Path) -> None:
    """Eight documents of 40 cases; in five A is better on every case, in three B: significant by case, not by unit."""
    unit = np.repeat(np.arange(8), 40)
    a = unit < 5
    paths = [
        transcript(tmp_path / f"{name}.jsonl", good, psu=[str(u) for u in unit], design={"psu": "document"})
        for name, good in (("a", a), ("b", ~a))
    ]
    found = compare_files(*paths)
    pair = found.pairs[0]
    assert pair.p_adjusted < 0.001
    assert pair.estimate is not None
    assert pair.estimate.method == "jackknife"
    assert pair.estimate.df == 7
    assert pair.estimate.p_value is not None
    assert pair.estimate.p_value > 0.2
    first, second, *_ = pair_verdict(found, pair)
    assert first.startswith("a and b cannot be told apart for new documents")
    assert "Believe the jackknife" in second
    assert "intraclass correlation 1.00" in second
    assert "adjusted for the design effect" in second


def test_a_verdict_names_winner_interval_and_target(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    strata = [str(i % 10) for i in range(400)]
    good, bad = rng.random(400) < 0.95, rng.random(400) < 0.6
    a = transcript(tmp_path / "a.jsonl", bad, stratum=strata, design={"stratum": "digit"})
    b = transcript(tmp_path / "b.jsonl", good, stratum=strata, design={"stratum": "digit"})
    found = compare_files(a, b)
    text = pair_verdict(found, found.pairs[0])[0]
    assert text.startswith("b is better than a by ")
    assert text.endswith("points (BRR 95 % interval, for these strata (digit) and new cases).")


def test_weights_of_strata_say_what_another_population_would_give(tmp_path: Path) -> None:
    strata = ["x"] * 6 + ["y"] * 2
    a = transcript(tmp_path / "a.jsonl", [True, True, True, False, False, False, True, True], stratum=strata)
    weights = tmp_path / "weights.csv"
    weights.write_text("stratum,weight\nx,1\ny,3\n")
    for chosen, rate in (("cases", 5 / 8), ("equal", 0.75), (str(weights), 0.25 * 0.5 + 0.75 * 1.0)):
        found = compare_files(a, a, weights=chosen)
        assert found.runs[0].estimate is not None
        assert found.runs[0].estimate.value == pytest.approx(rate), chosen


def test_a_column_of_weights_counts_without_any_other_design(tmp_path: Path) -> None:
    """One case in ten weighs 100: 9 / 109 if it fails and the others succeed; errors by leaving out each case."""
    n = 200
    weights = np.where(np.arange(n) % 10 == 9, 100.0, 1.0)
    columns = [{"w": int(w)} for w in weights]
    good = {"b": np.arange(n) % 10 < 9, "a": np.arange(n) % 10 < 5}
    paths = [transcript(tmp_path / f"{name}.jsonl", own, columns=columns) for name, own in good.items()]
    found = compare_files(*paths, weights="w")
    assert (found.sampling.known, found.sampling.psu, found.sampling.stratum) == (True, None, None)
    assert [run.value for run in found.runs] == pytest.approx([9 / 109, 5 / 109])
    assert [run.rate for run in found.runs] == [0.9, 0.5]

    def left_out(own: BoolArray) -> npt.NDArray[np.float64]:
        return np.asarray((weights @ own - weights * own) / (weights.sum() - weights))

    one, pair = found.runs[0].estimate, found.pairs[0].estimate
    assert one is not None
    assert pair is not None
    shifts = left_out(good["b"]) - 9 / 109
    assert one.se == pytest.approx(np.sqrt((n - 1) / n * (shifts**2).sum()))
    shifts = left_out(good["b"]) - left_out(good["a"]) - 4 / 109
    assert pair.se == pytest.approx(np.sqrt((n - 1) / n * (shifts**2).sum()))
    assert pair.value == pytest.approx(4 / 109)
    # A design in the header has the same effect as the options.
    declared = [
        transcript(tmp_path / f"{name}.jsonl", own, columns=columns, design={"weights": "w"})
        for name, own in good.items()
    ]
    assert compare_files(*declared).pairs[0].estimate == pair


def test_weights_that_are_wrong_are_refused(tmp_path: Path) -> None:
    a = transcript(tmp_path / "a.jsonl", [True, False], columns=[{"w": "1"}, {"w": "-1"}], stratum=["x", "y"])
    runs = aligned(a, a)
    for chosen, words in (("w", "number from 0 up"), ("v", "not cases, equal"), ("none.csv", "No such file")):
        with pytest.raises(UsageError, match=words):
            take_sample(runs, DesignOptions(weights=chosen))
    tables = {
        "x,1": "no stratum 'y'",
        "x,1\ny,2\nx,3": r"weights\.csv:4: stratum 'x' appears twice",
        "x,1\ny,-2": r"weights\.csv:3: weight '-2' is not a number from 0 up",
        "x,0\ny,0": "0 for every stratum",
    }
    for text, words in tables.items():
        table = tmp_path / "weights.csv"
        table.write_text(f"stratum,weight\n{text}\n")
        with pytest.raises(UsageError, match=words):
            take_sample(runs, DesignOptions(weights=str(table)))


def test_columns_can_be_crossed_and_lone_strata_are_named(tmp_path: Path) -> None:
    days = [{"day": day, "site": site} for day, site in (("1", "a"), ("1", "a"), ("1", "b"), ("2", "a"), ("2", "a"))]
    a = transcript(tmp_path / "a.jsonl", [True, False, True, True, False], columns=days)
    b = transcript(tmp_path / "b.jsonl", [False, True, True, True, True], columns=days)
    runs = aligned(a, b)
    sampling = take_sample(runs, DesignOptions(stratum=("day", "site")))
    assert sampling.stratum == "day x site"
    assert sampling.sample.collapsed == (("1 x a", "1 x b"),) or sampling.sample.collapsed == (("1 x b", "2 x a"),)
    with pytest.raises(UsageError, match=r"no column 'dya'.*'day'"):
        take_sample(runs, DesignOptions(stratum=("dya",)))
    with pytest.raises(TranscriptError):
        take_sample(runs, DesignOptions(stratum=("day", "site"), lone="fail"))


def test_a_design_can_be_removed(tmp_path: Path) -> None:
    paths = clustered(tmp_path, 6, strata=4, units=4, size=2)
    assert not compare_files(*paths, stratum="none", psu="none").sampling.known
    only = compare_files(*paths, stratum=("none",)).pairs[0].estimate
    assert only is not None
    assert only.method == "jackknife"


def test_answers_to_one_case_are_one_unit(tmp_path: Path) -> None:
    ids = [f"c{i // 3}" for i in range(30)]
    repeat = [i % 3 + 1 for i in range(30)]
    a = transcript(tmp_path / "a.jsonl", [i % 2 == 0 for i in range(30)], ids=ids, repeat=repeat)
    b = transcript(tmp_path / "b.jsonl", [i % 5 == 0 for i in range(30)], ids=ids, repeat=repeat)
    found = compare_files(a, b)
    assert found.sampling.psu == "case"
    assert found.sampling.sample.units == 10


def test_a_baseline_is_compared_with_all_the_others_only(tmp_path: Path) -> None:
    found = compare_files(*figure_5(tmp_path), baseline="witch")
    assert [(pair.a, pair.b) for pair in found.pairs] == [(0, 1), (1, 2)]


def test_holm_is_over_the_pairs_that_are_shown(tmp_path: Path) -> None:
    """Holm's first step multiplies the smallest p by the number of tests."""
    rng = np.random.default_rng(8)
    paths = [transcript(tmp_path / f"{n}.jsonl", rng.random(60) < 0.5 + n / 10) for n in range(4)]
    every, few = compare_files(*paths), compare_files(*paths, baseline="0")
    for found in (every, few):
        smallest = min(found.pairs, key=lambda pair: pair.p_exact)
        assert smallest.p_adjusted == pytest.approx(min(1, smallest.p_exact * len(found.pairs)))


def test_groups_of_those_that_cannot_be_told_apart(tmp_path: Path) -> None:
    good = [i % 20 != 0 for i in range(400)]
    bad = [i % 2 == 0 for i in range(400)]
    paths = [transcript(tmp_path / f"{n}.jsonl", s) for n, s in (("p", good), ("q", good), ("r", bad))]
    found = compare_files(*paths)
    assert found.groups == [["p", "q"], ["r"]]
    letters = [run.letters for run in found.runs]
    assert letters[0] == letters[1] != letters[2]


def test_oracle_and_majority(tmp_path: Path) -> None:
    votes = [[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0]]
    paths = [transcript(tmp_path / f"{n}.jsonl", [bool(v) for v in row]) for n, row in enumerate(votes)]
    found = compare_files(*paths)
    assert (found.oracle, found.majority) == (0.75, 0.25)


def test_the_verdict_says_when_cases_are_too_few(tmp_path: Path) -> None:
    """With three cases, no difference, however large, is detected four times in five."""
    a = transcript(tmp_path / "a.jsonl", [True, False, True])
    b = transcript(tmp_path / "b.jsonl", [False, True, True])
    found = compare_files(a, b)
    assert (
        pair_verdict(found, found.pairs[0])[0]
        == "a and b cannot be told apart: 3 cases are too few to show any difference."
    )


def test_other_metrics_are_not_compared(tmp_path: Path) -> None:
    """What is right by one metric is not by another; the metric is no part of a test's identity."""
    one, other, same, older = (
        transcript(tmp_path / f"{name}.jsonl", [True, False], more={"interface": {"kind": "import: tool"}} | header)
        for name, header in (
            ("a", {"decided": {"metric": "acc"}}),
            ("b", {"decided": {"metric": "acc_norm"}}),
            ("c", {"decided": {"metric": "acc"}}),
            ("d", {"params": {"metric": "acc_norm"}}),
        )
    )
    assert aligned(one, same).names == ["a", "c"]
    for another in (other, older):
        with pytest.raises(TranscriptError, match=r"a.jsonl and [bd].jsonl .* 'acc' there, 'acc_norm' here.*--metric"):
            aligned(one, another)


def test_a_parameter_called_metric_is_no_metric_of_an_import(tmp_path: Path) -> None:
    one, other = (
        transcript(tmp_path / f"{name}.jsonl", [True, False], params={"metric": metric})
        for name, metric in (("a", "euclid"), ("b", "cosine"))
    )
    both = aligned(one, other)
    assert metric_remark(both.names, both.headers) == ""


def test_runs_that_the_harness_judged_beside_imports_are_pointed_out(tmp_path: Path) -> None:
    """As of a fused transcript beside those that it was made of."""
    one = transcript(tmp_path / "a.jsonl", [True, False], more={"decided": {"metric": "acc"}})
    both = aligned(one, transcript(tmp_path / "b.jsonl", [True, False]))
    assert metric_remark(both.names, both.headers) == "not judged by the same rule: a by acc, b by the harness"


def test_a_psu_in_two_strata_is_named(tmp_path: Path) -> None:
    """Its cases are not independent across them."""
    strata, units = ["day", "day", "night", "night"], ["u", "v", "v", "w"]
    a, b = (transcript(tmp_path / f"{name}.jsonl", [True, False] * 2, stratum=strata, psu=units) for name in "ab")
    with pytest.raises(TranscriptError, match="toy: PSU 'v' is in two strata, 'day' and 'night'; drop the stratum"):
        compare_files(a, b)
