"""CSV of every command: one table, one header, numbers as numbers, an interval as `low` and `high`."""

import csv
import io
import re

import pytest

from tests.workshop import Workshop

WISARD, WITCH, WARLOCK = ("hdigits/wisard", "hdigits/witch", "hdigits/warlock")
INTERVAL = re.compile(r"-?\d[\d.]* to -?\d")


def rows(text: str) -> list[dict[str, str]]:
    """The rows of a table, which is checked to be one."""
    lines = list(csv.reader(io.StringIO(text)))
    header = lines[0]
    assert len(set(header)) == len(header), header
    assert all(len(line) == len(header) for line in lines), [line for line in lines if len(line) != len(header)]
    assert not [cell for line in lines for cell in line if INTERVAL.search(cell)], "an interval as text"
    return [dict(zip(header, line, strict=True)) for line in lines[1:]]


def limits(table: list[dict[str, str]]) -> None:
    assert table
    for row in table:
        assert float(row["low"]) <= float(row["high"])


COMMANDS = {
    "run": ("run", "hdigits", "--interface", "witch", "--limit", "40", "-o", "part.jsonl"),
    "sweep": ("sweep", "hdigits", "--interface", "witch", "--limit", "40", "--param", "threshold=0,100"),
    "rate": ("rate", WISARD, WITCH),
    "rate --by": ("rate", WISARD, WITCH, "--by", "truth", "--statistic", "rate,tpr"),
    "compare": ("compare", WISARD, WARLOCK, WITCH),
    "compare --baseline": ("compare", WISARD, WARLOCK, WITCH, "--baseline", "witch"),
    "compare --statistic": ("compare", WISARD, WITCH, "--statistic", "tpr"),
    "compare --by": ("compare", WISARD, WITCH, "--by", "truth"),
    "compare --unpaired": ("compare", WISARD, WITCH, "--unpaired"),
    "compare --table": ("compare", "--table", "58", "31", "9", "902"),
    "compare --sequential": ("compare", WISARD, WITCH, "--sequential"),
    "roc": ("roc", WISARD, WITCH, "--points", "9"),
    "pr": ("pr", WISARD, "--points", "9"),
    "froc": ("froc", "shapes/blobs", "--points", "9"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_table_with_limits(shop: Workshop, name: str) -> None:
    limits(rows(shop.call(*COMMANDS[name], "--format", "csv").out))


OTHERS = {
    "confusion": ("confusion", WISARD, WITCH),
    "power": ("power", "--difference", "0.05", "--discordance", "0.2"),
    "power of a pilot": ("power", WISARD, WITCH),
    "rule of 30": ("power", "--rule-of-30", "0.01"),
    "list": ("list",),
    "list --transcripts": ("list", "--transcripts"),
    "list --interfaces": ("list", "--interfaces"),
    "show": ("show", WISARD, "--limit", "5"),
    "diff": ("diff", WISARD, WITCH),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_table_without_limits(shop: Workshop, name: str) -> None:
    assert rows(shop.call(*OTHERS[name], "--format", "csv").out)


def test_a_pair_is_a_row_with_the_numbers_of_the_json(shop: Workshop) -> None:
    table = rows(shop.call("compare", WISARD, WARLOCK, WITCH, "--format", "csv").out)
    pairs = shop.call("compare", WISARD, WARLOCK, WITCH, "--format", "json").json["pairs"]
    assert [(row["a"], row["b"]) for row in table] == [(pair["a"], pair["b"]) for pair in pairs]
    for row, pair in zip(table, pairs, strict=True):
        by_design = pair["replication"]
        assert [float(row["low"]), float(row["high"])] == by_design["interval"]
        assert float(row["p_value"]) == by_design["p_value"]
        assert float(row["p_flip"]) == by_design["p_sign_flip"]
        for name in ("n_sf", "n_fs", "p_exact", "p_mid", "p_one_sided"):
            assert float(row[name]) == pair[name]


def test_groups_of_a_comparison_are_rows_of_every_pair(shop: Workshop) -> None:
    table = rows(shop.call("compare", WISARD, WARLOCK, WITCH, "--by", "truth", "--format", "csv").out)
    assert len(table) == 3 * 10
    assert {row["truth"] for row in table} == set("0123456789")


def test_a_column_that_is_called_like_one_of_ours_is_told_apart(shop: Workshop) -> None:
    for name, answer in (("one", "yes"), ("two", "no")):
        lines = ["id,y_true,y_pred,cases", *(f"{i},yes,{answer if i % 3 else 'yes'},{i % 2}" for i in range(40))]
        shop.write(f"{name}.csv", "\n".join(lines))
        shop.call("import", f"{name}.csv", "--test", "toy", "--algorithm", name, "-o", f"{name}.jsonl")
    table = rows(shop.call("compare", "one.jsonl", "two.jsonl", "--by", "cases", "--format", "csv").out)
    assert [row["cases"] for row in table] == ["0", "1"]
    assert [row["cases_2"] for row in table] == ["20", "20"]


def test_imports_are_rows_with_limits(shop: Workshop) -> None:
    shop.write("table.csv", "id,y_true,y_pred\n" + "".join(f"{i},1,{i % 3 and 1}\n" for i in range(30)))
    done = shop.call("import", "table.csv", "--test", "toy", "--algorithm", "x", "--format", "csv")
    limits(rows(done.out))


def test_matrices_are_one_table_too(shop: Workshop) -> None:
    shop.call("new", "matrix", "one.npy", "--subjects", "20", "--images", "3", "--effect", "day=0.5")
    limits(rows(shop.call("cmc", "one.npy", "--gallery", "day=1", "--probe", "day=2", "--format", "csv").out))
