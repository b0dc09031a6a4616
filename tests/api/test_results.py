"""What results show: in a console, in a notebook, and as data frames."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harness
from harness.report.blocks import Heading, Paragraphs, Table
from harness.report.brief import brief_text
from tests.workshop import Workshop

pytest.importorskip("pandas", reason="data frames are made by pandas")

LETTERS = "id,input,expect,positive\n" + "".join(f"c{n},{'ab'[n % 2]},a,true\n" for n in range(8))


@pytest.fixture
def test_path(shop: Workshop) -> Path:
    shop.script(rows=LETTERS)
    return shop.folder / "toy"


def always(label: str) -> object:
    def answer(case: object, params: object) -> tuple[str, float]:
        return label, 1.0

    return answer


def test_frames_have_numbers_and_limits_in_columns_of_their_own(test_path: Path) -> None:
    right = harness.run(test_path, always("a"), name="right")
    echo = harness.run(test_path, lambda case, params: (case.input, 1.0), name="echo")
    [row] = echo.to_frame().to_dict("records")
    assert {key: row[key] for key in ("tests", "TP", "FN", "rate")} == {"tests": 8, "TP": 4, "FN": 4, "rate": 0.5}
    assert [row["low"], row["high"]] == echo.to_dict()["rows"][0]["interval"]
    swept = harness.sweep(test_path, lambda case, params: (case.input, 1.0), params={"threshold": [0, 2]}).to_frame()
    assert swept[["threshold", "TP", "rate"]].to_numpy().tolist() == [[0.0, 4, 0.5], [2.0, 0, 0.0]]
    compared = harness.compare([right, echo])
    [pair] = compared.to_frame().to_dict("records")
    [as_json] = compared.to_dict()["pairs"]
    assert all(pair[key] == as_json[key] for key in ("a", "b", "n_ff", "n_sf", "n_fs", "n_ss", "difference"))
    assert ([pair["low"], pair["high"]], pair["p_value"]) == (as_json["interval"], as_json["p_exact"])


def test_a_frame_of_pairs_has_the_difference_by_design() -> None:
    compared = harness.compare(["wisard", "witch", "warlock"])
    for row, pair in zip(compared.to_frame().to_dict("records"), compared.to_dict()["pairs"], strict=True):
        by_design = pair["replication"]
        assert (row["difference"], row["se"], row["p_adjusted"]) == (
            by_design["estimate"], by_design["se"], by_design["p_adjusted"],
        )  # fmt: skip
        assert ([row["low"], row["high"]], row["method"]) == (by_design["interval"], "brr")


@pytest.mark.slow
def test_a_frame_of_tuning_has_every_setting_the_best_first(shop: Workshop) -> None:
    tuned = harness.tune("hdigits", "wisard", params={"threshold": [20, 0]}, folds=2, limit=40)
    frame = tuned.to_frame()
    assert sorted(frame["threshold"]) == [0.0, 20.0]
    assert frame["threshold"][0] == tuned.params["threshold"]
    assert frame["value"].is_monotonic_decreasing


def test_a_console_shows_the_numbers_and_a_notebook_shows_the_remarks(test_path: Path) -> None:
    result = harness.run(test_path, always("a"), name="right")
    assert repr(result).splitlines() == [
        "<RunResult>",
        " tests  TP  TN  FP  FN  ER    rate  95 % interval",
        "     8   8   0   0   0   0  1.0000  0.6756 to 1.0000",
        " more: print(), .to_dict(), .to_frame()",
    ]
    assert "transcript: " in result._repr_html_()


# Of every kind of result: its title, and numbers that are also in its JSON.
BRIEF: dict[str, tuple[Callable[[], Any], str, Sequence[str]]] = {
    "rate": (lambda: harness.rate("wisard"), "<RateResult> hdigits 1.0.0: wisard", ["0.9114", "0.8899 to 0.9291"]),
    "compare": (
        lambda: harness.compare(["wisard", "witch"]),
        "<CompareResult> hdigits 1.0.0: 2 transcripts, 1,434 cases",
        ["0.9114", "0.9149", "wisard and witch cannot be told apart"],
    ),
    "sequential": (
        lambda: harness.compare_sequentially(["wisard", "witch"]),
        "<SequentialResult> hdigits 1.0.0: intervals that hold at every moment",
        ["-0.0035"],
    ),
    "confusion": (lambda: harness.confusion("wisard"), "<ConfusionResult>", ["recall", "... and "]),
    "curves": (lambda: harness.roc("wisard"), "<CurveResult>", ["0.9365", "0.9212 to 0.9489"]),
    "transcript": (
        lambda: harness.read("wisard"),
        "<Transcript>",
        ["1,434 cases, TP 647, TN 660, FP 57", "... and 1,429 more rows"],
    ),
    "cases": (lambda: harness.read("wisard").cases(outcome="FP"), "<CasesResult>", ["0013b", "... and 52 more rows"]),
    "diff": (lambda: harness.diff("wisard", "witch"), "<DifferencesResult>", ["more rows"]),
    "sweep": (
        lambda: harness.sweep("hdigits", "witch", params={"threshold": [0, 50]}, limit=20), "<SweepResult>", ["50"],
    ),
    "tune": (
        lambda: harness.tune("hdigits", "witch", params={"threshold": [0, 50]}, folds=2, limit=40),
        "<TuneResult>",
        ["Best of 2: "],
    ),
    "power": (lambda: harness.power(difference=0.05, discordance=0.2), "<PowerResult>", ["658"]),
    "cases of a test": (
        lambda: harness.cases("hdigits"), "<CaseListResult>", ["0001a", "... and 1,429 more rows"],
    ),
    "training cases": (
        lambda: harness.cases("hdigits", part="train", limit=30), "<CaseListResult>", ["... and 25 more rows"],
    ),
    "tests": (lambda: harness.list_tests(), "<", ["hdigits"]),
}  # fmt: skip


# Those that `plot` draws; of the others it needs groups.
DRAWN = ("confusion", "curves", "sweep", "tune", "power")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", BRIEF)
def test_a_console_shows_numbers_of_every_result_in_a_few_lines(kind: str, shop: Workshop) -> None:
    make, title, numbers = BRIEF[kind]
    result = make()
    shown = repr(result)
    lines = shown.splitlines()
    assert lines[0].startswith(title)
    assert all(number in shown for number in numbers), shown
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 100
    further = " more: print(), .to_dict(), .to_frame()"
    assert lines[-1] == further + (", .plot()" if kind in DRAWN else "")


def test_a_format_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(harness.HateError, match=r"style='xlsx': not one of table, plain, json, csv"):
        harness.rate("wisard").render("xlsx")


def test_a_notebook_shows_how_many_cases_there_are() -> None:
    assert "the first 20 of 1,434 cases" in harness.cases("hdigits")._repr_html_()
    assert "the first" not in harness.cases("hdigits", limit=20)._repr_html_()


def test_a_console_shows_what_a_report_says(shop: Workshop) -> None:
    assert repr(harness.make_report("wisard")).splitlines() == [
        "<Report> wisard on hdigits 1.0.0",
        " rate of success 0.9114, tests 1,434, TP 647, TN 660, FP 57, FN 70, ER 0",
        " more: .write(path), .html(), .markdown()",
    ]


def test_a_wide_table_shows_both_ends_and_a_hostile_name_is_harmless() -> None:
    columns = [f"column {number}" for number in range(30)]
    table = Table(columns, [[f"a\x1b[31m{'b' * 80}", *range(29)]])
    lines = brief_text("Odd", [Heading("line\nbreak"), table, Paragraphs(["long " * 40])], "print()").splitlines()
    assert lines[0] == "<Odd> line\\x0abreak"
    assert lines[1].split("  ")[0].strip() == "column 0"
    assert " ...  " in lines[1]
    assert lines[1].endswith("column 29")
    assert "\\x1b[31mbbb" in lines[2]
    assert lines[3].endswith("...")
    assert len(lines) == 5
    assert max(map(len, lines)) <= 100


def test_texts_of_a_transcript_are_arrays_and_the_truth_of_every_record_is_known() -> None:
    wisard = harness.read("hdigits/wisard")
    columns, records = wisard.columns, wisard.records
    assert repr(columns).startswith("<1,434 records: ids, outcome, score, seconds, ")
    assert repr(columns).endswith(", psu, image>")
    assert repr(columns.actual) == "<1,434 texts, 10 different>"
    assert columns.actual[0] == records[0].actual == "4"
    assert columns.actual[:3].tolist() == [record.actual for record in records[:3]]
    assert list(columns.real_class) == [record.real_class for record in records]
    assert np.count_nonzero(np.asarray(columns.real_class) == "4") == sum(
        case.real_class == "4" for case in harness.load_test("hdigits")
    )
    assert columns.error[[0, -1]].tolist() == [None, None]


def test_the_rate_is_shown_once_where_thresholds_were_set() -> None:
    found = harness.compare(["wisard", "witch"], at="fpr=0.01")
    for block in found.blocks():
        if isinstance(block, Table):
            assert len(set(block.columns)) == len(block.columns)
