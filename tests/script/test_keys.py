"""Every key of format 1 is accepted, and used."""

import hashlib
from pathlib import Path

import pytest

from harness.model import ErrorRule
from harness.params import Param, ParamType
from harness.script.cases import training
from harness.site.fetch import fetch_data
from harness.site.header_facts import header_design
from tests.script.scripts import CASES, HEAD, INLINE, TABLE, cases, load, script, script_in

EVERYTHING = '''
format = 1

[test]
name = "every.key_1-a"
version = "1.0.0-rc.1+b"
synopsis = "All of it"
task = "score"
description = """
Markdown"""
authors = ["A", "B"]
license = "CC-BY-4.0"
errors = "refuse"
baseline = "witch"
larger_is_better = false

[data.images]
path = "images"

[data.notes]
path = "notes.txt"
sha256 = "{sha256}"
bytes = 5
unpack = false

[train]
table = "train.tsv"

[gallery]
table = "gallery.jsonl"

[cases]
table = "cases.csv"

[params.threshold]
type = "float"
default = 1
decision = true
help = "how near"

[params.depth]
type = "int"
default = 3

[params.mode]
type = "string"
default = "fast"

[params.mirror]
type = "bool"
default = true

[design]
stratum = ["kind", "truth"]
psu = "subject"
cofactors = ["day"]
weights = "weights.csv"
'''.replace("{sha256}", hashlib.sha256(b"notes").hexdigest())
FILES: dict[str, str | bytes] = {
    "images/1.pgm": b"P5",
    "notes.txt": b"notes",
    "train.tsv": "id\tinput\texpect\tday\n9\t{images}/1.pgm\tx\tmon\n",
    "gallery.jsonl": '{"id":"g1","input":"a"}\n',
    "cases.csv": "id,input,expect,positive,truth,kind,subject,day\n"
    "1,{images}/1.pgm,x,1,,k1,s1,mon\n2,{notes},y,false,x,k1,s1,tue\n3,text {images},z,,,k2,s2,tue\n",
    "weights.csv": "stratum,weight\nk1/x,0.5\nk2/z,2\n",
}


def test_every_key_is_accepted_and_used(tmp_path: Path) -> None:
    path = script_in(tmp_path, EVERYTHING, FILES)
    loaded = load(path)
    test = loaded.script.file.test
    assert (test.name, test.version, test.synopsis, test.task) == (
        "every.key_1-a",
        "1.0.0-rc.1+b",
        "All of it",
        "score",
    )
    assert (test.description, test.authors, test.license, test.baseline) == (
        "Markdown",
        ["A", "B"],
        "CC-BY-4.0",
        "witch",
    )
    assert test.errors is ErrorRule.REFUSE
    assert loaded.script.rules.larger_is_better is False
    assert loaded.script.params == {
        "threshold": Param("threshold", ParamType.FLOAT, 1.0, True, "how near"),
        "depth": Param("depth", ParamType.INT, 3),
        "mode": Param("mode", ParamType.STRING, "fast"),
        "mirror": Param("mirror", ParamType.BOOL, True),
    }
    assert type(loaded.script.params["threshold"].default) is float
    assert set(loaded.script.tables) == {"cases.csv", "train.tsv", "gallery.jsonl", "weights.csv"}


def test_cases_have_their_columns_and_groups(tmp_path: Path) -> None:
    loaded = load(script_in(tmp_path, EVERYTHING, FILES))
    first, second, third = loaded
    assert (first.id, first.expect, first.positive, first.truth) == ("1", "x", True, "")
    assert (second.positive, second.real_class, third.positive) == (False, "x", True)
    assert first.columns == {"kind": "k1", "subject": "s1", "day": "mon"}
    assert loaded.stratum is not None
    assert loaded.psu is not None
    assert [loaded.stratum(case) for case in loaded] == ["k1/x", "k1/x", "k2/z"]
    assert [loaded.psu(case) for case in loaded] == ["s1", "s1", "s2"]
    assert (len(loaded), loaded.positives, loaded.strata) == (3, 2, 2)
    assert loaded.weights == {"k1/x": 0.5, "k2/z": 2.0}
    assert header_design(loaded)["weights"] == loaded.weights


def test_references_become_absolute_paths_and_other_text_stays(tmp_path: Path) -> None:
    loaded = load(script_in(tmp_path, EVERYTHING, FILES))
    resolve = loaded.references.resolve
    assert [resolve(case.input) for case in loaded] == [
        str(tmp_path / "images" / "1.pgm"),
        str(tmp_path / "notes.txt"),
        "text {images}",
    ]
    assert resolve(["{images}/1.pgm", {"a": "{notes}"}, 3]) == [
        str(tmp_path / "images" / "1.pgm"),
        {"a": str(tmp_path / "notes.txt")},
        3,
    ]


def test_training_cases_have_labels_and_paths(tmp_path: Path) -> None:
    path = script_in(tmp_path, EVERYTHING, FILES)
    (question,) = training(script(path), fetch_data(script(path)))
    assert (question.id, question.input, question.expect) == ("9", str(tmp_path / "images" / "1.pgm"), "x")
    # In a score test, a column says whether the claim is true.
    assert question.columns == {"day": "mon", "positive": True}


def test_the_label_of_a_training_case_is_its_real_class(tmp_path: Path) -> None:
    """Cases with claims may be training cases too: a false claim is not a label."""
    table = "input,expect,positive,truth\na,x,true,\nb,x,false,y\nc,x,false,\n"
    path = script_in(tmp_path, HEAD + TABLE + '[train]\ntable = "train.csv"\n', {"train.csv": table})
    questions = list(training(script(path), {}))
    assert [(q.id, q.expect) for q in questions] == [("1", "x"), ("2", "y"), ("3", "")]


@pytest.mark.parametrize(("line", "relative", "limit"), [
    ("tolerance = {absolute = 0.5}", False, 0.5), ("tolerance = {relative = 1}", True, 1.0), ("", False, 0.0),
])  # fmt: skip
def test_tolerance_is_the_default_of_a_decision_parameter(
    tmp_path: Path, line: str, relative: bool, limit: float
) -> None:
    toml = HEAD.replace('"label"', f'"value"\n{line}') + TABLE
    loaded = load(script_in(tmp_path, toml, {"cases.csv": "id,input,expect\n1,a,2.5\n"}))
    assert loaded.script.params["tolerance"].default == limit
    assert loaded.script.params["tolerance"].decision
    assert loaded.script.rules.relative_tolerance is relative


@pytest.mark.parametrize(("value", "rule"), [("failure", ErrorRule.FAILURE), ("refuse", ErrorRule.REFUSE),
                                            ("abort", ErrorRule.ABORT)])  # fmt: skip
def test_errors_may_be_any_of_three(tmp_path: Path, value: str, rule: ErrorRule) -> None:
    toml = HEAD.replace('"label"', f'"label"\nerrors = "{value}"') + TABLE
    assert load(script_in(tmp_path, toml)).script.file.test.errors is rule


@pytest.mark.parametrize("weights", ['"cases"', '"equal"', '"w"', "{x = 1, y = 2.5, z = 0}"])
def test_weights_in_every_form(tmp_path: Path, weights: str) -> None:
    toml = f'{HEAD}{TABLE}[design]\nstratum = "expect"\nweights = {weights}\n'
    loaded = load(script_in(tmp_path, toml, {"cases.csv": "id,input,expect,w\n1,a,x,1\n2,b,y,0.5\n"}))
    assert (loaded.weights is not None) is weights.startswith("{")
    assert ("weights" in header_design(loaded)) is (weights != '"cases"')


def test_a_minimal_script(tmp_path: Path) -> None:
    loaded = load(script_in(tmp_path, HEAD + TABLE))
    assert (loaded.stratum, loaded.psu, loaded.strata, loaded.weights) == (None, None, None, None)
    assert loaded.script.params["threshold"].default == 0.0
    assert list(training(loaded.script, {})) == []


TABLES = {
    "cases.csv": "id,input,expect,positive,day\n1,a,3,true,5\n2,b,,0,\n",
    "cases.tsv": "id\tinput\texpect\tpositive\tday\n1\ta\t3\tTRUE\t5\n2\tb\t\tfalse\t\n",
    "cases.jsonl": '{"id":1,"input":"a","expect":3,"day":"5"}\n{"id":"2","input":"b","positive":false,"day":""}\n',
}


@pytest.mark.parametrize("name", TABLES)
def test_the_same_cases_from_every_kind_of_table(tmp_path: Path, name: str) -> None:
    found = cases(script_in(tmp_path, f'{HEAD}[cases]\ntable = "{name}"\n', {name: TABLES[name]}))
    assert [(c.id, c.input, c.expect, c.positive) for c in found] == [("1", "a", "3", True), ("2", "b", "", False)]
    assert [c.columns for c in found] == [{"day": "5"}, {"day": ""}]


def test_cases_from_parquet_with_numbers_that_pandas_made_floats(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet is an extra and is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet is an extra and is not installed")
    path = script_in(tmp_path, f'{HEAD}[cases]\ntable = "cases.parquet"\n')
    columns = {"id": [1, 2], "input": ["a", "b"], "expect": [3.0, None], "positive": [1.0, 0.0], "day": [5.0, 0.5]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "cases.parquet")
    found = cases(path)
    assert [(c.id, c.input, c.expect, c.positive) for c in found] == [("1", "a", "3", True), ("2", "b", "", False)]
    assert [c.column("day") for c in found] == ["5", "0.5"]


def test_inline_cases(tmp_path: Path) -> None:
    more = '[[cases.case]]\nid = 2\ninput = ["a", {b = 1}]\nexpect = 3\npositive = false\ntruth = "y"\nday = 5\n'
    first, second = cases(script_in(tmp_path, HEAD + INLINE + more))
    assert (first.id, first.input, first.expect, first.columns) == ("1", "a", "x", {})
    assert (second.id, second.input, second.expect) == ("2", ["a", {"b": 1}], "3")
    assert (second.positive, second.truth, second.columns) == (False, "y", {"day": 5})


def test_spaces_around_labels_are_removed(tmp_path: Path) -> None:
    """Answers are stripped, so they could never equal a claim with spaces, as in `1, a, x`."""
    (case,) = cases(script_in(tmp_path, HEAD + TABLE, {"cases.csv": "id, input, expect, truth\n1,a, x , y\n"}))
    assert (case.expect, case.truth) == ("x", "y")
    (case,) = cases(script_in(tmp_path, HEAD + INLINE.replace('"x"', '" x "')))
    assert case.expect == "x"


GLOB = """
[data.images]
path = "images"
[cases]
glob = "{images}/**/*.pgm"
pattern = '(?P<expect>\\d)-(?P<writer>\\d+)(?P<odd>x)?\\.pgm$'
"""


def test_cases_from_a_glob_with_a_pattern(tmp_path: Path) -> None:
    files = dict.fromkeys(["images/b/5-02.pgm", "images/a/3-17x.pgm", "images/3-01.pgm", "images/readme.txt"], b"")
    found = cases(script_in(tmp_path, HEAD + GLOB, files))
    assert [(c.id, c.input, c.expect) for c in found] == [
        ("3-01.pgm", "{images}/3-01.pgm", "3"),
        ("a/3-17x.pgm", "{images}/a/3-17x.pgm", "3"),
        ("b/5-02.pgm", "{images}/b/5-02.pgm", "5"),
    ]
    assert [c.columns for c in found] == [{"writer": "01"}, {"writer": "17", "odd": "x"}, {"writer": "02"}]


def test_cases_can_be_iterated_again(tmp_path: Path) -> None:
    loaded = load(script_in(tmp_path, HEAD + TABLE, {"cases.csv": CASES}))
    assert list(loaded) == list(loaded)
    inline = load(script_in(tmp_path, HEAD + INLINE))
    assert list(inline) == list(inline)
