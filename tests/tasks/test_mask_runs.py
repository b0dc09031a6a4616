"""Mask tests as a whole: every way to answer gives the same records, and a sweep those of running again."""

import base64
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from PIL import Image

from harness.analysis.decisions import write_decided
from harness.files.images import read_plane, write_image
from harness.transcript.read import open_transcript
from tests.tasks.masks import COUNTS, Plane, count, discs, iou, outcome, write_test
from tests.workshop import Record, Workshop, errors

TEST = "masks/masks.hate.toml"
THRESHOLD = """\
[params.threshold]
type = "float"
default = 130
decision = true
"""
# Ways to answer in Python: `marked` is the mask, `image` the grey image.
ANSWERS = {
    "array": "marked",
    "8 bits": "marked.astype(np.uint8) * 255",
    "16 bits": "marked.astype(np.uint16) * 1000",
    "floats": "marked.astype(float)",
    "fortran": "np.asfortranarray(marked)",
    "lists": "marked.tolist()",
    "picture": "Image.fromarray(marked)",
    "bytes": "saved('png', marked).read_bytes()",
    "one bit": "saved('png', marked)",
    "pbm": "str(saved('pbm', marked))",
    "tiff": "saved('tiff', marked)",
    "named": "{'mask': str(saved('png', marked))}",
    "npy": "npy(marked)",
}
INTERFACE = """\
import tempfile
from pathlib import Path
import numpy as np
from PIL import Image
folder = Path(tempfile.mkdtemp(dir=Path.cwd()))
def saved(suffix, marked):
    with tempfile.NamedTemporaryFile(dir=folder, suffix='.' + suffix, delete=False) as file:
        Image.fromarray(marked).save(file)
    return Path(file.name)
def npy(marked):
    with tempfile.NamedTemporaryFile(dir=folder, suffix='.npy', delete=False) as file:
        np.save(file, marked)
    return file.name
def answer(case, params):
    image = np.asarray(Image.open(case.input))
    marked = image >= 130
    return {answer}
"""


def expected(truths: list[Plane], images: list[Plane], threshold: int = 130) -> list[Record]:
    counts = [count(truth, image >= threshold, {}) for truth, image in zip(truths, images, strict=True)]
    return [{"pixels": of, "score": iou(of), "outcome": outcome(of)} for of in counts]


def check(records: list[Record], truths: list[Plane], images: list[Plane], threshold: int = 130) -> None:
    for record, wanted in zip(records, expected(truths, images, threshold), strict=True):
        assert {name: record["pixels"][name] for name in COUNTS} == wanted["pixels"]
        assert record["score"] == pytest.approx(wanted["score"], abs=1e-15)
        assert record["outcome"] == wanted["outcome"]


def run(shop: Workshop, *words: str | Path, output: str = "out.jsonl") -> list[Record]:
    done = shop.call("run", TEST, "-o", output, "--force", *words)
    records = shop.records(output)
    assert done.status == int(all("error" in record for record in records)), done.err
    return records


@pytest.mark.parametrize("form", ANSWERS)
def test_forms_of_an_answer(form: str, shop: Workshop) -> None:
    truths, images = discs(3)
    write_test(shop, truths, images)
    shop.interface(INTERFACE.replace("{answer}", ANSWERS[form]))
    check(run(shop), truths, images)


COMMAND = """\
[algorithm]
name = "other"
[command]
argv = {argv}
{more}
"""


def command(shop: Workshop, body: str) -> None:
    """An interface for a Python program that gets an input and {output}."""
    shop.write("program.py", f"import os, pathlib, shutil, sys\n_, source, target = sys.argv\n{body}")
    argv = json.dumps([sys.executable, "-S", "program.py", "{input}", "{output}"])
    shop.toml(COMMAND.format(argv=argv, more=""))


def test_all_ways_to_run_give_the_same_records(shop: Workshop) -> None:
    truths, images = discs(5)
    write_test(shop, truths, images, sections=THRESHOLD)
    shop.interface(INTERFACE.replace("{answer}", "{'scores': image}"))
    inline = run(shop)
    check(inline, truths, images)
    assert run(shop, "-j", "2") == inline
    (shop.folder / "interface.py").unlink()
    # The grey values of the input are its scores.
    shop.toml(COMMAND.format(argv='["cp", "{input}", "{output}"]', more='output = "scores"'))
    assert run(shop) == inline
    assert run(shop, "-j", "2") == inline
    encode = "base64.b64encode(open(given, 'rb').read()).decode()"
    shop.stream(f"import base64\nsay(id=id, answer={{'scores': {{'bytes': {encode}}}}})")
    assert run(shop) == inline
    shop.stream("say(id=id, scores=given)")
    assert run(shop) == inline


@pytest.mark.slow
def test_large_arrays_travel_between_processes(shop: Workshop) -> None:
    """More than a line of the protocol can hold: 2.1 megapixels of 8 bytes."""
    image = np.random.default_rng(1).random((1450, 1450))
    truth = np.repeat(image[:, :1] > 0.7, 1450, axis=1)
    write_test(shop, [truth], [image], sections=THRESHOLD.replace("130", "0.75"), suffix=".npy")
    shop.interface("import numpy as np\ndef answer(case, params):\n    return {'scores': np.load(case.input)}\n")
    inline = run(shop)
    marked = image >= 0.75
    assert inline[0]["score"] == pytest.approx((marked & truth).sum() / (marked | truth).sum(), abs=1e-15)
    assert 512 <= len(inline[0]["pixels"]["levels"]) <= 1024
    assert run(shop, "-j", "2") == inline


def test_records_hold_nothing_of_this_machine(shop: Workshop) -> None:
    truths, images = discs(3)
    write_test(shop, truths, images)
    shop.interface(INTERFACE.replace("{answer}", "saved('png', marked) if case.id != 'c1' else folder / 'none.png'"))
    run(shop)
    lines = (shop.folder / "out.jsonl").read_bytes().splitlines()[1:]
    assert not any(str(shop.folder).encode() in line for line in lines)
    assert [record["actual"] for record in shop.records() if "error" not in record] == ["mask 18 x 14"] * 2


def test_a_sweep_equals_running_again(shop: Workshop) -> None:
    truths, images = discs(10)
    write_test(shop, truths, images, sections=THRESHOLD)
    shop.interface(INTERFACE.replace("{answer}", "(folder / f'{case.id}.call').touch() or {'scores': image}"))
    done = shop.call(
        "sweep", TEST, "--param", "threshold=100,130,160,300", "--param", "iou=0.3,0.5,0.8", "--format", "json"
    )
    assert done.status == 0, done.err
    assert len(list(shop.folder.glob("*/*.call"))) == 10
    for row in done.json["rows"]:
        wanted = expected(truths, images, row["params"]["threshold"])
        outcomes = [outcome(one["pixels"], row["params"]["iou"]) for one in wanted]
        assert {name: row[name] for name in COUNTS} == {name: sum(one == name for one in outcomes) for name in COUNTS}


def test_records_that_are_decided_again_are_those_of_a_run(shop: Workshop) -> None:
    """Counts and IoU too, not only the outcome."""
    truths, images = discs(6)
    write_test(shop, truths, images, sections=THRESHOLD)
    answer = "{'scores': image if case.id != 'c3' else 'none.png'} if case.id != 'c2' else None"
    shop.interface(INTERFACE.replace("{answer}", answer))
    run(shop, output="first.jsonl")
    with open_transcript(shop.folder / "first.jsonl") as reader:
        header = reader.header
    for params in ({"threshold": 100.0, "iou": 0.5}, {"threshold": 160.0, "iou": 0.9}):
        write_decided([shop.folder / "first.jsonl"], shop.folder / "again.jsonl", replace(header, params=params))
        words = [word for name, value in params.items() for word in ("--param", f"{name}={value}")]
        assert shop.records("again.jsonl") == run(shop, *words)


def test_bad_answers_are_errors_of_their_cases(shop: Workshop) -> None:
    truths, images = discs(14, empty=20)
    write_test(shop, truths, images)
    os.mkfifo(shop.folder / "pipe")
    (shop.folder / "wrong.png").write_bytes(b"no image")
    Image.fromarray(np.zeros((14, 18), np.uint8)).save(shop.folder / "lossy.jpg")
    Image.fromarray(np.zeros((14, 18, 3), np.uint8) + np.array([1, 2, 3], np.uint8)).save(shop.folder / "colour.png")
    answers = {
        "'nowhere/none.png'": "the image 'none.png': it cannot be opened: no such file or directory",
        "'wrong.png'": "the image 'wrong.png': it is not an image; expected PGM, PPM, PBM, PNG, TIFF, NPY or JPEG",
        "'pipe'": "the image 'pipe': it is not a regular file",
        "'/dev/zero'": "the image 'zero': it is not a regular file",
        "'lossy.jpg'": "the image 'lossy.jpg': a JPEG, which changes pixels; use PNG, PGM, TIFF or NPY",
        "'colour.png'": "the image 'colour.png': it is a colour image; expected one value for each pixel",
        "np.zeros((14, 17))": "the answer is 17 x 14, the truth 18 x 14 pixels",
        "{'scores': np.full((14, 18), np.nan)}": "score nan at x 0, y 0 is not a finite number",
        "np.full((14, 18), 0.5)": '0.5 is not a value of a mask; answer {"scores": ...} if these are scores',
        "[[1, 2], [3]]": "the rows of the list have different lengths, or hold something other than numbers",
        "[['a']]": "[['a']] is not a 2-D array of numbers",
        "7": "7 is neither an image's path, nor its bytes, nor a 2-D array",
        "b'P5 20000 20000 255 '": "the image: 20000 x 20000 pixels are more than 100 million",
        "np.array([['x']])": "an array of <U1; expected numbers or booleans",
    }
    listed = ", lambda: ".join(answers)
    body = f"ANSWERS = [lambda: {listed}]\ndef answer(case, params):\n    return ANSWERS[int(case.id[1:])]()\n"
    shop.interface(f"import numpy as np\n{body}")
    inline = run(shop)
    assert errors(inline) == {f"c{n}": "answer" for n in range(14)}
    assert [record["message"] for record in inline] == list(answers.values())
    for record, truth in zip(inline, truths, strict=True):
        assert record["pixels"] == {"TP": 0, "TN": 0, "FP": int((truth == 0).sum()), "FN": int((truth > 0).sum())}
    assert run(shop, "-j", "2") == inline


def test_an_error_that_counts_as_a_refusal_marks_nothing(shop: Workshop) -> None:
    truths, images = discs(5)
    write_test(shop, truths, images, keys='errors = "refuse"')
    shop.interface("def answer(case, params):\n    return 'none.png' if case.id != 'c0' else None\n")
    refused, *failed = run(shop)
    assert "error" not in refused
    for record, truth in zip([refused, *failed], truths, strict=True):
        assert record["pixels"] == {"TP": 0, "TN": int((truth == 0).sum()), "FP": 0, "FN": int((truth > 0).sum())}
        assert record["outcome"] == ("FN" if truth.any() else "TN")


def test_an_error_that_counts_as_a_refusal_has_its_confusion(shop: Workshop) -> None:
    """Also of an image that is all object, in which no background is right."""
    truths, images = discs(5)
    truths[1] = np.ones_like(truths[1])
    write_test(shop, truths, images, keys='errors = "refuse"')
    matrices = []
    for answer in ("None", "1 / 0"):
        shop.interface(f"def answer(case, params):\n    return {answer}\n")
        run(shop, output="all.jsonl")
        matrices.append(shop.call("confusion", "all.jsonl", "--format", "json").json["matrix"])
    whole = sum(truth.size for truth in truths)
    marked = sum(int((truth > 0).sum()) for truth in truths)
    assert matrices == [[[whole - marked, 0, 0], [marked, 0, 0]]] * 2


def test_commands_that_fail(shop: Workshop) -> None:
    write_test(shop, *discs(4))
    body = """\
n = int(pathlib.Path(source).stem[1:])
if n == 1: pathlib.Path(target).touch()
if n == 2: os.mkfifo(target)
if n == 3: sys.exit('out of order')
"""
    command(shop, body)
    missing, refused, pipe, crash = run(shop)
    assert (missing["error"], missing["message"]) == ("answer", "wrote no file {output}; an empty one is a refusal")
    assert "error" not in refused
    assert "actual" not in refused
    assert (pipe["error"], pipe["message"]) == ("answer", "{output}: it is not a regular file")
    assert crash["error"] == "crash"


def test_each_case_has_a_file_of_its_own_that_is_removed(shop: Workshop) -> None:
    """A program that writes nothing must not be given the answer to the case before."""
    truths, images = discs(3)
    write_test(shop, truths, images)
    body = """\
open('seen', 'a').write(f'{os.path.exists(target)} {len(os.listdir(os.path.dirname(target)))} {target[-4:]}\\n')
shutil.copy(source, target)
"""
    command(shop, body)
    for record, truth, image in zip(run(shop), truths, images, strict=True):
        assert {name: record["pixels"][name] for name in COUNTS} == count(truth, image, {})
    assert (shop.folder / "seen").read_text() == "False 0 .png\n" * 3


@pytest.mark.parametrize(
    ("more", "argv", "message"),
    [
        ('suffix = ".png"', ["true", "{input}"], "suffix is the end of the name of {output}, which argv does not have"),
        ('suffix = "png"', ["true", "{output}"], "suffix"),
        ('output = "exit"', ["true", "{output}"], "either the exit status or in {output}"),
    ],
)
def test_mistakes_in_a_command(more: str, argv: list[str], message: str, shop: Workshop) -> None:
    write_test(shop, *discs(1))
    shop.toml(COMMAND.format(argv=json.dumps(argv), more=more))
    done = shop.call("run", TEST)
    assert done.status == 2
    assert message in done.err


def test_a_command_may_print_its_image(shop: Workshop) -> None:
    truths, images = discs(3)
    write_test(shop, truths, images, suffix=".pgm")
    shop.toml(COMMAND.format(argv='["cat", "{input}"]', more='output = "image"'))
    for record, truth, image in zip(run(shop), truths, images, strict=True):
        assert {name: record["pixels"][name] for name in COUNTS} == count(truth, image, {})


def test_answers_computed_earlier(shop: Workshop) -> None:
    truths, images = discs(3)
    write_test(shop, truths, images)
    rows = [f"c{n},masks/images/i{n}.png" for n in range(3)]
    shop.write("answers.csv", "\n".join(["id,answer", *rows, ""]))
    shop.toml('[algorithm]\nname = "earlier"\n[scores]\ntable = "answers.csv"\n')
    for record, truth, image in zip(run(shop), truths, images, strict=True):
        assert {name: record["pixels"][name] for name in COUNTS} == count(truth, image, {})


def test_base64_of_something_else(shop: Workshop) -> None:
    write_test(shop, *discs(2, empty=9))
    shop.stream("say(id=id, answer={'bytes': '!!' if id == 'c0' else " + repr(base64.b64encode(b"x").decode()) + "})")
    first, second = run(shop)
    assert first["message"] == "the image: its bytes are not base64"
    assert second["message"].startswith("the image: it is not an image")


def test_check_reads_the_truths(shop: Workshop) -> None:
    truths, images = discs(5)
    path = write_test(shop, truths, images, sections='[mask]\nweights = "group"', column=lambda n: f"{{here}}/i{n}.png")
    folder = shop.folder / "masks/images"
    write_image(folder / "t4.png", truths[0])
    write_image(folder / "i2.png", images[2][1:])
    (folder / "t1.png").write_bytes(b"no image")
    (folder / "t3.png").write_bytes((folder / "t3.png").read_bytes()[:40])
    done = shop.call("check", path)
    assert done.status == 1
    assert "case 'c1': the truth image: it is not an image" in done.out
    assert "case 'c2': the weight image is 18 x 13, the truth 18 x 14" in done.out
    assert "case 'c3': the truth image: it" in done.out
    assert "case 'c4'" not in done.out
    assert str(folder) not in done.out


@pytest.mark.parametrize("form", ["csv", "jsonl", "inline"])
def test_check_and_run_agree_on_what_is_positive(shop: Workshop, form: str) -> None:
    """It follows from the truth: c4 has no object. A table need not say it, and what it says must be right."""
    path = write_test(shop, *discs(5))
    shop.interface("def answer(case, params):\n    return case.input\n")

    def rewrite(said: dict[int, str]) -> None:
        rows = [{"id": f"c{n}", "input": f"{{here}}/i{n}.png", "expect": f"{{here}}/t{n}.png"} for n in range(5)]
        for n, value in said.items():
            rows[n]["positive"] = value
        if form == "csv":
            lines = [",".join(row.get(name, "") for name in ("id", "input", "expect", "positive")) for row in rows]
            lines = ["id,input,expect,positive", *lines] if said else ["id,input,expect", *(one[:-1] for one in lines)]
            shop.write("masks/cases.csv", "\n".join([*lines, ""]))
            return
        shop.write("masks/cases.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        text = path.read_text().replace("cases.csv", "cases.jsonl")
        if form == "inline":
            cases = "".join(
                "[[cases.case]]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in row.items())
                for row in rows
            )
            text = text.partition("[cases]")[0].partition("[[cases")[0] + cases
        path.write_text(text)

    for said in ({}, {4: "false"}, {0: "true", 4: ""}):
        rewrite(said)
        done = shop.call("check", path)
        assert done.status == 0, done.out
        assert [record["positive"] for record in run(shop)] == [True] * 4 + [False]
    for said, text in (
        ({4: "true"}, "case 'c4': positive is true, but the truth image has no object"),
        ({0: "false"}, "case 'c0': positive is false, but the truth image has an object"),
    ):
        rewrite(said)
        done = shop.call("check", path)
        assert done.status == 1
        assert text in done.out
        # The truth decides all the same.
        assert [record["positive"] for record in run(shop)] == [True] * 4 + [False]


def test_a_truth_that_cannot_be_read_is_an_error_of_its_case(shop: Workshop) -> None:
    write_test(shop, *discs(2))
    (shop.folder / "masks/images/t0.png").write_bytes(b"no image")
    shop.interface("def answer(case, params):\n    return case.input\n")
    first, second = run(shop)
    assert first["error"] == "answer"
    assert first["message"].startswith("the truth image: it is not an image")
    assert "pixels" not in first
    assert "error" not in second


MISTAKES = {
    "ignore = 3.5": "mask.ignore: 3.5 is not a value of a pixel",
    "ignore = -1": "mask.ignore: -1 is not a value of a pixel",
    'weights = ""': "mask.weights: '' is not the name of a column",
    "boundary = 2": "mask.boundary: expected {width = 2, weight = 0.5}, and nothing else",
    "boundary = {width = -1, weight = 0.5}": "mask.boundary.width: -1 is not a number from 0 to 1000",
    "boundary = {width = 1, weight = 2}": "mask.boundary.weight: 2 is not a number from 0 to 1",
    'labels = {a = "vase"}': "mask.labels.a: not a value of a pixel",
    "labels = {1 = 3}": "mask.labels.1: 3 is not a name",
    'labels = {1 = "a", 2 = "a"}': "mask.labels: a name appears twice",
    'ignore = 2\nlabels = {1 = "a", 2 = "b"}': "mask.labels.2: this value is ignored",
    "widht = 3": "mask.widht: unknown key",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_in_the_table(text: str, shop: Workshop) -> None:
    path = write_test(shop, *discs(1), sections=f"[mask]\n{text}")
    done = shop.call("check", path)
    assert done.status == 1
    assert MISTAKES[text] in done.out


def test_mistakes_in_cases(shop: Workshop) -> None:
    path = write_test(shop, *discs(1), sections='[mask]\nweights = "w"')
    shop.write("masks/cases.csv", "id,input,expect,positive,w\na,x,t0.png,true,\nb,x,,false,{here}/i0.png\n")
    done = shop.call("check", path)
    assert done.status == 1
    assert "expect 't0.png' is not a file of the test's data; write {NAME}/file, as in [data.NAME]" in done.out
    assert "case 'b' is negative and has no ground truth; fill in expect" in done.out


def test_a_new_script_is_valid_and_runs(shop: Workshop) -> None:
    assert shop.call("new", "script", "mine", "--task", "mask").status == 0
    assert shop.call("check", "mine").status == 0
    shop.interface("def answer(case, params):\n    return case.input\n")
    done = shop.call("run", "mine/mine.hate.toml", "--format", "json")
    assert done.status == 0
    truth = read_plane(shop.folder / "mine/images/0001-truth.pgm")
    assert done.row["FN"] == 2
    assert truth.sum() == 4


def test_the_program_is_not_shown_the_truth(shop: Workshop) -> None:
    write_test(shop, *discs(1))
    shop.interface("def answer(case, params):\n    assert not case.expect, case.expect\n    return case.input\n")
    assert "error" not in run(shop)[0]


def test_one_case_in_detail_does_not_print_the_image(shop: Workshop) -> None:
    write_test(shop, [np.ones((200, 200), np.uint8)], [np.ones((200, 200), np.uint8)])
    shop.interface("import numpy as np\ndef answer(case, params):\n    return np.ones((200, 200))\n")
    done = shop.call("run", TEST, "--case", "c0", "--verbose")
    assert done.status == 0, done.err
    assert "taken as: mask 200 x 200" in done.out
    assert "characters)" in done.out
    assert len(done.out) < 2000
