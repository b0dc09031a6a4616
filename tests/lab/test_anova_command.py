"""`hate anova`: the columns of a run, several runs, and mistakes."""

from pathlib import Path

import pytest

from harness.lab.experiments import anova
from tests.analysis.score_runs import World
from tests.workshop import Workshop

WORLD = World(strata=6, size=8, seed=3)


def run(shop: Workshop, name: str = "a", lift: float = 1.5) -> Path:
    columns = [{"day": "mon" if i % 3 else "tue", "light": i % 7, "month": "may"} for i in range(WORLD.n)]
    return WORLD.write(shop.folder / f"{name}.jsonl", WORLD.scores(ord(name), lift), columns=columns)


def test_one_run_has_its_columns_and_their_interaction(shop: Workshop) -> None:
    path = run(shop)
    found = shop.call("anova", path, "--by", "day,positive,light:2", "--format", "json").json["anova"]
    assert [one["factors"] for one in found["terms"]] == [
        ["day"],
        ["positive"],
        ["light"],
        ["day", "positive"],
        ["day", "light"],
        ["positive", "light"],
    ]
    assert [one["df"] for one in found["terms"]] == [1] * 6
    assert (found["cases"], found["units"], found["strata"]) == (96, 12, 6)
    for one in found["terms"]:
        assert 0 <= one["p_value"] <= one["p_adjusted"] <= 1
        # One unit has no case of a Tuesday in some light.
        assert one["df_error"] == (5 if one["factors"] == ["day", "light"] else 6)
    same = anova(path, by="day,positive,light:2").to_dict()["anova"]
    assert same == found


def test_several_runs_are_a_factor(shop: Workshop) -> None:
    paths = [run(shop, "a", 2.5), run(shop, "b", 0.2)]
    found = shop.call("anova", *paths, "--by", "day", "--format", "json").json
    assert [one["name"] for one in found["transcripts"]] == ["a", "b"]
    terms = {tuple(one["factors"]): one for one in found["anova"]["terms"]}
    assert set(terms) == {("algorithm",), ("day",), ("algorithm", "day")}
    pair = shop.call("compare", *paths, "--format", "json").json["pairs"][0]["replication"]
    assert terms[("algorithm",)]["f"] == pytest.approx((pair["estimate"] / pair["se"]) ** 2, rel=1e-6)
    text = shop.call("anova", *paths, "--by", "day").out
    assert "algorithm matters: " in text
    assert "algorithm x day" in text


def test_columns_are_read_as_by_reads_them_elsewhere(shop: Workshop) -> None:
    """The commas of edges are their own; Python takes a list too."""
    path = run(shop)
    found = shop.call("anova", path, "--by", "light=0,2,4,day", "--format", "json").json["anova"]
    assert found["factors"] == [{"name": "light", "levels": 3}, {"name": "day", "levels": 2}]
    assert anova(path, by=["light=0,2,4", "day"]).to_dict()["anova"] == found


def test_a_test_is_run_first(shop: Workshop) -> None:
    shop.script(rows="id,input,expect,day\n" + "".join(f"c{n},{n * n % 4},{n % 4},d{n % 3}\n" for n in range(60)))
    shop.interface("def answer(case, params):\n    return case.input\n")
    done = shop.call("anova", "toy", "--by", "day", "-o", "mine.jsonl", "--format", "json")
    assert done.status == 0, done.err
    assert done.err.startswith("transcript: mine.jsonl\n")
    assert done.json == shop.call("anova", "mine.jsonl", "--by", "day", "--format", "json").json


def test_csv_has_a_row_for_each_term(shop: Workshop) -> None:
    lines = shop.call("anova", run(shop), "--by", "day,light", "--format", "csv").out.splitlines()
    assert lines[0] == "term,df,share,f,df_error,p,p_adjusted"
    assert [line.split(",")[:2] for line in lines[1:]] == [["day", "1"], ["light", "6"], ["day x light", "6"]]


@pytest.mark.parametrize(
    ("columns", "more", "message"),
    [
        ("day,colour", (), "--by colour: no such column in these transcripts"),
        ("day,day", (), "--by day,day: every column once"),
        ("u", (), "--by u: the values of the sampling unit were drawn"),
        ("day,", (), "--by day,: a column is empty; write COLUMN,COLUMN"),
        ("", (), "--by : a column is empty; write COLUMN,COLUMN"),
        ("month", (), "--by month: all cases have the same value, 'may'"),
        ("day", ("--by", "light"), "--by is given twice: day, light; leave one out, or put commas between them"),
        ("day", ("--statistic", "auc"), "No such option '--statistic'"),
    ],
)
def test_mistakes_are_a_line(shop: Workshop, columns: str, more: tuple[str, ...], message: str) -> None:
    done = shop.call("anova", run(shop), "--by", columns, *more)
    assert done.status == 2
    assert message in done.err
    assert done.err.count("\n") == 1
