"""Every measure on every task: `rate` has a number or a reason, and groups and comparisons have the same number."""

import math
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.cli.commands import commands_here, hate
from harness.errors import HateError
from harness.measures import Measure, find_measure
from harness.options import declared_options
from harness.tasks import TASKS
from tests.products.conftest import AllRuns
from tests.products.measures import (
    LACKING,
    REFUSALS,
    Rated,
    Refusal,
    chosen,
    decided,
    measure,
    measure_names,
    numbered_names,
    one_of_a_kind,
    products,
    refusal,
    same,
)
from tests.products.subjects import ALGORITHMS, SUBJECTS, Record, Runs, rewrite
from tests.workshop import Workshop

pytestmark = pytest.mark.usefixtures("plugins")
# By the design of the test, and with weights, which it has not.
DESIGN = ("--stratum", "stratum", "--psu", "unit", "--weights", "weight")
MARGIN = "0.05"
NAMES = list(ALGORITHMS)


def test_every_command_that_takes_a_measure_is_held() -> None:
    """Here, and in `test_measures_elsewhere`."""
    found = set()
    for name in commands_here():
        command = hate.get_command(None, name)  # type: ignore[arg-type]
        kind = getattr(getattr(command, "callback", None), "option_set", None)
        if kind and any(one.spec.completion in ("measure", "goal") for one in declared_options(kind)):
            found.add(name)
    assert found == {"rate", "compare", "report", "sweep", "tune"}


def test_every_measure_is_had_by_some_subject() -> None:
    """But those of several answers, which `test_measures_of_several_answers` has."""
    names, had = ({name for one in SUBJECTS.values() for name in of(one)} for of in (measure_names, numbered_names))
    assert names - had == {"pass@5", "majority@5"}
    assert set(chosen().values()) == set(SUBJECTS)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", SUBJECTS)
def test_rate_has_a_number_or_a_reason(shop: Workshop, all_runs: AllRuns, rated: Rated, name: str) -> None:
    runs = all_runs.of(name)
    payload = rated.payload(shop, runs)
    assert [one["name"] for one in payload["transcripts"]] == NAMES
    cautions = " ".join(payload.get("cautions", []))
    for statistic in payload["statistics"]:
        estimates = rated.of(shop, runs, statistic)
        if (statistic, name) in LACKING:
            assert estimates == [None] * len(NAMES), f"{name}, {statistic}"
            assert f"have no {statistic}: it needs" in cautions
            continue
        for one in estimates:
            assert one is not None, f"{name}, {statistic}: null, and it is not declared"
            assert all(math.isfinite(one[key]) for key in ("estimate", "se")), f"{name}, {statistic}"
    _refuses_the_others(shop, runs)


def _refuses_the_others(shop: Workshop, runs: Runs) -> None:
    """In Python each, which is quick; on the command line one of each kind."""
    first = harness.read(str(runs.paths[0]))
    for statistic in measure_names(runs.subject):
        if (rule := refusal("rate", statistic, runs.subject)) is None:
            continue
        with pytest.raises(HateError) as caught:
            print(f"{runs.subject.name}, {statistic}", harness.rate([first], statistic=statistic))
        assert rule.says in str(caught.value), f"{runs.subject.name}, {statistic}"


@pytest.mark.sampled(5)
@pytest.mark.parametrize("rule", REFUSALS, ids=lambda one: f"{one.command}: {one.says}")
def test_every_refusal_is_a_line_with_its_reason(shop: Workshop, all_runs: AllRuns, rule: Refusal) -> None:
    """Of the first measure and subject that it is of; if there is none, it is to be taken out of the table."""
    subject, statistic = next(
        (subject, name)
        for subject in SUBJECTS.values()
        for name in (measure_names if rule.command == "rate" else numbered_names)(subject)
        if refusal(rule.command, name, subject) is rule
    )
    runs = all_runs.of(subject.name)
    for words in commands_of(rule.command, runs):
        done = shop.call(*words, statistic)
        assert (done.status, done.out) == (2, ""), words
        assert rule.says in done.err, words
        assert done.err.startswith("hate: "), words
        assert done.err.count("\n") == 1, words


def commands_of(command: str, runs: Runs) -> list[list[str | Path]]:
    """What refuses, without the measure that it is asked for."""
    if command in ("sweep", "tune"):
        return [decided(command, runs)]
    compare: list[str | Path] = ["compare", *runs.paths, "--statistic"]
    if command == "margin":
        return [["compare", *runs.paths, "--margin", "0.1", "--statistic"]]
    return [["rate", *runs.paths, "--statistic"], compare, ["report", *runs.paths, "-o", "page.md", "--statistic"]]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("speed", ["fast", pytest.param("slow", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SUBJECTS)
def test_a_group_has_the_number_of_a_run_on_its_cases(shop: Workshop, all_runs: AllRuns, name: str, speed: str) -> None:
    runs, fast = all_runs.of(name), one_of_a_kind()
    # No binormal curve can be fitted to so few cases.
    names = [one for one in numbered_names(runs.subject) if one != "auc_binormal"]
    names = [one for one in names if (fast.get(one) == name) == (speed == "fast")]
    asked = ("--statistic", ",".join(names), "--format", "json")
    done = shop.call("rate", runs.paths[0], *asked, "--by", "stratum")
    assert done.status == 0, done.err
    found = done.json["by_statistic"]
    assert list(found) == names
    for group in ("s0", "s2") if speed == "slow" else ("s1",):
        done = shop.call("rate", _part(shop, runs.paths[0], group), *asked)
        assert done.status == 0, f"{name}, {group}: {done.err}"
        (alone,) = done.json["transcripts"]
        for one, by in found.items():
            (of_group,) = [row["runs"][0]["estimate"] for row in by["groups"] if row["label"] == group]
            expected = (alone["measures"][one] or {"estimate": None})["estimate"]
            assert same(of_group, expected), f"{name}, {one}, rate --by stratum, {group}: {of_group}, not {expected}"


def _part(shop: Workshop, path: Path, group: str) -> Path:
    """The records of a group as a run of a test of its own."""

    def header(whole: Record) -> Record:
        return whole | {"test": whole["test"] | {"name": "part", "digest": ""}}

    def order(records: list[Record]) -> list[Record]:
        return [record for record in records if record["columns"]["stratum"] == group]

    return rewrite(path, shop.folder / f"{group}.jsonl", header=header, order=order)


@pytest.mark.sampled(15)
@pytest.mark.parametrize(("name", "statistic"), products(chosen()))
def test_compare_has_the_numbers_of_rate(
    shop: Workshop, all_runs: AllRuns, rated: Rated, name: str, statistic: str
) -> None:
    runs = all_runs.of(name)
    expected = rated.of(shop, runs, statistic)
    asked: list[str | Path] = ["compare", *runs.paths, "--statistic", statistic, "--format", "json"]
    found = shop.call(*asked).json
    _check_transcripts(found, expected, f"{name}, {statistic}, compare")
    _check_pairs(found, expected, measure(statistic, runs.subject), f"{name}, {statistic}, compare")
    assert len(found["pairs"]) == 3


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("name", "statistic"), products(one_of_a_kind()))
def test_runs_that_are_not_matched_have_the_numbers_of_rate(
    shop: Workshop, all_runs: AllRuns, rated: Rated, name: str, statistic: str
) -> None:
    """Every run by itself, and variances add."""
    runs, where = all_runs.of(name), f"{name}, {statistic}, compare --unpaired"
    expected = rated.of(shop, runs, statistic)
    found = shop.call("compare", *runs.paths, "--statistic", statistic, "--unpaired", "--format", "json").json
    _check_transcripts(found, expected, where)
    _check_pairs(found, expected, measure(statistic, runs.subject), where)
    for pair in found["pairs"]:
        errors = [expected[NAMES.index(pair[side])]["se"] for side in "ab"]
        assert pair["replication"]["se"] == pytest.approx(math.hypot(*errors), rel=1e-9), where


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("name", "statistic"), products(one_of_a_kind()))
def test_weights_designs_baselines_and_margins_change_no_number(
    shop: Workshop, all_runs: AllRuns, rated: Rated, name: str, statistic: str
) -> None:
    """With the same weights, `rate` and `compare` have the same estimates and errors, whoever is compared with whom."""
    runs, where = all_runs.of(name), f"{name}, {statistic}, compare with a design"
    fast = [one for one, subject in one_of_a_kind().items() if subject == name]
    slow = [one for one in numbered_names(runs.subject) if one not in fast]
    expected = rated.of(shop, runs, statistic, *DESIGN, names=fast if statistic in fast else slow)
    margin = [] if refusal("margin", statistic, runs.subject) else ["--margin", MARGIN]
    words: list[str | Path] = [*runs.paths, "--statistic", statistic, *DESIGN, "--baseline", "bob", *margin]
    found = shop.call("compare", *words, "--format", "json").json
    _check_transcripts(found, expected, where)
    _check_pairs(found, expected, measure(statistic, runs.subject), where)
    assert {pair["a"] for pair in found["pairs"]} | {pair["b"] for pair in found["pairs"]} == set(NAMES)
    assert len(found["pairs"]) == 2
    for pair in found["pairs"] if margin else []:
        # Nothing can be said about a difference without an error.
        assert pair["equivalence"] is None or pair["equivalence"]["margin"] == float(MARGIN), where
        assert (pair["equivalence"] is None) == (pair["replication"]["se"] == 0), where


def _check_transcripts(found: Any, expected: list[Any], where: str) -> None:
    assert [one["name"] for one in found["transcripts"]] == NAMES, where
    for one, of_rate in zip(found["transcripts"], expected, strict=True):
        assert same(one["value"], of_rate["estimate"]), f"{where}: {one['value']}, not {of_rate['estimate']}"
        for key in ("estimate", "se", "df", "interval", "design_effect"):
            ours, theirs = one["replication"][key], of_rate[key]
            assert (ours is None) == (theirs is None), f"{where}: {key} {ours}, not {theirs}"
            assert ours is None or ours == pytest.approx(theirs, rel=1e-9), f"{where}: {key} {ours}, not {theirs}"
        for key in ("method", "target", "strata", "units", "weights"):
            assert one["replication"][key] == of_rate[key], f"{where}: {key}"


def _check_pairs(found: Any, expected: list[Any], measure: Measure, where: str) -> None:
    """The difference of a pair is that of the two, and the better one has the better value.

    By the rate it is the one that succeeded on more cases on which the other failed, whatever they weigh.
    """
    for pair in found["pairs"]:
        a, b = (expected[NAMES.index(pair[side])]["estimate"] for side in "ab")
        estimate = pair["replication"]["estimate"]
        assert abs(estimate - (a - b)) <= 1e-12 * max(1, abs(a), abs(b)), f"{where}: {estimate}, not {a} - {b}"
        if measure.name == "rate" and "n_sf" in pair:
            a, b = pair["n_sf"], pair["n_fs"]
        assert pair["better"] == _better(pair, a, b, measure), f"{where}: {pair['better']} of {a} and {b}"


def _better(pair: Any, a: float, b: float, measure: Measure) -> str | None:
    """Nobody on a tie, for values on either side of the ideal, or if nobody has said what is better."""
    if measure.ideal is not None:
        a, b = a - measure.ideal, b - measure.ideal
        return None if a * b < 0 or a == b else str(pair["a" if abs(a) < abs(b) else "b"])
    if abs(a - b) < 1e-12 or measure.larger_is_better is None:
        return None
    return str(pair["a" if (a > b) == measure.larger_is_better else "b"])


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", SUBJECTS)
def test_python_has_the_numbers_of_the_commands(shop: Workshop, all_runs: AllRuns, rated: Rated, name: str) -> None:
    """By default and by name: what counts in the test."""
    runs = all_runs.of(name)
    main = TASKS[runs.subject.task].main_measure
    expected = rated.of(shop, runs, main)
    _check_transcripts(harness.compare(runs.paths).to_dict(), expected, f"{name}, harness.compare")
    for rates in (harness.rate(runs.paths[:1]), harness.rate(runs.paths, statistic=main)):
        found = rates.to_dict()
        assert found["statistic"] == main
        for one, of_rate in zip(found["transcripts"], expected, strict=False):
            assert one["value"] == of_rate["estimate"], f"{name}, harness.rate"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("statistic", ["pass@5", "majority@5", "pass@2", "rate"])
def test_measures_of_several_answers(shop: Workshop, all_runs: AllRuns, statistic: str) -> None:
    runs = all_runs.of("label", "--repeat", "5")
    asked: list[str | Path] = [*runs.paths, "--statistic", statistic, "--format", "json", *DESIGN]
    expected = [one["measures"][statistic] for one in shop.call("rate", *asked).json["transcripts"]]
    assert len({one["estimate"] for one in expected}) == len(NAMES)
    of_label = find_measure(statistic)
    found = shop.call("compare", *asked).json
    _check_transcripts(found, expected, f"{statistic}, compare")
    _check_pairs(found, expected, of_label, f"{statistic}, compare")
    _check_transcripts(shop.call("compare", *asked, "--unpaired").json, expected, f"{statistic}, --unpaired")


@pytest.mark.parametrize("name", ["value", pytest.param("boxes", marks=pytest.mark.slow)])
def test_values_of_records_are_listed_by_their_own_mean(shop: Workshop, all_runs: AllRuns, name: str) -> None:
    """One is called as a measure, the cost of errors."""
    path = all_runs.of(name).paths[0]
    _, *records, _ = shop.lines(str(path))
    (found,) = shop.call("rate", path, "--format", "json").json["transcripts"]
    for value, listed in (("blur", "blur"), ("cost", "values.cost")):
        mean = sum(record["values"][value] for record in records) / len(records)
        assert found["measures"][listed]["estimate"] == pytest.approx(mean, rel=1e-12), f"{name}, {listed}"
    assert "cost" not in found["measures"]


def test_compare_has_the_intraclass_correlation_of_rate(shop: Workshop, all_runs: AllRuns, rated: Rated) -> None:
    runs = all_runs.of("score")
    found = shop.call("compare", *runs.paths, "--statistic", "precision", "--format", "json").json["transcripts"]
    expected = [one["icc"] for one in rated.of(shop, runs, "precision")]
    assert [one["replication"]["icc"] for one in found] == pytest.approx(expected)
