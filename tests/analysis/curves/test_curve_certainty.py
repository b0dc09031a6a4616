"""Intervals and bands of a command are those of the statistics, and the output says which."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from harness.stats.arrays import FloatArray
from harness.stats.curves.bands import fixed_fpr_bands, replicated_bands, wilson_bands
from harness.stats.curves.scores import counts_of, make_scored_cases
from harness.stats.curves.summaries import AREA, EQUAL_ERROR, summary_estimate
from harness.stats.curves.two_way import Subjects, two_way_bands, two_way_summary
from harness.stats.estimate import Estimate
from harness.stats.replication.sample import make_sample
from tests.analysis.curves.transcripts import random_scores, scores, write_transcript
from tests.workshop import Workshop

VALUES, POSITIVE = random_scores(3, 240)
# Names that sort like numbers: replicates are formed in the order of the names.
STRATUM, UNIT = [str(i // 24) for i in range(240)], [f"w{i // 6:02d}" for i in range(240)]
CASES = make_scored_cases(VALUES, POSITIVE)
DESIGN = {"stratum": "digit", "psu": "writer"}


def curve(shop: Workshop, path: Path, *words: str) -> Any:
    done = shop.call("roc", path, "--format", "json", *words)
    assert done.status == 0, done.err
    return done.json["curves"][0]


def plain_file(shop: Workshop) -> Path:
    return write_transcript(shop.folder / "plain.jsonl", scores(VALUES, POSITIVE, digit=STRATUM, writer=UNIT))


def designed_file(shop: Workshop) -> Path:
    records = scores(VALUES, POSITIVE, stratum=STRATUM, psu=UNIT, digit=STRATUM, writer=UNIT)
    return write_transcript(shop.folder / "designed.jsonl", records, design=DESIGN)


def deviations(weights: FloatArray) -> tuple[float, FloatArray]:
    """The area, and what each case adds to it to first order: all pairs of a positive and a negative case."""
    above = np.greater.outer(VALUES[POSITIVE], VALUES[~POSITIVE]) + 0.5 * np.equal.outer(
        VALUES[POSITIVE], VALUES[~POSITIVE]
    )
    of, others = weights[POSITIVE], weights[~POSITIVE]
    area = float(of @ above @ others / (of.sum() * others.sum()))
    added = np.empty(VALUES.size)
    added[POSITIVE] = of * (above @ others / others.sum() - area) / of.sum()
    added[~POSITIVE] = others * (of @ above / of.sum() - area) / others.sum()
    return area, added


def logit_limits(area: float, se: float, df: float, confidence: float = 0.95) -> list[float]:
    """Limits on the logit scale, by the delta method."""
    half = float(stats.t.ppf((1 + confidence) / 2, df)) * se / (area * (1 - area))
    middle = math.log(area / (1 - area))
    return [1 / (1 + math.exp(-(middle + side * half))) for side in (-1, 1)]


def delong(weights: FloatArray) -> tuple[float, float]:
    """The area and its standard error by DeLong, DeLong and Clarke-Pearson (1988): variances within each class."""
    area, added = deviations(weights)
    variance = sum(of.sum() * added[of].var(ddof=1) for of in (POSITIVE, ~POSITIVE))
    return area, math.sqrt(variance)


def limits_of(one: Estimate) -> list[float]:
    assert one.interval is not None
    return [one.interval.low, one.interval.high]


def test_independent_cases_have_delongs_variance_logit_limits_and_wilsons_bands(shop: Workshop) -> None:
    found = curve(shop, plain_file(shop))
    area, se = delong(np.ones(240))
    assert found["auc"] == pytest.approx(area, abs=1e-12)
    assert found["auc_se"] == pytest.approx(se, abs=1e-12)
    assert found["auc_interval"] == pytest.approx(logit_limits(area, se, math.inf), abs=1e-12)
    assert (found["auc_method"], found["auc_target"]) == ("DeLong", "new independent cases")
    bands = wilson_bands(counts_of(CASES))
    assert found["points"]["low"] == pytest.approx(bands.tpr.low.tolist())
    assert found["points"]["high"] == pytest.approx(bands.tpr.high.tolist())
    assert found["bands"] == "wilson"


def test_strata_and_clusters_are_replicated(shop: Workshop) -> None:
    found = curve(shop, designed_file(shop))
    sample = make_sample(240, strata=STRATUM, units=UNIT)
    for summary in (AREA, EQUAL_ERROR):
        expected = summary_estimate(summary, CASES, sample)
        assert found[f"{summary.name}_interval"] == pytest.approx(limits_of(expected), abs=1e-12)
        assert found[f"{summary.name}_se"] == pytest.approx(expected.se, abs=1e-12)
        assert found[f"{summary.name}_method"] == "brr"
    assert found["auc_target"] == "these strata, new writers"
    counts = counts_of(CASES)
    bands = replicated_bands(CASES, sample, np.arange(counts.threshold.size))
    assert found["points"]["low"] == pytest.approx(bands.tpr.low.tolist())
    assert found["points"]["high"] == pytest.approx(bands.tpr.high.tolist())
    assert found["bands"] == "brr"


def test_there_are_bands_at_a_false_positive_rate_and_at_a_threshold(shop: Workshop) -> None:
    for path, sample in (
        (plain_file(shop), None),
        (designed_file(shop), make_sample(240, strata=STRATUM, units=UNIT)),
    ):
        points = curve(shop, path)["points"]
        expected = fixed_fpr_bands(CASES, sample, points["fpr"])
        columns = (points[name] for name in ("fpr", "tpr", "low_at_fpr", "high_at_fpr"))
        fpr, tpr, low, high = (np.array(column) for column in columns)
        # At either end no error shows how far the threshold may move; the rest of the curve does.
        assert low == pytest.approx(np.where(fpr == 1, expected.low.max(), expected.low), abs=1e-12)
        assert high == pytest.approx(np.where(fpr == 0, expected.high.min(), expected.high), abs=1e-12)
        assert ((low <= tpr) & (tpr <= high)).all()
        for rate in np.unique(fpr):
            # Points with the same false positive rate have the same band, whatever the threshold.
            assert len(set(low[fpr == rate])) == len(set(high[fpr == rate])) == 1
        # They allow for a moving threshold, so they are wider in the middle, where the curve is steep.
        middle = (fpr > 0.05) & (fpr < 0.3)
        assert ((high - low) > (np.array(points["high"]) - np.array(points["low"])))[middle].all()


@pytest.mark.parametrize("bands", ["wilson", "brr", "bootstrap"])
@pytest.mark.parametrize("words", [("--psu", "writer"), ("--stratum", "digit", "--psu", "writer")], ids=str)
def test_bands_at_thresholds_never_fall_when_the_rate_rises(shop: Workshop, words: tuple[str, ...], bands: str) -> None:
    points = curve(shop, plain_file(shop), *words, "--bands", bands)["points"]
    tpr, low, high = (np.array(points[name]) for name in ("tpr", "low", "high"))
    assert (tpr[0], tpr[-1]) == (0.0, 1.0)
    assert (np.diff(low) >= -1e-12).all()
    assert (np.diff(high) >= -1e-12).all()
    assert ((low <= tpr) & (tpr <= high)).all()
    # Nowhere certain, not even where nothing or everything is accepted.
    assert (low[-1] < 1.0, high[0] > 0.0) == (True, True)


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--stratum", "digit", "--psu", "writer")], ids=str)
def test_bands_along_the_whole_curve_contain_the_pointwise_ones(shop: Workshop, words: tuple[str, ...]) -> None:
    pointwise = curve(shop, plain_file(shop), *words)
    whole = curve(shop, plain_file(shop), *words, "--bands", "simultaneous")
    assert whole["bands"] == "simultaneous"
    for name in ("auc", "auc_se", "auc_interval", "eer", "eer_interval", "target"):
        assert whole[name] == pointwise[name], name
    inside = slice(1, -1)
    for name, sign in (("low", 1), ("low_at_fpr", 1), ("high", -1), ("high_at_fpr", -1)):
        near, far = (np.array(one["points"][name])[inside] for one in (pointwise, whole))
        assert (sign * (near - far) >= -1e-12).all(), name
        assert (sign * (near - far) > 0.01).any(), name
    again = curve(shop, plain_file(shop), *words, "--bands", "simultaneous")
    assert again["points"] == whole["points"]


def test_the_output_says_which_bands_these_are(shop: Workshop) -> None:
    for words, text in (
        ((), "pointwise bands at each false positive rate, Wilson"),
        (("--psu", "writer"), "pointwise bands at each false positive rate, jackknife"),
        (("--subjects", "writer,digit"), "pointwise bands at each threshold, the two-way variance"),
        (("--bands", "simultaneous"), "bands at each false positive rate that hold along the whole curve"),
    ):
        out = " ".join(shop.call("roc", plain_file(shop), *words, "--format", "table").out.split())
        assert text in out


def test_a_design_can_be_named_or_removed(shop: Workshop) -> None:
    by_hand = curve(shop, plain_file(shop), "--stratum", "digit", "--psu", "writer")
    declared = curve(shop, designed_file(shop))
    assert by_hand["auc_interval"] == declared["auc_interval"]
    without = curve(shop, designed_file(shop), "--stratum", "none", "--psu", "none")
    assert without["auc_method"] == "DeLong"


def test_clusters_without_strata_use_the_linear_form(shop: Workshop) -> None:
    """Obuchowski (1997): the variance over the sums of each cluster, with Student's t."""
    found = curve(shop, plain_file(shop), "--psu", "writer")
    area, added = deviations(np.ones(240))
    sums = added.reshape(40, 6).sum(axis=1)
    se = math.sqrt(40 * sums.var(ddof=1))
    assert found["auc"] == pytest.approx(area, abs=1e-12)
    assert found["auc_se"] == pytest.approx(se, abs=1e-12)
    assert found["auc_interval"] == pytest.approx(logit_limits(area, se, 39), abs=1e-12)
    assert (found["auc_method"], found["bands"], found["target"]) == ("linearised", "jackknife", "new writers")


# Designs of the same 240 cases, and how an area is computed under each.
DESIGNS = {
    "none": ((), "DeLong"),
    "psu": (("--psu", "writer"), "linearised"),
    "stratum": (("--stratum", "digit"), "brr"),
    "stratum and psu": (("--stratum", "digit", "--psu", "writer"), "brr"),
    "weights": (("--weights", "weight"), "DeLong"),
    "weights and psu": (("--weights", "weight", "--psu", "writer"), "linearised"),
    "weights of strata": (("--weights", "equal", "--stratum", "digit", "--psu", "writer"), "brr"),
}


@pytest.mark.sampled(7)
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("refusing", [False, True], ids=["", "refusing"])
def test_roc_compare_and_rate_have_one_area_and_one_equal_error_rate(
    shop: Workshop, design: str, refusing: bool
) -> None:
    """Value, standard error and interval agree to 1e-12 in all commands."""
    words, method = DESIGNS[design]
    rng = np.random.default_rng(8)
    weights = rng.integers(1, 5, 240).tolist()
    paths = []
    for name, values in (("one", VALUES), ("other", VALUES + rng.normal(size=240))):
        kept = [None if refusing and i % 9 == 0 else value for i, value in enumerate(values.tolist())]
        records = scores(kept, POSITIVE, digit=STRATUM, writer=UNIT, weight=weights)
        paths.append(write_transcript(shop.folder / f"{name}.jsonl", records, algorithm=name))
    curves = shop.call("roc", *paths, *words, "--format", "json").json["curves"]
    assert curves[0]["auc_method"] == method
    assert curves[0]["closed"] is refusing
    for statistic in ("auc", "eer"):
        for command in ("compare", "rate"):
            done = shop.call(command, *paths, *words, "--statistic", statistic, "--format", "json")
            assert done.status == 0, done.err
            for drawn_curve, row in zip(curves, done.json["transcripts"], strict=True):
                one = row["replication"]
                assert row["value"] == pytest.approx(drawn_curve[statistic], abs=1e-12)
                assert one["se"] == pytest.approx(drawn_curve[f"{statistic}_se"], abs=1e-12)
                assert one["interval"] == pytest.approx(drawn_curve[f"{statistic}_interval"], abs=1e-12)


@pytest.mark.parametrize("words", [(), ("--psu", "writer"), ("--stratum", "digit", "--psu", "writer")], ids=str)
def test_perfect_scores_are_not_certain_and_all_commands_agree_on_the_limits(
    shop: Workshop, words: tuple[str, ...]
) -> None:
    path = write_transcript(
        shop.folder / "right.jsonl", scores((2.0 * POSITIVE - 1).tolist(), POSITIVE, digit=STRATUM, writer=UNIT)
    )
    done = shop.call("rate", path, *words, "--statistic", "auc,eer", "--format", "json")
    found, measures = curve(shop, path, *words), done.json["transcripts"][0]["measures"]
    assert (found["auc"], found["auc_se"], found["eer"], found["eer_se"]) == (1.0, 0.0, 0.0, 0.0)
    low, high = found["auc_interval"]
    assert 0.5 < low < 0.999
    assert high == 1.0
    assert found["eer_interval"][0] == 0.0
    assert 0.001 < found["eer_interval"][1] < 0.5
    for statistic in ("auc", "eer"):
        assert measures[statistic]["interval"] == pytest.approx(found[f"{statistic}_interval"], abs=1e-12)


def test_bootstrap_bands_depend_on_the_seed_alone(shop: Workshop) -> None:
    path = plain_file(shop)
    one, same, other = (curve(shop, path, "--bands", "bootstrap", "--seed", seed) for seed in ("1", "1", "2"))
    assert one["bands"] == "bootstrap"
    assert one["points"] == same["points"]
    assert one["points"] != other["points"]


def test_no_bands(shop: Workshop) -> None:
    found = curve(shop, plain_file(shop), "--bands", "none")
    assert found["bands"] is None
    assert set(found["points"]["low"]) == {None}
    assert set(found["points"]["low_at_fpr"]) == {None}


def test_two_way_intervals_for_the_scores_of_a_matrix(shop: Workshop) -> None:
    rng = np.random.default_rng(0)
    people = [f"p{i}" for i in range(12)]
    first = [a for a in people for _ in people]
    second = [b for _ in people for b in people]
    positive = np.array([a == b for a, b in zip(first, second, strict=True)])
    values = rng.normal(size=144) + 2 * positive
    path = write_transcript(shop.folder / "m.jsonl", scores(values, positive, probe=first, gallery=second))
    found = curve(shop, path, "--subjects", "probe,gallery")
    cases, subjects = make_scored_cases(values, positive), Subjects.of(first, second)
    expected = two_way_summary("auc", cases, subjects)
    assert found["auc_interval"] == pytest.approx(limits_of(expected), abs=1e-12)
    assert found["auc_se"] == pytest.approx(expected.se, abs=1e-12)
    assert found["target"] == "new subjects on both sides"
    assert found["points"]["low"] == pytest.approx(two_way_bands(cases, subjects).tpr.low.tolist())
    # There is no such band at a false positive rate.
    assert set(found["points"]["low_at_fpr"]) == {None}


def test_weights_count_in_curve_and_interval(shop: Workshop) -> None:
    weights = np.random.default_rng(1).integers(1, 5, 240).tolist()
    path = write_transcript(shop.folder / "w.jsonl", scores(VALUES, POSITIVE, weight=weights))
    found = curve(shop, path, "--weights", "weight")
    area, se = delong(np.array(weights, dtype=np.float64))
    assert found["auc"] == pytest.approx(area, abs=1e-12)
    assert found["auc_se"] == pytest.approx(se, abs=1e-12)
    assert found["auc_interval"] == pytest.approx(logit_limits(area, se, math.inf), abs=1e-12)
    assert found["auc_se"] != pytest.approx(curve(shop, path)["auc_se"], rel=0.01)


def test_the_user_sets_the_confidence(shop: Workshop) -> None:
    narrow, wide = (curve(shop, plain_file(shop), "--confidence", level) for level in ("0.8", "0.99"))
    assert wide["auc_interval"][0] < narrow["auc_interval"][0] < narrow["auc_interval"][1] < wide["auc_interval"][1]
    area, se = delong(np.ones(240))
    for found, level in ((narrow, 0.8), (wide, 0.99)):
        assert found["auc_interval"] == pytest.approx(logit_limits(area, se, math.inf, level), abs=1e-12)


def test_one_case_of_a_class_is_too_few_for_an_interval_and_a_note_says_so(shop: Workshop) -> None:
    found = curve(shop, write_transcript(shop.folder / "t.jsonl", scores([1.0, 2.0, 3.0], [False, False, True])))
    assert (found["auc"], found["auc_interval"], found["auc_se"]) == (1.0, None, None)
    assert "no interval" in found["notes"][0]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--bands", "brr"), "--stratum or --psu"),
        (("--bands", "two-way"), "--subjects ROW,COLUMN"),
        (("--subjects", "digit"), "name two columns"),
        (("--subjects", "digit,wrter"), "did you mean 'writer'?"),
        (("--stratum", "dgit"), "did you mean 'digit'?"),
        (("--confidence", "1"), "--confidence"),
    ],
)
def test_options_that_cannot_be_combined(shop: Workshop, words: tuple[str, ...], text: str) -> None:
    done = shop.call("roc", plain_file(shop), *words)
    assert done.status == 2
    assert text in done.err
