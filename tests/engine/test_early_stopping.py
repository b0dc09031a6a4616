"""`hate run --stop-when` and `--sequential`: the same part of a test everywhere, and no ordinary interval after it."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.transcripts import transcript
from tests.security.forging import Lines, forge
from tests.workshop import Workshop

UNITS = 60
KEYS = """\
[params.threshold]
type = "float"
default = 0.5
decision = true
[design]
psu = "subject"
"""


def grown(shop: Workshop, *, sizes: int = 3) -> Path:
    """A score test of subjects with several cases; the input is the score."""
    rng = np.random.default_rng(1)
    rows = ["id,input,expect,positive,subject"]
    for unit in range(UNITS):
        rows += [f"{unit}-{turn},{rng.random():.3f},x,true,s{unit}" for turn in range(1 + unit % sizes)]
    (shop.folder / "cases.csv").write_text("\n".join(rows) + "\n")
    path = shop.folder / "grown.hate.toml"
    test = '[test]\nname = "grown"\nversion = "1"\nsynopsis = "g"\ntask = "score"\n'
    path.write_text(f'format = 1\n{test}[cases]\ntable = "cases.csv"\n{KEYS}')
    shop.interface("def answer(case, params):\n    return float(case.input)\n")
    return path


def stop(shop: Workshop, name: str, *words: str) -> Path:
    done = shop.call("run", grown(shop), "--stop-when", "width<0.4", "-o", name, *words)
    assert done.status == 0, done.err
    return shop.folder / name


def test_it_stops_with_whole_units_in_the_order_of_their_hash(shop: Workshop) -> None:
    path = stop(shop, "a.jsonl")
    header, *records, end = [json.loads(line) for line in path.read_text().splitlines()]
    assert header["extent"] == {"stop_when": "width<0.4", "seed": 0, "units": 60, "cases": 120, "largest": 3}
    seen = {record["psu"] for record in records}
    assert 5 < len(seen) < 60
    assert end["tests"] == len(records) == sum(1 + int(unit[1:]) % 3 for unit in seen)
    order = sorted((f"s{unit}" for unit in range(60)), key=lambda unit: hashlib.sha256(f"0\0{unit}".encode()).digest())
    assert seen == set(order[: len(seen)])
    # The file is in case order, like every other.
    places = [int(record["psu"][1:]) for record in records]
    assert places == sorted(places)


def test_workers_stop_at_the_same_place(shop: Workshop) -> None:
    one = stop(shop, "a.jsonl")
    two = stop(shop, "b.jsonl", "-j", "2")
    assert [r["id"] for r in shop.records("a.jsonl")] == [r["id"] for r in shop.records("b.jsonl")]
    assert one != two


def test_another_seed_is_another_order(shop: Workshop) -> None:
    stop(shop, "a.jsonl")
    stop(shop, "b.jsonl", "--order-seed", "7")
    assert [r["id"] for r in shop.records("a.jsonl")] != [r["id"] for r in shop.records("b.jsonl")]
    done = shop.call("compare", "a.jsonl", "b.jsonl", "--sequential")
    assert done.status == 2
    assert "another random order (seed 7, not 0)" in done.err


def test_the_interval_holds_the_rate_of_the_whole_test(shop: Workshop) -> None:
    stop(shop, "a.jsonl")
    (found,) = shop.call("rate", "a.jsonl", "--sequential", "--format", "json").json["transcripts"]
    assert found["interval"][1] - found["interval"][0] < 0.4
    whole = shop.call("run", grown(shop), "-o", "whole.jsonl", "--format", "json").json["rows"][0]["rate"]
    assert found["interval"][0] <= whole <= found["interval"][1]


def test_the_run_itself_gives_that_interval(shop: Workshop) -> None:
    found = shop.call("run", grown(shop), "--stop-when", "width<0.4", "-o", "a.jsonl", "--format", "json").json
    (again,) = shop.call("rate", "a.jsonl", "--sequential", "--format", "json").json["transcripts"]
    assert found["rows"][0]["interval"] == pytest.approx(again["interval"])
    assert found["rows"][0]["replication"] is None


@pytest.mark.parametrize("command", ["rate", "compare", "roc"])
def test_an_ordinary_interval_is_refused(shop: Workshop, command: str) -> None:
    stop(shop, "a.jsonl")
    names = ["a.jsonl", "a.jsonl"] if command == "compare" else ["a.jsonl"]
    done = shop.call(command, *names)
    assert done.status == 2
    assert (
        "stopped when width<0.4, so ordinary intervals and tests are not valid; hate rate --sequential gives valid ones"
        in done.err
    )


def test_a_rule_that_is_never_met_runs_the_whole_test(shop: Workshop) -> None:
    done = shop.call("run", grown(shop), "--stop-when", "width<0.0001", "-o", "a.jsonl")
    assert done.status == 0
    assert len(shop.records("a.jsonl")) == 120
    (found,) = shop.call("rate", "a.jsonl", "--sequential", "--format", "json").json["transcripts"]
    assert found["interval"] == pytest.approx([found["rate"]] * 2)


def test_repeated_answers_are_of_their_unit(shop: Workshop) -> None:
    path = stop(shop, "a.jsonl", "--repeat", "3")
    assert len(path.read_text().splitlines()) - 2 == 3 * len({r["id"] for r in shop.records("a.jsonl")})
    assert shop.call("rate", "a.jsonl", "--sequential").status == 0


def test_two_runs_are_decided_before_the_end(shop: Workshop) -> None:
    """Complete runs are looked at in random order, too: how soon could one have stopped?"""
    rng = np.random.default_rng(2)
    for name, rate in (("good", 0.95), ("bad", 0.5)):
        transcript(shop.folder / f"{name}.jsonl", rng.random(400) < rate)
    found = shop.call("compare", "good.jsonl", "bad.jsonl", "--sequential", "--format", "json").json["pairs"][0]
    assert 5 < found["decided_after"] < 200
    text = shop.call("compare", "good.jsonl", "bad.jsonl", "--sequential").out
    assert "good is better than bad on this test by" in text
    assert f"known after {found['decided_after']} of 400 cases" in text
    assert shop.call("compare", "bad.jsonl", "good.jsonl", "--sequential", "--fail-if-worse").status == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--stop-when", "narrow"], "write width<0.02"),
        (["--stop-when", "width<2"], "write width<0.02"),
        (["--stop-when", "width<0.1", "--limit", "5"], "exclude one another"),
        (["--stop-when", "width<0.1", "--resume"], "cannot be carried on"),
    ],
)
def test_mistakes_are_a_line(shop: Workshop, words: list[str], message: str) -> None:
    done = shop.call("run", grown(shop), *words)
    assert done.status == 2
    assert message in done.err
    assert done.err.count("\n") == 1


def test_weights_are_refused_before_anything_runs(shop: Workshop) -> None:
    rows = ["id,input,expect,w", *(f"c{n},{n},x,{1 + n % 3}" for n in range(9)), ""]
    shop.script(rows="\n".join(rows), sections='[design]\nweights = "w"\n')
    shop.interface("def answer(case, params):\n    open('asked', 'w').close()\n    return 'x'\n")
    done = shop.call("run", "toy", "--stop-when", "width<0.5", "-o", "run.jsonl")
    assert (done.status, done.err) == (2, "hate: --stop-when is for plain rates; the design of toy has weights\n")
    assert not (shop.folder / "asked").exists()
    assert not (shop.folder / "run.jsonl").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [(["--by", "truth"], "leave out --by"), (["--statistic", "auc"], "for the rate, not for --statistic auc")],
)
def test_sequential_is_for_plain_rates(shop: Workshop, words: list[str], message: str) -> None:
    done = shop.call("compare", "wisard", "witch", "--sequential", *words)
    assert done.status == 2
    assert message in done.err


def test_a_stopped_run_is_judged_again(shop: Workshop) -> None:
    stop(shop, "a.jsonl")
    assert shop.call("check", "a.jsonl").status == 0


def test_units_that_were_left_out_afterwards_are_found_out(shop: Workshop) -> None:
    path = stop(shop, "a.jsonl")
    failed = next(record["psu"] for record in shop.records("a.jsonl") if record["outcome"] == "FN")

    def leave_out(lines: Lines) -> None:
        lines[1:] = [record for record in lines[1:] if record["psu"] != failed]

    done = shop.call("check", forge(path, shop.folder / "forged.jsonl", leave_out))
    assert done.status == 1
    assert "are not those of the first" in done.out + done.err
