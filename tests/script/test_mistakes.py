"""Mistakes in scripts are reported together, each with file, key, line if known, and what was expected."""

import os
from pathlib import Path

import pytest

from tests.script.scripts import HEAD, INLINE, TABLE, mistakes, script_in

DESIGN = '[design]\nstratum = "s"\npsu = "p"\n'
THRESHOLD = '[params.threshold]\ntype = "float"\ndefault = 0.0\ndecision = true\n'
IMAGES = '[data.images]\npath = "images"\n'


def changed(old: str, new: str) -> str:
    assert old in HEAD + TABLE
    return (HEAD + TABLE).replace(old, new)


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        (changed("format = 1", "format = 2"), "format 2 is not known here, only 1; a newer hate may read it"),
        (changed("format = 1", "format = true"), "format True is not known here"),
        (changed("format = 1", ""), "format: missing"),
        (changed('"t"', '"My test"'), "line 4: test.name: 'My test' should be lowercase letters"),
        (changed('"t"', '"' + "t" * 101 + '"'), "line 4: test.name: "),
        (changed('"t"', "5"), "line 4: test.name: should be text in quotes, not 5"),
        (changed('version = "1.0"', ""), "line 3: test.version: missing"),
        (changed('"1.0"', "1.0"), "line 5: test.version: should be text in quotes, not 1.0"),
        (changed('"label"', '"lable"'), "line 7: test.task: 'lable' is not one of label, score, rank, value"),
        (changed('"label"', '"label"\nauthor = []'), "line 8: test.author: unknown key; did you mean 'authors'?"),
        (changed('"label"', '"label"\nauthors = "me"'), "line 8: test.authors: should be a list in [ ], not 'me'"),
        (changed('"label"', '"label"\nerrors = "ignore"'), "test.errors: should be 'failure', 'refuse' or 'abort'"),
        (changed('"label"', '"label"\nlarger_is_better = 1'), "test.larger_is_better: should be true or false, not 1"),
        (changed('"label"', '"label"\nlarger_is_better = false'), "larger_is_better is for score and rank tests"),
        (changed('"label"', '"label"\ntolerance = {absolute = 1}'), "tolerance is for value tests"),
        (changed('"label"', '"value"\ntolerance = {}'), "test.tolerance: give either absolute or relative"),
        (changed('"label"', '"value"\ntolerance = {absolute = "1"}'), "absolute: should be a number, not '1'"),
        (changed('"label"', '"value"\ntolerance = 0.1'), "test.tolerance: should be a table of keys and values"),
        (changed('"label"', '"score"'), "params.threshold: missing; a score test must say which score is high enough"),
        (changed(TABLE, ""), "cases: missing"),
        (changed('table = "cases.csv"', ""), "line 9: cases: give exactly one of table, glob and [[cases.case]]"),
        (changed('table = "cases.csv"', 'table = "cases.csv"\nglob = "x"'), "give exactly one of"),
        (changed('table = "cases.csv"', 'table = "cases.csv"\npattern = "x"'), "line 9: cases: pattern goes with glob"),
        (changed('table = "cases.csv"', 'tabel = "cases.csv"'), "cases.tabel: unknown key; did you mean 'table'?"),
        (HEAD + TABLE + "[dseign]\n", "line 11: dseign: unknown key; did you mean 'design'?"),
        (HEAD + TABLE + '[design]\nstratun = "x"\n', "line 12: design.stratun: unknown key; did you mean 'stratum'?"),
        (HEAD + TABLE + "[design]\nstratum = 5\n", "should be a column's name or a list of names, not 5"),
        (HEAD + TABLE + "[design]\nstratum = []\n", "design.stratum: should be a column's name or a list of names"),
        (HEAD + TABLE + '[design]\nweights = "equal"\n', "weights of strata need a stratum; name its column"),
        (HEAD + TABLE + '[design]\nstratum = "expect"\nweights = {x = -1}\n', "should be a number from 0 up"),
        (HEAD + TABLE + '[design]\nstratum = "expect"\nweights = {x = true}\n', "should be a number from 0 up"),
        (HEAD + TABLE + '[design]\nstratum = "expect"\nweights = {x = 1}\n', "stratum 'y' has no weight"),
        (HEAD + TABLE + '[design]\nstratum = "expct"\n', "no column 'expct', which the design names; did you"),
        (HEAD + TABLE + THRESHOLD.replace("default", "defalt"), "defalt: unknown key; did you mean 'default'?"),
        (HEAD + TABLE + THRESHOLD.replace("0.0", '"0"'), "params.threshold: default '0' is not of type float"),
        (HEAD + TABLE + THRESHOLD.replace("0.0", "inf"), "params.threshold.default: should be a finite number"),
        (HEAD + TABLE + THRESHOLD.replace("decision = true", ""), "write decision = true"),
        (HEAD + TABLE + THRESHOLD.replace("threshold", "iou"), "params.iou: not a decision parameter of a label test"),
        (HEAD + TABLE + THRESHOLD.replace('"float"', '"string"').replace("0.0", '"x"'), 'write type = "float"'),
        (HEAD + TABLE + "[params.int]\ntype = 5\ndefault = 1\n", "line 12: params.int.type: should be 'float', 'int'"),
        (HEAD + TABLE + '[params."my x"]\ntype = "int"\ndefault = 1\n', "should be letters, digits and _"),
        (HEAD + TABLE + "[data.images]\n", "line 11: data.images: give either path or url"),
        (HEAD + TABLE + '[data.images]\nurl = "ftp://x/y"\n', "should begin with https:// or http:// and a host"),
        (HEAD + TABLE + '[data.images]\nurl = "https://x/y"\n', "a url needs a sha256"),
        (HEAD + TABLE + '[data.images]\npath = "cases.csv"\nsha256 = "abc"\n', "'abc' should be 64 digits 0-9 and a-f"),
        (HEAD + TABLE + '[data.images]\npath = "cases.csv"\nbytes = "5"\n', "should be a whole number, not '5'"),
        (HEAD + TABLE + '[train]\ntable = "none.csv"\n', "line 12: train.table: 'none.csv' does not exist"),
        (HEAD + "[cases]\ncase = []\n", "[[cases.case]]: no cases; a test needs at least one"),
        (HEAD + INLINE.replace('id = "1"\n', ""), "[[cases.case]] number 1: a case without an id"),
        (HEAD + INLINE.replace('"x"', '["x"]'), "[[cases.case]] number 1: expect ['x'] is not a label or number"),
        (HEAD + INLINE + INLINE, "[[cases.case]] number 2: id '1' appears twice; ids must differ"),
        ("[test\n", "t.hate.toml: not TOML: "),
    ],
)  # fmt: skip
def test_mistakes_name_file_key_line_and_remedy(tmp_path: Path, toml: str, expected: str) -> None:
    message = mistakes(script_in(tmp_path, toml))
    assert message.startswith("t.hate.toml: ")
    assert expected in message
    assert "pydantic" not in message


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("id,input,expect\n", "cases.csv: no cases; a test needs at least one"),
        ("", "cases.csv:1: no header; the first line names the columns"),
        ("ID,input,expect\n1,a,x\n", "cases.csv:1: no column 'id' in the header; known: ID, expect, input"),
        ("id,input,expect\n,a,x\n", "cases.csv:2: a case without an id; give each case a unique id in column id"),
        ("id,input,expect\n1,a,x\n1,b,x\n", "cases.csv:3: id '1' appears twice; ids must differ"),
        ("id,input,expect\n1,a,\n", "cases.csv:2: case '1' is positive and has no ground truth; fill in expect"),
        ("id,input,expect\n1,a, \n", "cases.csv:2: case '1' is positive and has no ground truth; fill in expect"),
        ("id,input,expect,positive\n1,a,x,maybe\n", "cases.csv:2: positive 'maybe' is not true or false, 1 or 0"),
        ("id,input,expect\n1,a\n", "cases.csv:2: 2 fields, the header has 3"),
        ("id,input,expect\n1,\0,x\n", "cases.csv:2: a NUL character"),
    ],
)
def test_mistakes_in_tables_name_table_and_line(tmp_path: Path, table: str, expected: str) -> None:
    message = mistakes(script_in(tmp_path, HEAD + TABLE, {"cases.csv": table}))
    assert message.startswith(f"t.hate.toml: {expected}")
    assert "\n" not in message


def test_the_first_twenty_mistakes_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    table = "id,input,expect\n" + "".join(f"{i},a,\n" for i in range(10)) + "1,b,x\n" * 10 + "1,2\n" * 5
    lines = mistakes(script_in(tmp_path, HEAD + TABLE, {"cases.csv": table})).splitlines()
    assert lines[0] == "t.hate.toml: 25 mistakes"
    assert lines[1] == "  cases.csv:2: case '0' is positive and has no ground truth; fill in expect"
    assert lines[20] == "  cases.csv:21: id '1' appears twice; ids must differ"
    assert lines[21:] == ["  and 5 more"]


def test_mistakes_of_different_kinds_are_reported_together(tmp_path: Path) -> None:
    toml = changed('"1.0"', "1.0\nlicence = 'x'").replace('"label"', '"lable"') + "[data.x]\n[design]\nstrata = 1\n"
    lines = mistakes(script_in(tmp_path, toml)).splitlines()
    assert lines[0] == "t.hate.toml: 5 mistakes"
    keys = ("test.version", "test.licence", "test.task", "data.x", "design.strata")
    assert all(any(f": {key}: " in line for line in lines) for key in keys)


def test_a_missing_column_of_the_design_is_reported_once(tmp_path: Path) -> None:
    message = mistakes(script_in(tmp_path, HEAD + TABLE + '[design]\npsu = "subject"\n'))
    assert message.startswith("t.hate.toml: cases.csv:2: no column 'subject', which the design names")


def test_a_psu_in_two_strata_is_reported_with_the_remedy(tmp_path: Path) -> None:
    table = "id,input,expect,s,p\n1,a,x,s1,p1\n2,a,x,s2,p1\n3,a,x,s2,p2\n"
    message = mistakes(script_in(tmp_path, HEAD + TABLE + DESIGN, {"cases.csv": table}))
    assert message.startswith("t.hate.toml: cases.csv:3: PSU 'p1' is in two strata, 's1' and 's2'; drop the stratum")


def test_cases_without_a_psu_are_reported(tmp_path: Path) -> None:
    table = "id,input,expect,s,p\n1,a,x,s1,p1\n2,a,x,s1,\n"
    message = mistakes(script_in(tmp_path, HEAD + TABLE + DESIGN, {"cases.csv": table}))
    assert message.startswith("t.hate.toml: cases.csv:3: no value for the psu, p")


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("strat,weight\nx,1\n", "w.csv:2: a table of weights has columns stratum and weight"),
        ("stratum,weight\nx,-1\n", "w.csv:2: weight '-1' is not a number from 0 up"),
        ("stratum,weight\nx,nan\n", "w.csv:2: weight 'nan' is not a number from 0 up"),
        ("stratum,weight\nx,1\nx,2\n", "w.csv:3: stratum 'x' appears twice"),
        ("stratum,weight\nx,1\n", "stratum 'y' has no weight in design.weights"),
    ],
)
def test_mistakes_in_a_table_of_weights(tmp_path: Path, table: str, expected: str) -> None:
    toml = HEAD + TABLE + '[design]\nstratum = "expect"\nweights = "w.csv"\n'
    assert expected in mistakes(script_in(tmp_path, toml, {"w.csv": table}))


@pytest.mark.parametrize("name", ["../outside.csv", "/etc/passwd", "sub/../../outside.csv", "a\\\\b.csv", ""])
@pytest.mark.parametrize("key", ["cases", "train", "gallery", "data"])
def test_no_path_leaves_the_folder(tmp_path: Path, name: str, key: str) -> None:
    (tmp_path / "outside.csv").write_text("id,input,expect\n1,a,x\n")
    (tmp_path / "sub").mkdir()
    section = f'[data.x]\npath = "{name}"\n' if key == "data" else f'[{key}]\ntable = "{name}"\n'
    message = mistakes(script_in(tmp_path / "sub", HEAD + ("" if key == "cases" else TABLE) + section))
    assert f"line {10 if key == 'cases' else 12}: " in message
    assert "leaves the script's folder" in message or "is not a file name" in message


@pytest.mark.parametrize("target", ["../outside.csv", "/etc/hostname", "link.csv"])
def test_no_link_leaves_the_folder(tmp_path: Path, target: str) -> None:
    (tmp_path / "outside.csv").write_text("id,input,expect\n1,a,x\n")
    path = script_in(tmp_path / "sub", HEAD + '[cases]\ntable = "link.csv"\n')
    (tmp_path / "sub" / "link.csv").symlink_to(target)
    message = mistakes(path)
    assert "line 10: cases.table: 'link.csv' is a link that leaves the script's folder" in message or (
        "'link.csv' does not exist" in message
    )


def test_links_inside_data_are_refused(tmp_path: Path) -> None:
    path = script_in(tmp_path, HEAD + TABLE + IMAGES, {"images/1.pgm": b"", "other/2.pgm": b""})
    (tmp_path / "images" / "2.pgm").symlink_to(tmp_path / "other" / "2.pgm")
    assert "'2.pgm' in 'images' is a link; put the file itself there" in mistakes(path)


@pytest.mark.parametrize("name", ["fifo.csv", "folder.csv"])
def test_a_table_is_a_file(tmp_path: Path, name: str) -> None:
    """Reading from a pipe without a writer would never end."""
    os.mkfifo(tmp_path / "fifo.csv")
    (tmp_path / "folder.csv").mkdir()
    assert f"cases.table: '{name}' is not a file" in mistakes(script_in(tmp_path, f'{HEAD}[cases]\ntable = "{name}"\n'))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("{images}/2.pgm", "input '2.pgm' does not exist"),
        ("{images}/../cases.csv", "input '../cases.csv' leaves"),
        ("{images}//etc/passwd", "input '/etc/passwd' leaves"),
        ("{notes}/x", "the data is a single file; write unpack = true, or leave out /x"),
    ],
)
def test_an_input_names_a_file_of_its_data(tmp_path: Path, value: str, expected: str) -> None:
    data = IMAGES + '[data.notes]\npath = "cases.csv"\n'
    table = f"id,input,expect\n1,{value},x\n"
    message = mistakes(script_in(tmp_path, HEAD + TABLE + data, {"images/1.pgm": b"", "cases.csv": table}))
    assert message.startswith("t.hate.toml: cases.csv:2: input ")
    assert expected in message


@pytest.mark.parametrize(
    ("glob", "pattern", "expected"),
    [
        ("*.pgm", None, "cases.glob: '*.pgm' must begin with data, such as {images}/test/*.png"),
        ("{image}/*.pgm", None, "did you mean 'images'?"),
        ("{images}/../*.csv", None, "cases.glob: '{images}/../*.csv' leaves its data"),
        ("{images}//etc/*", None, "cases.glob: '{images}//etc/*': "),
        ("{images}/*.png", None, "cases.glob: '{images}/*.png': no cases"),
        ("{images}/*.pgm", "(", "cases.pattern: not a regular expression: "),
        ("{images}/*.pgm", r"(?P<expect>\\d)\\.png", "cases.pattern does not match '3.pgm'; narrow the glob"),
        ("{images}/*.pgm", None, "3.pgm: case '3.pgm' is positive and has no ground truth"),
    ],
)
def test_mistakes_in_a_glob(tmp_path: Path, glob: str, pattern: str | None, expected: str) -> None:
    lines = f'[cases]\nglob = "{glob}"\n' + (f'pattern = "{pattern}"\n' if pattern else "")
    assert expected in mistakes(script_in(tmp_path, HEAD + IMAGES + lines, {"images/3.pgm": b""}))


def test_a_file_name_that_is_not_utf8_cannot_be_a_case(tmp_path: Path) -> None:
    path = script_in(tmp_path, HEAD + IMAGES + '[cases]\nglob = "{images}/*"\n', {"images/caf\udce9": b""})
    assert r"file name 'caf\udce9' is not UTF-8; rename the file" in mistakes(path)


@pytest.mark.parametrize(("expect", "expected"), [("three", "expect 'three' is not a number"), ("0", "expect is 0")])
def test_cases_of_a_value_test_need_numbers(tmp_path: Path, expect: str, expected: str) -> None:
    toml = changed('"label"', '"value"\ntolerance = {relative = 0.1}')
    table = f"id,input,expect\n1,a,{expect}\n"
    assert f"cases.csv:2: {expected}" in mistakes(script_in(tmp_path, toml, {"cases.csv": table}))


def test_a_tolerance_is_set_in_one_place(tmp_path: Path) -> None:
    toml = changed('"label"', '"value"\ntolerance = {absolute = 0.1}') + THRESHOLD.replace("threshold", "tolerance")
    table = "id,input,expect\n1,a,1\n"
    assert "leave one of them out" in mistakes(script_in(tmp_path, toml, {"cases.csv": table}))
