"""Curves from the counts of a swept parameter, and mean curves of repeated tests."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import auc as trapezoids

from tests.analysis.curves.transcripts import counts, scores, write_transcript
from tests.workshop import Workshop

RNG = np.random.default_rng(4)
POSITIVE = RNG.random(200) < 0.5
HIDDEN = RNG.normal(size=200) + 1.5 * POSITIVE
SIZES = (0.5, 1.0, 2.0)


def sweep_files(shop: Workshop) -> list[Path]:
    return [
        write_transcript(
            shop.folder / f"s{size}.jsonl", counts(size <= HIDDEN, POSITIVE), params={"size": size, "seed": 1}
        )
        for size in SIZES
    ]


def curves(shop: Workshop, *words: str | Path) -> Any:
    done = shop.call("roc", *words, "--format", "json")
    assert done.status == 0, done.err
    return done.json["curves"]


def test_each_setting_is_a_point(shop: Workshop) -> None:
    [found] = curves(shop, *sweep_files(shop), "--swept", "size")
    assert (found["param"], found["values"]) == ("size", ["2", "1", "0.5"])
    fpr = [float((size <= HIDDEN)[~POSITIVE].mean()) for size in SIZES[::-1]]
    tpr = [float((size <= HIDDEN)[POSITIVE].mean()) for size in SIZES[::-1]]
    assert found["points"]["fpr"] == pytest.approx(fpr)
    assert found["points"]["tpr"] == pytest.approx(tpr)
    assert found["points"]["threshold"] == [2.0, 1.0, 0.5]
    assert found["auc"] == pytest.approx(trapezoids([0, *fpr, 1], [0, *tpr, 1]))
    assert found["auc_interval"][0] < found["auc"] < found["auc_interval"][1]
    assert found["points"]["low"][0] < tpr[0] < found["points"]["high"][0]
    assert "closed by straight lines" in found["notes"][0]


def test_a_setting_that_another_beats_is_shown_but_not_in_the_area(shop: Workshop) -> None:
    paths = sweep_files(shop)
    before = curves(shop, *paths, "--swept", "size")[0]["auc"]
    worse = write_transcript(shop.folder / "bad.jsonl", counts(HIDDEN < 0, POSITIVE), params={"size": 9.0, "seed": 1})
    [found] = curves(shop, *paths, worse, "--swept", "size")
    assert len(found["points"]["tpr"]) == 4
    assert found["auc"] == before
    assert "no better in either rate" in found["notes"][1]


def test_a_curve_for_each_algorithm(shop: Workshop) -> None:
    other = [
        write_transcript(shop.folder / f"o{size}.jsonl", counts(size <= HIDDEN + 1, POSITIVE), algorithm="other",
                params={"size": size})
        for size in SIZES
    ]  # fmt: skip
    found = curves(shop, *sweep_files(shop), *other, "--swept", "size", "--at", "fpr=0.2")
    assert [curve["name"] for curve in found] == ["mine", "other"]
    assert found[0]["operating"][0]["fpr"] <= 0.2


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--swept", "sise"), "did you mean 'size'?"),
        (("--swept", "seed"), "only one value of 'seed'"),
        (("--swept", "size", "--repeated"), "exclude one another"),
        (("--swept", "size", "--at", "threshold=1"), "use fpr= or fnr="),
        (("--repeated",), "--swept PARAM"),
    ],
)
def test_what_cannot_be_joined(shop: Workshop, words: tuple[str, ...], text: str) -> None:
    done = shop.call("roc", *sweep_files(shop), *words)
    assert done.status == 2
    assert text in done.err


def repeat_files(shop: Workshop, times: int) -> list[Path]:
    paths = []
    for i in range(times):
        rng = np.random.default_rng(i)
        positive = rng.random(80) < 0.5
        values = np.round(rng.normal(size=80) + positive, 1)
        paths.append(write_transcript(shop.folder / f"r{i}.jsonl", scores(values, positive), digest=f"1:{i:064d}"))
    return paths


def test_the_mean_of_repeated_tests(shop: Workshop) -> None:
    paths = repeat_files(shop, 5)
    single = curves(shop, *paths)
    [found] = curves(shop, *paths, "--repeated")
    assert found["repetitions"] == 5
    areas = np.array([curve["auc"] for curve in single])
    half = 2.7764451051977987 * areas.std(ddof=1) / np.sqrt(5)  # t with 4 degrees of freedom, from a table
    assert found["auc"] == pytest.approx(areas.mean())
    assert found["auc_interval"] == pytest.approx([areas.mean() - half, areas.mean() + half])
    for threshold, fpr, tpr in zip(*(found["points"][name] for name in ("threshold", "fpr", "tpr")), strict=True):
        if threshold is not None:
            own = [_at(curve["points"], threshold) for curve in single]
            assert (fpr, tpr) == pytest.approx(tuple(np.mean(own, axis=0)))


def _at(points: Any, threshold: float) -> tuple[float, float]:
    """The laxest point whose threshold is at least this one."""
    rows = zip(points["threshold"], points["fpr"], points["tpr"], strict=True)
    return [(fpr, tpr) for own, fpr, tpr in rows if own is None or own >= threshold][-1]


def test_ellipses_need_three_tests(shop: Workshop) -> None:
    [few] = curves(shop, *repeat_files(shop, 2), "--repeated")
    assert {mean["ellipse"] for mean in few["means"]} == {None}
    assert "three or more tests" in few["notes"][1]
    [enough] = curves(shop, *repeat_files(shop, 4), "--repeated")
    ellipses = [mean["ellipse"] for mean in enough["means"]]
    assert any(one is not None and one["half_axes"][0] >= one["half_axes"][1] > 0 for one in ellipses)


def test_the_same_data_twice_has_a_note(shop: Workshop) -> None:
    paths = repeat_files(shop, 2)
    [found] = curves(shop, paths[0], paths[0], "--repeated")
    assert any("same data" in note for note in found["notes"])
    alone = shop.call("roc", paths[0], "--repeated")
    assert (alone.status, "two or more" in alone.err) == (2, True)


def test_settings_of_other_parameters_are_curves_of_their_own(shop: Workshop) -> None:
    paths = sweep_files(shop)
    more = [
        write_transcript(
            shop.folder / f"t{size}.jsonl", counts(size <= HIDDEN + 1, POSITIVE), params={"size": size, "seed": 2}
        )
        for size in SIZES
    ]
    found = curves(shop, *paths, *more, "--swept", "size")
    assert [curve["name"] for curve in found] == ["mine seed=1", "mine seed=2"]
    assert found[0]["points"] == curves(shop, *paths, "--swept", "size")[0]["points"]
    assert found[1]["points"] == curves(shop, *more, "--swept", "size")[0]["points"]


def test_a_stray_setting_is_refused_by_file_and_parameter(shop: Workshop) -> None:
    stray = write_transcript(shop.folder / "stray.jsonl", counts(HIDDEN > 0, POSITIVE), params={"size": 3.0, "seed": 2})
    done = shop.call("roc", *sweep_files(shop), stray, "--swept", "size")
    assert done.status == 2
    [line] = done.err.splitlines()
    assert "stray.jsonl: mine seed=2 has only one value of 'size'" in line


def test_long_values_that_begin_alike_are_not_joined(shop: Workshop) -> None:
    paths = [
        write_transcript(shop.folder / f"l{size}{prompt[-1]}.jsonl", counts(size <= HIDDEN, POSITIVE),
                params={"size": size, "prompt": prompt})
        for prompt in ("x" * 100 + "a", "x" * 100 + "b") for size in SIZES
    ]  # fmt: skip
    found = curves(shop, *paths, "--swept", "size")
    assert [len(curve["values"]) for curve in found] == [3, 3]
    assert len({curve["name"] for curve in found}) == 2
