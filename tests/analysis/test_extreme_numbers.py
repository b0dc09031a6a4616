"""Numbers at the limits of floating point: a result or an error, never a warning, a traceback or false certainty."""

from pathlib import Path

import pytest

from tests.analysis.transcripts import transcript
from tests.workshop import Workshop


def weighted_run(folder: Path, name: str, weight: str) -> Path:
    return transcript(folder / name, [True, False, True], columns=[{"w": weight}] * 3)


@pytest.mark.parametrize("weight", ["1e200", "1e308", "1e-200"])
def test_only_the_proportions_of_weights_count(shop: Workshop, weight: str) -> None:
    plain, huge = (weighted_run(shop.folder, name, w) for name, w in (("a.jsonl", "1"), ("b.jsonl", weight)))
    one, other = (shop.call("rate", str(path), "--weights", "w", "--format", "json") for path in (plain, huge))
    assert (one.err, other.err) == ("", "")
    for key in ("estimate", "se"):
        figures = [done.json["transcripts"][0]["replication"][key] for done in (one, other)]
        assert figures[0] == pytest.approx(figures[1], rel=1e-9)


def test_a_variance_that_overflows_is_not_certainty(shop: Workshop) -> None:
    values = [{"v": number} for number in (1e200, 1.0, 2.0)]
    path = transcript(shop.folder / "v.jsonl", [True] * 3, values=values)
    done = shop.call("rate", str(path), "--statistic", "v", "--format", "json")
    assert done.err == ""
    found = done.json["transcripts"][0]["replication"]
    assert found["estimate"] == pytest.approx(1e200 / 3)
    assert found["se"] is None
    assert found["interval"] == [None, None]


@pytest.mark.parametrize("option", ["--confidence", "--margin", "--fay"])
def test_nan_is_not_within_any_range(shop: Workshop, option: str) -> None:
    path = weighted_run(shop.folder, "a.jsonl", "1")
    done = shop.call("compare", str(path), str(path), option, "nan")
    assert done.status == 2
    assert f"Invalid value for '{option}': 'nan' is not a number." in done.err
    assert len(done.err.splitlines()) == 1


def test_more_runs_than_units_have_no_joint_test(shop: Workshop) -> None:
    units = [{"u": "u0"}, {"u": "u0"}, {"u": "u1"}]
    right = {"a": [1, 1, 1], "b": [1, 0, 1], "c": [0, 0, 1], "d": [1, 1, 0]}
    paths = [transcript(shop.folder / f"{k}.jsonl", [bool(x) for x in right[k]], columns=units) for k in right]
    done = shop.call("compare", *map(str, paths), "--psu", "u")
    assert "F = " not in done.out
    found = shop.call("compare", *map(str, paths), "--psu", "u", "--format", "json").json["wald"]
    assert found["df_error"] == 0
