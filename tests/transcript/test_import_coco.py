"""`hate import` of detections in COCO's format, compared with pycocotools."""

import contextlib
import io
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from harness.tasks.task import AnswerError
from harness.transcript.importing.tools.coco import box_of, plane_of, run_lengths
from tests.boxes import Scenes, random_scenes
from tests.simulation import examples
from tests.workshop import Done, Workshop


def imported(shop: Workshop, truth: Any, detections: Any, *words: str) -> Done:
    shop.write("instances.json", json.dumps(truth))
    shop.write("mine.json", json.dumps(detections))
    return shop.call("import", "mine.json", "--truth", "instances.json", "-o", "out.jsonl", "--force", *words)


def test_average_precision_is_that_of_pycocotools(shop: Workshop) -> None:
    scenes = random_scenes(41, images=20, labels=3, many=True)
    truth = scenes.instances()
    truth["images"].reverse()  # the order of their ids counts, whatever that of the file
    assert imported(shop, truth, scenes.found).status == 0
    names = "ap,ap50,ap75,ap_small,ap_medium,ap_large"
    done = shop.call("rate", "out.jsonl", "--statistic", names, "--format", "json")
    measures = done.json["transcripts"][0]["measures"]
    assert [measures[name]["estimate"] for name in names.split(",")] == pytest.approx(scenes.evaluate(), abs=1e-9)


def test_images_are_cases_and_crowds_are_ignored(shop: Workshop) -> None:
    scenes = random_scenes(42, images=8)
    done = imported(shop, scenes.instances(), scenes.found, "--format", "json")
    assert done.json["rows"][0]["test"] == "toy-things"
    assert done.json["rows"][0]["algorithm"] == "mine"
    records = shop.records("out.jsonl")
    assert [record["id"] for record in records] == [str(n) for n in range(1, 9)]
    for record in records:
        objects = [row for row in scenes.truth if str(row["image_id"]) == record["id"]]
        assert record["columns"] == {"file_name": f"{int(record['id']) - 1}.jpg", "width": 300, "height": 200}
        assert record["positive"] is any(not row["iscrowd"] for row in objects)
        assert record["boxes"].get("ignored", []) == [n for n, row in enumerate(objects) if row["iscrowd"]]
        assert [row[1:] for row in record["boxes"]["truth"]] == [row["bbox"] for row in objects]
        assert set(record["boxes"]["labels"]) <= {"class0", "class1"}
        assert "expect" not in record
        assert "values" not in record
    head = shop.lines("out.jsonl")[0]
    assert head["test"]["task"] == "boxes"
    assert {name: head["params"][name] for name in ("iou", "threshold")} == {"iou": 0.5, "threshold": 0.0}


def test_two_truths_are_two_tests(shop: Workshop) -> None:
    scenes = random_scenes(43, images=4)
    digests = []
    for truth in (scenes.truth, scenes.truth[1:]):
        other = Scenes(4, 2, truth, scenes.found)
        imported(shop, other.instances(), scenes.found)
        digests.append(shop.lines("out.jsonl")[0]["test"]["digest"])
    assert digests[0] != digests[1]


def test_objects_without_a_box_have_the_box_around_their_segmentation(shop: Workshop) -> None:
    plane = np.zeros((20, 30), dtype=np.uint8)
    plane[4:9, 10:22] = 1
    runs = coco_mask.encode(np.asfortranarray(plane))
    packed = {"size": runs["size"], "counts": runs["counts"].decode()}
    truth = {
        "images": [{"id": 1}, {"id": 2}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [
            {"image_id": 1, "category_id": 1, "segmentation": [[10, 4, 22, 4, 22, 9, 10, 9]]},
            {"image_id": 2, "category_id": 1, "segmentation": packed},
        ],
    }
    seen: dict[str, Any] = {"category_id": 1, "score": 0.5, "bbox": [10, 4, 12, 5]}
    detections = [seen | {"image_id": image} for image in (1, 2)]
    assert imported(shop, truth, detections).status == 0
    for record in shop.records("out.jsonl"):
        assert record["outcome"] == "TP"
        assert record["boxes"]["truth"] == [[0, 10.0, 4.0, 12.0, 5.0]]
        assert record["boxes"]["found"] == [[0, 0.5, 10.0, 4.0, 12.0, 5.0]]


def _segmented(rng: np.random.Generator) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Thin frames, and what a program makes of them: filled squares in the same places."""
    truth: dict[str, Any] = {
        "images": [{"id": n, "height": 40, "width": 40, "video_id": n // 3} for n in range(1, 7)],
        "categories": [{"id": 1, "name": "frame"}],
        "annotations": [],
    }
    detections = []
    for n in range(1, 7):
        x, y = rng.integers(2, 10, 2)
        filled = np.zeros((40, 40))
        filled[y : y + 24, x : x + 24] = 1
        frame = filled.copy()
        frame[y + 2 : y + 22, x + 2 : x + 22] = 0
        box = [float(x), float(y), 24.0, 24.0]
        truth["annotations"].append(
            {"id": n, "image_id": n, "category_id": 1, "bbox": box, "area": float(frame.sum()), "iscrowd": 0}
            | {"segmentation": _packed(frame)}
        )
        detections.append({"image_id": n, "category_id": 1, "segmentation": _packed(filled), "score": 0.5 + n / 20})
    return truth, detections


def _coco_ap(truth: dict[str, Any], detections: list[dict[str, Any]], kind: str) -> float:
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = truth
        coco.createIndex()
        evaluation = COCOeval(coco, coco.loadRes([dict(row) for row in detections]), kind)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return float(evaluation.stats[0])


def test_segmentations_alone_are_not_scored_as_boxes(shop: Workshop) -> None:
    """By their masks COCO finds nothing right; the boxes around them would be perfect, and that was reported."""
    truth, detections = _segmented(np.random.default_rng(5))
    assert _coco_ap(truth, detections, "segm") < 0.1
    assert _coco_ap(truth, detections, "bbox") == pytest.approx(1)
    done = imported(shop, truth, detections)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert "mine.json: 6 of 6 detections have a segmentation and no bbox, the first in image 1" in done.err
    assert "--as mask judges their pixels" in done.err
    assert not (shop.folder / "out.jsonl").exists()
    assert imported(shop, truth, detections, "--as", "mask").status == 0
    # One of them is enough, and so is an empty box.
    boxed = [row | {"bbox": [0, 0, 1, 1]} for row in detections[1:]]
    for first in (detections[0], detections[0] | {"bbox": []}):
        done = imported(shop, truth, [*boxed, first])
        assert done.status == 2
        assert "1 of 6 detections have a segmentation and no bbox, the first in image 1" in done.err


def test_of_boxes_and_segmentations_boxes_are_judged_and_that_is_said(shop: Workshop) -> None:
    truth, detections = _segmented(np.random.default_rng(6))
    for row, annotation in zip(detections, truth["annotations"], strict=True):
        row["bbox"] = [side + 1 for side in annotation["bbox"]]
    done = imported(shop, truth, detections)
    assert done.status == 0
    assert "boxes are judged; the segmentations of 6 detections are not (--as mask judges their pixels)" in done.err
    rated = shop.call("rate", "out.jsonl", "--statistic", "ap", "--format", "json").json["transcripts"][0]
    assert rated["value"] == pytest.approx(_coco_ap(truth, detections, "bbox"), abs=1e-9)
    assert "segmentations" not in imported(shop, truth, [{**row, "segmentation": []} for row in detections]).err
    assert "segmentations" not in imported(shop, truth, detections, "--as", "mask").err


@pytest.mark.parametrize("kind", ["boxes", "mask"])
def test_keys_of_images_are_columns_so_that_videos_can_be_units(shop: Workshop, kind: str) -> None:
    truth, detections = _segmented(np.random.default_rng(7))
    detections = [row | {"bbox": [5, 5, 20, 20]} for row in detections]
    for image in truth["images"]:
        image |= {"file_name": f"{image['id']}.png", "weather": {"rain": image["id"] > 3}, "nothing": None}
    done = imported(shop, truth, detections, "--psu", "video_id", "--as", kind)
    assert done.status == 0, done.err
    assert shop.lines("out.jsonl")[0]["design"] == {"psu": "video_id"}
    records = shop.records("out.jsonl")
    assert [record["psu"] for record in records] == ["0", "0", "1", "1", "1", "2"]
    columns = {"height": 40, "width": 40, "video_id": 0, "file_name": "1.png", "weather.rain": False}
    assert records[0]["columns"] == columns
    rated = shop.call("rate", "out.jsonl", "--statistic", "rate", "--by", "weather.rain", "--format", "json").json
    assert rated["transcripts"][0]["replication"]["units"] == 3
    assert [group["label"] for group in rated["by"]["groups"]] == ["false", "true"]


def test_hostile_keys_of_images(shop: Workshop) -> None:
    """Lists and texts as long as documents group nothing; what a name means for every case stays what it is."""
    images = [
        {"id": 1, "expect": "x", "psu": "y", "truth": 3, "positive": False, "list": [1], "long": "z" * 5000, "n": 1.5},
        {"id": 2, "columns": 7, "said": {"id": 8}, "width": 9},
    ]
    assert imported(shop, TRUTH | {"images": images}, [CAT]).status == 0
    first, second = shop.records("out.jsonl")
    taken = {"image.expect": "x", "image.psu": "y", "image.truth": 3, "image.positive": False}
    assert first["columns"] == taken | {"n": 1.5}
    assert first["positive"] is True
    assert "psu" not in first
    assert second["columns"] == {"columns": 7, "said.id": 8, "width": 9}
    done = imported(shop, TRUTH | {"images": images}, [CAT], "--psu", "list")
    assert done.status == 2
    assert "--psu list: no column 'list'" in done.err
    many = [{"id": 1} | {f"key{n}": n for n in range(300)}, {"id": 2} | {f"key{n}": n for n in range(300)}]
    assert imported(shop, TRUTH | {"images": many}, [CAT], "--psu", "key299").status == 0
    assert shop.records("out.jsonl")[0]["psu"] == "299"
    apart = [{"id": n} | {f"own{n}x{k}": k for k in range(100)} for n in range(1, 13)]
    done = imported(shop, TRUTH | {"images": apart}, [CAT])
    assert done.status == 2
    assert "more than 1,000 columns; leave some out" in done.err
    done = imported(shop, TRUTH | {"images": [{"id": 1, "width": "wide"}, {"id": 2}]}, [CAT])
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "instances.json: images[0]: not as expected" in done.err


def _packed(plane: Any) -> dict[str, Any]:
    runs = coco_mask.encode(np.asfortranarray(plane.astype(np.uint8)))
    return {"size": runs["size"], "counts": runs["counts"].decode()}


def test_segmentations_as_masks(shop: Workshop) -> None:
    """Pixel by pixel: the best score of the detections that cover it; crowds do not count."""
    rng = np.random.default_rng(1)
    shapes = [[rng.random((12, 15)) < 0.3 for _ in range(2)] for _ in range(6)]
    truth = {
        "images": [{"id": n + 1, "height": 12, "width": 15} for n in range(6)],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [
            {"image_id": n + 1, "category_id": 1, "segmentation": _packed(plane), "iscrowd": k}
            for n, planes in enumerate(shapes)
            for k, plane in enumerate(planes)
        ],
    }
    marked = [[(rng.random((12, 15)) < 0.4, score) for score in (0.3, 0.7)] for _ in range(6)]
    detections = [
        {"image_id": n + 1, "category_id": 1, "segmentation": _packed(plane), "score": score}
        for n, planes in enumerate(marked)
        for plane, score in planes
    ]
    done = imported(shop, truth, detections, "--as", "mask")
    assert done.status == 0, done.err
    assert shop.lines("out.jsonl")[0]["test"]["task"] == "mask"
    for record, (objects, crowd), planes in zip(shop.records("out.jsonl"), shapes, marked, strict=True):
        counted = objects | ~crowd
        scores = np.max([plane * score for plane, score in planes], axis=0)
        above = scores >= 0.5
        wanted = {
            "TP": (above & objects).sum(), "TN": (~above & ~objects & counted).sum(),
            "FP": (above & ~objects & counted).sum(), "FN": (~above & objects).sum(),
        }  # fmt: skip
        assert {name: record["pixels"][name] for name in wanted} == wanted
        assert record["score"] == pytest.approx(wanted["TP"] / (wanted["TP"] + wanted["FP"] + wanted["FN"]))
    assert shop.call("rate", "out.jsonl", "--statistic", "iou,pixel_tpr").status == 0
    assert shop.call("roc", "out.jsonl").status == 0


@pytest.mark.parametrize("seed", range(5))
def test_polygons_are_filled_as_pycocotools_fills_them(seed: int) -> None:
    """But for pixels on the outline, which it draws a little wider; corners on whole pixels leave no choice."""
    rng = np.random.default_rng(seed)
    angles = np.sort(rng.uniform(0, 2 * np.pi, 8))
    corners = np.stack([50 + 40 * np.cos(angles), 40 + 35 * np.sin(angles)], axis=1)
    polygon = corners.ravel().tolist()
    packed = coco_mask.merge(coco_mask.frPyObjects([polygon], 80, 100))
    theirs = plane_of({"size": [80, 100], "counts": packed["counts"].decode()}, 80, 100)
    ours = plane_of([polygon], 80, 100)
    outline = np.hypot(*(corners - np.roll(corners, 1, axis=0)).T).sum()
    assert (ours ^ theirs).sum() < 0.6 * outline
    assert ours.sum() > 500
    square = [10, 4, 22, 4, 22, 9, 10, 9]
    assert np.argwhere(plane_of([square], 20, 30)).tolist() == [[y, x] for y in range(4, 9) for x in range(10, 22)]


@pytest.mark.parametrize(
    ("image", "segmentation", "message"),
    [
        ({}, [[0, 0, 5, 0, 5, 5]], "image 1: no height and width, which masks need; leave out --as mask"),
        ({"height": 10**6, "width": 10**6}, [[0, 0, 5, 0, 5, 5]], "1000000 x 1000000 pixels"),
        ({"height": 9, "width": 9}, None, "image 1: segmentation None is neither a list of polygons nor"),
        ({"height": 9, "width": 9}, {"size": [8, 9], "counts": [72]}, "segmentation of [8, 9] in an image of 9 x 9"),
    ],
)
def test_truth_that_is_no_mask(image: Any, segmentation: Any, message: str, shop: Workshop) -> None:
    annotation = {"image_id": 1, "category_id": 1, "segmentation": segmentation}
    truth = {"images": [{"id": 1, **image}], "categories": [{"id": 1, "name": "cat"}], "annotations": [annotation]}
    done = imported(shop, truth, [], "--as", "mask")
    assert done.status == 2
    assert message in " ".join(done.err.split())


def test_an_answer_that_is_no_mask_is_an_error_of_its_image(shop: Workshop) -> None:
    square = [[0, 0, 5, 0, 5, 5, 0, 5]]
    truth = TRUTH | {
        "images": [{"id": n, "height": 9, "width": 9} for n in (1, 2)],
        "annotations": [{"image_id": 1, "category_id": 1, "segmentation": square}],
    }
    assert imported(shop, truth, [CAT | {"segmentation": {"size": [3, 3], "counts": [9]}}], "--as", "mask").status == 0
    first, second = shop.records("out.jsonl")
    assert (first["error"], first["pixels"]["FN"], second["outcome"]) == ("answer", 25, "TN")


@examples(200)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32), st.sampled_from([0.05, 0.5, 0.95]))
def test_runs_are_those_of_pycocotools(height: int, width: int, seed: int, share: float) -> None:
    plane = (np.random.default_rng(seed).random((height, width)) < share).astype(np.uint8)
    packed = coco_mask.encode(np.asfortranarray(plane))
    runs = run_lengths(packed["counts"].decode())
    assert np.repeat(np.arange(len(runs)) % 2, runs).tolist() == plane.T.ravel().tolist()
    box = coco_mask.toBbox(packed).tolist()
    assert box_of({"size": [height, width], "counts": packed["counts"].decode()}) == box
    assert box_of({"size": [height, width], "counts": runs}) == box


@pytest.mark.parametrize(
    ("segmentation", "message"),
    [
        ("cat", "segmentation 'cat' is neither a list of polygons nor {'size', 'counts'}"),
        ([[1, 2, 3]], "segmentation: polygon [1, 2, 3] is not [x, y, x, y, x, y ...]"),
        ([], "segmentation: no polygon"),
        ({"size": [2], "counts": "1"}, "segmentation: size [2] is not [height, width]"),
        ({"size": [2, 2], "counts": 3}, "segmentation: counts 3 are neither text nor a list of whole numbers"),
        ({"size": [2, 2], "counts": [1, -1]}, "segmentation: counts [1, -1] have a run of negative length"),
        ({"size": [2, 2], "counts": [1, 9]}, "segmentation: runs of 10 pixels in an image of 2 x 2"),
        ({"size": [2, 2], "counts": "P"}, "segmentation: counts 'P' end in the middle of a number"),
        ({"size": [2, 2], "counts": "é"}, "segmentation: counts 'é' are not COCO's compressed runs"),
    ],
)
def test_bad_segmentations(segmentation: Any, message: str) -> None:
    with pytest.raises(AnswerError) as error:
        box_of(segmentation)
    assert str(error.value) == message


TRUTH = {
    "images": [{"id": 1}, {"id": 2}],
    "categories": [{"id": 1, "name": "cat"}],
    "annotations": [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5]}],
}
CAT = {"image_id": 1, "category_id": 1, "score": 0.5, "bbox": [0, 0, 5, 5]}


def test_a_bad_box_is_an_error_of_its_image(shop: Workshop) -> None:
    assert imported(shop, TRUTH, [CAT | {"bbox": [0, 0, -5, 5]}, CAT | {"image_id": 2}]).status == 0
    first, second = shop.records("out.jsonl")
    assert (first["outcome"], first["error"], second["outcome"]) == ("FN", "answer", "FP")
    assert "has a negative side" in first["message"]
    assert len(first["boxes"]["truth"]) == 1


def test_no_detections_at_all(shop: Workshop) -> None:
    done = imported(shop, TRUTH, [])
    assert done.status == 0, done.err
    assert [record["outcome"] for record in shop.records("out.jsonl")] == ["FN", "TN"]


@pytest.mark.parametrize(
    ("truth", "detections", "message"),
    [
        (TRUTH, [CAT | {"image_id": 9}], "mine.json: [0]: no image 9 in the truth"),
        (TRUTH, [CAT, CAT | {"category_id": 9}], "mine.json: [1]: no category 9 in the truth"),
        (
            TRUTH,
            [{"image_id": 1, "category_id": 1}],
            "mine.json: not as expected: Object missing required field `score`",
        ),
        (TRUTH | {"images": []}, [CAT], "instances.json: annotations[0]: no image 1"),
        (TRUTH | {"images": [{"id": 1}, {"id": 1}]}, [CAT], "instances.json: two images have the same id"),
        ({"images": []}, [CAT], "instances.json: not as expected: Object missing required field `categories`"),
        (
            TRUTH | {"annotations": [{"image_id": 1, "category_id": 1}]},
            [CAT],
            "instances.json: annotations[0]: neither bbox nor segmentation",
        ),
    ],
)
def test_files_that_do_not_fit(truth: Any, detections: Any, message: str, shop: Workshop) -> None:
    done = imported(shop, truth, detections)
    assert done.status == 2
    assert message in " ".join(done.err.split())


def test_the_truth_is_asked_for_and_only_for_detections(shop: Workshop) -> None:
    shop.write("mine.json", json.dumps([CAT]))
    done = shop.call("import", "mine.json")
    assert done.status == 2
    assert "mine.json: detections in COCO's format; name the file of the truth with --truth FILE" in done.err
    shop.write("table.csv", "id,y_true,y_pred\n1,a,a\n")
    done = shop.call("import", "table.csv", "--truth", "mine.json")
    assert done.status == 2
    assert "table.csv: --truth names the truth of detections, but this is" in done.err
