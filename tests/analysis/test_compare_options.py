"""`hate compare` with statistics, operating points, margins, groups, items: the output, and what is refused."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.score_runs import World
from tests.analysis.transcripts import figure_5, transcript
from tests.workshop import Workshop


def runs(shop: Workshop, **world: int) -> list[Path]:
    made = World(**world)
    rng = np.random.default_rng(1)
    return made.runs(
        shop.folder, seconds=rng.exponential(0.01, made.n).tolist(), memory=[10_000_000 + i for i in range(made.n)]
    )


def test_json_names_the_statistic_and_has_its_replication(shop: Workshop) -> None:
    found = shop.call("compare", *runs(shop), "--statistic", "auc", "--format", "json").json
    assert found["statistic"] == "auc"
    one, pair = found["transcripts"][0], found["pairs"][0]
    assert one["value"] == one["replication"]["estimate"] != one["rate"]
    assert pair["replication"]["estimate"] == pytest.approx(one["value"] - found["transcripts"][1]["value"])
    assert pair["replication"]["fay"] == 0.5
    assert pair["replication"]["p_adjusted"] >= pair["replication"]["p_value"]
    assert shop.call("compare", *runs(shop), "--format", "json").json["statistic"] == "rate"


def test_json_has_times_and_memory_if_they_were_recorded(shop: Workshop) -> None:
    found = shop.call("compare", *runs(shop), "--format", "json").json
    one = found["transcripts"][0]
    assert set(one["seconds"]) == set(one["memory"]) == {"cases", "mean", "se", "df", "interval"}
    assert one["memory"]["mean"] == pytest.approx(10_000_000 + (World().n - 1) / 2)
    assert set(found["pairs"][0]["seconds"]) == {"ratio", "interval", "p_value"}
    bare = shop.call("compare", *figure_5(shop.folder), "--format", "json").json
    assert "seconds" not in bare["transcripts"][0]
    assert "Time and memory" not in shop.call("compare", *figure_5(shop.folder)).out


def test_without_a_design_a_statistic_still_has_an_interval(shop: Workshop) -> None:
    found = shop.call(
        "compare", *runs(shop), "--statistic", "f1", "--stratum", "none", "--psu", "none", "--format", "json"
    )
    replication = found.json["pairs"][0]["replication"]
    assert (replication["stratum"], replication["psu"], replication["target"]) == (None, None, "new cases")


@pytest.mark.parametrize(
    ("words", "remark"),
    [
        ("--fay 0.3", ""),
        ("--fay 0.3 --stratum none", "--fay was not used: it is a factor of BRR, and the method here is jackknife\n"),
        ("--stratum none", ""),
        ("--fay 0.3 --stratum none --psu none", "--fay was not used: no stratum or PSU is known"),
    ],
)
def test_options_of_replication_that_had_no_effect_are_named(words: str, remark: str, shop: Workshop) -> None:
    done = shop.call("compare", *runs(shop), *words.split())
    assert done.status == 0
    assert remark in done.err
    assert ("was not used" in done.err) == bool(remark)


def test_an_operating_point_is_shown_with_its_thresholds(shop: Workshop) -> None:
    found = shop.call("compare", *runs(shop), "--at", "fpr=0.1", "--statistic", "tpr", "--format", "json").json
    assert found["at"] == "fpr=0.1"
    for one in found["transcripts"]:
        assert one["fpr"] <= 0.1
        assert one["value"] == pytest.approx(one["TP"] / (one["TP"] + one["FN"])) == pytest.approx(1 - one["fnr"])
    text = shop.call("compare", *runs(shop), "--at", "eer").out
    assert "Thresholds set at eer" in text
    assert "intervals by design allow for thresholds that were set on the same cases" in " ".join(text.split())


def test_a_margin_gives_p_values_and_a_verdict(shop: Workshop) -> None:
    paths = runs(shop, strata=40)
    found = shop.call("compare", *paths, "--margin", "0.3", "--format", "json").json["pairs"][0]["equivalence"]
    assert found["margin"] == 0.3
    assert found["alpha"] == 0.05
    assert found["equivalent"] is (found["p_equivalent_adjusted"] <= 0.05)
    assert "Equivalence within 0.3" in shop.call("compare", *paths, "--margin", "0.3").out


def test_groups_in_every_format(shop: Workshop) -> None:
    paths = runs(shop)
    found = shop.call("compare", *paths, "--by", "noise:3", "--format", "json").json["by"]
    assert found["column"] == "noise"
    assert sum(group["tests"] for group in found["groups"]) == World().n
    assert {"value", "interval", "name"} == set(found["groups"][0]["transcripts"][0])
    assert {"a", "b", "difference", "se", "interval", "p_value", "p_adjusted"} == set(found["groups"][0]["pairs"][0])
    assert len(found["interactions"]) == 3
    label = found["groups"][0]["group"]
    for style in ("table", "plain", "csv", "tex", "md"):
        done = shop.call("compare", *paths, "--by", "noise:3", "--items", "--margin", "0.1", "--format", style)
        assert (done.status, label in done.out) == (0, True)


def test_items_in_json_and_words(shop: Workshop) -> None:
    found = shop.call("compare", *runs(shop), "--items", "--seed", "4", "--format", "json").json["items"]
    assert found["all_solve"] + found["none_solves"] + found["some_solve"] == World().n
    assert len(found["cases"]) == found["some_solve"]
    assert sum(one["first"] for one in found["ranks"]) == pytest.approx(1)
    assert (found["draws"], found["seed"]) == (1000, 4)
    out = shop.call("compare", *runs(shop), "--items").out
    assert "carry no information about the order" in out.replace("\n", " ")
    assert "It takes at least three transcripts" in shop.call("compare", *runs(shop)[:2], "--items").out.replace(
        "\n", " "
    )


def test_runs_on_different_inputs(shop: Workshop) -> None:
    made = World(seed=2)
    a = made.write(shop.folder / "a.jsonl", made.scores(0, 3.0))
    text = (
        made.write(shop.folder / "b.jsonl", made.scores(1, 0.0))
        .read_text()
        .replace('"c0', '"d0')
        .replace("1:00", "1:11")
    )
    b = shop.write("b.jsonl", "".join(text.splitlines(keepends=True)[:-1]))
    assert shop.call("compare", a, b).status == 2
    found = shop.call("compare", a, b, "--unpaired", "--partial", "--format", "json").json
    assert found["unpaired"] is True
    assert found["pairs"][0]["better"] == "a"
    assert found["transcripts"][0]["digest"] != found["transcripts"][1]["digest"]
    done = shop.call("compare", b, a, "--unpaired", "--partial", "--fail-if-worse")
    assert done.status == 1
    low, high = sorted(abs(limit) * 100 for limit in found["pairs"][0]["replication"]["interval"])
    assert f"a is better than b in rate of success by {low:.1f} to {high:.1f} points" in done.out
    assert "for these strata (s) and new us" in done.out


def test_fail_if_worse_is_about_the_chosen_statistic(shop: Workshop) -> None:
    """b accepts everything: its rate is worse than a's and its true positive rate better."""
    made = World(strata=30, seed=3)
    a = made.write(shop.folder / "a.jsonl", made.scores(0, 1.5))
    b = made.write(shop.folder / "b.jsonl", np.full(made.n, 9.0))
    assert shop.call("compare", a, b, "--fail-if-worse").status == 0
    assert shop.call("compare", a, b, "--fail-if-worse", "--statistic", "tpr").status == 1
    assert shop.call("compare", a, b, "--fail-if-worse", "--statistic", "fpr").status == 0
    assert shop.call("compare", b, a, "--fail-if-worse", "--statistic", "fpr").status == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["p.svg", *(pytest.param(name, marks=pytest.mark.slow) for name in ("p.png", "p.pdf"))]
)
def test_plots_are_written_and_the_same_every_time(shop: Workshop, name: str) -> None:
    paths, starts = runs(shop), {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    drawn = []
    for _ in range(2):
        assert shop.call("compare", *paths, "--by", "noise:4", "--plot", name, "--force").status == 0
        drawn.append((shop.folder / name).read_bytes())
    assert drawn[0].startswith(starts[name[-3:]])
    assert drawn[0] == drawn[1]


def test_names_are_harmless_in_a_plot(shop: Workshop) -> None:
    made, nasty = World(), "$\\frac{1}{0}$<script>"
    columns = [{nasty: nasty if i % 2 else "b"} for i in range(made.n)]
    for k in "ab":
        made.write(shop.folder / f"{k}.jsonl", made.scores(0), columns=columns)
    assert shop.call("compare", "a.jsonl", "b.jsonl", "--by", nasty, "--plot", "p.svg").status == 0
    assert "<script>" not in (shop.folder / "p.svg").read_text()


def test_a_missing_library_is_a_hint(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = shop.call("compare", *runs(shop), "--by", "noise:3", "--plot", "p.png")
    assert done.status == 2
    assert "pip install 'hate-harness[plots]'" in done.err


@pytest.mark.parametrize(("words", "message"), [
    (["--statistic", "auc", "--at", "eer"], "is not computed from the outcomes at a threshold"),
    (["--at", "fpr=2"], "--at fpr=2: write eer, or fpr=0.01"),
    (["--statistic", "accuracy"], "--statistic accuracy: no such measure; known: ap, ap50, ap75, ap_large,"),
    (["--statistic", "presicion"], "--statistic presicion: no such measure; did you mean 'precision'?"),
    (["--statistic", "cost:fp=x"], "--statistic cost:fp=x: 'x' is not a number; write cost:fp=10,fn=1"),
    (["--statistic", "eer", "--method", "jackknife"], "jackknife is wrong for equal error rate"),
    (["--at", "eer", "--method", "jackknife"], "jackknife is wrong for rate of success at eer"),
    (["--margin", "2"], "--margin"),
    (["--margin", "0"], "--margin"),
    (["--by", "moon"], "--by moon: no such column"),
    (["--by", "noise"], "too many to show; put the numbers into bins, noise:5"),
    (["--by", "positive", "--statistic", "auc"], "no group by itself has a value for area under the ROC curve"),
    (["--plot", "p.png"], "--plot draws what --by shows"),
    (["--by", "noise:3", "--plot", "p.bmp"], "must end in .svg, .png or .pdf"),
    (["--by", "noise:3", "--plot", "no/such/p.png"], "no folder"),
    (["--unpaired", "--by", "noise:3"], "--by noise:3: bins of different inputs must have the same edges"),
    (["--unpaired", "--multiplicity", "max-t"], "--multiplicity max-t needs runs on the same cases"),
    (["--unpaired", "--intersect"], "--unpaired matches no cases, so --intersect"),
    (["--unpaired", "--items"], "--unpaired matches no cases, so --items"),
    (["--unpaired", "--baseline", "a"], "--unpaired matches no cases, so --baseline"),
])  # fmt: skip
def test_wrong_options_are_one_line(shop: Workshop, words: list[str], message: str) -> None:
    done = shop.call("compare", *runs(shop), *words)
    assert done.status == 2
    assert message in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("options", [["--statistic", "auc"], ["--statistic", "eer"], ["--at", "eer"]])
def test_what_needs_scores_says_so(shop: Workshop, options: list[str]) -> None:
    sign = [i % 2 == 0 for i in range(8)]
    paths = [transcript(shop.folder / f"{k}.jsonl", [True] * 8, positive=sign) for k in "ab"]
    done = shop.call("compare", *paths, *options)
    assert done.status == 2
    assert "a: 4 accepted cases have no score ('c00000' is the first)" in done.err
    assert len(done.err.splitlines()) == 1


def test_a_hundred_runs_ask_for_a_baseline_by_groups(shop: Workshop) -> None:
    paths = [
        transcript(shop.folder / f"r{k:02d}.jsonl", [k % 2 == 0, True], columns=[{"d": 1}, {"d": 2}]) for k in range(14)
    ]
    assert "--baseline NAME" in shop.call("compare", *paths, "--by", "d").err
    assert shop.call("compare", *paths, "--by", "d", "--baseline", "r03").status == 0


def test_json_is_json(shop: Workshop) -> None:
    """No NaN and no infinity, even for missing values."""
    made = World()
    paths = [*made.runs(shop.folder, (1.0,)), made.write(shop.folder / "mute.jsonl", np.full(made.n, -9.0))]
    for options in (["--statistic", "precision"], ["--at", "fpr=0"], ["--statistic", "mcc"]):
        done = shop.call(
            "compare", *paths, *options, "--by", "noise:2", "--items", "--margin", "0.1", "--format", "json"
        )
        assert done.status == 0, done.err
        json.loads(done.out, parse_constant=pytest.fail)


@pytest.mark.parametrize("style", ["json", "table", "csv", "tex", "md"])
def test_runs_that_all_lack_the_statistic_are_shown_without_it(shop: Workshop, style: str) -> None:
    made = World()
    paths = [made.write(shop.folder / f"{k}.jsonl", np.full(made.n, -9.0)) for k in "ab"]
    words = ("--statistic", "precision", "--items", "--margin", "0.1", "--format", style)
    done = shop.call("compare", *paths, *words)
    assert done.status == 0, done.err
    if style == "json":
        assert [one["value"] for one in done.json["transcripts"]] == [None, None]
        assert done.json["pairs"][0]["replication"] is None
        assert done.json["items"]["ranks"] == []
    if style == "table":
        text = " ".join(done.out.split())
        assert "a and b cannot be compared: neither has a precision, which needs accepted cases." in text


def test_a_sample_in_which_half_weighs_nothing_has_values_and_no_errors(shop: Workshop) -> None:
    """One unit per stratum is left, which has no variance. Half a sample may have no case with a weight."""
    strata, weights = ["s", "s", "t", "t"], [{"w": w} for w in (1, 0, 1, 0)]
    paths = [
        transcript(shop.folder / f"{k}.jsonl", [True, k == "a", k != "c", False], stratum=strata, columns=weights)
        for k in "abc"
    ]
    found = shop.call("compare", *paths, "--weights", "w", "--format", "json").json
    assert [one["value"] for one in found["transcripts"]] == [1.0, 1.0, 0.5]
    for one in (*found["transcripts"], *found["pairs"]):
        assert (one["replication"]["df"], one["replication"]["interval"]) == (0, None)
    assert [pair["replication"]["p_adjusted"] for pair in found["pairs"]] == [None] * 3
    assert found["groups"] == [["a", "b", "c"]]
    assert found["wald"]["p_value"] is None
    text = " ".join(shop.call("compare", *paths, "--weights", "w").out.split())
    assert "a and c cannot be told apart for these strata (stratum) and new cases: 4 units do not show how" in text
    done = shop.call("compare", *paths, "--weights", "w", "--method", "brr")
    assert done.status == 2
    message = "has no estimate (nan): this part of the sample is too small for the statistic; use Fay's rho of 0.5"
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert shop.call("compare", *paths, "--weights", "w", "--method", "fay").status == 0
    assert shop.call("compare", *paths, "--weights", "w", "--multiplicity", "max-t").status == 0
