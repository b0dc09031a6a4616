"""Measures of objects through the commands: names, classes, intervals, comparisons."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.boxes import Scenes, plain_match, random_scenes
from tests.workshop import Workshop

SCRIPT = """\
format = 1
[test]
name = "things"
version = "1.0"
synopsis = "things"
task = "boxes"
[cases]
table = "cases.jsonl"
[design]
psu = "scene"
"""


def run_scenes(shop: Workshop, scenes: Scenes, name: str, *words: str) -> Path:
    """A test of these images, two to a scene, and the run of a program that finds what was found."""
    cases, answers = [], {}
    for image in range(1, scenes.images + 1):
        truth = [
            {"label": f"class{row['category_id'] - 1}", "box": row["bbox"], "area": row["area"]}
            | ({"ignore": True} if row["iscrowd"] else {})
            for row in scenes.truth
            if row["image_id"] == image
        ]
        cases.append({"id": str(image), "input": "", "expect": truth, "scene": f"s{image // 2}"})
        answers[str(image)] = [
            {"label": f"class{row['category_id'] - 1}", "box": row["bbox"], "score": row["score"]}
            for row in scenes.found
            if row["image_id"] == image
        ]
    shop.write("things.hate.toml", SCRIPT)
    shop.write("cases.jsonl", "".join(json.dumps(case) + "\n" for case in cases))
    shop.interface(f"NAME = {name!r}\nFOUND = {answers!r}\ndef answer(case, params):\n    return FOUND[case.id]\n")
    done = shop.call("run", "things.hate.toml", "-o", f"{name}.jsonl", *words)
    assert done.status == 0, done.err
    return shop.folder / f"{name}.jsonl"


def measured(shop: Workshop, path: Path, names: str) -> dict[str, Any]:
    done = shop.call("rate", path, "--statistic", names, "--format", "json")
    assert done.status == 0, done.err
    measures: dict[str, Any] = done.json["transcripts"][0]["measures"]
    return measures


def test_average_precision_through_a_transcript_is_that_of_pycocotools(shop: Workshop) -> None:
    scenes = random_scenes(21, images=30, labels=3, many=True)
    found = measured(shop, run_scenes(shop, scenes, "finder"), "ap,ap50,ap75,ap_small,ap_medium,ap_large")
    assert [one["estimate"] for one in found.values()] == pytest.approx(scenes.evaluate(), abs=1e-9)
    for one in found.values():
        assert one["interval"][0] < one["estimate"] < one["interval"][1]
        assert (one["psu"], one["units"]) == ("scene", 16)


def test_object_measures_at_the_iou_and_threshold_of_the_run(shop: Workshop) -> None:
    scenes = random_scenes(22, images=20, labels=2)
    path = run_scenes(shop, scenes, "finder", "--param", "iou=0.6", "--param", "threshold=0.3")
    hits = missed = false = 0
    for image in range(1, 21):
        plain = plain_match(scenes, image, 0.6)
        own = sum(score >= 0.3 for score in plain.hits)
        hits, missed = hits + own, missed + len(plain.hits) + plain.missed - own
        false += sum(score >= 0.3 for score in plain.false)
    wanted = {
        "recall": hits / (hits + missed),
        "precision": hits / (hits + false),
        "f1": 2 * hits / (2 * hits + missed + false),
        "fppi": false / 20,
        "missed": missed / 20,
        "spurious": false / 20,
    }
    found = measured(shop, path, ",".join(wanted))
    assert {name: one["estimate"] for name, one in found.items()} == pytest.approx(wanted)


def test_measures_of_one_class(shop: Workshop) -> None:
    scenes = random_scenes(23, images=20, labels=2)
    path = run_scenes(shop, scenes, "finder")
    one = Scenes(20, 2, *([r for r in rows if r["category_id"] == 2] for rows in (scenes.truth, scenes.found)))
    plain = [plain_match(one, image, 0.5) for image in range(1, 21)]
    hits, false = sum(len(p.hits) for p in plain), sum(len(p.false) for p in plain)
    found = measured(shop, path, "ap:class1,precision:class1")
    assert found["ap:class1"]["estimate"] == pytest.approx(one.evaluate()[0], abs=1e-9)
    assert found["precision:class1"]["estimate"] == pytest.approx(hits / (hits + false))
    done = shop.call("rate", path, "--statistic", "ap:clas1")
    assert done.status == 2
    assert "--statistic ap:clas1: no object is labelled 'clas1'; did you mean 'class1'?" in done.err


def test_the_usual_measures_are_over_objects(shop: Workshop) -> None:
    scenes = random_scenes(24, images=12)
    done = shop.call("rate", run_scenes(shop, scenes, "finder"), "--format", "json")
    measures = done.json["transcripts"][0]["measures"]
    assert {"rate", "precision", "f1", "ap", "ap50", "ap75", "recall", "fppi"} <= set(measures)
    assert not {"auc", "eer"} & set(measures)


def test_other_tests_keep_their_precision(shop: Workshop) -> None:
    """Of the toy test all answers are right, so that precision is 1; and it has no objects."""
    shop.script()
    shop.interface()
    shop.run()
    done = shop.call("rate", "out.jsonl", "--statistic", "precision,f1", "--format", "json")
    assert [one["estimate"] for one in done.json["transcripts"][0]["measures"].values()] == [1, 1]
    for name in ("ap", "object_recall", "fppi"):
        done = shop.call("rate", "out.jsonl", "--statistic", name)
        assert done.status == 2
        assert "no record has boxes; only some tasks record them" in done.err
    assert shop.call("rate", "out.jsonl", "--statistic", "recall").status == 2


def test_two_detectors_are_compared_by_design(shop: Workshop) -> None:
    """The second has lost most of what the first found: its AP is lower, and scenes, not images, give the error."""
    scenes = random_scenes(25, images=40, labels=2)
    rng = np.random.default_rng(1)
    worse = Scenes(40, 2, scenes.truth, [row for row in scenes.found if rng.random() < 0.2])
    first, second = run_scenes(shop, scenes, "all"), run_scenes(shop, worse, "few")
    done = shop.call("compare", first, second, "--statistic", "ap50", "--format", "json")
    pair = done.json["pairs"][0]["replication"]
    assert pair["estimate"] == pytest.approx(scenes.evaluate()[1] - worse.evaluate()[1], abs=1e-9)
    assert pair["interval"][0] < pair["estimate"] < pair["interval"][1]
    assert pair["p_value"] < 0.05
    assert pair["units"] == 21


def test_groups_have_their_own_average_precision(shop: Workshop) -> None:
    scenes = random_scenes(26, images=10)
    path = run_scenes(shop, scenes, "finder")
    done = shop.call("rate", path, "--statistic", "ap50", "--by", "scene", "--format", "json")
    groups = {group["label"]: group["runs"][0]["estimate"] for group in done.json["by"]["groups"]}
    kept = Scenes(
        10, 2,
        [row for row in scenes.truth if row["image_id"] in (2, 3)],
        [row for row in scenes.found if row["image_id"] in (2, 3)],
    )  # fmt: skip
    assert groups["s1"] == pytest.approx(kept.evaluate()[1], abs=1e-9)
