"""What `list`, `describe`, `cases`, `show`, `diff`, `check`, `import`, `convert`, `new` and `test` do, from Python.

The truth is the command: the same data as its JSON, the same text where it prints text.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.api.regression import RegressionResult
from harness.api.result import Result
from harness.api.wording import PythonWords
from harness.cli.output import terminal_width
from harness.report.formats import Format
from tests.cli.test_regression import toy
from tests.workshop import Workshop

# The same without its types, for calls that a type checker refuses.
anything: Any = harness
TABLE = "id,y_true,y_pred,group\n1,a,a,x\n2,b,a,x\n3,b,b,y\n4,a,a,y\n"


@pytest.fixture
def runs(shop: Workshop) -> Workshop:
    """Two runs of the toy test, a test with a mistake, and a table of another tool."""
    shop.script()
    shop.interface()
    shop.run(output="transcripts/toy/echo.jsonl")
    shop.interface("NAME = 'other'\ndef answer(case, params):\n    return 'x2'\n")
    shop.run(output="transcripts/toy/other.jsonl")
    shop.write("wrong/wrong.hate.toml", "format = 1\n")
    shop.write("svm.csv", TABLE)
    return shop


SAME_AS_JSON: dict[str, tuple[str, Callable[[], Result]]] = {
    "list_tests": ("list", harness.list_tests),
    "list_tests in a folder": ("list --library .", lambda: harness.list_tests(libraries=".")),
    "list_transcripts": ("list --transcripts", harness.list_transcripts),
    "list_interfaces": ("list --interfaces", harness.list_interfaces),
    "list_plugins": ("list --plugins", harness.list_plugins),
    "describe": ("describe hdigits", lambda: harness.describe("hdigits")),
    "describe a test": ("describe toy", lambda: harness.describe(harness.load_test("toy"))),
    "show": (
        "show hdigits/wisard --outcome FP --sort -score --limit 3",
        lambda: harness.show("hdigits/wisard", outcome="FP", sort="-score", limit=3),
    ),
    "show what was read": ("show echo", lambda: harness.show(harness.read("echo"))),
    "diff": ("diff echo other", lambda: harness.diff("echo", "other")),
    "diff of answers": ("diff echo other --answers", lambda: harness.diff("echo", harness.read("other"), answers=True)),
    "load": ("import svm.csv -o svm.jsonl --force", lambda: harness.load("svm.csv", output="svm.jsonl", force=True)),
    "load with a design": (
        "import svm.csv -o svm.jsonl --psu group --force",
        lambda: harness.load(["svm.csv"], output="svm.jsonl", psu="group", force=True),
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SAME_AS_JSON)
def test_the_same_as_the_command(runs: Workshop, name: str) -> None:
    words, call = SAME_AS_JSON[name]
    printed = runs.call(*words.split(), "--format", "json")
    assert printed.status == 0, printed.err
    result = call()
    assert result.to_dict() == printed.json
    for style in (Format.PLAIN, Format.TABLE, Format.MD):
        shown = runs.call(*words.split(), "--format", style)
        if style is Format.PLAIN:
            assert str(result) == shown.out
            notes = [line.removeprefix("hate: ") for line in shown.err.splitlines()]
            assert list(result.remarks_in(style)) == list(map(PythonWords(), notes))
        elif not name.startswith(("describe", "show", "diff")):
            # Those have pages and headings of their own on a terminal.
            assert result.render(style, terminal_width()) == shown.out
    frame = result.to_frame()
    assert len(frame) == len(result.table().rows)
    assert result._repr_html_().startswith("<div>")


def test_lists_can_be_gone_through(runs: Workshop) -> None:
    found = harness.list_tests()
    assert "hdigits" in [test["name"] for test in found]
    assert len(found) == len(found.entries)
    # Others are skipped too where a part of the package was left out.
    [skipped] = [remark for remark in found.remarks if "wrong" in remark]
    assert skipped == "skipped: wrong/wrong.hate.toml: 2 mistakes"
    paths = [run["path"] for run in harness.list_transcripts() if run["site"] == "."]
    assert sorted(paths) == ["transcripts/toy/echo.jsonl", "transcripts/toy/other.jsonl"]
    assert all(harness.read(path).complete for path in paths)


def test_a_description_is_a_page(runs: Workshop) -> None:
    described = harness.describe("hdigits")
    assert described.render(Format.MD) == runs.call("describe", "hdigits", "--format", "md").out == str(described)
    rows = described.to_frame().set_index("fact")["value"]
    assert (rows["task"], rows["cases.total"], rows["design.psu"]) == ("label", 1434, "image")
    assert "# hdigits" in described.render("table")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("hdigits --limit 3", {"limit": 3}),
        ("hdigits --part train --limit 2", {"part": "train", "limit": 2}),
        ("toy --truth", {"truth": True}),
    ],
)
def test_cases_are_those_that_the_command_lists(runs: Workshop, words: str, options: dict[str, Any]) -> None:
    found = harness.cases(words.split()[0], **options)
    printed = runs.call("cases", *words.split())
    records = [json.loads(line) for line in printed.out.splitlines()]
    assert str(found) == printed.out
    # Again and again.
    assert list(found) == list(found) == found.to_dict()["cases"] == records
    assert found.render(Format.CSV) == runs.call("cases", *words.split(), "--format", "csv").out
    assert found.to_frame()["id"].tolist() == [record["id"] for record in records]
    assert list(harness.cases(harness.load_test(words.split()[0]), **options)) == records


def test_a_check_says_what_the_command_prints(runs: Workshop) -> None:
    everything = runs.call("check", ".")
    checked = harness.check(".")
    assert (everything.status, everything.out) == (1, str(checked))
    assert not checked.valid
    assert [str(file.path) for file in checked.invalid] == ["wrong/wrong.hate.toml"]
    assert checked.to_dict()["checked"] == len(checked.files) == checked.to_frame()["file"].nunique() == 5
    assert checked.to_dict()["files"][-1]["error"] == checked.invalid[0].error != ""
    assert str(anything.check(path for path in ["."])) == str(checked)
    one = harness.check(["toy"])
    assert (one.valid, str(one)) == (True, runs.call("check", "toy").out)
    assert harness.check(Path("interface.py")).files[0].lines == ["a valid interface: other (python)"]


def test_what_was_loaded_is_not_in_the_working_folder(runs: Workshop) -> None:
    runs.write("knn.csv", TABLE.replace("2,b,a", "2,b,b"))
    before = sorted(runs.folder.rglob("*"))
    svm, knn = harness.load("svm.csv"), harness.load("knn.csv")
    found = harness.compare([svm, knn])
    assert sorted(runs.folder.rglob("*")) == before
    # As the command does it.
    assert runs.call("import", "svm.csv", "knn.csv").status == 0
    assert found.to_dict() == runs.call("compare", "svm", "knn", "--format", "json").json
    assert svm[0].source.name == "svm.csv"
    assert svm[0].counts.TP == 3
    assert svm[0].name == "svm"
    # A sequence among others, a sequence itself, and the path of the only one.
    assert harness.compare([*svm, knn]).to_dict() == found.to_dict()
    assert harness.rate(svm).to_dict() == harness.rate(svm[0]).to_dict() == harness.rate(svm.path).to_dict()
    kept = harness.convert(svm, "kept.parquet")
    assert [record.id for record in kept] == ["1", "2", "3", "4"]


def test_several_runs_in_a_log(runs: Workshop) -> None:
    runs.write("knn.csv", TABLE.replace("2,b,a", "2,b,b"))
    both = harness.load(["svm.csv", "knn.csv"])
    assert [transcript.name for transcript in both] == ["svm", "knn"]
    assert len(both) == 2
    assert both[-1].name == "knn"
    assert [transcript.name for transcript in both[:1]] == ["svm"]
    assert harness.compare(both).names == ["svm", "knn"]
    done = runs.call("import", "svm.csv", "knn.csv", "--format", "csv")
    columns = both.to_frame().columns.tolist()
    assert ",".join(columns) == done.out.splitlines()[0]
    folded = harness.load(["svm.csv", "knn.csv"], fold=True, algorithm="both")
    assert (len(folded), folded[0].header.repeat) == (1, 2)
    for wrong in (lambda: both.path, lambda: harness.show(both), lambda: harness.diff(both, "echo")):
        with pytest.raises(harness.HateError, match=r"\d transcripts"):
            wrong()


def test_a_loaded_transcript_lives_as_long_as_the_program(runs: Workshop) -> None:
    code = (
        "import harness\n"
        "paths = [harness.load('svm.csv').path, harness.load('svm.csv').path]\n"
        "assert harness.read(paths[0]).counts == harness.read(paths[1]).counts\n"
        "print(*paths)\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=runs.folder, env=runs.env, capture_output=True, text=True, check=True)
    paths = [Path(word) for word in done.stdout.split()]
    assert len(set(paths)) == 2
    assert not any(path.parent.exists() for path in paths)


def test_a_generator_of_transcripts_is_several(runs: Workshop) -> None:
    names = ("echo", "other")
    both = harness.compare(list(names))
    assert harness.compare(harness.read(name) for name in names).to_dict() == both.to_dict()
    assert len(harness.load(path for path in runs.folder.glob("svm.csv"))) == 1


# What takes a transcript that a program holds.
TAKES_ONE: dict[str, Callable[[Any], object]] = {
    "rate": harness.rate,
    "compare": lambda held: harness.compare([held, "transcripts/toy/other.jsonl"]),
    "show": harness.show,
    "read": harness.read,
    "confusion": harness.confusion,
    "convert": lambda held: harness.convert(held, "copy.jsonl", force=True),
    "report": lambda held: harness.make_report(held),
    "its records": lambda held: harness.read(held).records,
}


@pytest.mark.parametrize("name", TAKES_ONE)
def test_a_run_that_was_written_over_is_not_taken_for_the_one_that_is_held(runs: Workshop, name: str) -> None:
    """Both results were the second run: a comparison found no difference."""
    one = harness.run("toy", lambda case, params: case.input, name="one", output="x.jsonl")
    read = harness.read("x.jsonl")
    TAKES_ONE[name](one)
    two = harness.run("toy", lambda case, params: "x2", name="two", output="x.jsonl", force=True)
    overwritten: list[Any] = [one, read]
    for held in overwritten:
        with pytest.raises(harness.HateError, match=r"x\.jsonl: written again since"):
            TAKES_ONE[name](held)
    assert harness.rate(two).to_dict()["transcripts"][0]["name"] == "two"


def test_records_that_are_read_late_are_of_the_run_that_was_read_or_of_none(runs: Workshop) -> None:
    early, late = harness.read("transcripts/toy/echo.jsonl"), harness.read("transcripts/toy/echo.jsonl")
    assert [record.actual for record in early] == [f"x{n}" for n in range(6)]
    runs.run("--force", output="transcripts/toy/echo.jsonl")
    for get in (lambda: [*early], lambda: late.records, lambda: late.columns, lambda: late.counts):
        with pytest.raises(harness.HateError, match="written again since"):
            get()


def test_a_run_that_goes_on_is_the_one_that_was_read(runs: Workshop) -> None:
    whole = Path("transcripts/toy/echo.jsonl").read_bytes().splitlines(keepends=True)
    Path("live.jsonl").write_bytes(b"".join(whole[:3]))
    held = harness.read("live.jsonl")
    for end in (5, None):
        with Path("live.jsonl").open("ab") as file:
            file.writelines(whole[3:5] if end else whole[5:])
        assert harness.rate(held, partial=True).to_dict()["transcripts"][0]["tests"] == (4 if end else 6)
    Path("live.jsonl").write_bytes(b"".join([*whole[:2], *whole[3:4], whole[2], *whole[4:], b"\n"]))
    with pytest.raises(harness.HateError, match="written again since"):
        assert held.records


def test_what_is_held_is_found_from_any_folder(runs: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another file of that name would have been taken for it."""
    run = harness.run("toy", lambda case, params: case.input, name="one", output="x.jsonl")
    held: list[Any] = [run, harness.read("x.jsonl"), harness.load("svm.csv")]
    known = [harness.rate(one).to_dict() for one in held]
    other = runs.folder / "other"
    other.mkdir()
    (other / "x.jsonl").write_bytes(Path("transcripts/toy/other.jsonl").read_bytes())
    monkeypatch.chdir(other)
    assert [harness.rate(one).to_dict() for one in held] == known


CHANGES: dict[str, tuple[str, str]] = {
    "a case": ("toy/cases.csv", "id,input,expect,positive\nc0,x0,other,true\n"),
    "the script": ("toy/toy.hate.toml", "{text}\n# another\n"),
    "data": ("toy/pictures/a.txt", "another"),
}
TAKES_TEST: dict[str, Callable[[Any], object]] = {
    "run": lambda test: harness.run(test, lambda case, params: case.input, output="x.jsonl", force=True),
    "sweep": lambda test: harness.sweep(test, lambda case, params: case.input, params={"threshold": [0.0, 1.0]}),
    "cases": harness.cases,
    "describe": harness.describe,
}


@pytest.mark.parametrize("name", TAKES_TEST)
@pytest.mark.parametrize("change", CHANGES)
def test_a_test_that_was_changed_since_it_was_loaded_is_refused(shop: Workshop, change: str, name: str) -> None:
    """Its new cases were run, and the transcript had the digest of the old ones."""
    shop.write("toy/pictures/a.txt", "a picture")
    shop.script(sections='[data.pictures]\npath = "pictures"')
    held = harness.load_test("toy")
    TAKES_TEST[name](held)
    path, text = CHANGES[change]
    shop.write(path, text.replace("{text}", Path(path).read_text(encoding="utf-8")))
    with pytest.raises(harness.HateError, match="was changed since the test was loaded; load it again"):
        TAKES_TEST[name](held)
    TAKES_TEST[name](harness.load_test("toy"))


def test_converted_there_and_back(runs: Workshop) -> None:
    there = harness.convert("echo", "echo.parquet")
    assert there.remarks == runs.call("convert", "echo", "again.parquet").err.replace("again", "echo").splitlines()
    assert there.to_dict() == harness.read("echo").to_dict()
    back = harness.convert(there, "back.jsonl")
    assert back.path.read_bytes() == Path("transcripts/toy/echo.jsonl").read_bytes()
    assert harness.convert(there, "new/folder/echo.out").path.read_bytes() == back.path.read_bytes()
    with pytest.raises(harness.HateError, match=r"svm.csv/new/echo.jsonl: Not a directory; choose another place"):
        harness.convert(there, "svm.csv/new/echo.jsonl")


def test_examples_to_start_from(shop: Workshop) -> None:
    made = harness.new_script("mine", task="score")
    assert made.to_dict() == {"files": ["mine/mine.hate.toml", "mine/cases.csv"]}
    assert made.remarks == ["mine/mine.hate.toml written; fill it in, then: harness.check('mine')"]
    harness.new_interface("me", kind="stream")
    matrix = harness.new_matrix("made.npy", subjects=3, images=2, effects=["day=0.3"])
    assert all(path.is_file() for path in matrix.paths)
    assert len(matrix.to_frame()) == len(matrix.paths)
    written = {path: path.read_bytes() for path in (*made.paths, Path("interface.toml"), *matrix.paths)}
    for path in written:
        path.unlink()
    # The twin: the command.
    shop.call("new", "script", "mine", "--task", "score")
    shop.call("new", "interface", "me", "--kind", "stream")
    shop.call("new", "matrix", "made.npy", "--subjects", "3", "--images", "2", "--effect", "day=0.3")
    assert {path: path.read_bytes() for path in written} == written


def test_a_regression_test_in_python(shop: Workshop) -> None:
    toy(shop, wrong=6)
    result = harness.check_regression("toy")
    done = shop.call("test", "toy")
    assert (result.passed, done.status) == (False, 1)
    assert str(result) == done.out
    [test] = result.tests
    assert [trial.id for trial in test.failures] == ["c0", "c2", "c4"]
    assert [(requirement.name, requirement.holds) for requirement in test.requirements] == [("no failures", False)]
    assert test.run.counts.FN == 3
    assert test.run.path is None
    found = result.to_dict()["tests"][0]
    assert (found["test"], found["passed"], found["FN"], found["new_failures"]) == ("toy", False, 3, 3)
    assert [record["id"] for record in found["failures"]] == ["c0", "c2", "c4"]
    assert result.to_frame()["holds"].tolist() == ["no"]
    assert not list(shop.folder.glob("transcripts"))


def test_a_regression_test_of_a_function_with_rules(shop: Workshop) -> None:
    toy(shop, wrong=0)
    shop.run(output="good.jsonl")
    shop.write("known.txt", "c0\nc2\n")
    test = harness.load_test("toy")

    def answer(case: Any, params: Any) -> str:
        return "nothing" if int(case.input[1:]) < 4 else str(case.input)

    known = harness.check_regression(test, answer, known_failures="known.txt", junit="results.xml")
    assert known.passed
    assert (known.tests[0].tally.again, known.tests[0].failures) == (2, ())
    assert "c0" in Path("results.xml").read_text()
    worse = harness.check_regression([test], lambda case, params: "no", baseline="good.jsonl")
    assert [requirement.name for requirement in worse.tests[0].requirements] == ["not worse than good.jsonl"]
    assert not worse.passed
    assert worse.tests[0].run.path is None
    assert not [text for text in worse.tests[0].run.remarks if "transcript: " in text]
    assert harness.check_regression(test, answer, least=0.9, output="kept.jsonl").passed
    assert harness.read("kept.jsonl").counts.FN == 2


def test_many_failures_and_several_tests(shop: Workshop) -> None:
    toy(shop, wrong=60)
    shop.write("more/more.hate.toml", (shop.folder / "toy/toy.hate.toml").read_text().replace('"toy"', '"more"'))
    shop.write("more/cases.csv", "id,input,expect\n1,x70,x70\n")
    result = harness.check_regression(".", "interface.py")
    done = shop.call("test", ".", "--interface", "interface.py")
    assert str(result) == done.out.replace("; --verbose shows all", "")
    assert result.total == "1 of 2 tests failed: toy"
    assert isinstance(result, RegressionResult)
    assert {test.name: test.passed for test in result.tests} == {"more": True, "toy": False}


def test_the_network_is_left_alone_where_that_was_asked_for(runs: Workshop) -> None:
    for call in (harness.read, harness.show):
        with pytest.raises(harness.HateError, match="not downloaded, because of offline=True"):
            call("http://127.0.0.1:9/run.jsonl", offline=True)


MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "show": (lambda: harness.show("nobody"), "nobody: no such file, no run here"),
    "show where": (lambda: harness.show("echo", where="nothing=1"), "where='nothing': no such column"),
    "diff": (lambda: harness.diff("echo", "hdigits/wisard"), "not of the same test"),
    "describe": (lambda: harness.describe("nothing"), "no test 'nothing'"),
    "cases": (lambda: harness.cases("toy", part="train"), "toy has no training part"),
    "cases truth": (
        lambda: harness.cases("hdigits", part="train", truth=True),
        "truth=True is about the cases; part='train' shows its labels anyway",
    ),
    "check": (lambda: harness.check("nowhere"), "nowhere: no such file or folder"),
    "check none": (lambda: harness.check([]), "no file; name at least one"),
    "check none of many": (lambda: anything.check(Path("toy").glob("*.foo")), "no file; name at least one"),
    "check_regression none": (lambda: harness.check_regression([]), "no test; name at least one"),
    "diff one": (lambda: anything.diff("echo", []), "1 transcript; two are compared case by case"),
    "load": (lambda: harness.load("nothing.csv"), "nothing.csv: No such file"),
    "load none": (lambda: harness.load([]), "no file; name at least one"),
    "load over itself": (
        lambda: harness.load("svm.csv", output="svm.csv", force=True),
        "output='svm.csv': this call reads that file",
    ),
    "load a frame": (
        lambda: harness.load({"id": [1]}),
        "dict: not the name of a file; write what is to be loaded into one",
    ),
    "load rows": (lambda: harness.load([{"id": 1}]), "dict: not the name of a file"),  # type: ignore[list-item]
    "compare arrays": (lambda: harness.cmc([[0.5]]), "0.5: not a transcript; give a name"),  # type: ignore[list-item]
    "load twice": (lambda: harness.load(["svm.csv"] * 2, fold=True), "fold=True: a file is named twice"),
    "load into one": (lambda: harness.load(["svm.csv"] * 2, output="o.jsonl"), "output='o.jsonl': 2 transcripts"),
    "load a transcript": (lambda: harness.load("transcripts/toy/echo.jsonl"), "already a transcript"),
    "convert": (lambda: harness.convert("echo", "transcripts/toy/echo.jsonl", force=True), "reads that file"),
    "convert there": (lambda: harness.convert("echo", "svm.csv"), "svm.csv: exists; force=True overwrites it"),
    "new_interface": (lambda: harness.new_interface(kind="stream"), "interface.py: exists"),
    "new_script": (lambda: harness.new_script("Mine"), "'Mine': a test's name has small letters"),
    "new_script task": (lambda: harness.new_script("mine", task="labl"), "task='labl': no such task; did you mean"),
    "new_matrix": (lambda: harness.new_matrix("made.csv"), "made.csv: a matrix is written as .npy"),
    "new_matrix effect": (lambda: harness.new_matrix(effects="day"), "effects='day': write NAME=SD"),
    "check_regression": (lambda: harness.check_regression("nothing"), "no test 'nothing'"),
    "check_regression junit": (lambda: harness.check_regression("toy", junit="svm.csv"), "svm.csv: exists"),
    "check_regression known": (
        lambda: harness.check_regression("toy", known_failures="none.txt"),
        "known_failures='none.txt': No such file",
    ),
    "check_regression over": (
        lambda: harness.check_regression("toy", known_failures="svm.csv", junit="svm.csv", force=True),
        "junit='svm.csv': this call reads that file",
    ),
    "list_tests": (lambda: harness.list_tests(libraries=["nowhere"]), "nowhere"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_a_line(runs: Workshop, name: str) -> None:
    call, expected = MISTAKES[name]
    before = {path: path.read_bytes() for path in runs.folder.rglob("*") if path.is_file()}
    with pytest.raises(harness.HateError) as caught:
        call()
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert {path: path.read_bytes() for path in runs.folder.rglob("*") if path.is_file()} == before
