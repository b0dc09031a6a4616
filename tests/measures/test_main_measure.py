"""What counts in a test: its task's measure, unless another is asked for. And what is no verdict."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harness
from tests.analysis.transcripts import transcript
from tests.boxes import Scenes, random_scenes
from tests.measures.test_boxes_measures import run_scenes
from tests.tasks.masks import discs, write_test
from tests.workshop import Workshop

NO_VERDICT = "so nothing can be said about which is better"


@pytest.fixture
def detectors(shop: Workshop) -> tuple[list[Scenes], list[Path]]:
    """Two detectors of which none gets any image right, though one finds far more objects than the other."""
    scenes = random_scenes(31, images=40, labels=2)
    spurious = [
        {"image_id": image, "category_id": 1, "bbox": [280.0, 180.0, 15.0, 15.0], "score": 0.01}
        for image in range(1, 41)
    ]
    rng = np.random.default_rng(3)
    found = [scenes.found, [row for row in scenes.found if rng.random() < 0.3]]
    both = [Scenes(40, 2, scenes.truth, rows + spurious) for rows in found]
    return both, [run_scenes(shop, one, name) for one, name in zip(both, ("sees", "squints"), strict=True)]


def compared(shop: Workshop, *words: str | Path) -> Any:
    done = shop.call("compare", *words, "--format", "json")
    assert done.status == 0, done.err
    return done.json


def test_detectors_are_compared_by_average_precision(
    shop: Workshop, detectors: tuple[list[Scenes], list[Path]]
) -> None:
    """At a rate of 0 and 0 they were said not to be told apart, where COCO's AP differs by far."""
    scenes, paths = detectors
    found = compared(shop, *paths)
    assert [one["rate"] for one in found["transcripts"]] == [0, 0]
    assert found["statistic"] == "ap"
    truth = [one.evaluate()[0] for one in scenes]
    assert [one["value"] for one in found["transcripts"]] == pytest.approx(truth, abs=1e-9)
    gap = found["pairs"][0]["replication"]
    assert gap["estimate"] == pytest.approx(truth[0] - truth[1], abs=1e-9)
    assert gap["p_value"] < 0.05
    said = shop.call("compare", *paths).out
    assert "sees is better than squints in average precision" in said
    assert NO_VERDICT not in said


def test_asked_for_by_name_is_the_same(shop: Workshop, detectors: tuple[list[Scenes], list[Path]]) -> None:
    paths = detectors[1]
    assert compared(shop, *paths) == compared(shop, *paths, "--statistic", "ap")
    for words in (("--unpaired",), ("--baseline", "squints"), ("--margin", "0.05"), ("--multiplicity", "max-t")):
        assert compared(shop, *paths, *words) == compared(shop, *paths, *words, "--statistic", "ap"), words
    reverse = paths[::-1]
    assert [shop.call("compare", *given, "--fail-if-worse").status for given in (paths, reverse)] == [0, 1]
    assert harness.compare(paths).to_dict() == harness.compare(paths, statistic="ap").to_dict()


def test_the_rate_can_still_be_asked_for(shop: Workshop, detectors: tuple[list[Scenes], list[Path]]) -> None:
    found = compared(shop, *detectors[1], "--statistic", "rate")
    assert found["statistic"] == "rate"
    assert [one["value"] for one in found["transcripts"]] == [0, 0]
    said = shop.call("compare", *detectors[1], "--statistic", "rate").out
    assert f"No verdict on sees and squints: both failed on every case, {NO_VERDICT}." in said
    assert "on the same cases" not in said


def test_rate_and_its_groups_begin_with_what_counts(shop: Workshop, detectors: tuple[list[Scenes], list[Path]]) -> None:
    scenes, paths = detectors
    rated = shop.call("rate", *paths, "--format", "json").json
    assert rated["statistic"] == rated["statistics"][0] == "ap"
    assert "rate" in rated["statistics"]
    assert rated["transcripts"][0]["value"] == pytest.approx(scenes[0].evaluate()[0], abs=1e-9)
    grouped = shop.call("rate", *paths, "--by", "positive", "--format", "json").json
    named = shop.call("rate", *paths, "--by", "positive", "--statistic", "ap", "--format", "json").json
    assert grouped["by"] == named["by"]


@pytest.mark.sampled(3)
def test_reports_begin_with_what_counts(shop: Workshop, detectors: tuple[list[Scenes], list[Path]]) -> None:
    scenes, paths = detectors
    assert shop.call("report", paths[0], "-o", "sheet.md").status == 0
    lead = (shop.folder / "sheet.md").read_text().partition("\n## ")[0]
    assert f"**average precision {scenes[0].evaluate()[0]:.4f}**" in lead
    assert "rate of success 0.0000" in lead
    assert shop.call("report", *paths, "-o", "both.md").status == 0
    assert "sees is better than squints in average precision" in (shop.folder / "both.md").read_text()


def test_masks_are_compared_by_their_overlap(shop: Workshop) -> None:
    truths, images = discs(12)
    write_test(shop, truths, [(image >= 130).astype(np.uint8) for image in images])
    for name, answer in (("marks", "case.input"), ("nothing", "None")):
        shop.interface(f"NAME = {name!r}\ndef answer(case, params):\n    return {answer}\n")
        assert shop.call("run", "masks/masks.hate.toml", "-o", f"{name}.jsonl").status == 0
    found = compared(shop, "marks.jsonl", "nothing.jsonl")
    assert found["statistic"] == "iou"
    assert found == compared(shop, "marks.jsonl", "nothing.jsonl", "--statistic", "iou")
    assert shop.call("rate", "marks.jsonl", "--format", "json").json["statistic"] == "iou"


def test_a_measure_means_the_same_in_rate_and_compare(
    shop: Workshop, detectors: tuple[list[Scenes], list[Path]]
) -> None:
    """`precision` of a boxes test is of objects; in `compare` it was of images."""
    paths = detectors[1]
    for name in ("precision", "recall", "f1"):
        rated = shop.call("rate", *paths, "--statistic", name, "--format", "json").json["transcripts"]
        found = compared(shop, *paths, "--statistic", name)
        assert [one["value"] for one in found["transcripts"]] == [one["value"] for one in rated]


def test_runs_without_what_counts_are_compared_by_rate_and_that_is_said(shop: Workshop) -> None:
    """Outcomes that somebody wrote down, without boxes."""
    positive = [True, True, False] * 4
    for name, good in (("one", [True, True, False, True] * 3), ("other", [True, False, False, True] * 3)):
        transcript(shop.folder / f"{name}.jsonl", good, positive=positive, test={"task": "boxes"})
    found = compared(shop, "one.jsonl", "other.jsonl")
    assert found["statistic"] == "rate"
    assert any("The rate of success is compared: the ap that counts" in one for one in found["cautions"])
    assert "The rate of success is compared" in shop.call("compare", "one.jsonl", "other.jsonl", "--all").out
    notes = compared(shop, "one.jsonl", "other.jsonl", "--unpaired")["notes"]
    assert any("The rate of success is compared" in one for one in notes)
    assert shop.call("rate", "one.jsonl", "--by", "positive", "--format", "json").json["statistic"] == "rate"
    assert shop.call("report", "one.jsonl", "-o", "sheet.html").status == 0


@pytest.mark.parametrize(("good", "said"), [(False, "failed"), (True, "succeeded")])
@pytest.mark.parametrize("words", [(), ("--unpaired",), ("--psu", "id")])
def test_all_failed_or_all_succeeded_is_no_verdict(
    shop: Workshop, good: bool, said: str, words: tuple[str, ...]
) -> None:
    for name in ("one", "other"):
        transcript(shop.folder / f"{name}.jsonl", [good] * 30)
    out = shop.call("compare", "one.jsonl", "other.jsonl", *words).out
    assert f"No verdict on one and other: both {said} on every case, {NO_VERDICT}." in out
    assert "one and other cannot be told apart" not in out
    # Within a margin is another question, and has an answer: of 30 cases, none told them apart.
    out = shop.call("compare", "one.jsonl", "other.jsonl", "--margin", "0.3", *words).out
    assert "one and other are equivalent: they differ by less than 0.3" in out
    assert NO_VERDICT in out


def test_the_same_mixed_outcomes_cannot_be_told_apart(shop: Workshop) -> None:
    for name in ("one", "other"):
        transcript(shop.folder / f"{name}.jsonl", [True, False, True] * 10)
    out = shop.call("compare", "one.jsonl", "other.jsonl").out
    assert "one and other cannot be told apart: they succeed and fail on the same cases." in out
    assert "No verdict" not in out
