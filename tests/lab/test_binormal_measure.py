"""The binormal curve on the command line: `rate`, `compare` and `roc` say the same, and why a run has none."""

from pathlib import Path

import click
import pytest
from scipy.special import ndtri

import harness
from harness.cli.compare import compare_command
from harness.lab.binormal.statistics import binormal_of_scores
from harness.stats.curves.scores import make_scored_cases
from tests.analysis.score_runs import World
from tests.workshop import Workshop

WORLD = World(strata=6, size=8, seed=3)


def run(shop: Workshop, name: str = "a", lift: float = 1.5) -> Path:
    return WORLD.write(shop.folder / f"{name}.jsonl", WORLD.scores(ord(name), lift))


def test_rate_and_roc_give_the_same_area(shop: Workshop) -> None:
    path = run(shop)
    fit = binormal_of_scores(make_scored_cases(WORLD.scores(ord("a"), 1.5), WORLD.positive))
    one = shop.call("rate", path, "--statistic", "auc_binormal", "--format", "json").json["transcripts"][0]
    assert one["value"] == pytest.approx(fit.area, abs=1e-9)
    low, high = one["replication"]["interval"]
    assert low < fit.area < high
    found = shop.call("roc", path, "--binormal", "--format", "json").json
    [own] = found["binormal"]
    assert (own["name"], own["reason"]) == ("a", None)
    assert [own[key] for key in ("a", "b", "auc")] == pytest.approx([fit.a, fit.b, fit.area])
    # At the equal error rate, a + b z(x) = z(1 - x).
    assert fit.a + fit.b * ndtri(own["eer"]) == pytest.approx(ndtri(1 - own["eer"]))
    assert found["curves"][0]["auc"] != pytest.approx(fit.area, abs=1e-6)
    assert harness.roc([path], binormal=True).to_dict() == found
    assert "binormal" not in shop.call("roc", path, "--format", "json").json


def test_areas_are_compared(shop: Workshop) -> None:
    done = shop.call("compare", run(shop, "a"), run(shop, "b", 0.4), "--statistic", "auc_binormal", "--format", "json")
    found = done.json
    values = [one["replication"]["estimate"] for one in found["transcripts"]]
    assert found["pairs"][0]["replication"]["estimate"] == pytest.approx(values[0] - values[1])


def test_perfect_separation_is_said_in_a_line(shop: Workshop) -> None:
    path = WORLD.write(shop.folder / "perfect.jsonl", WORLD.positive * 5.0 + WORLD.scores(0) / 100)
    done = shop.call("rate", path, "--statistic", "auc_binormal")
    assert done.status == 2
    assert "--statistic auc_binormal: " in done.err
    assert "the scores separate the two classes perfectly, and then no binormal curve fits best; use auc" in done.err
    assert done.err.count("\n") == 1
    [fit] = shop.call("roc", path, "--binormal", "--format", "json").json["binormal"]
    assert fit["auc"] is None
    assert "separate the two classes perfectly" in fit["reason"]
    table = shop.call("roc", path, "--binormal", "--format", "md").out
    assert "| perfect | - | - | - | - |" in table
    assert "perfect: the scores separate the two classes perfectly" in table


def test_points_for_gnuplot_have_the_fit_in_a_comment(shop: Workshop) -> None:
    plain, fitted = (shop.call("roc", run(shop), *words, "--format", "plain").out for words in ((), ("--binormal",)))
    assert fitted.endswith(plain)
    comment = fitted.removesuffix(plain)
    assert comment.startswith("# Binormal curves\n")
    assert all(line.startswith("#") for line in comment.splitlines())


def test_curves_without_scores_of_cases_say_so(shop: Workshop) -> None:
    [fit] = shop.call("pr", "shapes/relief", "--binormal", "--format", "json").json["binormal"]
    assert (fit["auc"], fit["reason"]) == (None, "its scores are of objects, not of cases")
    paths = [WORLD.write(shop.folder / f"{n}.jsonl", WORLD.scores(n, 1.5), name="a") for n in (1, 2)]
    [fit] = shop.call("roc", *paths, "--repeated", "--binormal", "--format", "json").json["binormal"]
    assert (fit["auc"], fit["reason"]) == (None, "its points are of several runs, not of the scores of one")


def test_cases_that_weigh_are_fitted_by_weight(shop: Workshop) -> None:
    """`roc` and `rate` have the same area with weights too."""
    columns = [{"weight": 1 + number % 3} for number in range(WORLD.n)]
    path = WORLD.write(shop.folder / "a.jsonl", WORLD.scores(ord("a"), 1.5), columns=columns)
    words = ("--weights", "weight", "--format", "json")
    one = shop.call("rate", path, "--statistic", "auc_binormal", *words).json["transcripts"][0]
    [fit] = shop.call("roc", path, "--binormal", *words).json["binormal"]
    assert fit["auc"] == pytest.approx(one["value"])
    [plain] = shop.call("roc", path, "--binormal", "--format", "json").json["binormal"]
    assert fit["auc"] != pytest.approx(plain["auc"])


def test_help_and_completion_offer_it() -> None:
    (option,) = [param for param in compare_command.params if param.name == "statistic"]
    assert isinstance(option, click.Option)
    assert "auc_binormal" in (option.help or "")
    assert "auc_binormal" in {item.value for item in option.shell_complete(click.Context(compare_command), "")}


def test_it_cannot_be_tuned_for(shop: Workshop) -> None:
    done = shop.call("tune", "hdigits", "--interface", "wisard", "--param", "threshold=0,1", "--goal", "auc_binormal")
    assert done.status == 2
    assert "--goal auc_binormal: not a goal; choose from rate, tpr," in done.err


def test_a_value_of_that_name_is_another_measure(shop: Workshop) -> None:
    values = [{"auc_binormal": 0.25}] * WORLD.n
    path = WORLD.write(shop.folder / "a.jsonl", WORLD.scores(ord("a"), 1.5), values=values)
    names = "auc_binormal,values.auc_binormal"
    found = shop.call("rate", path, "--statistic", names, "--format", "json").json["transcripts"][0]["measures"]
    assert found["values.auc_binormal"]["estimate"] == 0.25
    assert found["auc_binormal"]["estimate"] > 0.5
