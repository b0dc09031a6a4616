"""Intervals and bands of a command are those of the statistics, and the output says which."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded import drawn, scores, written
from workshop import Workshop

from harness.stats.curves.bands import replicated_bands, wilson_bands
from harness.stats.curves.cases import make_cases
from harness.stats.curves.clustered import clustered_summary
from harness.stats.curves.counts import counts_of
from harness.stats.curves.delong import auc_interval
from harness.stats.curves.replicated import AREA, replicated_summary
from harness.stats.curves.subjects import Subjects
from harness.stats.curves.two_way import two_way_summary
from harness.stats.curves.two_way_bands import two_way_bands
from harness.stats.replication.sample import make_sample

VALUES, POSITIVE = drawn(3, 240)
# Names that sort as numbers do: replicates are formed in the order of the names.
STRATUM, UNIT = [str(i // 24) for i in range(240)], [f"w{i // 6:02d}" for i in range(240)]
CASES = make_cases(VALUES, POSITIVE)
DESIGN = {"stratum": "digit", "psu": "writer"}


def curve(shop: Workshop, path: Path, *words: str) -> Any:
    done = shop.call("roc", path, "--format", "json", *words)
    assert done.status == 0, done.err
    return done.json["curves"][0]


def plain_file(shop: Workshop) -> Path:
    return written(shop.folder / "plain.jsonl", scores(VALUES, POSITIVE, digit=STRATUM, writer=UNIT))


def designed_file(shop: Workshop) -> Path:
    records = scores(VALUES, POSITIVE, stratum=STRATUM, psu=UNIT, digit=STRATUM, writer=UNIT)
    return written(shop.folder / "designed.jsonl", records, design=DESIGN)


def test_independent_cases_have_delongs_interval_and_wilsons_bands(shop: Workshop) -> None:
    found = curve(shop, plain_file(shop))
    expected = auc_interval(CASES)
    assert found["auc_interval"] == pytest.approx([expected.interval.low, expected.interval.high])
    assert (found["auc_method"], found["auc_target"]) == ("DeLong", "new independent cases")
    bands = wilson_bands(counts_of(CASES))
    assert found["points"]["low"] == pytest.approx(bands.tpr.low.tolist())
    assert found["points"]["high"] == pytest.approx(bands.tpr.high.tolist())
    assert found["bands"] == "wilson"


def test_strata_and_clusters_are_replicated(shop: Workshop) -> None:
    found = curve(shop, designed_file(shop))
    sample = make_sample(240, strata=STRATUM, units=UNIT)
    area = replicated_summary(AREA, CASES, sample).estimate
    assert found["auc_interval"] == pytest.approx([area.interval.low, area.interval.high])
    assert (found["auc_method"], found["auc_target"]) == ("brr", "these strata, new writers")
    equal = clustered_summary("eer", CASES, sample)
    assert found["eer_interval"] == pytest.approx([equal.interval.low, equal.interval.high])
    counts = counts_of(CASES)
    bands = replicated_bands(CASES, sample, np.arange(counts.threshold.size))
    assert found["points"]["low"] == pytest.approx(bands.tpr.low.tolist())
    assert found["bands"] == "brr"


def test_a_design_can_be_named_or_taken_away(shop: Workshop) -> None:
    by_hand = curve(shop, plain_file(shop), "--stratum", "digit", "--psu", "writer")
    declared = curve(shop, designed_file(shop))
    assert by_hand["auc_interval"] == declared["auc_interval"]
    without = curve(shop, designed_file(shop), "--stratum", "none", "--psu", "none")
    assert without["auc_method"] == "DeLong"


def test_clusters_without_strata_take_the_jackknife(shop: Workshop) -> None:
    found = curve(shop, plain_file(shop), "--psu", "writer")
    assert (found["auc_method"], found["bands"], found["target"]) == ("jackknife", "jackknife", "new writers")


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


def test_two_way_intervals_for_the_scores_of_a_matrix(shop: Workshop) -> None:
    rng = np.random.default_rng(0)
    people = [f"p{i}" for i in range(12)]
    first = [a for a in people for _ in people]
    second = [b for _ in people for b in people]
    positive = np.array([a == b for a, b in zip(first, second, strict=True)])
    values = rng.normal(size=144) + 2 * positive
    path = written(shop.folder / "m.jsonl", scores(values, positive, probe=first, gallery=second))
    found = curve(shop, path, "--subjects", "probe,gallery")
    cases, subjects = make_cases(values, positive), Subjects.of(first, second)
    expected = two_way_summary("auc", cases, subjects)
    assert found["auc_interval"] == pytest.approx([expected.interval.low, expected.interval.high])
    assert found["target"] == "new subjects on both sides"
    assert found["points"]["low"] == pytest.approx(two_way_bands(cases, subjects).tpr.low.tolist())


def test_weights_count_in_curve_and_interval(shop: Workshop) -> None:
    weights = np.random.default_rng(1).integers(1, 5, 240).tolist()
    path = written(shop.folder / "w.jsonl", scores(VALUES, POSITIVE, weight=weights))
    found = curve(shop, path, "--weights", "weight")
    expected = auc_interval(make_cases(VALUES, POSITIVE, weights=weights))
    assert found["auc"] == pytest.approx(expected.auc)
    assert found["auc_interval"] == pytest.approx([expected.interval.low, expected.interval.high])


def test_confidence_is_the_users(shop: Workshop) -> None:
    narrow, wide = (curve(shop, plain_file(shop), "--confidence", level) for level in ("0.8", "0.99"))
    assert wide["auc_interval"][0] < narrow["auc_interval"][0] < narrow["auc_interval"][1] < wide["auc_interval"][1]


def test_one_case_of_a_class_is_too_few_for_an_interval_and_that_is_said(shop: Workshop) -> None:
    found = curve(shop, written(shop.folder / "t.jsonl", scores([1.0, 2.0, 3.0], [False, False, True])))
    assert (found["auc"], found["auc_interval"]) == (1.0, None)
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
def test_wishes_that_cannot_be_met(shop: Workshop, words: tuple[str, ...], text: str) -> None:
    done = shop.call("roc", plain_file(shop), *words)
    assert done.status == 2
    assert text in done.err
