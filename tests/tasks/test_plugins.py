"""Plug-ins: the example package, installed and used; the errors of broken ones; nothing is loaded unless needed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import measures, tasks
from harness.script.cases import load_cases
from harness.script.folds import fold_scripts, training_material, write_folds
from harness.script.load import load_script
from harness.transcript.importing import registry
from tests.packages import Packages
from tests.workshop import Workshop

EXAMPLE = Path(__file__).parents[2] / "examples" / "hate-words"
WORDS = {"package": "hate-words", "version": "0.1.0", "entry": "hate.tasks: words"}
PER_UTT = """\
utt1 ref  the cat sat
utt1 hyp  the cat ***
utt1 op    C   C   D
utt1 #csid 2 0 0 1
utt2 ref  good morning
utt2 hyp  good morning
utt2 op    C     C
utt2 #csid 2 0 0 0
utt3 ref  it is ***
utt3 hyp  it is so
utt3 op   C  C  I
utt3 #csid 2 0 1 0
"""


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example package, installed into a separate folder as a user would."""
    target = tmp_path_factory.mktemp("installed")
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", target, EXAMPLE], check=True)
    return target


def dictation(shop: Workshop) -> Workshop:
    """The test that comes with the example."""
    for file in (EXAMPLE / "dictation").iterdir():
        if file.is_file():
            shop.write(f"dictation/{file.name}", file.read_bytes())
    return shop


RUN = ("run", "dictation", "--interface", "dictation/interface.py", "--format", "json")


@pytest.mark.slow
def test_the_example_is_installed_and_used(shop: Workshop, installed: Path) -> None:
    """With `hate` in separate processes, as users run it."""
    shop.env["PYTHONPATH"] = os.pathsep.join([str(installed), *filter(None, [shop.env.get("PYTHONPATH")])])
    dictation(shop).write("per_utt", PER_UTT)
    listed = shop.hate("list", "--plugins", "--format", "json").json["plugins"]
    assert [(one["group"], one["name"], one["problem"]) for one in listed] == [
        ("hate.tasks", "words", None),
        ("hate.measures", "wer", None),
        ("hate.importers", "kaldi", None),
        ("hate.commands", "misheard", None),
    ]
    assert {(one["package"], one["version"]) for one in listed} == {("hate-words", "0.1.0")}
    row = shop.hate(*RUN, "-o", "a.jsonl").row
    assert (row["tests"], row["TP"], row["FN"], row["ER"]) == (8, 4, 4, 0)
    result = shop.hate("compare", "a.jsonl", "a.jsonl", "--statistic", "wer", "--format", "json").json
    assert result["pairs"][0]["replication"]["estimate"] == 0
    assert shop.hate("import", "per_utt", "-o", "tri3.jsonl").status == 0
    rated = shop.hate("rate", "tri3.jsonl", "--statistic", "wer", "--format", "json").json["transcripts"][0]
    assert rated["value"] == pytest.approx(2 / 7)
    assert "misheard  the words that were missed most often" in shop.hate("--help").out
    missed = shop.hate("misheard", "a.jsonl", "--top", "1", "--format", "json").json
    assert missed == {"words": [{"word": "where", "expected": 1, "missed": 1}]}


def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    for group in (tasks.PLUGINS, measures.PLUGINS, registry.PLUGINS):
        monkeypatch.setattr(group, "_loaded", {})


@pytest.fixture
def words(shop: Workshop, installed: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """A workshop with the example's test, and its plug-ins in this process."""
    _forget(monkeypatch)
    monkeypatch.syspath_prepend(str(installed))
    return dictation(shop)


def test_a_task_of_a_plugin_is_run_rated_and_swept(words: Workshop) -> None:
    assert words.call(*RUN, "-o", "out.jsonl").status == 0
    header, *records = words.lines("out.jsonl")[:-1]
    assert header["plugins"] == [WORDS]
    assert (header["test"]["task"], header["test"]["settings"]) == ("words", {"ignore_case": True})
    assert records[2]["values"] == {"errors": 2.0, "words": 4.0}
    assert records[2]["score"] == 0.5
    rated = words.call("rate", "out.jsonl", "--statistic", "wer", "--format", "json").json["transcripts"][0]
    # All wrong words over all words, not the mean of the rates of the sentences.
    errors, expected = (sum(record["values"][name] for record in records) for name in ("errors", "words"))
    assert rated["value"] == pytest.approx(errors / expected) == pytest.approx(7 / 24)
    assert "word error rate (wer)" in words.call("rate", "out.jsonl").out
    assert "hate.tasks      words" in words.call("list", "--plugins").out
    swept = words.call("sweep", *RUN[1:], "--param", "wer=0,0.5,1").json["rows"]
    assert [row["TP"] for row in swept] == [4, 6, 8]


def test_runs_are_compared_by_a_measure_of_a_plugin(words: Workshop) -> None:
    assert words.call(*RUN, "-o", "a.jsonl").status == 0
    better = (words.folder / "dictation/interface.py").read_text(encoding="utf-8").replace('"hear"', '"here"')
    words.write("dictation/interface.py", better)
    assert words.call(*RUN, "-o", "b.jsonl").status == 0
    result = words.call("compare", "a.jsonl", "b.jsonl", "--statistic", "wer", "--format", "json")
    assert result.json["pairs"][0]["replication"]["estimate"] == pytest.approx(1 / 24)
    misspelt = words.call("compare", "a.jsonl", "b.jsonl", "--statistic", "werr")
    assert (misspelt.status, misspelt.err) == (2, "hate: --statistic werr: no such measure; did you mean 'wer'?\n")


def test_files_are_recognised_by_an_importer_of_a_plugin(words: Workshop) -> None:
    words.write("per_utt", PER_UTT)
    done = words.call("import", "per_utt", "--algorithm", "tri3", "-o", "tri3.jsonl", "--format", "json")
    assert (done.row["TP"], done.row["FN"]) == (1, 2)
    header, *records = words.lines("tri3.jsonl")[:-1]
    assert header["plugins"] == [{**WORDS, "entry": "hate.importers: kaldi"}, WORDS]
    assert header["interface"]["kind"] == "import: Kaldi"
    assert [record["values"] for record in records] == [
        {"errors": 1.0, "words": 3.0}, {"errors": 0.0, "words": 2.0}, {"errors": 1.0, "words": 2.0},
    ]  # fmt: skip
    assert words.call("import", "per_utt", "--from", "kaldi", "-o", "again.jsonl").status == 0
    assert words.lines("again.jsonl")[1:-1] == records
    assert "did you mean 'kaldi'?" in words.call("import", "per_utt", "--from", "kald").err
    other = words.call("import", "per_utt", "--from", "promptfoo")
    assert (other.status, other.err) == (
        2, "hate: per_utt: not recognised; it should be an evaluation of promptfoo\n",
    )  # fmt: skip


def test_scripts_of_a_plugin_are_written_described_and_checked(words: Workshop) -> None:
    assert words.call("new", "script", "mine", "--task", "words").status == 0
    assert words.call("check", "mine").status == 0
    assert "- task: words: write down what was said" in words.call("describe", "mine").out
    text = (words.folder / "mine/mine.hate.toml").read_text(encoding="utf-8")
    words.write("mine/mine.hate.toml", text.replace("ignore_case = true", "ignore_cases = 1\nignore_case = 1"))
    told = words.call("check", "mine")
    assert told.status == 1
    assert "line 18: words.ignore_cases: unknown key; did you mean 'ignore_case'?" in told.out + told.err
    assert "line 19: words.ignore_case: should be true or false, not 1" in told.out + told.err


def test_transcripts_are_read_without_the_plugin_that_they_name(
    words: Workshop, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert words.call(*RUN, "-o", "out.jsonl").status == 0
    sys.path.remove(str(installed))
    _forget(monkeypatch)
    assert words.call("rate", "out.jsonl", "--statistic", "rate,errors").status == 0
    told = words.call("roc", "out.jsonl")
    assert told.status == 2
    assert "out.jsonl: task 'words' is not known here; known: label, score, rank, value" in told.err
    assert "'words' is not one of label, score, rank, value" in words.call("describe", "dictation").err


def test_the_settings_of_a_task_are_those_of_its_folds(words: Workshop) -> None:
    path = words.folder / "dictation/dictation.hate.toml"
    rows = (words.folder / "dictation/cases.csv").read_text(encoding="utf-8").replace("000", "100")
    words.write("dictation/train.csv", rows)
    words.write("dictation/dictation.hate.toml", path.read_text(encoding="utf-8") + '\n[train]\ntable = "train.csv"\n')
    write_folds(training_material(load_cases(load_script(path), {})), 2, 0, words.folder)
    folds = [load_script(fold) for fold in fold_scripts(words.folder, 2)]
    assert [dict(fold.settings) for fold in folds] == [{"ignore_case": True}] * 2
    assert sum(len(load_cases(fold, {})) for fold in folds) == 8


def twin(expected: tuple[str, ...], message: tuple[str, ...]) -> int:
    """Levenshtein's distance by its definition."""
    if not expected or not message:
        return len(expected) + len(message)
    rest = twin(expected[1:], message[1:])
    if expected[0] == message[0]:
        return rest
    return 1 + min(rest, twin(expected[1:], message), twin(expected, message[1:]))


SENTENCES = st.lists(st.sampled_from("abc"), max_size=5).map(tuple)


@given(SENTENCES, SENTENCES)
def test_word_errors_match_the_definition(expected: tuple[str, ...], message: tuple[str, ...]) -> None:
    sys.path.insert(0, str(EXAMPLE))
    try:
        from hate_words.task import word_errors  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(EXAMPLE))
    assert word_errors(expected, message) == twin(expected, message)


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Packages:
    _forget(monkeypatch)
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return Packages(folder)


TASK = """
from harness.params import Param, ParamType
from harness.tasks import DecisionLimits, Task
from harness.model import Answer
class Odd(Task):
    name = "odd"
    summary = "say something odd"
    decisions = {"threshold": Param("threshold", ParamType.FLOAT, 0.0, True, "")}
    def answer(self, raw, case, rules):
        return Answer(raw)
    def acceptance(self, rules, params):
        return lambda case, answer: True
    def limits(self, rules, params):
        return DecisionLimits("threshold", True, lambda record, positive: 0.0)
ODD = Odd()
"""
BROKEN_TASKS = [
    ("odd = nowhere_at_all:ODD", "", "cannot be loaded: ModuleNotFoundError: No module named 'nowhere_at_all'"),
    ("odd = odd_absent:MISSING", TASK, "cannot be loaded: AttributeError: module 'odd_absent' has no attribute"),
    ("odd = odd_class:Odd", TASK, "odd_class:Odd is the class Odd itself, not a harness.tasks.Task"),
    ("odd = odd_function:ODD", "def ODD(): pass", "odd_function:ODD is a function, not a harness.tasks.Task"),
    ("odd = odd_abstract:ODD", TASK.replace("def limits", "def others"), "abstract method"),
    ("odd = odd_bare:ODD", TASK.replace("    decisions =", "    others ="), "decisions is missing"),
    ("odd = odd_params:ODD", TASK.replace("0.0, True,", "0.0, False,"), "with decision=True"),
    ("odd = odd_name:ODD", TASK.replace('"odd"', '"even"'), "its name is 'even', but the entry's is 'odd'"),
    ("odd = odd_none:ODD", TASK.replace('name = "odd"', ""), "name is missing"),
    ("odd = odd_silent:ODD", TASK.replace("summary =", "others ="), "summary is missing"),
    ("odd = odd_measure:ODD", TASK.replace("summary =", "main_measure = 3; summary ="), "main_measure is not the name"),
    ("odd = odd_exit:ODD", "raise SystemExit('bye\\nbye')", "cannot be loaded: SystemExit: bye bye"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("entry", "source", "message"), BROKEN_TASKS, ids=[entry for entry, *_ in BROKEN_TASKS])
def test_a_broken_task_is_an_error_of_one_line(
    shop: Workshop, packages: Packages, entry: str, source: str, message: str
) -> None:
    packages.add("strange", "hate.tasks", entry, source)
    if "nowhere" in entry:
        (packages.folder / "nowhere_at_all.py").unlink()
    shop.script(task="odd")
    shop.interface()
    done = shop.call("run", "toy")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith("hate: plug-in strange 1.0, entry hate.tasks: odd: ")
    assert message in done.err
    listed = shop.call("list", "--plugins", "--format", "json")
    assert listed.status == 0
    assert message in listed.json["plugins"][0]["problem"]


def test_the_same_task_without_a_mistake_runs(shop: Workshop, packages: Packages) -> None:
    packages.add("strange", "hate.tasks", "odd = odd_sound:ODD", TASK)
    shop.script(task="odd")
    shop.interface()
    assert [record["outcome"] for record in shop.run()] == ["TP", "FP"] * 3


def test_built_in_names_and_names_of_two_packages_are_refused(shop: Workshop, packages: Packages) -> None:
    packages.add("usurper", "hate.tasks", "label = odd_label:ODD", TASK.replace('"odd"', '"label"'))
    packages.add("one", "hate.tasks", "odd = odd_one:ODD", TASK)
    packages.add("two", "hate.tasks", "odd = odd_two:ODD", TASK)
    shop.script()
    shop.interface()
    assert {record["outcome"] for record in shop.run()} == {"TP", "TN"}  # the real label
    listed = shop.call("list", "--plugins", "--format", "json").json["plugins"]
    problems = {one["package"]: one["problem"] for one in listed}
    assert "this name is built in" in problems["usurper"]
    assert "provided by two packages, one 1.0 and two 1.0; uninstall one of them" in problems["one"]
    shop.script(task="odd")
    told = shop.call("run", "toy")
    assert (told.status, told.err) == (
        2, "hate: hate.tasks: odd: provided by two packages, one 1.0 and two 1.0; uninstall one of them\n",
    )  # fmt: skip


MEASURE = "from harness.measures import Measure\nODD = Measure('odd', 'oddity', {})\n"
BROKEN_MEASURES = [
    (MEASURE.format("None"), "statistic is not a function"),
    (MEASURE.format("print, reads='score'"), "reads is not one of harness.measures.Reads"),
    (MEASURE.format("print, bounds=3"), "bounds is not a pair of numbers"),
    (MEASURE.format("print").replace("'oddity'", "''"), "words is missing"),
    ("ODD = 3", "is a int, not a harness.measures.Measure"),
]


@pytest.mark.parametrize(("number", "source", "message"), [(n, *case) for n, case in enumerate(BROKEN_MEASURES)])
def test_a_broken_measure_is_an_error_of_one_line(
    shop: Workshop, packages: Packages, number: int, source: str, message: str
) -> None:
    packages.add("strange", "hate.measures", f"odd = odd_measure_{number}:ODD", source)
    shop.script()
    shop.interface()
    shop.run()
    done = shop.call("rate", "out.jsonl", "--statistic", "odd")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert done.err.startswith("hate: plug-in strange 1.0, entry hate.measures: odd: ")
    assert message in done.err


def test_names_of_existing_measures_are_refused(shop: Workshop, packages: Packages) -> None:
    for name in ("rate", "rank7", "cost"):
        source = MEASURE.format("print").replace("'odd'", f"'{name}'")
        packages.add(f"strange-{name}", "hate.measures", f"{name} = odd_measure_{name}:ODD", source)
    listed = shop.call("list", "--plugins", "--format", "json").json["plugins"]
    assert len(listed) == 3
    assert all("this name is built in" in one["problem"] for one in listed)


READER = "from harness.transcript.importing import Reader\nODD = Reader('odd', {})\n"
BROKEN_READERS = [
    (READER.format("'an odd file', None, print"), "sniff is not a function"),
    (READER.format("'', bool, bool"), "what is missing"),
    (READER.format("'an odd file', lambda file: 1 / 0, bool"), "ZeroDivisionError"),
    (READER.format("'an odd file', lambda file: True, lambda file, options: 1 / 0"), "ZeroDivisionError"),
    (
        READER.format("'an odd file', lambda file: True, lambda file, options: [3]"),
        "read returns something other than ImportedRun",
    ),
]


@pytest.mark.parametrize(("number", "source", "message"), [(n, *case) for n, case in enumerate(BROKEN_READERS)])
def test_a_broken_importer_is_an_error_of_one_line(
    shop: Workshop, packages: Packages, number: int, source: str, message: str
) -> None:
    packages.add("strange", "hate.importers", f"odd = odd_reader_{number}:ODD", source)
    shop.write("t.csv", "y_true,y_pred\na,a\nb,a\n")
    done = shop.call("import", "t.csv")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "plug-in strange 1.0, entry hate.importers: odd: " in done.err
    assert message in done.err
    # With the importer named, no plug-in is needed.
    assert shop.call("import", "t.csv", "--from", "table").status == 0


def test_plugins_that_are_not_needed_are_not_loaded(shop: Workshop, packages: Packages) -> None:
    for number, group in enumerate(("tasks", "measures", "importers")):
        source = "raise RuntimeError('loaded without need')"
        packages.add(f"strange-{group}", f"hate.{group}", f"odd = odd_unneeded_{number}:ODD", source)
    shop.script()
    shop.interface()
    shop.run()
    sample = {"id": 1, "scores": {"s": {"value": 1}}}
    log = {"eval": {"task": "t", "model": "m"}, "status": "success", "samples": [sample]}
    shop.write("m.json", json.dumps(log))
    for words in (
        ("list",), ("check", "toy"), ("rate", "out.jsonl", "--statistic", "rate,f1"), ("import", "m.json"),
    ):  # fmt: skip
        assert shop.call(*words).status == 0


def test_the_registries_are_quick_to_import() -> None:
    code = (
        "import sys; import harness.tasks, harness.measures; "
        "print({'numpy', 'scipy', 'importlib.metadata', 'email.message'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
