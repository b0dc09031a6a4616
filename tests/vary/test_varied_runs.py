"""Runs of a test that varies its inputs: the same records however it is run, and a cache that several may use."""

import hashlib
import json
import os
import signal
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from harness.vary import version_maker
from harness.vary.version_maker import VersionStore
from tests.cli.test_case_list import RECORDING, listed
from tests.site.published_site import served
from tests.vary.pictures import pgm, picture, varied_script
from tests.workshop import Record, Workshop, errors, wait_until

NOISE = '[vary.noise]\nkind = "gaussian"\nvalues = [0, 5, 10]\n'
TURN = '[vary.turn]\nkind = "rotate"\nvalues = [0, 90, 33]\n'
SMALL = '[vary.smaller]\nkind = "downsample"\nvalues = [1, 3]\n'
# Overwrites all files beside its input.
EVIL = """\
import pathlib

def answer(case, params):
    for path in pathlib.Path(case.input).parent.glob("[!.]*"):
        path.chmod(0o666)
        path.write_bytes(b"P5 1 1 255 0")
    return "1"
"""
# Answers with a digest of its input, so that a record shows which pixels the program was given.
DIGEST = """\
import hashlib, pathlib
def answer(case, params):
    return hashlib.sha256(pathlib.Path(case.input).read_bytes()).hexdigest()[:12]
"""
IMAGES = {f"{n}.pgm": pgm(np.roll(picture(), n)) for n in range(5)}


@pytest.fixture
def own(shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """A workshop with a cache of its own."""
    shop.env["XDG_CACHE_HOME"] = str(tmp_path / "own cache")
    monkeypatch.setenv("XDG_CACHE_HOME", shop.env["XDG_CACHE_HOME"])
    return shop


def answers(records: list[Record]) -> dict[str, str]:
    return {record["id"]: record["actual"] for record in records}


def made(shop: Workshop) -> dict[str, tuple[int, bytes]]:
    """The files of the cache, with the time when each was made."""
    folder = Path(shop.env["XDG_CACHE_HOME"]) / "hate" / "varied"
    files = (path for path in folder.iterdir() if path.suffix != ".sha256")
    return {path.name: (path.stat().st_ino, path.read_bytes()) for path in files}


def test_several_programs_at_once_get_what_one_gets(shop: Workshop) -> None:
    varied_script(shop.folder / "toy", NOISE + TURN, images=IMAGES)
    shop.interface(DIGEST)
    inline = shop.run()
    assert len(answers(inline)) == len(set(answers(inline).values())) == 5 * 9
    assert shop.run("-j", "2", output="two.jsonl") == inline
    assert [record["psu"] for record in inline] == [str(n) for n in range(5) for _ in range(9)]
    assert inline[1]["columns"] == {"noise": 0, "turn": 90, "original": "0"}
    digest = hashlib.sha256(IMAGES["0.pgm"]).hexdigest()[:12]
    assert answers(inline)["0@noise=0,turn=0"] == digest  # the original file itself


def test_a_second_run_makes_nothing(own: Workshop) -> None:
    varied_script(own.folder / "toy", NOISE, images=IMAGES)
    own.interface(DIGEST)
    first, before = own.run(), made(own)
    assert len(before) == 10
    assert own.run(output="again.jsonl") == first
    assert made(own) == before


@pytest.mark.slow
def test_processes_at_once_share_the_cache(own: Workshop) -> None:
    varied_script(own.folder / "toy", NOISE + SMALL, images=IMAGES)
    own.interface(DIGEST)
    started = [own.start("run", "toy", "-o", f"{n}.jsonl") for n in range(3)]
    assert [process.wait(60) for process in started] == [0, 0, 0]
    for process in started:
        process.communicate()
    first, *others = (own.records(f"{n}.jsonl") for n in range(3))
    assert others == [first, first]
    assert errors(first) == {}
    assert len(made(own)) == 25
    assert not [name for name in made(own) if name.startswith(".")]


def test_an_algorithm_that_overwrites_its_input_spoils_no_later_run(own: Workshop) -> None:
    varied_script(own.folder / "toy", NOISE.replace("[0, ", "["), images=IMAGES)
    own.interface(DIGEST)
    before = own.run(output="before.jsonl")
    own.interface(EVIL)
    assert own.call("run", "toy", "-o", "evil.jsonl").status in (0, 1)
    own.interface(DIGEST)
    assert [one["actual"] for one in own.run(output="after.jsonl")] == [one["actual"] for one in before]


@pytest.mark.slow
def test_resumed_in_the_middle(shop: Workshop) -> None:
    varied_script(shop.folder / "toy", NOISE, images=IMAGES)
    shop.interface(DIGEST)
    whole = shop.run(output="whole.jsonl")
    slow = DIGEST.replace(
        "def answer(case, params):\n", "import time\ndef answer(case, params):\n    time.sleep(0.2)\n"
    )
    shop.interface(slow)
    process = shop.start("run", "toy", "-o", "part.jsonl")
    part = shop.folder / "part.jsonl"
    wait_until("some records", lambda: part.exists() and part.read_bytes().count(b"\n") > 4, process)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    process.communicate()
    begun = part.read_bytes().count(b"\n") - 1
    assert 3 < begun < 15
    done = shop.call("run", "toy", "-o", "part.jsonl", "--resume")
    assert done.status == 0, done.err
    assert shop.records("part.jsonl") == whole


def test_only_the_originals(shop: Workshop) -> None:
    varied_script(shop.folder / "toy", NOISE, images=IMAGES)
    shop.interface(DIGEST)
    whole, originals = shop.run(), shop.run("--no-vary", output="originals.jsonl")
    assert [record["id"] for record in originals] == list("01234")
    assert list(answers(originals).values()) == [answers(whole)[f"{n}@noise=0"] for n in range(5)]
    head = shop.lines("originals.jsonl")[0]
    assert (head["extent"], head["test"]["cases"]) == ({"vary": False}, 15)
    assert "extent" not in shop.lines()[0]
    done = shop.call("compare", "out.jsonl", "originals.jsonl")
    assert done.status == 2
    assert "that is of all versions, this is of the originals (--no-vary)" in done.err
    assert "this is of the originals" in shop.call("rate", "out.jsonl", "originals.jsonl").err
    done = shop.call("run", "toy", "-o", "originals.jsonl", "--resume")
    assert (done.status, "vary (False there, None now)" in done.err) == (2, True)
    assert shop.call("run", "toy", "--no-vary", "-o", "originals.jsonl", "--resume").status == 0


def test_originals_are_never_taken_by_name(shop: Workshop) -> None:
    varied_script(shop.folder / "toy", NOISE, images=IMAGES)
    shop.interface("NAME = 'mine'\n" + DIGEST)
    assert shop.call("run", "toy").status == 0
    assert shop.call("run", "toy", "--no-vary").status == 0
    done = shop.call("rate", "mine", "--format", "json")
    assert done.json["transcripts"][0]["tests"] == 15
    assert "covers only a part (originals only)" in done.err


@pytest.mark.parametrize("command", ["rate", "confusion"])
def test_commands_that_run_a_test_first_can_take_the_originals_alone(shop: Workshop, command: str) -> None:
    varied_script(shop.folder / "toy", NOISE, images=IMAGES)
    shop.interface(DIGEST)
    done = shop.call(command, "toy", "--no-vary", "-o", "originals.jsonl")
    assert done.status == 0, done.err
    assert [record["id"] for record in shop.records("originals.jsonl")] == list("01234")
    done = shop.call(command, "originals.jsonl", "--no-vary")
    assert (done.status, "--no-vary is for a test that is run" in done.err) == (2, True)


def test_no_vary_needs_something_that_varies(shop: Workshop) -> None:
    shop.script()
    shop.interface()
    done = shop.call("run", "toy", "--no-vary")
    assert (done.status, done.err) == (2, "hate: --no-vary: toy has no [vary], so all of its cases are originals\n")


def test_describe_says_what_is_varied(shop: Workshop) -> None:
    varied_script(shop.folder / "toy", NOISE + TURN, images=IMAGES)
    page = shop.call("describe", "toy").out
    assert "Each of 5 originals has 9 versions, one for every combination of these values." in page
    assert "- `noise`: 0, 5, 10 (gaussian: normal noise, by its standard deviation" in page
    facts = shop.call("describe", "toy", "--format", "json").json
    assert facts["vary"]["turn"]["values"] == [0, 90, 33]
    assert (facts["cases"]["total"], facts["originals"], facts["design"]["psu"]) == (45, 5, "original")
    assert list(facts["data"]) == ["images"]
    listed = {test["name"]: test["cases"] for test in shop.call("list", "--format", "json").json["tests"]}
    assert listed["toy"] == 45


def test_the_list_of_cases_is_what_a_program_is_told(shop: Workshop) -> None:
    shop.interface(RECORDING % "None")
    shop.call("run", "vase", "--limit", "12", "-o", "out.jsonl")
    seen = [json.loads(line) for line in (shop.folder / "seen.jsonl").read_text().splitlines()]
    found = [{"expect": "", "columns": {}} | one for one in listed(shop, "vase", "--limit", "12")]
    assert found == seen
    assert len({one["input"] for one in found}) == 12
    assert all(Path(one["input"]).is_file() for one in found)


def test_a_list_of_cases_says_which_input_cannot_be_made(shop: Workshop) -> None:
    varied_script(shop.folder / "toy", NOISE, images={"1.pgm": b"no image at all"})
    done = shop.call("cases", "toy")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "hate: input '{images}/1.pgm' cannot be varied: it is not an image" in done.err


def test_an_original_that_cannot_be_read_is_an_error_of_its_versions(shop: Workshop) -> None:
    images = IMAGES | {"1.pgm": IMAGES["1.pgm"][:50], "3.pgm": b"no image at all"}
    varied_script(shop.folder / "toy", NOISE, images=images)
    shop.interface(DIGEST)
    for words in ((), ("-j", "2")):
        records = shop.run(*words, "--force")
        assert errors(records) == {f"{n}@noise={v}": "interface" for n in (1, 3) for v in (5, 10)}
        messages = {record["id"]: record["message"] for record in records if "error" in record}
        assert messages["1@noise=5"].startswith("input '{images}/1.pgm' cannot be varied: the file ends too early")
        assert "it is not an image; expected PGM" in messages["3@noise=10"]
    done = shop.call("run", "toy", "--case", "3@noise=5")
    assert (done.status, "cannot be varied" in done.out) == (1, True)


def test_data_that_is_a_single_image(shop: Workshop) -> None:
    keys = '[data.one]\npath = "images/picture"\n'
    varied_script(
        shop.folder / "toy", NOISE, images={"picture": IMAGES["1.pgm"]}, keys=keys, rows="id,input,expect\n1,{one},x\n"
    )
    shop.interface(DIGEST)
    assert len(set(answers(shop.run()).values())) == 3


def test_a_script_on_a_web_server(shop: Workshop, tmp_path: Path) -> None:
    rows, keys = "id,input,expect\n1,{one},x\n", '[data.one]\npath = "1.pgm"\n'
    path = varied_script(tmp_path / "toy", NOISE, images={}, keys=keys, rows=rows)
    path.write_text(path.read_text().replace('[data.images]\npath = "images"\n', ""))
    (path.parent / "1.pgm").write_bytes(IMAGES["1.pgm"])
    shop.interface(DIGEST)
    with served(path.parent) as server:
        done = shop.call("run", server.url("/toy.hate.toml"), "-o", "out.jsonl")
    assert done.status == 0, done.err
    assert len(set(answers(shop.records()).values())) == 3


@pytest.mark.slow
def test_a_sweep_and_folds_run_on_versions(shop: Workshop) -> None:
    (shop.folder / "toy").mkdir()
    rows = "\n".join(f"t{n},{{images}}/{n}.pgm,{n}.pgm" for n in range(4))
    (shop.folder / "toy" / "train.csv").write_text(f"id,input,expect\n{rows}\n")
    varied_script(shop.folder / "toy", NOISE, images=IMAGES, keys='[train]\ntable = "train.csv"\n')
    shop.interface(DIGEST + "PARAMS = {'bits': 1}\ndef train(cases, params): pass\n")
    done = shop.call("sweep", "toy", "--param", "bits=1,2", "--format", "json")
    assert [row["tests"] for row in done.json["rows"]] == [15, 15]
    done = shop.call("sweep", "toy", "--param", "bits=1,2", "--no-vary", "--format", "json")
    assert [row["tests"] for row in done.json["rows"]] == [5, 5]  # not those of the cache
    done = shop.call("run", "toy", "--train-folds", "2", "--format", "json")
    assert [row["tests"] for row in done.json["rows"]] == [15, 15]


ECHO_MASK = "def answer(case, params):\n    return case.input\n"


@pytest.mark.parametrize("keys", ["", "[mask]\nignore = 7\n"])
def test_the_truth_of_a_mask_moves_with_its_input(shop: Workshop, keys: str) -> None:
    """The input is the truth itself, so that a program that returns it is right wherever both went."""
    mask = np.zeros((30, 40), dtype=np.uint8)
    mask[4:12, 6:26], mask[20:28, 30:38] = 255, 200
    rows = "id,input,expect\n1,{images}/1.pgm,{images}/1.pgm\n"
    vary = TURN.replace("33]", "180, 270]") + SMALL.replace("[1, 3]", "[1, 2]")
    varied_script(shop.folder / "toy", vary, images={"1.pgm": pgm(mask)}, rows=rows, task="mask", keys=keys)
    shop.interface(ECHO_MASK)
    records = shop.run()
    assert len(records) == 8
    for record in records:
        turned = record["columns"]["turn"] in (90, 270)
        small = record["columns"]["smaller"]
        sides = (30 // small, 40 // small) if turned else (40 // small, 30 // small)
        assert record["actual"] == f"mask {sides[0]} x {sides[1]}"
        assert (record["score"], record["outcome"]) == (1.0, "TP")
        total = sum(record["pixels"][name] for name in ("TP", "TN", "FP", "FN"))
        assert total == sides[0] * sides[1]
    # A truth that was made is named as data is: the same on every machine.
    assert {record["expect"].partition("/")[0] for record in records} == {"{images}", "{varied}"}


def test_new_ground_is_background_or_ignored(shop: Workshop) -> None:
    mask = np.full((30, 40), 255, dtype=np.uint8)
    rows = "id,input,expect\n1,{images}/1.pgm,{images}/1.pgm\n"
    for keys, ignored in (("", False), ("[mask]\nignore = 7\n", True)):
        vary = '[vary.turn]\nkind = "rotate"\nvalues = [30]\n'
        varied_script(shop.folder / "toy", vary, images={"1.pgm": pgm(mask)}, rows=rows, task="mask", keys=keys)
        shop.interface(ECHO_MASK)
        pixels = shop.run("--force")[0]["pixels"]
        assert pixels["TP"] == pytest.approx(30 * 40, abs=30)
        assert pixels["FN"] == pixels["TN"] == 0  # the corners are filled with the nearest pixels, all white
        assert (pixels["FP"] == 0) == ignored


def test_weights_of_a_mask_move_too(shop: Workshop) -> None:
    mask, weights = np.zeros((12, 16), dtype=np.uint8), np.zeros((12, 16), dtype=np.uint8)
    mask[:6], weights[:, :4] = 1, 255
    images = {"1.pgm": pgm(mask), "w.pgm": pgm(weights)}
    rows = "id,input,expect,weight\n1,{images}/1.pgm,{images}/1.pgm,{images}/w.pgm\n"
    vary = TURN.replace("33]", "180]") + SMALL.replace("3]", "2]")
    keys = '[mask]\nweights = "weight"\n'
    varied_script(shop.folder / "toy", vary, images=images, rows=rows, task="mask", keys=keys)
    shop.interface("import numpy as np\ndef answer(case, params):\n    return None\n")
    for record in shop.run():
        part = 4 if record["columns"]["smaller"] == 2 else 1
        assert record["pixels"] | {"FN": 24 / part, "TN": 24 / part} == record["pixels"], record["id"]


def test_the_boxes_of_a_truth_move_with_its_input(shop: Workshop) -> None:
    """A program that finds the bounding box of what is bright is right wherever it went."""
    image = np.zeros((40, 60), dtype=np.uint8)
    image[8:20, 12:40] = 255
    truth = [
        {"label": "x", "box": [12, "8", 28, 12], "area": 64},
        {"label": "y", "box": [12, 8, 28, 12], "ignore": True},
    ]
    row = {"id": "1", "input": "{images}/1.pgm", "expect": truth}
    vary = TURN.replace("33]", "180, 270]") + SMALL.replace("3]", "4]")
    path = varied_script(shop.folder / "toy", vary, images={"1.pgm": pgm(image)}, task="boxes")
    path.write_text(path.read_text().replace("cases.csv", "cases.jsonl"))
    (path.parent / "cases.jsonl").write_bytes(msgspec.json.encode(row) + b"\n")
    shop.interface("""\
from pathlib import Path
import numpy as np
def answer(case, params):
    head, size, most, pixels = Path(case.input).read_bytes().split(b"\\n", 3)
    width, height = map(int, size.split())
    y, x = np.nonzero(np.frombuffer(pixels, np.uint8).reshape(height, width))
    box = [x.min(), y.min(), x.max() + 1 - x.min(), y.max() + 1 - y.min()]
    return [{"label": "x", "box": [int(side) for side in box], "score": 1.0}]
""")
    records = shop.run("--param", "iou=1")
    assert [record["outcome"] for record in records] == ["TP"] * 8
    for record in records:
        boxes, part = record["boxes"], 16 if record["columns"]["smaller"] == 4 else 1
        assert (boxes["areas"], boxes["ignored"]) == ([[0, 64 / part]], [1])


def test_a_task_that_cannot_move_its_truth_says_so(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.tasks.mask import MaskTask

    rows = "id,input,expect\n1,{images}/1.pgm,{images}/1.pgm\n"
    varied_script(shop.folder / "toy", TURN + NOISE, images={"1.pgm": IMAGES["1.pgm"]}, rows=rows, task="mask")
    monkeypatch.setattr(MaskTask, "moves_truth", False)
    done = shop.call("check", "toy")
    assert "vary.turn: rotate moves things, and the truth of a mask test cannot be moved" in done.out
    assert "noise" not in done.out


def test_the_cache_is_bounded_and_keeps_what_is_in_use(tmp_path: Path) -> None:
    store = VersionStore(tmp_path, most_bytes=10_000)
    image = np.zeros((50, 50), dtype=np.uint8)  # 2,500 bytes and a header
    old = time.time() - 2 * version_maker.IN_USE_SECONDS
    for n in range(8):
        store.write(f"{n}.pgm", image)
        os.utime(tmp_path / f"{n}.pgm", (old + n, old + n))
    assert store.take("6.pgm")
    for n in range(8, 11):
        store.write(f"{n}.pgm", image)
    left = {path.name for path in tmp_path.iterdir()}
    assert {"6.pgm", "8.pgm", "9.pgm", "10.pgm"} <= left
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 13_000
    assert not store.take("0.pgm")


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_ends_the_run_with_a_remedy(own: Workshop) -> None:
    varied_script(own.folder / "toy", NOISE, images=IMAGES)
    own.interface(DIGEST)
    folder = Path(own.env["XDG_CACHE_HOME"]) / "hate"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "varied").write_text("a file, not a folder")
    done = own.hate("run", "toy")
    assert done.status == 2
    assert "free some space or set XDG_CACHE_HOME" in done.err


def test_a_cached_file_that_was_cut_off_is_made_again(own: Workshop) -> None:
    varied_script(own.folder / "toy", NOISE, images=IMAGES)
    own.interface(DIGEST)
    first = own.run()
    folder = Path(own.env["XDG_CACHE_HOME"]) / "hate" / "varied"
    for path in folder.iterdir():
        path.write_bytes(b"")
    assert own.run(output="again.jsonl") == first


def test_a_bomb_is_an_error_of_its_case(shop: Workshop) -> None:
    images = {"0.pgm": b"P5\n20000 10000\n255\n", "1.png": b""}
    varied_script(shop.folder / "toy", NOISE, images=images)
    shop.interface(DIGEST)
    records = shop.run()
    assert "20000 x 10000 pixels are more than 100 million" in records[1]["message"]


@pytest.mark.parametrize("words", [[], ["--no-vary"]])
def test_a_run_of_versions_is_judged_again(shop: Workshop, words: list[str]) -> None:
    varied_script(shop.folder / "toy", NOISE, images=IMAGES)
    shop.interface(DIGEST)
    shop.run(*words, output="a.jsonl")
    done = shop.call("check", "a.jsonl")
    assert done.status == 0
    assert "judged again" in done.out
