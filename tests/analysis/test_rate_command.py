"""`hate rate`: one algorithm by itself, against hand formulas, loops, scikit-learn and statsmodels."""

import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from sklearn import metrics
from statsmodels.stats.proportion import proportion_confint

from harness.analysis.sampling import take_sample
from harness.measures import MEASURES
from harness.options import DesignOptions
from harness.stats.replication.estimates import Estimates, make_estimates
from harness.stats.replication.method import Replication
from tests.analysis.score_runs import World
from tests.analysis.transcripts import aligned, clustered, transcript
from tests.workshop import Workshop

Json = dict[str, Any]


def rate(shop: Workshop, *words: str | Path) -> Json:
    done = shop.call("rate", *words, "--format", "json")
    assert done.status == 0, done.err
    found: Json = json.loads(done.out, parse_constant=pytest.fail)
    return found


def score_run(shop: Workshop, name: str = "a", **world: int) -> Path:
    made = World(**world)
    return made.write(shop.folder / f"{name}.jsonl", made.scores(0, 1.5))


def test_json_has_the_promised_names(shop: Workshop) -> None:
    """Design: {"test", "statistic", "transcripts", "by": {"column", "groups": [...], "gaps": [...]}}."""
    path = score_run(shop)
    found = rate(shop, path)
    assert set(found) >= {"test", "statistic", "transcripts"}
    assert "by" not in found
    assert set(found["test"]) == {"name", "version", "digest"}
    (one,) = found["transcripts"]
    assert set(one) >= {"name", "tests", "TP", "TN", "FP", "FN", "ER", "rate", "interval", "replication", "measures"}
    assert (found["statistic"], one["name"], one["tests"]) == ("rate", "a", 96)
    by = rate(shop, path, "--by", "noise:3")["by"]
    assert by["column"] == "noise"
    assert set(by["groups"][0]) >= {"label", "cases", "runs"}
    assert set(by["groups"][0]["runs"][0]) >= {"name", "estimate", "se", "interval"}
    assert set(by["gaps"][0]) >= {"name", "best", "worst", "estimate", "se", "interval", "p_value"}


def test_patients_whose_sites_all_agree_count_as_one_case_each(shop: Workshop) -> None:
    """61 patients with six identical sites each: se = sqrt(p (1 - p) / 60), by import as by rate."""
    rows = "".join(f"{p}-{s},{p},{int(p % 5 < 3)}\n" for p in range(61) for s in range(6))
    shop.write("leprosy.csv", "id,patient,better\n" + rows)
    words = ("import", "leprosy.csv", "--success", "better", "--psu", "patient", "-o", "leprosy.jsonl")
    imported = shop.call(*words, "--format", "json").row["replication"]
    share = sum(p % 5 < 3 for p in range(61)) / 61
    for one in (imported, rate(shop, "leprosy.jsonl")["transcripts"][0]["replication"]):
        assert one["estimate"] == pytest.approx(share, abs=1e-12)
        assert one["se"] == pytest.approx(math.sqrt(share * (1 - share) / 60), rel=1e-9)
        assert (one["units"], one["df"], one["target"]) == (61, 60, "new patients")
        assert (one["design_effect"], one["icc"]) == pytest.approx((6 * 365 / 360, 1.0), rel=1e-9)


def test_without_a_design_a_rate_is_wilsons(shop: Workshop) -> None:
    good = [i % 7 > 1 for i in range(90)]
    one = rate(shop, transcript(shop.folder / "a.jsonl", good))["transcripts"][0]
    wilson = proportion_confint(sum(good), 90, method="wilson")
    assert one["interval"] == pytest.approx(wilson)
    assert one["replication"] is None
    assert one["measures"]["rate"]["interval"] == pytest.approx(wilson)
    wide = rate(shop, shop.folder / "a.jsonl", "--confidence", "0.99")["transcripts"][0]
    assert wide["interval"] == pytest.approx(proportion_confint(sum(good), 90, alpha=0.01, method="wilson"))


def test_measures_are_those_of_scikit_learn(shop: Workshop) -> None:
    world = World(seed=5)
    scores = world.scores(0, 1.5)
    path = world.write(shop.folder / "a.jsonl", scores, seconds=np.arange(world.n).tolist())
    found = rate(shop, path)["transcripts"][0]["measures"]
    truth, answer = world.positive, scores >= 0.5
    for name, value in {
        "rate": metrics.accuracy_score(truth, answer), "tpr": metrics.recall_score(truth, answer),
        "tnr": metrics.recall_score(~truth, ~answer), "precision": metrics.precision_score(truth, answer),
        "f1": metrics.f1_score(truth, answer), "mcc": metrics.matthews_corrcoef(truth, answer),
        "auc": metrics.roc_auc_score(truth, scores), "seconds": (world.n - 1) / 2,
    }.items():  # fmt: skip
        assert found[name]["estimate"] == pytest.approx(value, abs=1e-12), name
        assert found[name]["interval"][0] < value < found[name]["interval"][1]
    # Measures that these records cannot have are left out, unless they are named.
    assert not {"rank1", "memory"} & set(found)
    done = shop.call("rate", path, "--statistic", "rank1")
    assert (done.status, done.err.count("\n")) == (2, 1)


def test_strata_have_the_textbooks_error(shop: Workshop) -> None:
    """Sum of W^2 s^2 / n over the strata (Cochran 1977, 5.3)."""
    rng = np.random.default_rng(1)
    sizes = [8, 20, 12]
    strata = np.repeat(["x", "y", "z"], sizes)
    good = rng.random(40) < 0.7
    one = rate(shop, transcript(shop.folder / "a.jsonl", good, stratum=strata.tolist()))["transcripts"][0]
    parts = [good[strata == name] for name in "xyz"]
    variance = sum((len(part) / 40) ** 2 * part.var(ddof=1) / len(part) for part in parts)
    assert one["replication"]["se"] == pytest.approx(math.sqrt(variance), rel=1e-12)
    assert one["replication"]["df"] == 37
    equal = rate(shop, shop.folder / "a.jsonl", "--weights", "equal")["transcripts"][0]["replication"]
    assert equal["estimate"] == pytest.approx(np.mean([part.mean() for part in parts]))
    by_hand = math.sqrt(sum(part.var(ddof=1) / len(part) / 9 for part in parts))
    assert equal["se"] == pytest.approx(by_hand, rel=1e-12)


def jackknife(good: Sequence[bool], unit: Sequence[str], inside: Sequence[bool]) -> tuple[float, float]:
    """The rate of a group, and its error from leaving out one unit at a time."""
    success, units, group = np.array(good), np.array(unit), np.array(inside)
    whole = success[group].mean()
    left = [success[group & (units != one)].mean() for one in sorted(set(unit))]
    m = len(left)
    return float(whole), math.sqrt((m - 1) / m * ((np.array(left) - whole) ** 2).sum())


@pytest.mark.parametrize(("by", "edges"), [("noise=10,20", [10, 20]), ("noise:3", None), ("side", None)])
def test_groups_are_parts_of_one_sample(shop: Workshop, by: str, edges: list[float] | None) -> None:
    """Against a loop over units; bins contain what their labels say."""
    rng = np.random.default_rng(2)
    noise, unit = np.round(rng.uniform(0, 30, 150), 2), [f"u{i // 5}" for i in range(150)]
    good = (rng.random(150) < 0.9 - noise / 60).tolist()
    sides = ["left" if i % 3 else "right" for i in range(150)]
    columns = [{"noise": float(x), "side": side} for x, side in zip(noise, sides, strict=True)]
    found = rate(shop, transcript(shop.folder / "a.jsonl", good, psu=unit, columns=columns), "--by", by)["by"]
    if by == "side":
        members = [[side == name for side in sides] for name in ("left", "right")]
        labels = ["left", "right"]
    else:
        inner = np.array(edges) if edges else np.quantile(noise, [1 / 3, 2 / 3], method="inverted_cdf")
        codes = np.searchsorted(inner, noise, side="right" if edges else "left")
        members = [(codes == code).tolist() for code in range(3)]
        labels = ["below 10", "10 to below 20", "20 and above"] if edges else [
            f"{noise[codes == code].min():g} to {noise[codes == code].max():g}" for code in range(3)
        ]  # fmt: skip
    assert [group["label"] for group in found["groups"]] == labels
    for group, inside in zip(found["groups"], members, strict=True):
        (run,) = group["runs"]
        assert group["cases"] == sum(inside)
        assert (run["estimate"], run["se"]) == pytest.approx(jackknife(good, unit, inside), rel=1e-9)
        assert run["interval"][0] < run["estimate"] < run["interval"][1]


def test_several_measures_at_once(shop: Workshop) -> None:
    path = score_run(shop)
    words = ("--statistic", "tpr, cost:fp=10,fn=1,rate", "--by", "noise:2")
    found = rate(shop, path, *words)
    names = ["tpr", "cost:fp=10,fn=1", "rate"]
    assert (found["statistic"], found["statistics"]) == ("tpr", names)
    assert list(found["by_statistic"]) == names
    assert found["by"] == found["by_statistic"]["tpr"]
    one = found["transcripts"][0]
    assert list(one["measures"]) == names
    assert one["value"] == one["replication"]["estimate"] == one["measures"]["tpr"]["estimate"]
    assert one["measures"]["cost:fp=10,fn=1"]["estimate"] == pytest.approx((10 * one["FP"] + one["FN"]) / one["tests"])
    for name in names:
        alone = rate(shop, path, "--statistic", name)["transcripts"][0]["measures"][name]
        assert one["measures"][name] == alone
    out = shop.call("rate", path, *words).out
    assert out.count("By noise") == 3


def in_groups(path: Path, column: str, statistic: str, confidence: float = 0.95) -> tuple[list[str], Estimates]:
    """The groups of a run, estimated together."""
    runs = aligned(path)
    coded = runs.column(column)
    assert coded is not None
    used = sorted(set(coded.codes.tolist()))
    cells = [(0, coded.codes == code) for code in used]
    sample = take_sample(runs, DesignOptions()).sample
    made = make_estimates(sample, MEASURES[statistic].statistic(runs, cells), Replication(confidence=confidence))
    return [coded.labels[code] for code in used], made


def by_day(folder: Path, rates: Sequence[float], seed: int = 3) -> Path:
    rng = np.random.default_rng(seed)
    n = 60 * len(rates)
    day = np.arange(n) % len(rates)
    good = rng.random(n) < np.array(rates)[day]
    return transcript(
        folder / "a.jsonl", good, psu=[f"u{i // 12}" for i in range(n)], columns=[{"day": f"d{d}"} for d in day]
    )


@pytest.mark.parametrize("statistic", ["rate", "fnr"])
@pytest.mark.parametrize("rates", [(0.9, 0.8, 0.6, 0.75), (1.0, 0.9, 0.97), (1.0, 1.0, 0.95)])
def test_a_gap_has_an_interval_for_all_pairs_of_groups(
    shop: Workshop, rates: tuple[float, ...], statistic: str
) -> None:
    """It contains the interval for these two alone, and lies within Bonferroni's; for errors, smaller is better."""
    path = by_day(shop.folder, rates)
    (gap,) = rate(shop, path, "--by", "day", "--statistic", statistic)["by"]["gaps"]
    labels, made = in_groups(path, "day", statistic)
    order = np.argsort(made.values if statistic == "rate" else -made.values, kind="stable")
    best, worst = labels.index(gap["best"]), labels.index(gap["worst"])
    assert made.values[best] == made.values[order[-1]]
    assert worst == order[0]
    plain = made.difference(best, worst)
    assert (gap["estimate"], gap["se"]) == pytest.approx((plain.value, plain.se))
    bonferroni = made.at(1 - 0.05 / math.comb(len(rates), 2)).difference(best, worst)
    assert plain.interval is not None
    assert bonferroni.interval is not None
    low, high = gap["interval"]
    rounding = 1e-4
    assert bonferroni.interval.low - rounding <= low < plain.interval.low
    assert plain.interval.high < high + 1e-12
    assert high <= bonferroni.interval.high + rounding
    assert f"worst where day is {gap['worst']}" in " ".join(
        shop.call("rate", path, "--by", "day", "--statistic", statistic).out.split()
    )


def test_a_gap_of_two_groups_is_their_difference(shop: Workshop) -> None:
    """One pair needs no correction, and the test that all groups are equal is that of t squared."""
    path = by_day(shop.folder, (0.9, 0.6))
    (gap,) = rate(shop, path, "--by", "day")["by"]["gaps"]
    plain = in_groups(path, "day", "rate")[1].difference(0, 1)
    assert plain.interval is not None
    assert gap["interval"] == pytest.approx([plain.interval.low, plain.interval.high])
    assert gap["p_value"] == pytest.approx(2 * stats.t.sf(plain.value / plain.se, plain.df))


@pytest.mark.slow
def test_equal_groups_are_seldom_called_different(shop: Workshop) -> None:
    """In 60 experiments with three equal groups, about 3 find a difference: at most 9 has a chance of 99.8 %.

    Groups whose rates are the same to the last digit have no best and no worst.
    """
    p_values = []
    for seed in range(60):
        (gap,) = rate(shop, by_day(shop.folder, (0.8, 0.8, 0.8), seed), "--by", "day")["by"]["gaps"]
        p_values.append(1.0 if gap["best"] is None else gap["p_value"])
    assert sum(p <= 0.05 for p in p_values) <= 9
    assert max(p_values) > 0.5


def test_a_group_that_is_always_right_differs_from_one_that_is_not(shop: Workshop) -> None:
    """A group without variance is not certain, but counts: the extremes are compared by their limits."""
    path = by_day(shop.folder, (1.0, 0.5, 0.5))
    (gap,) = rate(shop, path, "--by", "day")["by"]["gaps"]
    assert gap["best"] == "d0"
    assert gap["p_value"] < 0.001
    few = [True] * 3 + [i % 2 == 0 for i in range(20)]
    columns = [{"day": "x" if i < 3 else "y"} for i in range(23)]
    units = [f"u{i}" for i in range(23)]
    path = transcript(shop.folder / "b.jsonl", few, psu=units, columns=columns)
    assert rate(shop, path, "--by", "day")["by"]["gaps"][0]["p_value"] > 0.1


def test_a_group_within_one_unit_has_no_interval_and_is_not_in_the_gap(shop: Workshop) -> None:
    """It does not affect the others: without it, they have the same values and errors."""
    rng = np.random.default_rng(4)
    unit = np.repeat(np.arange(10), 6)
    sites = ["x" if u == 0 else "y" if u < 5 else "z" for u in unit]
    good = rng.random(60) < 0.7
    path = transcript(
        shop.folder / "a.jsonl", good, psu=[f"u{u}" for u in unit], columns=[{"site": site} for site in sites]
    )
    by = rate(shop, path, "--by", "site")["by"]
    assert [group["runs"][0]["interval"] is None for group in by["groups"]] == [True, False, False]
    assert {by["gaps"][0]["best"], by["gaps"][0]["worst"]} == {"y", "z"}
    (explained,) = rate(shop, path)["transcripts"][0]["explained"]
    assert explained["p_value"] == pytest.approx(by["gaps"][0]["p_value"])


def omega_squared(good: npt.NDArray[np.bool_], groups: Sequence[str]) -> float:
    """Hays (1963): (SS between - (k - 1) MS within) / (SS total + MS within)."""
    names = sorted(set(groups))
    parts = [good[np.array(groups) == name].astype(float) for name in names]
    between = sum(len(part) * (part.mean() - good.mean()) ** 2 for part in parts)
    inside = sum(((part - part.mean()) ** 2).sum() for part in parts) / (len(good) - len(names))
    return float((between - (len(names) - 1) * inside) / (((good - good.mean()) ** 2).sum() + inside))


def test_the_column_that_explains_most_comes_first(shop: Workshop) -> None:
    rng = np.random.default_rng(5)
    n = 400
    good = rng.random(n) < 0.6
    light = ["day" if g else "night" for g in good]
    noise = np.round(rng.uniform(0, 9, n) + 4 * ~good, 3)
    coin, some = [str(c) for c in rng.integers(0, 3, n)], [str(int(g and i % 3)) for i, g in enumerate(good)]
    columns = [
        {"light": a, "noise": float(b), "coin": c, "some": d, "one": "same", "name": f"n{i}"}
        for i, (a, b, c, d) in enumerate(zip(light, noise, coin, some, strict=True))
    ]
    path = transcript(shop.folder / "a.jsonl", good, psu=[f"u{i // 2}" for i in range(n)], columns=columns)
    explained = {one["column"]: one for one in rate(shop, path)["transcripts"][0]["explained"]}
    # A column that is constant, or different for every case, explains nothing.
    assert list(explained)[:3] == ["light", "some", "noise"]
    assert not {"one", "name", "psu"} & set(explained)
    assert explained["light"]["share"] == pytest.approx(1.0)
    assert explained["light"]["p_adjusted"] < 1e-6
    assert explained["some"]["share"] == pytest.approx(omega_squared(good, some), abs=1e-12)
    edges = np.quantile(noise, np.arange(1, 5) / 5, method="inverted_cdf")
    bins = [str(code) for code in np.searchsorted(edges, noise, side="left")]
    assert explained["noise"]["groups"] == 5
    assert explained["noise"]["share"] == pytest.approx(omega_squared(good, bins), abs=1e-12)
    assert explained["coin"]["share"] == pytest.approx(max(omega_squared(good, coin), 0.0), abs=1e-12)
    assert explained["coin"]["share"] < 0.02
    assert explained["coin"]["p_adjusted"] > 0.05
    text = " ".join(shop.call("rate", path).out.split())
    assert "a: light explains most, 100.0 % of the variance (p < 0.0001); --by light shows its groups." in text
    assert rate(shop, path, "--by", "light")["transcripts"][0]["explained"] == []


def test_a_column_that_explains_nothing_is_not_said_to_matter(shop: Workshop) -> None:
    rng = np.random.default_rng(6)
    columns = [{"coin": str(c)} for c in rng.integers(0, 2, 80)]
    path = transcript(shop.folder / "a.jsonl", rng.random(80) < 0.7, columns=columns)
    assert "a: no column was shown to matter." in shop.call("rate", path).out


def test_weights_count_in_what_a_column_explains(shop: Workshop) -> None:
    """A case of weight 2 counts as two cases, except in the correction for chance."""
    good = [True] * 30 + [False] * 30
    side = ["l" if i % 5 < 3 else "r" for i in range(30)] + ["l" if i % 5 < 2 else "r" for i in range(30)]
    columns = [{"side": s, "w": 2} for s in side]
    one, other = (
        transcript(shop.folder / f"{k}.jsonl", good, columns=columns, design={"weights": w})
        for k, w in (("a", "cases"), ("b", "w"))
    )
    shares = [
        next(e["share"] for e in rate(shop, path)["transcripts"][0]["explained"] if e["column"] == "side")
        for path in (one, other)
    ]
    assert shares[0] == pytest.approx(shares[1], abs=1e-12)
    assert shares[0] == pytest.approx(omega_squared(np.array(good), side), abs=1e-12)


def test_several_transcripts_are_rated_separately(shop: Workshop) -> None:
    paths = clustered(shop.folder, 7, strata=4, units=4, size=3)
    both = rate(shop, *paths, "--by", "day")
    for place, path in enumerate(paths):
        alone = rate(shop, path, "--by", "day")
        assert both["transcripts"][place] == alone["transcripts"][0]
        assert both["by"]["gaps"][place] == alone["by"]["gaps"][0]
        for group, own in zip(both["by"]["groups"], alone["by"]["groups"], strict=True):
            assert group["runs"][place] == own["runs"][0]
    text = shop.call("rate", *paths).out
    assert "toy 1.0: a, b" in text


def test_runs_on_different_cases_are_shown_side_by_side(shop: Workshop) -> None:
    """Nothing is matched. A group that one of them lacks is empty there."""
    a = transcript(shop.folder / "a.jsonl", [True, False] * 4, columns=[{"day": d} for d in "xxxxyyyy"])
    b = transcript(
        shop.folder / "b.jsonl", [True, False] * 3, ids=[f"n{i}" for i in range(6)],
        columns=[{"day": d} for d in "yyyzzz"],
    )  # fmt: skip
    by = rate(shop, a, b, "--by", "day")["by"]
    assert [(g["label"], [r["estimate"] is None for r in g["runs"]]) for g in by["groups"]] == [
        ("x", [False, True]), ("y", [False, False]), ("z", [True, False]),
    ]  # fmt: skip


def test_a_test_is_run_first(toy: Workshop) -> None:
    toy.interface("def answer(case, params):\n    return 'x2' if case.id == 'c0' else case.input\n")
    found = toy.call("rate", "toy", "--format", "json")
    assert found.status == 0
    assert found.json["transcripts"][0]["rate"] == pytest.approx(5 / 6)
    assert "transcript: " in found.err
    assert list((toy.folder / "transcripts" / "toy").iterdir())


def test_a_published_run_is_rated_by_its_name(shop: Workshop) -> None:
    found = rate(shop, "hdigits/warlock", "--by", "truth")
    assert found["test"]["name"] == "hdigits"
    six = next(group for group in found["by"]["groups"] if group["label"] == "6")
    # Always right on 148 claims about 74 images: the lower limit is below that of 148 cases, above that of 74.
    low = six["runs"][0]["interval"][0]
    alone = [proportion_confint(n, n, method="beta")[0] for n in (74, 148)]
    assert (six["cases"], six["runs"][0]["estimate"]) == (148, 1.0)
    assert alone[0] < low < alone[1]


def test_numbers_of_the_records_are_measures(shop: Workshop) -> None:
    """Imported values by name: their means, with Student's interval."""
    marks = np.random.default_rng(8).gamma(4, 1, 30)
    rows = "".join(f"c{i},{int(i % 3 > 0)},{mark!r}\n" for i, mark in enumerate(marks.tolist()))
    shop.write("r.csv", "id,good,bleu\n" + rows)
    shop.call("import", "r.csv", "--success", "good", "--value", "bleu", "-o", "r.jsonl")
    one = rate(shop, "r.jsonl")["transcripts"][0]["measures"]["bleu"]
    named = rate(shop, "r.jsonl", "--statistic", "bleu")["transcripts"][0]
    limits = stats.t.interval(0.95, 29, marks.mean(), stats.sem(marks))
    for found in (one, named["measures"]["bleu"], named["replication"]):
        assert (found["estimate"], found["se"]) == pytest.approx((marks.mean(), stats.sem(marks)))
        assert found["interval"] == pytest.approx(list(limits))


@pytest.mark.parametrize("style", ["table", "plain", "md", "tex"])
def test_every_format_has_the_figures(shop: Workshop, style: str) -> None:
    path = score_run(shop, seed=9)
    one = rate(shop, path)["transcripts"][0]["replication"]
    done = shop.call("rate", path, "--by", "noise:2", "--format", style)
    assert done.status == 0
    low, high = (f"{limit:.4f}" for limit in one["interval"])
    assert (f"[{low}, {high}]" if style == "tex" else f"{low} to {high}") in done.out


@pytest.mark.parametrize("by", [[], ["--by", "noise:2", "--statistic", "rate,auc"]])
def test_csv_is_one_tidy_table(shop: Workshop, by: list[str]) -> None:
    """One header, numbers only, an interval as low and high, and a row for each run, measure and group."""
    paths = World(seed=9).runs(shop.folder, (1.5, 1.0))
    found, text = rate(shop, *paths, *by), shop.call("rate", *paths, *by, "--format", "csv").out
    rows = list(csv.DictReader(io.StringIO(text)))
    for row in rows:
        place = ["a", "b"].index(row["transcript"])
        if by:
            groups = found["by_statistic"][row["measure"]]["groups"]
            (group,) = [group for group in groups if group["label"] == row["noise"]]
            one = group["runs"][place]
            assert int(row["cases"]) == group["cases"]
        else:
            one = found["transcripts"][place]["measures"][row["measure"]]
            assert float(row["df"]) == pytest.approx(one["df"])
        values = [float(row[name]) for name in ("value", "se", "low", "high")]
        assert values == pytest.approx([one["estimate"], one["se"], *one["interval"]])
    assert len(rows) == (8 if by else 2 * len(found["statistics"]))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["p.png", "p.svg", "p.pdf"])
def test_plots_are_written_and_the_same_every_time(shop: Workshop, name: str) -> None:
    path, starts = score_run(shop), {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    drawn = []
    for _ in range(2):
        assert shop.call("rate", path, "--by", "noise:4", "--plot", name, "--force").status == 0
        drawn.append((shop.folder / name).read_bytes())
    assert drawn[0].startswith(starts[name[-3:]])
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize(("words", "message"), [
    (["--by", "moon"], "--by moon: no such column in these transcripts"),
    (["--by", "nois:3"], "did you mean 'noise'?"),
    (["--statistic", "presicion"], "--statistic presicion: no such measure; did you mean 'precision'?"),
    (["--statistic", "rate,acu"], "--statistic acu: no such measure; did you mean 'auc'?"),
    (["--statistic", "rank1"], "--statistic rank1: a has no ranks"),
    (["--statistic", "cost:fp=-1,fn=2"], "write cost:fp=10,fn=1"),
    (["--plot", "p.png"], "--plot draws what --by shows: name a column, such as --by truth"),
    (["--by", "noise:3", "--plot", "p.bmp"], "must end in .svg, .png or .pdf"),
    (["--by", "noise"], "too many to show; put the numbers into bins, noise:5"),
    (["--by", "positive", "--statistic", "auc"], "no group by itself has a value for area under the ROC curve"),
    (["--stratum", "nowhere"], "no column 'nowhere'"),
    (["--weights", "nowhere"], "weights 'nowhere': not cases, equal, a file or a column"),
    (["--confidence", "2"], "--confidence"),
    (["--limit", "3"], "--limit is for a test that is run"),
    (["gone.jsonl"], "gone.jsonl"),
])  # fmt: skip
def test_mistakes_are_one_line(shop: Workshop, words: list[str], message: str) -> None:
    done = shop.call("rate", score_run(shop), *words)
    assert done.status == 2
    assert message in done.err
    assert len(done.err.splitlines()) == 1


def test_an_incomplete_run_is_refused_unless_partial(shop: Workshop) -> None:
    path = transcript(shop.folder / "a.jsonl", [True, False, True], complete=False)
    done = shop.call("rate", path)
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "incomplete" in done.err
    assert rate(shop, path, "--partial")["transcripts"][0]["tests"] == 3


def test_the_output_says_how_the_cases_were_sampled(shop: Workshop) -> None:
    """With a design its target; without one, how to name it."""
    text = " ".join(shop.call("rate", *clustered(shop.folder, 1, strata=4, units=3, size=2)).out.split())
    assert "Intervals by design use BRR, for these strata (s) and new us." in text
    assert "4 strata, 12 units" in text
    bare = shop.call("rate", transcript(shop.folder / "c.jsonl", [True, False, True])).out
    assert "No stratum and no PSU: cases are taken as independent." in bare
