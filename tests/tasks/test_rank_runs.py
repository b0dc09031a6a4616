"""Identification from a script to a transcript, through real interfaces."""

import json
import sys
from pathlib import Path

import pytest

from tests.tasks.rank_tests import GALLERY, PROBES, SCORES, identification, open_set
from tests.workshop import Workshop

ENROLLING = f"""\
SCORES = {SCORES!r}
class Interface:
    def enrol(self, gallery, params):
        self.gallery = [(image.id, image.input, image.expect, image.columns) for image in gallery]
        assert self.gallery[3] == ("g4", "p1_2", "ann", {{"session": "2"}}), self.gallery
    def answer(self, case, params):
        assert case.expect == ""
        return [SCORES[case.id][name] for name, *_ in self.gallery]
"""
STREAM = f"""\
SCORES = {SCORES!r}
gallery = [json.loads(line) for line in open(hello["gallery"])]
assert [image["expect"] for image in gallery] == ["ann", "bob", "cat", "ann"]
say(id=id, scores=SCORES[id])
"""


def ranks(shop: Workshop, name: str = "out.jsonl") -> list[tuple[str, str, object, object, object]]:
    lines = [json.loads(line) for line in (shop.folder / name).read_text(encoding="utf-8").splitlines()]
    return [(t["id"], t["outcome"], t.get("rank"), t.get("score"), t.get("best_wrong")) for t in lines[1:-1]]


EXPECTED = [("q1", "TP", 1, 0.9, 0.3), ("q2", "FN", 2, 0.6, 0.8), ("q3", "FN", 2, 0.7, 0.7)]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_python_gets_the_gallery(shop: Workshop, jobs: str) -> None:
    identification(shop)
    shop.interface(ENROLLING)
    done = shop.call("run", "toy", "-j", jobs, "-o", "out.jsonl", "--format", "json")
    assert done.status == 0, done.err
    assert (done.row["TP"], done.row["FN"], done.row["ER"]) == (1, 2, 0)
    assert done.row["params"] == {"rank": 1}
    assert ranks(shop) == EXPECTED
    header = json.loads((shop.folder / "out.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert header["test"]["gallery"] == {"images": 4, "identities": 3}


def test_a_stream_program_is_told_where_the_gallery_is(shop: Workshop) -> None:
    identification(shop)
    shop.stream(STREAM)
    assert shop.call("run", "toy", "-o", "out.jsonl").status == 0
    assert ranks(shop) == EXPECTED


def test_a_command_has_the_gallery_as_a_placeholder(shop: Workshop) -> None:
    identification(shop)
    program = "import json,sys\nprint(json.dumps([json.loads(line)['expect'] for line in open(sys.argv[1])]))\n"
    shop.write("list.py", program)
    argv = json.dumps([sys.executable, "-S", "list.py", "{gallery}"])
    shop.toml(f'[command]\nargv = {argv}\noutput = "json"\n')
    assert shop.call("run", "toy", "-o", "out.jsonl").status == 0
    assert [(case, rank) for case, _, rank, *_ in ranks(shop)] == [("q1", 1), ("q2", 2), ("q3", 3)]


def test_scores_of_an_earlier_run_are_ranked(shop: Workshop) -> None:
    identification(shop)
    rows = [",g1,g2,g3,g4", *(",".join([q, *map(str, row.values())]) for q, row in SCORES.items())]
    shop.write("m.csv", "\n".join(rows) + "\n")
    shop.toml('[scores]\nmatrix = "m.csv"\n')
    assert shop.call("run", "toy", "-o", "out.jsonl").status == 0
    assert ranks(shop) == EXPECTED


def test_rank_and_threshold_are_decided_on_recorded_answers(shop: Workshop) -> None:
    open_set(shop)
    shop.interface(ENROLLING)
    done = shop.call(
        "sweep", "toy", "--param", "rank=1,2", "--param", "threshold=0.5,0.6,0.65,0.95", "--format", "json"
    )
    assert done.status == 0, done.err
    counts = {(r["params"]["rank"], r["params"]["threshold"]): (r["TP"], r["FP"]) for r in done.json["rows"]}
    assert counts == {
        (1, 0.5): (1, 1), (1, 0.6): (1, 0), (1, 0.65): (1, 0), (1, 0.95): (0, 0),
        (2, 0.5): (3, 1), (2, 0.6): (3, 0), (2, 0.65): (2, 0), (2, 0.95): (0, 0),
    }  # fmt: skip
    for (rank, threshold), (tp, fp) in counts.items():
        run = shop.call(
            "run", "toy", "--param", f"rank={rank}", "--param", f"threshold={threshold}", "--format", "json"
        )
        assert (run.row["TP"], run.row["FP"]) == (tp, fp)


def test_failures_to_acquire_are_errors_or_refusals(shop: Workshop) -> None:
    identification(shop)
    shop.interface("def answer(case, params):\n    return {'q1': None, 'q2': [1]}.get(case.id, ['cat'])\n")
    done = shop.call("run", "toy", "-o", "out.jsonl", "--format", "json")
    assert (done.row["TP"], done.row["FN"], done.row["ER"]) == (1, 2, 1)
    assert "1 scores for a gallery of 4 images" in done.err


@pytest.mark.parametrize(
    ("gallery", "probes", "words"),
    [
        ("id,input,expect\ng1,a,\n", PROBES, "gallery.csv:2: gallery image 'g1' has no identity; fill in expect"),
        ("id,input,expect\ng1,a,x\ng1,b,y\n", PROBES, "gallery.csv:3: id 'g1' appears twice"),
        ("id,input,expect\n", PROBES, "gallery.csv: no rows; a gallery needs at least one"),
        (
            GALLERY,
            PROBES.replace("cat", "eve"),
            "'eve' is not in the gallery; set positive = false for such a probe",
        ),
        (GALLERY, PROBES.replace("p2_3", "p2_1"), "'bob' is not in the gallery, except for this image itself"),
        (GALLERY, PROBES.replace("cat,true", "cat,false"), "'cat' is in the gallery; set positive = true"),
        (GALLERY, PROBES.replace("cat", ""), "case 'q3' is positive and has no ground truth; fill in expect"),
    ],
)
def test_mistakes_of_galleries_and_probes(shop: Workshop, gallery: str, probes: str, words: str) -> None:
    identification(shop, gallery=gallery, probes=probes)
    shop.interface()
    done = shop.call("run", "toy")
    assert done.status == 2
    assert words in done.err


def test_a_rank_test_needs_a_gallery(shop: Workshop) -> None:
    shop.script(task="rank")
    shop.interface()
    assert "gallery: missing; a rank test compares probes with a gallery" in shop.call("run", "toy").err


@pytest.mark.parametrize(("kind", "default"), [("float", "1.0"), ("int", "0")])
def test_a_rank_is_a_positive_integer(shop: Workshop, kind: str, default: str) -> None:
    section = f'[params.rank]\ntype = "{kind}"\ndefault = {default}\ndecision = true\n'
    identification(shop, sections=section)
    shop.interface()
    assert "params.rank: a rank is a place in a list" in shop.call("run", "toy").err


def test_enrol_is_checked_when_it_is_loaded(shop: Workshop, tmp_path: Path) -> None:
    identification(shop)
    shop.interface("def enrol(gallery):\n    pass\ndef answer(case, params):\n    return None\n")
    assert "enrol(gallery) does not take (gallery, params)" in shop.call("run", "toy").err
    shop.interface("def enrol(gallery, params):\n    1 / 0\ndef answer(case, params):\n    return None\n")
    assert "cannot enrol: ZeroDivisionError" in shop.call("run", "toy").err


def test_check_and_describe_know_the_gallery(shop: Workshop) -> None:
    script = identification(shop, gallery=GALLERY + "g5,p2_3,bob,3\n")
    shop.write("toy/train.csv", "id,input,expect\nt1,p3_1,cat\n")
    script.write_text(script.read_text(encoding="utf-8") + '[train]\ntable = "train.csv"\n', encoding="utf-8")
    output = shop.call("check", script).out
    assert "warning: 1 probes are in the gallery too, such as 'q2'; none is compared with itself" in output
    assert "warning: 1 gallery images are training material too, such as 'g3'" in output
    assert "gallery: 5 images of 3 identities" in shop.call("describe", "toy").out


def test_an_open_set_has_a_curve_over_the_threshold(shop: Workshop) -> None:
    open_set(shop)
    shop.interface(ENROLLING)
    done = shop.call("roc", "toy", "--param", "rank=2", "--format", "json", "--bands", "none")
    assert done.status == 0, done.err
    points = done.json["curves"][0]["points"]
    # Scores of the right people: 0.9, 0.7, 0.6; the stranger's best: 0.55.
    assert points["threshold"][1:] == [0.9, 0.7, 0.6, 0.55]
    assert points["tpr"] == pytest.approx([0, 1 / 3, 2 / 3, 1, 1])
    assert points["fpr"] == [0, 0, 0, 0, 1]
