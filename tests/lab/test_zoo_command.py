"""`hate zoo`: people by their scores, against means computed one by one."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from harness.lab.experiments import zoo
from tests.analysis.transcripts import transcript
from tests.workshop import Workshop


def _scores(path: Path, *, goat: float = 0.0, people: int = 16, distance: bool = False) -> list[tuple[str, str, float]]:
    """All pairs of people, three images each; the first four are worms if `goat` is above 0."""
    rng = np.random.default_rng(3)
    rows = []
    for claimed in range(people):
        for other in range(people):
            for _ in range(3):
                bad = goat * ((claimed < 4) + (other < 4)) / 2
                score = rng.normal() + (3 - bad if claimed == other else bad)
                rows.append((f"p{claimed:02d}", f"p{other:02d}", round(float(score), 6)))
    positive = [a == b for a, b, _ in rows]
    sign = -1 if distance else 1
    transcript(
        path, [(score >= 1.5) == sign_ for (_, _, score), sign_ in zip(rows, positive, strict=True)], positive=positive,
        score=[sign * score for _, _, score in rows], columns=[{"claimed": a, "real": b} for a, b, _ in rows],
        test={"task": "score", "larger_is_better": not distance}, params={"threshold": sign * 1.5},
    )  # fmt: skip
    return rows


@pytest.mark.parametrize("distance", [False, True])
def test_means_and_kinds_are_those_of_loops(shop: Workshop, distance: bool) -> None:
    rows = _scores(shop.folder / "a.jsonl", goat=1.0, distance=distance)
    found = shop.call("zoo", "a.jsonl", "--subjects", "claimed,real", "--format", "json").json["transcripts"][0]
    genuine: dict[str, list[float]] = defaultdict(list)
    impostor: dict[str, list[float]] = defaultdict(list)
    claimed: dict[str, list[float]] = defaultdict(list)
    other: dict[str, list[float]] = defaultdict(list)
    for a, b, score in rows:
        if a == b:
            genuine[a].append(score)
        else:
            for name, where in ((a, impostor), (b, impostor), (a, claimed), (b, other)):
                where[name].append(score)
    assert found["people"] == 16
    for one in found["subjects"]:
        name = one["name"]
        assert (one["genuine"], one["impostor"]) == (3, 90)
        assert one["genuine_mean"] == pytest.approx(np.mean(genuine[name]))
        assert one["impostor_mean"] == pytest.approx(np.mean(impostor[name]))
        assert one["claimed_mean"] == pytest.approx(np.mean(claimed[name]))
        assert one["other_mean"] == pytest.approx(np.mean(other[name]))
    for kind, means, last in (("goat", genuine, False), ("lamb", claimed, True), ("wolf", other, True)):
        ordered = sorted(means, key=lambda name: np.mean(means[name]), reverse=last)
        assert {one["name"] for one in found["subjects"] if kind in one["kinds"]} == set(ordered[:4])


def test_worms_are_found_where_there_are_any(shop: Workshop) -> None:
    _scores(shop.folder / "a.jsonl", goat=3.0)
    _scores(shop.folder / "b.jsonl")
    found = shop.call("zoo", "a.jsonl", "b.jsonl", "--subjects", "claimed,real", "--format", "json").json["transcripts"]
    worms = found[0]["animals"]["worms"]
    assert (worms["count"], worms["expected"]) == (4, 1.0)
    assert {one["name"] for one in found[0]["subjects"] if "worm" in one["kinds"]} == {"p00", "p01", "p02", "p03"}
    # One of all 1,820 ways to choose four of sixteen.
    assert worms["p_value"] == pytest.approx(1 / 1820)
    assert worms["p_adjusted"] == pytest.approx(4 / 1820)
    assert found[0]["tests"]["lambs"]["p_value"] < 0.001
    assert found[1]["tests"]["goats"]["p_value"] > 0.05
    assert all(one["p_adjusted"] > 0.05 for one in found[1]["animals"].values())
    text = shop.call("zoo", "a.jsonl", "--subjects", "claimed,real").out
    assert "More worms than chance gives." in text
    assert "lambs: some are imitated more easily than others" in text


def test_python_and_the_table_of_subjects(shop: Workshop) -> None:
    path = shop.folder / "a.jsonl"
    _scores(path)
    done = shop.call("zoo", "a.jsonl", "--subjects", "claimed,real", "--format", "csv")
    assert len(done.out.splitlines()) == 17
    assert zoo(path, subjects="claimed,real").to_dict()["transcripts"][0]["people"] == 16


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("claimed", "name two columns"),
        ("claimed,reel", "no column 'reel'; did you mean 'real'"),
        ("claimed,claimed", "is negative, but has the same subjects"),
    ],
)
def test_mistakes(shop: Workshop, columns: str, message: str) -> None:
    _scores(shop.folder / "a.jsonl")
    done = shop.call("zoo", "a.jsonl", "--subjects", columns)
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert message in done.err


def test_a_test_is_run_first_unless_the_columns_are_not_two(shop: Workshop) -> None:
    shop.interface("def answer(case, params):\n    return case.id[3]\n")
    assert "name two columns" in shop.call("zoo", "hdigits", "--subjects", "expect").err
    assert not (shop.folder / "transcripts").exists()
    words = ("--subjects", "expect,truth", "--format", "json")
    done = shop.call("zoo", "hdigits", "--interface", "wisard", "-o", "mine.jsonl", *words)
    assert done.status == 0, done.err
    assert done.json == shop.call("zoo", "mine.jsonl", *words).json


def test_few_people_are_no_zoo(shop: Workshop) -> None:
    _scores(shop.folder / "a.jsonl", people=7)
    assert (
        "7 subjects have genuine and impostor scores; the zoo needs 8"
        in shop.call("zoo", "a.jsonl", "--subjects", "claimed,real").err
    )
