"""The standard error of a run's rate by its design, from sums that are kept while it records."""

import subprocess
import sys
from typing import Any

import pytest

from harness.engine.tallies import UnitTally, has_design
from harness.model import Outcome, Trial
from harness.transcript.format import FORMAT, AlgorithmInfo, Header
from harness.transcript.format import TestInfo as Info
from tests.workshop import Done, Record, Workshop

# Wrong on some cases of some patients; fails on others until a file exists.
SHAKY = """\
import pathlib
def answer(case, params):
    n = int(case.input)
    if n % 9 == 4 and not pathlib.Path("fixed").exists(): raise ValueError
    return "no" if n % 5 == 0 or n // 6 % 4 == 1 else "x"
"""
DESIGN = '[design]\nstratum = "site"\npsu = "patient"\n'


def write_test(shop: Workshop, sections: str = DESIGN, count: int = 72) -> None:
    rows = [f"c{n},{n},x,s{n // 24},p{n // 6}" for n in range(count)]
    shop.script(rows="\n".join(["id,input,expect,site,patient", *rows, ""]), sections=sections)
    shop.interface(SHAKY)


def row(done: Done) -> Record:
    assert done.status == 0, done.err
    return done.row


def replication(shop: Workshop, name: str) -> Record:
    result: Record = shop.call("rate", name, "--format", "json").json["transcripts"][0]["replication"]
    return result


def same(one: Record, other: Record) -> bool:
    """Equal except for the last digits: the cases of a unit are added in another order."""
    numbers = {key: value for key, value in one.items() if isinstance(value, float)}
    rest = [{key: value for key, value in each.items() if key not in {*numbers, "interval"}} for each in (one, other)]
    close = all(other[key] == pytest.approx(value, rel=1e-12) for key, value in numbers.items())
    return rest[0] == rest[1] and close and one["interval"] == pytest.approx(other["interval"], rel=1e-12)


def test_workers_resuming_and_retrying_change_nothing(shop: Workshop) -> None:
    write_test(shop)
    alone = row(shop.call("run", "toy", "-o", "a.jsonl", "--format", "json"))["replication"]
    assert same(alone, replication(shop, "a.jsonl"))
    assert same(row(shop.call("run", "toy", "-j", "3", "-o", "b.jsonl", "--format", "json"))["replication"], alone)
    # Half of the records, and the rest later.
    lines = (shop.folder / "a.jsonl").read_text().splitlines(keepends=True)
    shop.write("c.jsonl", "".join(lines[:40]))
    resumed = shop.call("run", "toy", "-o", "c.jsonl", "--resume", "--format", "json")
    assert same(row(resumed)["replication"], alone)
    shop.write("fixed", "")
    retried = row(shop.call("run", "toy", "-o", "a.jsonl", "--retry-errors", "--format", "json"))
    assert retried["ER"] == 0
    assert retried["replication"]["estimate"] == pytest.approx(retried["rate"])
    assert same(retried["replication"], replication(shop, "a.jsonl"))
    assert not same(retried["replication"], alone)
    done = shop.call("run", "toy", "-o", "a.jsonl", "--resume", "--format", "json")
    assert same(row(done)["replication"], retried["replication"])


def test_a_part_of_a_test_has_its_own_error(shop: Workshop) -> None:
    write_test(shop)
    part = row(shop.call("run", "toy", "-o", "a.jsonl", "--limit", "30", "--format", "json"))
    assert same(part["replication"], replication(shop, "a.jsonl"))
    assert part["replication"]["units"] == 5


def test_the_interval_is_shown_with_its_method_and_target(shop: Workshop) -> None:
    write_test(shop)
    done = shop.call("run", "toy", "-o", "a.jsonl", "--format", "table")
    low, high = replication(shop, "a.jsonl")["interval"]
    assert f"{low:.4f} to {high:.4f}" in done.out
    assert "interval by BRR, for these strata (site) and new patients" in done.err
    shop.script(rows="id,input,expect\n" + "".join(f"c{n},{n},x\n" for n in range(20)))
    done = shop.call("run", "toy", "-o", "b.jsonl", "--format", "table")
    assert "interval by" not in done.err


def test_one_unit_has_no_interval_and_says_why(shop: Workshop) -> None:
    write_test(shop, '[design]\npsu = "site"\n', count=20)
    done = shop.call("run", "toy", "-o", "a.jsonl", "--format", "table")
    assert done.status == 0
    assert "no interval by design: " in done.err
    found = row(shop.call("run", "toy", "-o", "b.jsonl", "--format", "json"))
    assert found["replication"] is None


def test_without_a_design_numpy_and_scipy_are_not_imported(shop: Workshop) -> None:
    """The interval is Wilson's, and a short run need not wait for scipy."""
    write_test(shop, "")
    program = [sys.executable, "-X", "importtime", "-P", "-m", "harness.cli.main", "run", "toy", "-o", "a.jsonl"]
    done = subprocess.run(program, cwd=shop.folder, env=shop.env, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line}
    assert "harness.engine.run" in imported
    assert not {"scipy", "numpy"} & {name.partition(".")[0] for name in imported}


def sums(trials: list[Trial], *, repeated: bool) -> dict[tuple[Any, Any], list[int]]:
    tally = UnitTally(repeated=repeated)
    for trial in trials:
        tally.add(trial)
    return tally.sums


def test_sums_are_by_stratum_and_unit() -> None:
    def trial(name: str, good: bool, **group: Any) -> Trial:
        return Trial(id=name, outcome=Outcome.TP if good else Outcome.FN, **group)

    trials = [
        trial("a", True, stratum="s", psu="u"),
        trial("b", False, stratum="s", psu="u"),
        trial("c", True, stratum="s", psu="v"),
    ]
    assert sums(trials, repeated=False) == {("s", "u"): [2, 1], ("s", "v"): [1, 1]}
    answers = [trial("a", True, stratum="s"), trial("a", False, stratum="s"), trial("b", True, stratum="s")]
    assert sums(answers, repeated=True) == {("s", "a"): [2, 1], ("s", "b"): [1, 1]}
    assert sums(answers, repeated=False) == {("s", None): [3, 2]}


@pytest.mark.parametrize(("design", "known", "sums"), [
    ({}, False, True), ({"weights": "cases"}, False, True), ({"stratum": "s"}, True, True),
    ({"psu": ["a", "b"]}, True, True), ({"weights": "w"}, True, False), ({"psu": "p", "weights": "w"}, True, False),
    ({"stratum": "s", "weights": {"x": 1.0}}, True, True), ({"stratum": "s", "weights": "equal"}, True, True),
])  # fmt: skip
def test_which_designs_count_and_when_sums_are_enough(design: Record, known: bool, sums: bool) -> None:
    test = Info(name="t", version="1", digest="1:0", task="label")
    header = Header(hate="transcript", format=FORMAT, test=test, algorithm=AlgorithmInfo("a"), design=design)
    assert (has_design(design), not header.weighs_cases) == (known, sums)
