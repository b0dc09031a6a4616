"""Virtual experiments: any gallery and probes from one matrix, without running anything."""

import json
from pathlib import Path

import numpy as np
import pytest

from harness.files.conditions import parse_condition
from harness.matrices.read import read_matrix
from tests.matrices.matrix_files import write_faces
from tests.tasks.rank_tests import GALLERY, PROBES, STRANGER, THRESHOLD, identification
from tests.workshop import Workshop

# The same scores through the Python task, which does not work in blocks.
BY_HAND = """\
import csv
from pathlib import Path
import numpy as np
class Interface:
    def enrol(self, gallery, params):
        here = Path(__file__).parent / "m"
        self.ids = [row["id"] for row in csv.DictReader((here / "faces.labels.csv").read_text().splitlines())]
        self.scores = np.load(here / "faces.npy")
        self.columns = [self.ids.index(image.input) for image in gallery]
    def answer(self, case, params):
        return self.scores[self.ids.index(case.input)][self.columns]
"""


def faces(shop: Workshop, **made: int) -> Path:
    """A test whose gallery and probes are all images of a synthetic matrix, and the matrix."""
    (shop.folder / "m").mkdir()
    path = write_faces(shop.folder / "m", **made)
    table = (shop.folder / "m/faces.labels.csv").read_text(encoding="utf-8").splitlines()[1:]
    rows = "".join(f"{line.split(',')[0]},{line.split(',')[0]},{line.split(',')[1]},{line}\n" for line in table)
    text = "id,input,expect,image,subject,session\n" + rows
    identification(shop, gallery=text, probes=text)
    return path


def records(path: Path) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines[1:-1]]


@pytest.mark.parametrize(
    "options",
    [[], ["--gallery", "session=1"], ["--gallery", "session=1", "--probe", "session>1", "--probe", "subject!=p2"]],
)
def test_a_matrix_answers_as_the_algorithm_would(shop: Workshop, options: list[str]) -> None:
    faces(shop)
    shop.interface(BY_HAND)
    for name, interface in (("matrix", "matrix:m/faces.npy"), ("hand", "interface.py")):
        done = shop.call("run", "toy", "--interface", interface, "-o", f"{name}.jsonl", *options)
        assert done.status == 0, done.err
    assert records(shop.folder / "matrix.jsonl") == records(shop.folder / "hand.jsonl")


def test_ties_come_out_the_same(shop: Workshop) -> None:
    path = faces(shop)
    np.save(path, np.round(np.load(path)))
    shop.interface(BY_HAND)
    for name, interface in (("matrix", "matrix:m/faces.npy"), ("hand", "interface.py")):
        shop.call("run", "toy", "--interface", interface, "-o", f"{name}.jsonl")
    ranked, by_hand = records(shop.folder / "matrix.jsonl"), records(shop.folder / "hand.jsonl")
    for one, other in zip(ranked, by_hand, strict=True):
        # Of several wrong identities with the same score, either may come first.
        assert {**one, "actual": ""} == {**other, "actual": ""}
        assert (one["actual"] == one["expect"]) == (other["actual"] == other["expect"]) == (one["rank"] == 1)


def test_a_choice_agrees_with_the_matrix_and_is_another_test(shop: Workshop) -> None:
    path = faces(shop)
    run = ("run", "toy", "--interface", "matrix:m/faces.npy", "--format", "json")
    done = shop.call(*run, "--gallery", "session=1", "--probe", "session=2", "-o", "a.jsonl")
    chosen = read_matrix(path).select([parse_condition("session=2")], [parse_condition("session=1")])
    assert [trial["rank"] for trial in records(shop.folder / "a.jsonl")] == chosen.ranks().rank.tolist()
    assert done.row["tests"] == 6
    shop.call(*run, "--gallery", "session=2", "--probe", "session=2", "-o", "b.jsonl")
    shop.call(*run, "--gallery", "session=3", "--probe", "session=2", "-o", "c.jsonl")
    assert "not of the same test" in shop.call("compare", "a.jsonl", "c.jsonl").err
    header = json.loads((shop.folder / "a.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert header["test"]["gallery"] == {
        "images": 6, "identities": 6, "where": ["session=1"], "probes": ["session=2"]
    }  # fmt: skip


def test_probes_of_people_not_enrolled_are_left_out_of_a_closed_set(shop: Workshop) -> None:
    faces(shop)
    done = shop.call("run", "toy", "--interface", "matrix:m/faces.npy", "--gallery", "subject!=p0", "--format", "json")
    assert done.row["tests"] == 15
    assert "left out: 3 probes of people not enrolled" in done.err
    assert done.json["identification"]["fpir"] is None


def test_probes_of_people_not_enrolled_are_negative_cases_of_an_open_set(shop: Workshop) -> None:
    faces(shop)
    text = (shop.folder / "toy/gallery.csv").read_text(encoding="utf-8")
    identification(shop, gallery=text, probes=text, sections=THRESHOLD)
    done = shop.call("run", "toy", "--interface", "matrix:m/faces.npy", "--gallery", "subject!=p0", "--format", "json")
    assert (done.row["tests"], done.row["TN"] + done.row["FP"]) == (18, 3)
    found = done.json["identification"]
    assert (found["enrolled"], found["not_enrolled"]) == (15, 3)
    assert found["fpir"] == done.row["FP"] / 3
    assert found["fnir"] == done.row["FN"] / 15


def test_identification_rates_have_their_names(shop: Workshop) -> None:
    identification(shop, sections=THRESHOLD, probes=PROBES + STRANGER)
    shop.interface(
        "S = {'q1': [.2, .3, .1, .9], 'q2': [.1, None, .8, .7], 'q3': None, 'q4': [.1, .4, .55, .2]}\n"
        "def answer(case, params):\n    return S[case.id]\n"
    )
    done = shop.call("run", "toy", "--format", "json")
    assert done.json["identification"] == {
        "rank": 1, "threshold": 0.5, "enrolled": 3, "not_enrolled": 1, "fnir": 2 / 3, "fpir": 1.0,
        "failures_to_acquire": 1, "failures_to_enrol": 1, "false_non_matches": 1, "false_matches": 2,
    }  # fmt: skip
    assert "at rank 1, threshold 0.5: FNIR 0.6667 (2 of 3 probes of people in the gallery were not found)" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--interface", "matrix:none.npy"], "--interface matrix:none.npy: no such file"),
        (["--gallery", "sesion=1"], "--gallery sesion: no such column; did you mean 'session'?"),
        (["--gallery", "session"], "--gallery session: write COLUMN=VALUE"),
        (["--probe", "session<x"], "--probe session<x: 'x' is not a number"),
        (["--gallery", "session=9"], "--gallery session=9: no gallery image matches"),
        (["--probe", "session=9"], "--probe session=9: no probe matches"),
    ],
)
def test_invalid_choices_of_gallery_and_probes(shop: Workshop, words: list[str], message: str) -> None:
    faces(shop)
    interface = [] if "--interface" in words else ["--interface", "matrix:m/faces.npy"]
    done = shop.call("run", "toy", *interface, *words)
    assert done.status == 2
    assert message in done.err


def test_only_rank_tests_have_galleries(toy: Workshop) -> None:
    assert "--gallery: for rank tests; toy is a label test" in toy.call("run", "toy", "--gallery", "id=c1").err
    toy.write("m.npy", b"")
    assert "for rank tests; toy is a label test" in toy.call("run", "toy", "--interface", "matrix:m.npy").err


def test_rows_and_columns_that_are_missing(shop: Workshop) -> None:
    faces(shop)
    identification(shop, gallery=GALLERY.replace(",p", ",z"))
    assert "faces: no column for gallery image 'g1'" in shop.call("run", "toy", "--interface", "matrix:m/faces.npy").err
    ids = "id,input,expect\np0_1,,ann\np1_1,,bob\np2_1,,cat\n"
    identification(shop, gallery=ids, probes=PROBES.replace(",p", ",z"))
    done = shop.call("run", "toy", "--interface", "matrix:m/faces.npy", "--format", "json")
    assert done.row["ER"] == 3
    assert "faces has no row for this case; its labels have other ids" in done.err


def test_a_sweep_has_choices_too(shop: Workshop) -> None:
    faces(shop)
    chosen = ("--interface", "matrix:m/faces.npy", "--gallery", "session=1", "--probe", "session=2", "--format", "json")
    rows = shop.call("sweep", "toy", "--param", "rank=1,2,6", *chosen).json["rows"]
    for row in rows:
        run = shop.call("run", "toy", "--param", f"rank={row['params']['rank']}", *chosen)
        assert run.row["TP"] == row["TP"]
    assert rows[-1]["TP"] == rows[-1]["tests"] == 6
