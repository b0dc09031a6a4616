"""What results show: in a console, in a notebook, and as data frames."""

from pathlib import Path

import pytest

import harness
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


def test_a_frame_of_tuning_has_every_setting_the_best_first(shop: Workshop) -> None:
    tuned = harness.tune("hdigits", "wisard", params={"threshold": [20, 0]}, folds=2, limit=40)
    frame = tuned.to_frame()
    assert sorted(frame["threshold"]) == [0.0, 20.0]
    assert frame["threshold"][0] == tuned.params["threshold"]
    assert frame["value"].is_monotonic_decreasing


def test_a_console_shows_a_line_and_a_notebook_shows_the_remarks(test_path: Path) -> None:
    result = harness.run(test_path, always("a"), name="right")
    assert repr(result) == "<RunResult: print() shows it; .to_dict() and .to_frame() have the numbers>"
    assert "transcript: " in result._repr_html_()
