"""Values of which less is better, or of which nobody has said: what is called better, worse, best and worst."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.errors import TranscriptError, UsageError
from harness.measures import MEASURES, find_measure, mean_of_value
from tests.analysis.transcripts import transcript
from tests.transcript.imports import import_one, refused
from tests.workshop import Workshop

CASES = 40
# How much each costs; all are right on the same cases, so that only the costs differ.
COSTS = {"cheap": 1.0, "dear": 2.0, "mid": 1.5}


def table(shop: Workshop, name: str, cost: float) -> Path:
    """Costs that grow from one kind of case to the next."""
    rng = random.Random(name)
    rows = [
        f"{n},{int(n % 5 != 0)},{cost + n % 4 / 10 + rng.random() / 50:.4f},"
        f"{cost + n % 4 / 10 + rng.random() / 50:.4f},k{n % 4}"
        for n in range(CASES)
    ]
    return shop.write(f"{name}.csv", "\n".join(["id,correct,cost_usd,thing,kind", *rows]))


@pytest.fixture
def bill(shop: Workshop) -> Workshop:
    """Imported: less cost_usd is better, and nobody has said anything about thing."""
    paths = [table(shop, name, cost) for name, cost in COSTS.items()]
    words = ("--success", "correct", "--value", "cost_usd,thing", "--lower", "cost_usd", "--test", "bill")
    done = shop.call("import", *paths, *words)
    assert done.status == 0, done.err
    assert "nobody has said whether more or less is better: thing; --higher NAME or --lower NAME does" in done.err
    return shop


def compared(shop: Workshop, *words: str) -> Any:
    return shop.call("compare", "cheap", "dear", *words, "--format", "json").json


def test_the_header_says_what_is_better_and_the_metric_that_decides(bill: Workshop) -> None:
    header = json.loads((bill.folder / "transcripts/bill/cheap.jsonl").read_text().splitlines()[0])
    assert header["values"] == {"correct": {"larger_is_better": True}, "cost_usd": {"larger_is_better": False}}
    assert header["decided"] == {"metric": "correct"}


@pytest.mark.parametrize("more", [(), ("--unpaired",), ("--by", "kind"), ("--baseline", "cheap")])
def test_the_cheaper_one_is_better(bill: Workshop, more: tuple[str, ...]) -> None:
    if more != ("--baseline", "cheap"):
        text = bill.call("compare", "cheap", "dear", "--statistic", "cost_usd", *more).out
        assert "cheap is better than dear in mean cost_usd" in text
    assert compared(bill, "--statistic", "cost_usd", *more)["pairs"][0]["better"] == "cheap"


@pytest.mark.parametrize("unpaired", [(), ("--unpaired",)])
def test_a_build_fails_for_the_dearer_one_alone(bill: Workshop, unpaired: tuple[str, ...]) -> None:
    """The gate that failed the cheaper model."""
    words = ("--statistic", "cost_usd", "--fail-if-worse", *unpaired)
    assert bill.call("compare", "cheap", "dear", *words).status == 0
    assert bill.call("compare", "dear", "cheap", *words).status == 1


def test_a_run_without_the_value_is_named(bill: Workshop) -> None:
    words = ("--success", "correct", "--value", "thing", "--test", "bill", "--algorithm", "bare", "-o", "bare.jsonl")
    assert bill.call("import", table(bill, "bare", 1.0), *words).status == 0
    for files in (("cheap", "bare.jsonl"), ("bare.jsonl", "cheap")):
        done = bill.call("compare", *files, "--statistic", "cost_usd")
        assert (done.status, done.err) == (2, "hate: --statistic cost_usd: no record of bare has this value\n")


def test_the_best_comes_first_and_wins(bill: Workshop) -> None:
    found = bill.call("compare", "cheap", "dear", "mid", "--statistic", "cost_usd", "--format", "json").json
    assert found["groups"] == [["cheap"], ["mid"], ["dear"]]
    assert found["pairs"][0]["win_rate"]["wins"] == CASES
    assert found["pairs"][0]["win_rate"]["estimate"] == 1


def test_a_margin_is_about_costs_that_are_higher(bill: Workshop) -> None:
    margins = [
        bill.call("compare", a, b, "--statistic", "cost_usd", "--margin", "0.1", "--format", "json").json["pairs"][0]
        for a, b in (("cheap", "dear"), ("dear", "cheap"))
    ]
    assert [one["equivalence"]["not_inferior"] for one in margins] == [True, False]


def test_the_worst_group_is_the_dearest(bill: Workshop) -> None:
    by = bill.call("rate", "cheap", "--statistic", "cost_usd", "--by", "kind", "--format", "json").json["by"]
    assert (by["gaps"][0]["best"], by["gaps"][0]["worst"]) == ("k0", "k3")


@pytest.mark.parametrize("form", ["parquet", "jsonl.gz"])
def test_other_forms_keep_what_is_better(bill: Workshop, form: str) -> None:
    for name in ("cheap", "dear"):
        assert bill.call("convert", name, f"{name}.{form}").status == 0
    found = bill.call("compare", f"cheap.{form}", f"dear.{form}", "--statistic", "cost_usd", "--format", "json").json
    assert found["pairs"][0]["better"] == "cheap"


SPEAKS_OF_BETTER = ("is better than", "is worst", "best where", "The best", "larger is better", "smaller is better")


@pytest.mark.parametrize("more", [(), ("--all",), ("--unpaired",), ("--by", "kind"), ("--baseline", "mid")])
def test_where_nobody_has_said_what_is_better_a_sentence_says_more_or_less(
    bill: Workshop, more: tuple[str, ...]
) -> None:
    text = bill.call("compare", "cheap", "dear", "mid", "--statistic", "thing", *more).out
    # McNemar's tables, which are about success, have rows of their own.
    assert not [words for words in SPEAKS_OF_BETTER if words in text], text
    assert "The mean thing of cheap is less than that of mid by 0." in text
    assert "The mean thing of dear is more than that of mid by 0." in text


@pytest.mark.parametrize("unpaired", [(), ("--unpaired",)])
def test_where_nobody_has_said_what_is_better_nothing_is(bill: Workshop, unpaired: tuple[str, ...]) -> None:
    found = compared(bill, "--statistic", "thing", "--by", "kind", *unpaired)
    assert found["pairs"][0]["better"] is None
    assert found["pairs"][0]["replication"]["estimate"] == pytest.approx(-1, abs=0.02)
    assert "win_rate" not in found["pairs"][0]
    gaps = [gap for gap in found["by"]["gaps"] if gap["estimate"] is not None]
    assert all(gap["best"] is gap["worst"] is None for gap in gaps)
    assert bool(gaps) is not bool(unpaired)
    assert [(gap["least"], gap["most"]) for gap in gaps] == [("k0", "k3")] * len(gaps)


@pytest.mark.parametrize(
    "words", [("--fail-if-worse",), ("--fail-if-worse", "--unpaired"), ("--margin", "1"), ("--items",)]
)
def test_what_needs_a_direction_is_refused_without_one(bill: Workshop, words: tuple[str, ...]) -> None:
    done = bill.call("compare", "cheap", "dear", "--statistic", "thing", *words)
    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert f"{words[0]} with thing: nobody has said whether more or less of it is better" in done.err
    assert "--higher thing or --lower thing" in done.err


def test_no_group_is_the_worst_on_a_page_where_nobody_has_said_what_is(bill: Workshop) -> None:
    for statistic, is_told in (("cost_usd", True), ("thing", False)):
        assert bill.call("report", "cheap", "--statistic", statistic, "-o", f"{statistic}.html").status == 0
        page = (bill.folder / f"{statistic}.html").read_text()
        assert ("cheap is worst where kind is k3" in page) is is_told
        assert ("cheap has least where kind is k0 and most where it is k3" in page) is not is_told
        assert bill.call("report", "cheap", "dear", "--statistic", statistic, "-o", f"2{statistic}.html").status == 0
        assert ("The best first, by" in (bill.folder / f"2{statistic}.html").read_text()) is is_told


def test_python_is_told_the_same(bill: Workshop) -> None:
    runs = [bill.folder / f"transcripts/bill/{name}.jsonl" for name in ("dear", "cheap")]
    assert harness.compare(runs, statistic="cost_usd").first_is_worse
    unknown = harness.compare(runs, statistic="thing")
    assert unknown.to_dict()["pairs"][0]["better"] is None
    with pytest.raises(UsageError, match="nobody has said"):
        _ = unknown.first_is_worse
    by = harness.rate(runs, statistic="thing", by="kind").to_dict()["by"]
    assert [gap["worst"] for gap in by["gaps"]] == [None, None]


def priced(path: Path, costs: Sequence[float], *, larger: bool | None = None) -> Path:
    more = {} if larger is None else {"values": {"price": {"larger_is_better": larger}}}
    return transcript(path, [True] * len(costs), values=[{"price": cost} for cost in costs], more=more)


@pytest.mark.parametrize("unpaired", [False, True])
def test_headers_that_contradict_each_other_are_refused(tmp_path: Path, unpaired: bool) -> None:
    runs = [priced(tmp_path / f"{n}.jsonl", [1, 2, 3, 4], larger=larger) for n, larger in (("a", True), ("b", False))]
    with pytest.raises(TranscriptError, match="a and b contradict each other: more price is better there, less here"):
        harness.compare(runs, statistic="price", unpaired=unpaired)
    # Nothing else is affected.
    assert harness.compare(runs, unpaired=unpaired).names == ["a", "b"]


@pytest.mark.parametrize("unpaired", [False, True])
def test_a_header_that_does_not_say_is_not_contradicted(tmp_path: Path, unpaired: bool) -> None:
    first = priced(tmp_path / "a.jsonl", [1, 2, 3, 4])
    other = priced(tmp_path / "b.jsonl", [5, 6, 7, 9], larger=False)
    for order in ([first, other], [other, first]):
        pair = harness.compare(order, statistic="price", unpaired=unpaired).to_dict()["pairs"][0]
        assert pair["better"] == "a"


def test_better_in_json_is_by_the_measure_that_is_compared(tmp_path: Path) -> None:
    """Not by McNemar's counts: the slower one succeeds more often here."""
    slow = transcript(tmp_path / "slow.jsonl", [True] * 8, seconds=[2.0 + n / 100 for n in range(8)])
    fast = transcript(tmp_path / "fast.jsonl", [True] * 4 + [False] * 4, seconds=[1.0 + n / 90 for n in range(8)])
    for statistic, better in (("rate", "slow"), ("seconds", "fast")):
        assert harness.compare([slow, fast], statistic=statistic).to_dict()["pairs"][0]["better"] == better


def test_swapping_the_direction_swaps_the_verdict(tmp_path: Path) -> None:
    """A law: what is better by more is worse by less, and nothing else changes."""
    found = {}
    for larger in (True, False):
        runs = [priced(tmp_path / f"{n}{larger}.jsonl", costs, larger=larger) for n, costs in COSTS_OF_TWO.items()]
        found[larger] = harness.compare(runs, statistic="price").to_dict()["pairs"][0]
    assert (found[True]["better"], found[False]["better"]) == ("bTrue", "aFalse")
    assert found[True]["replication"] == found[False]["replication"]
    assert found[True]["win_rate"]["wins"] == found[False]["win_rate"]["losses"]


COSTS_OF_TWO = {"a": [1.0, 2.0, 3.0, 4.0], "b": [1.5, 2.0, 3.75, 4.5]}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--lower", "thingy"), "--lower thingy: no such value is kept"),
        (("--lower", "thing", "--higher", "thing"), "--lower and --higher: both name 'thing'"),
        (("--lower", "correct"), "--lower correct: it decides which answers are right, by more of it"),
    ],
)
def test_wrong_directions_are_refused(shop: Workshop, words: tuple[str, ...], message: str) -> None:
    path = table(shop, "one", 1.0)
    assert message in refused(shop, path, "--success", "correct", "--value", "thing", "--test", "bill", *words)


def test_names_of_a_tool_and_of_the_transcript_can_be_said(shop: Workshop) -> None:
    line = {"doc_id": 1, "doc": {}, "resps": [["a"]], "acc": 1.0, "cost in $": 3.5, "tokens": 7}
    path = shop.write("samples_qa.jsonl", json.dumps(line))
    header, _ = import_one(shop, path, "--lower", "cost in $,tokens")
    assert header["values"] == {name: {"larger_is_better": name == "acc"} for name in ("acc", "cost_in__", "tokens")}
    assert import_one(shop, path, "--lower", "cost_in__", "--lower", "tokens")[0]["values"] == header["values"]


def test_registered_measures_all_have_a_direction() -> None:
    assert all(measure.directed for measure in MEASURES.values())
    assert not find_measure("thing", ["thing"]).directed
    assert not find_measure("values.thing", ["thing"], direction={"thing": None}.get).directed
    assert find_measure("values.thing", ["thing"], direction={"thing": False}.get).better(1, 2)


def test_nothing_is_better_without_a_direction() -> None:
    unknown = mean_of_value("thing", larger_is_better=None)
    assert not unknown.better(1, 2)
    assert not unknown.better(2, 1)
    assert unknown.lead(1, 2) == unknown.lead(2, 1) == 0


def test_a_run_says_what_is_better_of_the_values_beside_its_answers(shop: Workshop) -> None:
    """From the command line and from Python; the same law as for an import."""
    shop.script(rows="id,input,expect\n" + "".join(f"c{n},{n},1\n" for n in range(20)))
    for name, cost in COSTS.items():
        values = f'{{"price": {cost} + int(case.input) * {cost} / 100}}'
        shop.interface(f'NAME = "{name}"\ndef answer(case, params):\n    return {{"label": "1", "values": {values}}}\n')
        shop.run("--lower", "price,spare", output=f"{name}.jsonl")
    header = json.loads((shop.folder / "cheap.jsonl").read_text().splitlines()[0])
    assert header["values"] == {"price": {"larger_is_better": False}, "spare": {"larger_is_better": False}}
    text = shop.call("compare", "cheap.jsonl", "dear.jsonl", "--statistic", "price").out
    assert "cheap is better than dear in mean price" in text
    assert shop.call("compare", "dear.jsonl", "cheap.jsonl", "--statistic", "price", "--fail-if-worse").status == 1
    # The same difference on every case gives no limits, so none are told.
    values = '{"price": 9 + int(case.input) / 100}'
    shop.interface(f'NAME = "flat"\ndef answer(case, params):\n    return {{"label": "1", "values": {values}}}\n')
    shop.run(output="constant.jsonl")
    text = shop.call("compare", "cheap.jsonl", "constant.jsonl", "--statistic", "price").out
    assert "cheap is better than flat in mean price (p < 0.0001, for new cases)." in text

    def answer(case: Any, params: Any) -> Any:
        return {"label": "1", "values": {"price": float(case.input)}}

    test = shop.folder / "toy/toy.hate.toml"
    harness.run(test, answer, name="python", output=shop.folder / "python.jsonl", higher=["price"])
    assert harness.read(shop.folder / "python.jsonl").header.direction("price") is True
    done = shop.call("run", "toy", "--lower", "price", "--higher", "price")
    assert done.status == 2
    assert "--lower and --higher: both name 'price'; leave one out" in done.err
