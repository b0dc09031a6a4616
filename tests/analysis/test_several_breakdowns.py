"""`--by` given several times is each column by itself; columns with commas between them are crossed."""

import csv
import io
from typing import Any

import numpy as np
import pytest

import harness
from harness.errors import UsageError
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


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("style", ["table", "plain", "md", "tex"])
def test_every_format_for_people_has_all_columns(style: str, command: str, runs: Workshop) -> None:
    both = asked(runs, command, "day", "light", style=style)
    for column in ("day", "light"):
        for line in asked(runs, command, column, style=style).splitlines():
            assert line in both


@pytest.mark.parametrize("command", COMMANDS)
def test_csv_has_a_column_for_each(command: str, runs: Workshop) -> None:
    def rows(*columns: str) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(asked(runs, command, *columns, style="csv"))))

    first, second, both = rows("day"), rows("light"), rows("day", "light")

    def key(row: dict[str, str]) -> list[str]:
        return sorted(f"{name}={value}" for name, value in row.items())

    expected = [{**row, "light": ""} for row in first] + [{**row, "day": ""} for row in second]
    assert sorted(map(key, both)) == sorted(map(key, expected))


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
        with pytest.raises(UsageError, match="--by is given 2 times"):
            both.plot("x.svg")


def test_a_report_has_all_columns(runs: Workshop) -> None:
    done = runs.call("report", "a.jsonl", "b.jsonl", "--by", "day", "--by", "day,light", "-o", "page.md")
    assert done.status == 0, done.err
    page = (runs.folder / "page.md").read_text()
    assert "mon x dim" in page
    assert "| mon |" in page
