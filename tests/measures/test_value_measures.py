"""Errors of numbers: scikit-learn's values, errors by loops over units, Bland and Altman's data, sign flips by hand."""

import math
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import permutation_test
from sklearn.metrics import mean_absolute_error, root_mean_squared_error

from harness.measures import MEASURES, find_measure
from harness.stats.arrays import FloatArray
from harness.stats.replication.balanced import balanced
from harness.stats.replication.method import Replication
from harness.transcript.columns import Coded
from tests.analysis.numbers import VALUE_TEST, Scales, numbers
from tests.analysis.score_runs import compare_files
from tests.analysis.transcripts import transcript
from tests.workshop import Workshop

Twin = Callable[[FloatArray, FloatArray, FloatArray], float]
TWINS: dict[str, Twin] = {
    "mae": lambda truth, said, weights: float(mean_absolute_error(truth, said, sample_weight=weights)),
    "rmse": lambda truth, said, weights: float(root_mean_squared_error(truth, said, sample_weight=weights)),
    "bias": lambda truth, said, weights: float(np.average(said - truth, weights=weights)),
}


@pytest.mark.parametrize("name", TWINS)
def test_values_and_errors_are_those_of_scikit_learn_in_a_loop_over_half_samples(tmp_path: Path, name: str) -> None:
    scales, twin = Scales(), TWINS[name]
    plan = Replication(fay=0.5, complements=False)
    found = compare_files(*scales.runs(tmp_path, stratified=True), statistic=name, plan=plan)
    sample, said = found.sampling.sample, [scales.truth + scales.errors(k, bias) for k, bias in enumerate((0.0, 0.5))]

    def both(weights: FloatArray) -> FloatArray:
        return np.array([twin(scales.truth, one, weights) for one in said])

    whole = both(np.ones(scales.n))
    drawn = [both(factors[sample.unit_of_case]) for block in balanced(sample, fay=0.5).weights() for factors in block]
    spread = (np.array(drawn) - whole) / 0.5
    for run, value, se in zip(found.runs, whole, np.sqrt((spread**2).mean(axis=0)), strict=True):
        assert run.estimate is not None
        assert run.value == pytest.approx(value, rel=1e-12)
        assert run.estimate.se == pytest.approx(se, rel=1e-8)
    pair = found.pairs[0].estimate
    assert pair is not None
    assert pair.value == pytest.approx(whole[0] - whole[1], rel=1e-10)
    assert pair.se == pytest.approx(math.sqrt(((spread[:, 0] - spread[:, 1]) ** 2).mean()), rel=1e-8)


@pytest.mark.parametrize("name", TWINS)
def test_without_strata_the_error_is_that_of_leaving_out_one_unit_after_another(tmp_path: Path, name: str) -> None:
    scales, twin = Scales(units=9), TWINS[name]
    found = compare_files(*scales.runs(tmp_path), statistic=name, plan=Replication(method="jackknife"))
    said = scales.truth + scales.errors(0)
    left = [twin(scales.truth[inside], said[inside], np.ones(inside.sum()))
            for inside in (scales.unit != unit for unit in range(scales.units))]  # fmt: skip
    whole = twin(scales.truth, said, np.ones(scales.n))
    one = found.runs[0].estimate
    assert one is not None
    assert one.se == pytest.approx(math.sqrt(8 / 9 * sum((value - whole) ** 2 for value in left)), rel=1e-9)


def test_cases_without_a_number_are_left_out_and_counted(shop: Workshop) -> None:
    """A refusal, an error with or without an answer, and a false claim whose truth is unknown have no error."""
    truth = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]
    path = numbers(
        shop.folder / "a.jsonl", truth, [11.0, 18.0, None, 99.0, 50.0, 61.5],
        error=[None, None, None, "answer", None, None], positive=[True] * 4 + [False] * 2,
        truth=["10", "20", "30", "40", "54", "?"],
    )  # fmt: skip
    done = shop.call("rate", path, "--statistic", "mae,rmse,bias", "--format", "json")
    (run,) = done.json["transcripts"]
    # 11 - 10, 18 - 20 and, since 50 was a false claim, 50 - 54.
    assert run["measures"]["mae"]["estimate"] == pytest.approx(7 / 3)
    assert run["measures"]["rmse"]["estimate"] == pytest.approx(math.sqrt(21 / 3))
    assert run["measures"]["bias"]["estimate"] == pytest.approx(-5 / 3)
    assert run["left_out"] == {"mae": 3, "rmse": 3, "bias": 3}
    text = shop.call("rate", path).out
    assert "a: 3 of 6 answers have no number for mae, rmse and bias (an error, a refusal or an unknown truth)" in text
    complete = numbers(shop.folder / "b.jsonl", truth, truth, positive=[True] * 4 + [False] * 2)
    compared = shop.call("compare", path, complete, "--statistic", "mae", "--format", "json").json
    # The truth of a case is taken from the first run: only the false claim of the last case has none.
    assert [one["left_out"] for one in compared["transcripts"]] == [3, 1]
    assert "left_out" not in shop.call("compare", path, complete, "--format", "json").json["transcripts"][0]


def test_only_tests_of_numbers_have_them(shop: Workshop) -> None:
    """Digits are labels: their difference is no error."""
    digits = transcript(shop.folder / "digits.jsonl", [True, False], expect=["1", "2"], actual=["1", "7"])
    done = shop.call("rate", digits, "--statistic", "mae")
    assert done.status == 2
    assert done.err == "hate: digits: its answers are not numbers; that takes a test of task value\n"
    assert not set(TWINS) & set(shop.call("rate", digits, "--format", "json").json["statistics"])
    path = numbers(shop.folder / "a.jsonl", [1, 2, 3], [1, 2.5, 5])
    shown = shop.call("rate", path, "--format", "json").json["statistics"]
    assert [name for name in shown if name in TWINS] == ["mae", "rmse", "bias"]
    silent = numbers(shop.folder / "silent.jsonl", [1, 2, 3], [None] * 3)
    assert not set(TWINS) & set(shop.call("rate", silent, "--format", "json").json["statistics"])
    compared = shop.call("compare", path, silent, "--statistic", "mae")
    assert "silent has no mae: it needs answers that are numbers." in compared.out


def test_a_relative_tolerance_does_not_change_the_unit_of_the_error(shop: Workshop) -> None:
    shop.script(
        task="value", keys="tolerance = {relative = 0.1}", rows="id,input,expect\n1,105,100\n2,230,200\n3,30,40\n"
    )
    shop.interface("def answer(case, params):\n    return float(case.input)\n")
    assert [record["score"] for record in shop.run()] == pytest.approx([0.05, 0.15, 0.25])
    measures = shop.call("rate", "out.jsonl", "--format", "json").json["transcripts"][0]["measures"]
    assert measures["rate"]["estimate"] == pytest.approx(1 / 3)
    assert measures["mae"]["estimate"] == pytest.approx(15.0)
    assert measures["bias"]["estimate"] == pytest.approx(25 / 3)


def test_bias_is_best_near_0(shop: Workshop) -> None:
    measure = find_measure("bias")
    assert measure.better(-0.1, 0.5)
    assert not measure.better(-0.5, 0.1)
    assert measure.lead(0.1, 0.5) == pytest.approx(0.4)
    assert measure.lead(-0.1, 0.5) == 0
    scales = Scales(units=60)
    low, high, under = scales.runs(shop.folder, (2.0, 6.0, -6.0))
    done = shop.call("compare", low, high, under, "--statistic", "bias", "--fail-if-worse")
    assert done.status == 0
    assert "Compared by mean error (the nearest to 0 is best)." in done.out
    assert "a is better than b in mean error by" in done.out
    assert (
        "b and c differ in mean error (p < 0.0001, jackknife 95 % interval, for new things), on either side of 0:"
        in done.out
    )
    summary = done.out[done.out.index("Each by itself") :]
    assert summary.index("\n a ") < min(summary.index("\n b "), summary.index("\n c "))
    assert shop.call("compare", high, low, "--statistic", "bias", "--fail-if-worse").status == 1
    assert shop.call("compare", high, under, "--statistic", "bias", "--fail-if-worse").status == 0
    for words in ([], ["--unpaired"]):
        refused = shop.call("compare", low, high, "--statistic", "bias", "--margin", "1", *words)
        assert refused.out == ""
        assert refused.status == 2
        assert "neither more nor less of it is better" in refused.err
    apart = shop.call("compare", high, under, "--statistic", "bias", "--unpaired", "--psu", "psu")
    assert "b and c differ in mean error (p < 0.0001" in apart.out
    nearest = shop.call("rate", high, "--statistic", "bias", "--by", "truth:2", "--format", "json").json["by"]
    values = {group["label"]: group["runs"][0]["estimate"] for group in nearest["groups"]}
    assert nearest["gaps"][0]["best"] == min(values, key=lambda label: abs(values[label]))


def exchanged(a: list[tuple[float, int]], b: list[tuple[float, int]]) -> float:
    """All ways in which two runs may change places in some of the units, each a sum and a count."""

    def gap(first: list[tuple[float, int]], second: list[tuple[float, int]]) -> float:
        means = [math.fsum(s for s, _ in run) / sum(c for _, c in run) for run in (first, second)]
        return abs(means[0] - means[1])

    seen, far, ways = gap(a, b), 0, list(product((False, True), repeat=len(a)))
    for swaps in ways:
        first = [y if swap else x for x, y, swap in zip(a, b, swaps, strict=True)]
        second = [x if swap else y for x, y, swap in zip(a, b, swaps, strict=True)]
        far += gap(first, second) >= seen - 1e-12
    return far / len(ways)


@pytest.mark.parametrize("refused", [[], [4], [4, 11, 12]])
def test_sign_flips_over_units_are_those_of_a_loop_over_all(shop: Workshop, refused: list[int]) -> None:
    scales = Scales(units=9, seed=3)
    errors = [scales.errors(0), scales.errors(1, 0.5)]
    errors[0][refused] = np.nan
    paths = [scales.write(shop.folder / f"{name}.jsonl", own) for name, own in zip("ab", errors, strict=True)]
    flip = shop.call("compare", *paths, "--statistic", "mae", "--format", "json").json["pairs"][0]["sign_flip"]
    a, b = ([(float(np.nansum(abs(own[scales.unit == u]))), int((~np.isnan(own[scales.unit == u])).sum()))
             for u in range(scales.units)] for own in errors)  # fmt: skip
    assert flip == {"p_value": pytest.approx(exchanged(a, b)), "flips": None, "exact": True}


def test_many_units_are_flipped_at_random_and_the_output_says_so(shop: Workshop) -> None:
    scales = Scales(units=40, seed=4)
    errors = [scales.errors(0), np.round(scales.errors(1, 0.3) / 1.4, 3)]
    paths = [scales.write(shop.folder / f"{name}.jsonl", own) for name, own in zip("ab", errors, strict=True)]
    words = ["compare", *map(str, paths), "--statistic", "mae"]
    pair = shop.call(*words, "--seed", "5", "--format", "json").json["pairs"][0]
    flip = pair["sign_flip"]
    assert (flip["flips"], flip["exact"], pair["replication"]["p_sign_flip"]) == (9999, False, None)
    sums = np.bincount(scales.unit, weights=abs(errors[0]) - abs(errors[1]))
    twin = permutation_test((sums,), np.sum, permutation_type="samples", n_resamples=20_000, rng=1).pvalue
    assert flip["p_value"] == pytest.approx(twin, abs=0.02)
    assert 0.0001 < twin < 0.5
    text = shop.call(*words, "--seed", "5").out
    assert "p flip is from 9,999 random draws (seed 5)" in text
    assert shop.call(*words, "--seed", "5", "--format", "json").json["pairs"][0]["sign_flip"] == flip
    assert shop.call(*words, "--seed", "6", "--format", "json").json["pairs"][0]["sign_flip"] != flip
    assert "random draws" not in shop.call("compare", *paths).out


def test_a_constant_lead_has_no_variance_and_is_still_seen(shop: Workshop) -> None:
    """12 units that all agree: 2 of 4,096 flips are as clear."""
    truth = np.arange(12.0)
    paths = [numbers(shop.folder / f"{name}.jsonl", truth, truth + off) for name, off in (("a", 0.25), ("b", 0.75))]
    pair = shop.call("compare", *paths, "--statistic", "mae", "--format", "json").json["pairs"][0]
    assert pair["replication"]["se"] == 0
    assert pair["replication"]["p_value"] == pair["sign_flip"]["p_value"] == 2 / 2**12


def test_values_of_records_are_compared_by_unit_with_repeated_answers(shop: Workshop) -> None:
    """12 cases of three answers each: a case's mean is its value."""
    rng = np.random.default_rng(6)
    rouge = np.round(rng.uniform(0, 1, (2, 12, 3)) + np.array([0.1, 0.0])[:, None, None], 4)
    ids, answers = [f"c{n}" for n in range(12) for _ in range(3)], [1, 2, 3] * 12
    paths = [
        transcript(shop.folder / f"{name}.jsonl", [True] * 36, ids=ids, repeat=answers,
                   values=[{"rouge": float(one)} for one in own.ravel()])
        for name, own in zip("ab", rouge, strict=True)
    ]  # fmt: skip
    pair = shop.call("compare", *paths, "--statistic", "values.rouge", "--format", "json").json["pairs"][0]
    gaps = (rouge[0] - rouge[1]).mean(axis=1)
    assert pair["replication"]["estimate"] == pytest.approx(gaps.mean())
    assert pair["replication"]["se"] == pytest.approx(gaps.std(ddof=1) / math.sqrt(12))
    twin = permutation_test((gaps,), np.sum, permutation_type="samples", n_resamples=2**12).pvalue
    assert pair["sign_flip"] == {"p_value": pytest.approx(twin, rel=1e-9), "flips": None, "exact": True}
    assert pair["replication"]["p_sign_flip"] == pytest.approx(twin, rel=1e-9)


def test_sizes_beyond_what_squares_can_hold(shop: Workshop) -> None:
    for size in (1e200, 1e-200):
        path = numbers(shop.folder / "a.jsonl", [0.0] * 4, [3 * size, -3 * size, 3 * size, 3 * size])
        measures = shop.call("rate", path, "--statistic", "mae,rmse", "--format", "json").json["transcripts"][0][
            "measures"
        ]
        assert measures["rmse"]["estimate"] == pytest.approx(3 * size, rel=1e-12)
        assert measures["mae"]["estimate"] == pytest.approx(3 * size, rel=1e-12)
    huge = numbers(shop.folder / "h.jsonl", [-1.7e308] * 3, [1.7e308] * 3)
    assert shop.call("rate", huge).status == 0
    other = numbers(shop.folder / "o.jsonl", [-1.7e308] * 3, [0.0] * 3)
    assert shop.call("compare", huge, other).status == 0


def test_a_margin_is_in_the_unit_of_the_numbers(shop: Workshop) -> None:
    scales = Scales(units=40)
    a = scales.write(shop.folder / "a.jsonl", scales.errors(0))
    b = scales.write(shop.folder / "b.jsonl", scales.errors(1) / 2)
    for words in ([], ["--unpaired"]):
        done = shop.call("compare", a, b, "--statistic", "mae", "--margin", "2", *words)
        assert done.status == 0, done.err
        assert "a and b are equivalent: they differ by less than 2" in done.out
    refused = shop.call("compare", a, b, "--margin", "2")
    assert refused.status == 2
    assert refused.err == "hate: --margin 2: the rate of success lies between 0 and 1; choose a smaller margin\n"


def test_texts_that_are_no_finite_numbers_are_missing() -> None:
    column = Coded(np.array([0, 1, 2, 3, -1, 0], np.int32), ["1.5", "x", "inf", "-2e3"])
    assert column.numbers() == pytest.approx([1.5, np.nan, np.nan, -2000, np.nan, 1.5], nan_ok=True)
    assert Coded(np.array([-1], np.int32), []).numbers() == pytest.approx([np.nan], nan_ok=True)


def test_measures_of_numbers_say_what_they_are() -> None:
    assert {name for name, measure in MEASURES.items() if measure.ideal is not None} == {"bias"}
    for name in TWINS:
        assert MEASURES[name].of_numbers
        assert not MEASURES[name].larger_is_better
    assert VALUE_TEST == {"task": "value"}
