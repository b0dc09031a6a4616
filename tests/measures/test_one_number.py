"""A number and its error are the same to the last digits, whichever command reports it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.analysis.transcripts import clustered, transcript
from tests.workshop import Workshop

Json = dict[str, Any]

# Right except for some cases, which cluster in patients; the answer may change from repeat to repeat.
WRONG = """\
NAME = "{name}"
turns = {{}}
def answer(case, params):
    turn = turns[case.id] = turns.get(case.id, 0) + 1
    n = int(case.input)
    bad = (n * 7919 + {seed}) % 11 < 3 or (n // 4 * 31 + {seed}) % 13 < 2
    if {dice} and (n + turn) % 5 == 0:
        bad = not bad
    label = "abc"[n // 12 % 3]
    return ("x" if bad else label, 1.0 + n % 3)
"""


@dataclass(frozen=True)
class Design:
    """A design of a test, how an import names it, and how often each case is asked."""

    keys: str
    importing: Sequence[str] | None
    repeat: int = 1


DESIGNS = {
    "stratum and psu": Design('stratum = "site"\npsu = "patient"', ["--stratum", "site", "--psu", "patient"]),
    "psu": Design('psu = "patient"', ["--psu", "patient"]),
    "stratum": Design('stratum = "site"', ["--stratum", "site"]),
    "equal weights": Design('stratum = "site"\npsu = "patient"\nweights = "equal"', None),
    "weights by column": Design('stratum = "site"\npsu = "patient"\nweights = "w"', None),
    "weights alone": Design('weights = "w"', None),
    "weights by table": Design('stratum = "site"\nweights = "weights.csv"', None),
    "repeat": Design("", [], 3),
    "repeat of a design": Design('stratum = "site"\npsu = "patient"', ["--stratum", "site", "--psu", "patient"], 2),
}


def write_test(shop: Workshop, design: Design) -> None:
    """120 cases of three classes, in six sites of unequal size, each with patients of unequal size."""
    rows = ["id,input,expect,site,patient,w"]
    for n in range(120):
        site, patient = min(n // 18, 5), n // 4 - (n % 24 == 8)
        rows.append(f"c{n},{n},{'abc'[n // 12 % 3]},s{site},{site}p{patient},{1 + n % 4}")
    sections = f"[design]\n{design.keys}\n" if design.keys else ""
    shop.script(rows="\n".join([*rows, ""]), sections=sections)
    shop.write("toy/weights.csv", "stratum,weight\n" + "".join(f"s{k},{k + 1}\n" for k in range(6)))


def run_replication(shop: Workshop, name: str, design: Design) -> Json:
    shop.interface(WRONG.format(name=name, seed=ord(name), dice=design.repeat > 1))
    done = shop.call("run", "toy", "-o", f"{name}.jsonl", "--repeat", str(design.repeat), "--format", "json")
    assert done.status == 0, done.err
    replication: Json = done.row["replication"]
    return replication


def import_replication(shop: Workshop, design: Design) -> Json:
    """The outcomes of a run as a table of another tool."""
    rows = ["id,good,site,patient,answer"]
    for record in shop.records("a.jsonl"):
        columns = record["columns"]
        cells = (record["id"], record["outcome"] == "TP", columns["site"], columns["patient"], record.get("repeat", 1))
        rows.append(",".join(map(str, cells)))
    shop.write("results.csv", "\n".join([*rows, ""]))
    words = ["import", "results.csv", "--success", "good", *(design.importing or []), "-o", "imported.jsonl"]
    words += ["--repeat", "answer"] if design.repeat > 1 else []
    done = shop.call(*words, "--format", "json")
    assert done.status == 0, done.err
    replication: Json = done.row["replication"]
    return replication


def assert_same(one: Json, other: Json, keys: Sequence[str] = ("estimate", "se", "df", "design_effect", "icc")) -> None:
    for key in keys:
        if other[key] is None:
            assert one[key] is None, key
        else:
            assert one[key] == pytest.approx(other[key], rel=1e-12, abs=1e-12), key
    assert one["interval"] == pytest.approx(other["interval"], rel=1e-12, abs=1e-12)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", DESIGNS)
def test_every_command_reports_the_same_rate(shop: Workshop, name: str) -> None:
    design = DESIGNS[name]
    write_test(shop, design)
    found = {"run": run_replication(shop, "a", design)}
    run_replication(shop, "b", design)
    truth: Json = shop.call("rate", "a.jsonl", "--format", "json").json["transcripts"][0]["replication"]
    compared = shop.call("compare", "a.jsonl", "b.jsonl", "--format", "json").json["transcripts"][0]
    found["compare"] = compared["replication"]
    shop.interface(WRONG.format(name="a", seed=ord("a"), dice=False))
    if design.repeat == 1:
        swept = shop.call("sweep", "toy", "--param", "threshold=0,2,9", "--format", "json").json["rows"]
        found["sweep"] = swept[0]["replication"]
        assert swept[0]["replication"] != swept[1]["replication"]
    if design.importing is not None:
        found["import"] = import_replication(shop, design)
        found["rate of import"] = shop.call("rate", "imported.jsonl", "--format", "json").json["transcripts"][0][
            "replication"
        ]
    for one in found.values():
        assert_same(one, truth)
        assert (one["units"], one["strata"], one["replicates"]) == (
            truth["units"], truth["strata"], truth["replicates"],
        )  # fmt: skip
        assert one["method"] == truth["method"]
    low, high = truth["interval"]
    assert low < truth["estimate"] < high
    if design.repeat == 1:
        text = shop.call("test", "toy", "-o", "test.jsonl").out
        assert f"rate {truth['estimate']:.4f}, 95 % interval {low:.4f} to {high:.4f} by " in text


def test_weights_of_single_cases_need_a_transcript(shop: Workshop) -> None:
    """`hate test` keeps sums by unit, which do not have the weights of single cases."""
    write_test(shop, DESIGNS["weights by column"])
    shop.interface(WRONG.format(name="a", seed=1, dice=False))
    text = shop.call("test", "toy").out
    assert "no interval by design: single cases have weights, which takes a transcript: -o FILE leaves one" in text
    write_test(shop, DESIGNS["equal weights"])
    assert "; weighted rate 0." in shop.call("test", "toy").out


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", DESIGNS)
def test_the_recall_of_a_class_is_its_rate(shop: Workshop, name: str) -> None:
    design = DESIGNS[name]
    write_test(shop, design)
    run_replication(shop, "a", design)
    by = shop.call("rate", "a.jsonl", "--by", "truth", "--format", "json").json["by"]
    confusion = shop.call("confusion", "a.jsonl", "--format", "json").json["transcripts"][0]
    # Of repeated answers, a matrix counts each.
    counted, recall = "tests" if confusion.get("counted") == "answers" else "cases", confusion["recall"]
    assert [group["label"] for group in by["groups"]] == ["a", "b", "c"]
    for group, one in zip(by["groups"], recall, strict=False):
        (run,) = group["runs"]
        assert (group["label"], group[counted]) == (one["label"], one["cases"])
        assert run["estimate"] == pytest.approx(one["rate"], abs=1e-12)
        assert run["interval"] == pytest.approx(one["interval"], abs=1e-12)


def write_score_test(shop: Workshop, *, strata: bool) -> None:
    rng = np.random.default_rng(3)
    n = 120
    positive, unit = np.arange(n) % 2 == 0, np.arange(n) // 6
    more: Json = {"stratum": [f"s{u // 2}" for u in unit]} if strata else {}
    for name, lift in (("a", 1.5), ("b", 0.8)):
        scores = np.round(rng.normal(size=n) + lift * positive + rng.normal(size=20)[unit], 2)
        transcript(
            shop.folder / f"{name}.jsonl", (scores >= 0.5) == positive, positive=positive.tolist(),
            score=scores.tolist(), psu=[f"u{u}" for u in unit], test={"task": "score"}, **more,
        )  # fmt: skip


@pytest.mark.parametrize("strata", [True, False])
def test_an_area_has_one_interval(shop: Workshop, strata: bool) -> None:
    """From the curve, from `hate rate`, and in a comparison."""
    write_score_test(shop, strata=strata)
    truth = shop.call("rate", "a.jsonl", "--statistic", "auc", "--format", "json").json["transcripts"][0]["replication"]
    compared = shop.call("compare", "a.jsonl", "b.jsonl", "--statistic", "auc", "--format", "json").json
    curve = shop.call("roc", "a.jsonl", "--format", "json").json["curves"][0]
    assert_same(compared["transcripts"][0]["replication"], truth)
    assert curve["auc"] == pytest.approx(truth["estimate"], abs=1e-12)
    assert curve["auc_interval"] == pytest.approx(truth["interval"], abs=1e-12)


def test_a_rate_at_a_rank_has_one_interval(shop: Workshop) -> None:
    rng = np.random.default_rng(4)
    ranks = np.minimum(rng.geometric(0.6, 60), 6)
    people = [f"p{i // 3}" for i in range(60)]
    fields: Json = {"rank": ranks.tolist(), "psu": people, "relative_rank": (ranks / 20).tolist()}
    transcript(shop.folder / "a.jsonl", ranks == 1, test={"task": "rank"}, **fields)
    curve = shop.call("cmc", "a.jsonl", "--format", "json").json["curves"][0]
    for most in (1, 2, 5):
        words = ("rate", "a.jsonl", "--statistic", f"rank{most}", "--format", "json")
        truth = shop.call(*words).json["transcripts"][0]["replication"]
        place = curve["ranks"].index(most)
        assert curve["rates"][place] == pytest.approx(truth["estimate"], abs=1e-12)
        limits = [curve["low"][place], curve["high"][place]]
        assert limits == pytest.approx(truth["interval"], abs=1e-9)


@pytest.mark.parametrize("statistic", ["rate", "f1", "precision"])
def test_a_design_by_options_is_like_the_design_of_the_test(shop: Workshop, statistic: str) -> None:
    """`rate`, `compare` and `compare --unpaired` take the same options."""
    clustered(shop.folder, 3, strata=5, units=4, size=3)
    words = ("--stratum", "day", "--psu", "psu", "--weights", "weight", "--statistic", statistic, "--format", "json")
    for command in (["compare", "a.jsonl", "b.jsonl"], ["compare", "a.jsonl", "b.jsonl", "--unpaired"]):
        both = shop.call(*command, *words).json["transcripts"]
        each = shop.call("rate", "a.jsonl", "b.jsonl", *words).json["transcripts"]
        for one, other in zip(both, each, strict=True):
            assert_same(one["replication"], other["replication"])
            assert one["replication"]["weights"] == other["replication"]["weights"] == "weight"
