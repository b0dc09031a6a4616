"""`--by`: several columns, each by itself or crossed; the difference of gaps; where the order of two runs turns."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harness
from harness.analysis.breakdown import Breakdown, Group, LeadSpan, lead_spans
from harness.errors import UsageError
from harness.measures import MEASURES
from harness.stats.estimate import Estimate
from harness.stats.rates import Interval
from tests.analysis.transcripts import transcript
from tests.workshop import Workshop

Json = dict[str, Any]
CASES = 240
# How each command that has --by is called.
COMMANDS = {
    "rate": ["rate", "a.jsonl"],
    "rate of two": ["rate", "a.jsonl", "b.jsonl", "--statistic", "rate,tpr"],
    "compare": ["compare", "a.jsonl", "b.jsonl"],
    "compare by another measure": ["compare", "a.jsonl", "b.jsonl", "--statistic", "tpr"],
    "compare unpaired": ["compare", "a.jsonl", "b.jsonl", "--unpaired"],
}
COLUMNS = ["day", "noise=10,20", "light"]


@pytest.fixture
def runs(shop: Workshop) -> Workshop:
    """Two runs whose cases have a day, a light, a noise, and a column that says day and light in one."""
    rng = np.random.default_rng(7)
    days, lights = rng.choice(["mon", "tue", "wed"], CASES), rng.choice(["dim", "bright"], CASES)
    columns = [
        {"day": str(day), "light": str(light), "noise": float(noise), "both": f"{day} x {light}"}
        for day, light, noise in zip(days, lights, rng.uniform(0, 30, CASES).round(2), strict=True)
    ]
    for name, rate in (("a", 0.8), ("b", 0.6)):
        transcript(shop.folder / f"{name}.jsonl", rng.random(CASES) < rate, columns=columns,
                   psu=[f"u{i // 2}" for i in range(CASES)])  # fmt: skip
    return shop


def asked(shop: Workshop, command: str, *columns: str, style: str = "json") -> Any:
    words = [word for column in columns for word in ("--by", column)]
    done = shop.call(*COMMANDS[command], *words, "--format", style)
    assert done.status == 0, done.err
    return done.json if style == "json" else done.out


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", COMMANDS)
def test_each_column_is_what_it_is_by_itself(command: str, runs: Workshop) -> None:
    """Design: given twice, `by` is the first and `breakdowns` has all."""
    alone = [asked(runs, command, column) for column in COLUMNS]
    assert all("breakdowns" not in one for one in alone)
    found = asked(runs, command, *COLUMNS)
    assert found["by"] == alone[0]["by"]
    assert [one["column"] for one in found["breakdowns"]] == ["day", "noise", "light"]
    for one, by in zip(found["breakdowns"], alone, strict=True):
        assert one.pop("by_statistic", None) == by.get("by_statistic")
        assert one == by["by"]
    # What is said of the whole does not depend on it.
    for name in ("transcripts", "pairs"):
        assert found.get(name) == alone[0].get(name)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("style", ["table", "plain", "md", "tex"])
def test_every_format_for_people_has_all_columns(style: str, command: str, runs: Workshop) -> None:
    both = asked(runs, command, "day", "light", style=style)
    for column in ("day", "light"):
        for line in asked(runs, command, column, style=style).splitlines():
            assert line in both


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", COMMANDS)
def test_csv_has_a_column_for_each(command: str, runs: Workshop) -> None:
    def rows(*columns: str) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(asked(runs, command, *columns, style="csv"))))

    first, second, both = rows("day"), rows("light"), rows("day", "light")

    def key(row: dict[str, str]) -> list[str]:
        return sorted(f"{name}={value}" for name, value in row.items())

    expected = [{**row, "light": ""} for row in first] + [{**row, "day": ""} for row in second]
    assert sorted(map(key, both)) == sorted(map(key, expected))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("command", COMMANDS)
def test_crossed_columns_are_one_column_with_both_values(command: str, runs: Workshop) -> None:
    """Design: a crossed group's `label` is `3 x true`, and its `values` name the columns."""
    crossed, twin = asked(runs, command, "day,light")["by"], asked(runs, command, "both")["by"]
    assert crossed["column"] == "day x light"
    for group in crossed["groups"]:
        day, light = group["label"].split(" x ")
        assert group.pop("values") == {"day": day, "light": light}
    assert {**crossed, "column": "both"} == twin
    rows = list(csv.DictReader(io.StringIO(asked(runs, command, "day,light", style="csv"))))
    assert {(row["day"], row["light"]) for row in rows} == {
        (day, light) for day in ("mon", "tue", "wed") for light in ("dim", "bright")
    }


def test_bins_can_be_crossed_and_their_commas_are_their_own(runs: Workshop) -> None:
    found = asked(runs, "rate", "noise=10,20,light", "light,noise:2", "noise=10")["breakdowns"]
    assert [one["column"] for one in found] == ["noise x light", "light x noise", "noise"]
    assert found[0]["groups"][0]["label"] == "below 10 x bright"
    assert [len(one["groups"]) for one in found] == [6, 4, 2]


def test_a_column_whose_name_has_a_comma_is_that_column(shop: Workshop) -> None:
    columns = [{"a,b": "xy"[i % 2], "a": "1", "b": "2"} for i in range(20)]
    transcript(shop.folder / "a.jsonl", [i % 3 > 0 for i in range(20)], columns=columns)
    assert asked(shop, "rate", "a,b")["by"]["column"] == "a,b"


@pytest.mark.parametrize(("by", "message"), [
    ("day,day", "'day' is there twice"),
    ("day,", "a column is empty"),
    ("day,dya", "--by dya: no such column in these transcripts; did you mean 'day'?"),
    ("noise:40,both", "too many to show; cross fewer columns"),
])  # fmt: skip
def test_what_cannot_be_crossed(by: str, message: str, runs: Workshop) -> None:
    done = runs.call("rate", "a.jsonl", "--by", by)
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert message in done.err


def test_the_same_column_twice_is_one(runs: Workshop) -> None:
    assert asked(runs, "compare", "day", "day") == asked(runs, "compare", "day")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("command", ["rate", "compare", "compare unpaired"])
def test_a_picture_of_one_column_leaves_none_out_in_silence(command: str, runs: Workshop) -> None:
    done = runs.call(*COMMANDS[command], "--by", "day", "--by", "light", "--plot", "x.svg")
    assert (done.status, done.out) == (2, "")
    assert done.err == "hate: --plot draws one column, and --by is given 2 times; draw them one by one\n"
    assert runs.call(*COMMANDS[command], "--by", "day,light", "--plot", "x.svg").status == 0


def test_python_takes_one_column_or_several(runs: Workshop) -> None:
    for call, names in ((harness.rate, ["a.jsonl"]), (harness.compare, ["a.jsonl", "b.jsonl"])):
        command = "rate" if call is harness.rate else "compare"
        both = call(names, by=["day", "light"])
        assert both.to_dict() == asked(runs, command, "day", "light")
        assert call(names, by="day").to_dict() == asked(runs, command, "day")
        assert "by" not in call(names, by=None).to_dict()
        assert set(both.to_frame()["light"].dropna()) == {"dim", "bright"}
        with pytest.raises(UsageError, match=r"^\.plot\(\) draws one column, and by is given 2 times"):
            both.plot("x.svg")


def test_a_report_has_all_columns(runs: Workshop) -> None:
    done = runs.call("report", "a.jsonl", "b.jsonl", "--by", "day", "--by", "day,light", "-o", "page.md")
    assert done.status == 0, done.err
    page = (runs.folder / "page.md").read_text()
    assert "mon x dim" in page
    assert "| mon |" in page


def _runs_with_gaps(shop: Workshop, gaps: tuple[float, float] = (0.3, 0.0), n: int = 600) -> None:
    """Two runs on three days, two cases to a unit; the last day is worse by a run's gap."""
    rng = np.random.default_rng(1)
    day = np.repeat(np.arange(n // 2) % 3, 2)
    ease = np.repeat(rng.random(n // 2), 2)
    for name, gap in zip("ab", gaps, strict=True):
        right = 0.5 * ease + 0.5 * rng.random(n) < 0.7 - gap * (day == 2)
        transcript(
            shop.folder / f"{name}.jsonl", right, columns=[{"day": str(d)} for d in day],
            psu=[f"u{i // 2}" for i in range(n)], design={"psu": "subject"},
        )  # fmt: skip


def test_the_difference_of_gaps_is_that_of_the_groups(shop: Workshop) -> None:
    _runs_with_gaps(shop)
    found = shop.call("compare", "a.jsonl", "b.jsonl", "--by", "day", "--format", "json").json["by"]
    [one] = found["gap_differences"]
    values = np.array([[run["estimate"] for run in group["runs"]] for group in found["groups"]])
    assert (one["a"], one["b"], one["groups"]) == ("a", "b", 3)
    assert (one["gap_a"], one["gap_b"]) == pytest.approx(tuple(np.ptp(values, axis=0)))
    assert one["gap_a"] == pytest.approx(found["gaps"][0]["estimate"])
    assert one["estimate"] == pytest.approx(one["gap_a"] - one["gap_b"])
    low, high = one["interval"]
    assert 0 < low < one["estimate"] < high
    assert one["p_value"] == one["p_adjusted"] < 0.05
    text = " ".join(shop.call("compare", "a.jsonl", "b.jsonl", "--by", "day").out.split())
    assert f"The gap of a is {100 * one['gap_a']:.1f} points, that of b {100 * one['gap_b']:.1f} points" in text
    assert "whichever groups are best and worst" in text


def test_equal_gaps_are_not_told_apart(shop: Workshop) -> None:
    _runs_with_gaps(shop, (0.2, 0.2))
    [one] = shop.call("compare", "a.jsonl", "b.jsonl", "--by", "day", "--format", "json").json["by"]["gap_differences"]
    assert one["interval"][0] < 0 < one["interval"][1]
    assert one["p_value"] > 0.05


def test_a_single_run_has_no_difference_of_gaps(shop: Workshop) -> None:
    _runs_with_gaps(shop)
    assert shop.call("rate", "a.jsonl", "--by", "day", "--format", "json").json["by"]["gap_differences"] == []


def test_a_group_without_errors_counts_as_uncertain(shop: Workshop) -> None:
    """Both runs are always right on the first day: the interval still has a width from there."""
    rng = np.random.default_rng(2)
    day = np.arange(60) % 2
    for name in "ab":
        right = (day == 0) | (rng.random(60) < 0.5)
        transcript(shop.folder / f"{name}.jsonl", right, columns=[{"day": str(d)} for d in day])
    [one] = shop.call("compare", "a.jsonl", "b.jsonl", "--by", "day", "--format", "json").json["by"]["gap_differences"]
    assert one["interval"][1] - one["interval"][0] > 2 * 1.96 * one["se"] > 0


def test_many_groups_have_no_difference_of_gaps(shop: Workshop) -> None:
    rng = np.random.default_rng(3)
    days = [{"day": str(i % 31)} for i in range(310)]
    for name in "ab":
        transcript(shop.folder / f"{name}.jsonl", rng.random(310) < 0.7, columns=days)
    [one] = shop.call("compare", "a.jsonl", "b.jsonl", "--by", "day", "--format", "json").json["by"]["gap_differences"]
    assert (one["a"], one["b"], one["estimate"], one["interval"]) == ("a", "b", None, None)


NOISE = (0, 10, 15, 20, 40)
# Right at low noise, or at high noise; at 15 each is right about half of the originals. Every fifth case is wrong.
ALGORITHM = """\
def answer(case, params):
    noise, number = int(case.columns["noise"]), int(case.columns["original"])
    right = number % 2 == {odd} if noise == 15 else (noise {sign} 15) != (number % 5 == 0)
    return case.columns["original"] if right else "wrong"
"""


@pytest.fixture
def early_and_late(shop: Workshop) -> Workshop:
    rows = [f"{n}@{noise},x{n},{n},{noise},{n}" for n in range(30) for noise in NOISE]
    text = "\n".join(["id,input,expect,noise,original", *rows, ""])
    shop.script(sections='[design]\npsu = "original"\n', rows=text)
    for name, sign, odd in (("early", "<", 0), ("late", ">", 1)):
        shop.interface(f"NAME = '{name}'\n" + ALGORITHM.format(sign=sign, odd=odd))
        assert shop.call("run", "toy").status == 0
    return shop


def test_compare_says_where_the_order_turns(early_and_late: Workshop) -> None:
    text = early_and_late.call("compare", "early", "late", "--by", "noise").out
    expected = "The order turns: early leads up to noise 10, late from 20 on; at 15 neither was shown to lead."
    assert expected in " ".join(text.split())
    text = early_and_late.call("compare", "late", "early", "--by", "noise").out
    assert expected in " ".join(text.split())
    found = early_and_late.call("compare", "early", "late", "--by", "noise", "--format", "json").json["by"]["leads"]
    spans = [{"leader": "early", "first": "0", "last": "10"}, {"leader": "late", "first": "20", "last": "40"}]
    assert found == [{"a": "early", "b": "late", "spans": spans}]
    for line in ("early", "late"):
        assert early_and_late.call("rate", line, "--by", "noise").out.count("order turns") == 0


def test_an_order_that_does_not_turn_is_not_mentioned(early_and_late: Workshop) -> None:
    done = early_and_late.call("compare", "early", "early", "--by", "noise")
    assert "order turns" not in done.out
    # Names are not numbers, whatever they look like.
    assert "order turns" not in early_and_late.call("compare", "early", "late", "--by", "original").out


def test_a_curve_over_a_number(early_and_late: Workshop) -> None:
    """The line of each run is drawn at the values of the column, not at equal steps."""
    done = early_and_late.call("rate", "early", "late", "--by", "noise", "--plot", "curve.svg")
    assert done.status == 0, done.err
    drawn = (early_and_late.folder / "curve.svg").read_text(encoding="utf-8")
    assert "<!-- noise -->" in drawn
    ticks = [tick for tick in ("0", "10", "15", "20", "40") if f"<!-- {tick} -->" in drawn]
    assert ticks == ["0", "10", "15", "20", "40"]
    assert early_and_late.call("compare", "early", "late", "--by", "noise", "--plot", "both.svg").status == 0
    assert Path("both.svg").stat().st_size > 10_000


def estimate(value: float, p: float | None = None) -> Estimate:
    low, high = (value - 0.01, value + 0.01) if p is not None and p < 0.05 else (value - 1, value + 1)
    return Estimate(value=value, se=0.1, df=10, interval=Interval(low, high), p_value=p, p_adjusted=p)


def breakdown(differences: list[tuple[float, float]], column: str = "noise") -> Breakdown:
    groups = [
        Group(str(10 * n), 5, [estimate(0.5 + d), estimate(0.5)], [estimate(d, p)])
        for n, (d, p) in enumerate(differences)
    ]
    return Breakdown(column, groups, [None, None], [None])


def test_spans_skip_what_was_not_shown() -> None:
    by = breakdown([(0.2, 0.001), (0.1, 0.2), (0.2, 0.01), (-0.1, 0.3), (-0.2, 0.001), (0.3, 0.001)])
    assert lead_spans(by, 0, (0, 1), MEASURES["rate"], 0.05) == [
        LeadSpan(0, "0", "20"),
        LeadSpan(1, "40", "40"),
        LeadSpan(0, "50", "50"),
    ]
    # Seconds: less is better.
    assert [one.leader for one in lead_spans(by, 0, (0, 1), MEASURES["seconds"], 0.05)] == [1, 0, 1]


def test_positions_are_those_of_numbers_only() -> None:
    assert breakdown([(0.1, 0.5)] * 3).positions == [0.0, 10.0, 20.0]
    assert breakdown([(0.1, 0.5)] * 3, column="truth").positions is None
    odd = Breakdown("noise", [Group(text, 1, [], []) for text in ("1", "2", "none")], [], [])
    assert odd.positions is None
