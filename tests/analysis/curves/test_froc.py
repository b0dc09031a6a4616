"""`hate froc` and `hate pr` of detections: points, score, bands, formats, and what is refused."""

import csv
import io
from pathlib import Path

import pytest

import harness
from tests.boxes import plain_match, random_scenes
from tests.measures.test_boxes_measures import run_scenes
from tests.workshop import Workshop


@pytest.fixture
def run(shop: Workshop) -> Path:
    return run_scenes(shop, random_scenes(31, images=24, labels=2), "finder")


def test_points_are_counts_at_each_threshold(shop: Workshop, run: Path) -> None:
    scenes = random_scenes(31, images=24, labels=2)
    plain = [plain_match(scenes, image, 0.5) for image in range(1, 25)]
    hits = [score for one in plain for score in one.hits]
    false = [score for one in plain for score in one.false]
    objects = len(hits) + sum(one.missed for one in plain)
    curve = shop.call("froc", run, "--format", "json").json["curves"][0]
    assert (curve["name"], curve["images"], curve["objects"]) == ("finder", 24, objects)
    points = curve["points"]
    assert points["threshold"] == [None, *sorted({*hits, *false}, reverse=True)]
    for threshold, recall, fppi, low, high in zip(*points.values(), strict=True):
        at = 2.0 if threshold is None else threshold
        assert recall == pytest.approx(sum(score >= at for score in hits) / objects)
        assert fppi == pytest.approx(sum(score >= at for score in false) / 24)
        assert low <= recall <= high
    assert curve["mean_recall"] == pytest.approx(sum(curve["at"]["recall"]) / 7)
    assert curve["mean_recall_interval"][0] < curve["mean_recall"] < curve["mean_recall_interval"][1]
    # Scenes, not images, give the error.
    assert curve["target"] == "new scenes"


def test_the_score_is_a_measure_too(shop: Workshop, run: Path) -> None:
    curve = shop.call("froc", run, "--format", "json").json["curves"][0]
    done = shop.call("rate", run, "--statistic", "froc", "--format", "json")
    measured = done.json["transcripts"][0]["replication"]
    assert measured["estimate"] == curve["mean_recall"]
    assert measured["interval"] == curve["mean_recall_interval"]


def test_formats_and_pictures(shop: Workshop, run: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(shop.call("froc", run, "--format", "csv").out)))
    assert list(rows[0]) == ["curve", "threshold", "recall", "fppi", "low", "high"]
    table = shop.call("froc", run, "--format", "table", "--plot", "froc.svg", "--gnuplot", "froc.gp")
    assert table.status == 0, table.err
    assert "mean recall" in table.out
    assert "1/8, 1/4, 1/2, 1, 2, 4, 8 false positives per image" in " ".join(table.out.split())
    assert "false positives per image" in (shop.folder / "froc.svg").read_text(encoding="utf-8")
    assert "set logscale x 2" in (shop.folder / "froc.gp").read_text(encoding="utf-8")
    plain = shop.call("froc", run, "--format", "plain").out
    assert plain.startswith("# finder\n# 24 images, ")


def test_from_python(run: Path) -> None:
    found = harness.froc([run], confidence=0.9)
    assert found.to_dict()["confidence"] == 0.9
    assert found.curves[0].sizes["images"] == 24


def test_precision_over_recall_at_the_runs_iou(shop: Workshop, run: Path) -> None:
    scenes = random_scenes(31, images=24, labels=2)
    strict = run_scenes(shop, scenes, "strict", "--param", "iou=0.75")
    curves = shop.call("pr", run, strict, "--format", "json").json["curves"]
    for curve, level in zip(curves, (0.5, 0.75), strict=True):
        plain = [plain_match(scenes, image, level) for image in range(1, 25)]
        hits = [score for one in plain for score in one.hits]
        false = [score for one in plain for score in one.false]
        points = list(zip(*(curve["points"][name] for name in ("threshold", "tpr", "precision")), strict=True))
        for threshold, recall, precision in points[1:]:
            found = sum(score >= threshold for score in hits)
            assert recall == pytest.approx(found / (len(hits) + sum(one.missed for one in plain)))
            assert precision == pytest.approx(found / (found + sum(score >= threshold for score in false)))


def test_another_iou_is_chosen_afterwards(shop: Workshop, run: Path) -> None:
    """The same curve as that of a run at this iou."""
    words = ("--format", "json")
    first = {command: shop.call(command, run, *words).json["curves"][0] for command in ("froc", "pr")}
    strict = run_scenes(shop, random_scenes(31, images=24, labels=2), "finder", "--param", "iou=0.75", "--force")
    for command, curve in first.items():
        assert shop.call(command, strict, *words).json["curves"][0]["points"] != curve["points"]
        assert shop.call(command, strict, "--iou", "0.5", *words).json["curves"][0] == curve
    shop.script()
    shop.interface()
    shop.run()
    done = shop.call("pr", "out.jsonl", "--iou", "0.6")
    assert done.status == 2
    assert "--iou: out.jsonl has no objects that are found in images; leave it out" in done.err
    assert shop.call("froc", strict, "--iou", "0").status == 2


def test_only_objects_have_such_a_curve(shop: Workshop, run: Path) -> None:
    shop.script()
    shop.interface()
    shop.run()
    done = shop.call("froc", "out.jsonl")
    assert done.status == 2
    assert "toy is a label test; such a curve needs objects that are found in images" in done.err
    assert "hate roc, hate det or hate pr" in done.err
    assert "no false positive rate; use hate pr or hate froc" in shop.call("roc", run).err
    refused = shop.call("rate", run, "--statistic", "auc")
    assert refused.status == 2
    assert "no false positive rate; use ap, recall or precision" in refused.err


def test_nothing_found_is_a_curve_at_zero(shop: Workshop) -> None:
    scenes = random_scenes(32, images=6)
    nothing = run_scenes(shop, type(scenes)(6, 2, scenes.truth, []), "blind")
    done = shop.call("froc", nothing, "--format", "json")
    assert done.status == 0, done.err
    curve = done.json["curves"][0]
    assert curve["mean_recall"] == 0
    assert curve["points"]["recall"] == [0]
