"""`hate show` and `hate diff`, end to end."""

import csv
import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.workshop import WAIT, Done, Workshop, command

HOSTILE = "=1+1\x1b[31m\x9b1m\\end{x}|<b>\u202e"

# The claims of six cases with their writers, and the answers of two programs.
CASES = """\
id,input,expect,positive,truth,writer
c0,0,a,true,,7
c1,1,b,true,,17
c2,2,c,false,d,17
c3,3,a,true,,10
c4,4,b,false,a,9
c5,5,c,true,,17
"""
ONE = {"0": ["a", 3], "1": ["b", 10], "2": ["d", 9], "3": ["x", 1], "4": ["b", 2], "5": None}
OTHER = {"0": ["a", 5], "1": ["x", 1], "2": ["c", 2], "3": ["a", 4], "4": ["b", 8], "5": ["y", 1]}
PROGRAM = "ANSWERS = {answers!r}\ndef answer(case, params):\n    return ANSWERS[case.input]\n"


@pytest.fixture
def runs(shop: Workshop) -> Workshop:
    """A workshop with the transcripts one.jsonl and other.jsonl."""
    shop.script(rows=CASES, sections='[design]\nstratum = "truth"\npsu = "id"')
    for name, answers in (("one", ONE), ("other", OTHER)):
        shop.write(f"{name}/interface.py", f'NAME = "{name}"\n' + PROGRAM.format(answers=answers))
        assert shop.call("run", "toy", "--interface", f"./{name}", "-o", f"{name}.jsonl").status == 0
    return shop


def edited(shop: Workshop, name: str, **changes: dict[str, Any]) -> str:
    """A copy of a transcript with some records changed, by id, and without its last line."""
    lines = shop.lines(name)[:-1]
    target = f"edited-{name}"
    lines[1:] = [line | changes.get(line["id"], {}) for line in lines[1:]]
    shop.write(target, "".join(json.dumps(line) + "\n" for line in lines))
    return target


def found(done: Done, key: str = "cases") -> list[str]:
    assert done.status == 0, done.err
    return [case["id"] for case in done.json[key]]


@pytest.mark.parametrize(("words", "expected"), [
    ([], "012345"),
    (["--outcome", "FN"], "35"),
    (["--outcome", "fn", "--outcome", "FP"], "345"),
    (["--where", "writer=17"], "125"),
    (["--where", "writer=17", "--where", "outcome!=TN"], "15"),
    (["--where", "truth=a"], "034"),
    (["--where", "stratum=a", "--where", "psu=c4"], "4"),
    (["--where", "score>2"], "012"),
    (["--where", "actual="], "5"),
    (["--where", "id=c3"], "3"),
    (["--where", "positive=false"], "24"),
    (["--sort", "writer"], "043125"),
    (["--sort", "-score"], "120435"),
    (["--sort", "score", "--limit", "2"], "34"),
    (["--sort", "expect", "--sort", "-id"], "304152"),
    (["--outcome", "ER"], ""),
])  # fmt: skip
def test_show_selects_and_sorts(runs: Workshop, words: list[str], expected: str) -> None:
    done = runs.call("show", "one.jsonl", "--format", "json", *words)
    assert found(done) == [f"c{digit}" for digit in expected]


def test_show_in_json_has_the_records_as_they_are(runs: Workshop) -> None:
    shown = runs.call("show", "one.jsonl", "--format", "json").json
    header, *records, end = runs.lines("one.jsonl")
    assert shown["cases"] == records
    assert shown["test"] == {key: header["test"][key] for key in ("name", "version", "digest")}
    assert shown["algorithm"]["name"] == "one"
    assert shown["complete"] is True
    assert {key: shown[key] for key in ("tests", "TP", "TN", "FP", "FN", "ER")} == {
        key: end[key] for key in ("tests", "TP", "TN", "FP", "FN", "ER")
    }


def test_show_in_every_format(runs: Workshop) -> None:
    table = runs.call("show", "one.jsonl", "--format", "table").out.splitlines()
    assert table[0] == "toy 1.0, one: 6 cases, TP 2, TN 1, FP 1, FN 2, ER 0"
    rows = list(csv.DictReader(runs.call("show", "one.jsonl", "--format", "csv").out.splitlines()))
    assert list(rows[0]) == ["id", "outcome", "expect", "truth", "actual", "score", "error", "seconds", "writer"]
    assert [row["score"] for row in rows] == ["3.0", "10.0", "9.0", "1.0", "2.0", ""]
    plain = runs.call("show", "one.jsonl", "--where", "writer=7").out.splitlines()
    assert plain[0].split() == ["#", *rows[0]]
    assert plain[1].split()[:6] == ["c0", "TP", "a", "a", "a", "3.0000"]
    assert r"\toprule" in runs.call("show", "one.jsonl", "--format", "tex").out
    assert runs.call("show", "one.jsonl", "--format", "md").out.startswith("| id | outcome |")


def test_the_heading_stays_out_of_piped_output(runs: Workshop) -> None:
    done = runs.call("show", "one.jsonl", "--outcome", "FN", "--limit", "1", "--format", "csv")
    assert done.out.startswith("id,outcome,")
    assert done.err == "toy 1.0, one: 6 cases, TP 2, TN 1, FP 1, FN 2, ER 0; 2 match, the first 1 are shown\n"


def test_an_incomplete_transcript_is_shown_with_a_warning(runs: Workshop) -> None:
    done = runs.call("show", edited(runs, "one.jsonl"), "--format", "json")
    assert found(done) == [f"c{n}" for n in range(6)]
    assert done.json["complete"] is False
    assert "INCOMPLETE" in done.err


def test_hostile_text_is_harmless_in_every_format(runs: Workshop) -> None:
    (runs.folder / "toy/toy.hate.toml").unlink()  # by which the edited transcript would be refused
    hostile = edited(runs, "one.jsonl", c0={"actual": HOSTILE, "columns": {HOSTILE: HOSTILE}})
    for key, words in (
        ("cases", ["show", hostile]),
        ("differences", ["diff", hostile, "other.jsonl", "--answers"]),
    ):
        styles = ("table", "plain", "tex", "md", "csv", "json")
        shown = {style: runs.call(*words, "--format", style).out for style in styles}
        assert not {style for style, text in shown.items() if any(char in text for char in "\x1b\x9b\u202e")}
        assert r"\end{x}" not in shown["tex"]
        assert "<b>" not in shown["md"]
        assert not {cell for row in csv.reader(shown["csv"].splitlines()) for cell in row if cell.startswith("=")}
        case = json.loads(shown["json"])[key][0]
        assert case.get("a", case)["actual"] == HOSTILE


def test_errors_are_shown_with_their_messages(runs: Workshop) -> None:
    ill = edited(runs, "one.jsonl", c3={"error": "timeout", "message": "no answer in 5 s"})
    assert found(runs.call("show", ill, "--outcome", "ER", "--format", "json")) == ["c3"]
    assert found(runs.call("show", ill, "--where", "error=timeout", "--format", "json")) == ["c3"]
    assert "no answer in 5 s" in runs.call("show", ill, "--format", "csv").out


def test_diff_shows_where_outcomes_differ(runs: Workshop) -> None:
    """By the tables above: A right on c1, c2 alone, B on c3 alone; on c5 both are wrong, each in its own way."""
    done = runs.call("diff", "one.jsonl", "other.jsonl", "--format", "json")
    assert found(done, "differences") == ["c1", "c2", "c3"]
    shown = done.json
    assert (shown["cases"], shown["n_sf"], shown["n_fs"], shown["other_answers"]) == (6, 2, 1, 1)
    assert (shown["a"]["name"], shown["b"]["name"]) == ("one", "other")
    assert shown["differences"][0]["a"]["actual"] == "b"
    assert shown["differences"][0]["b"]["actual"] == "x"
    line = "of 6 cases: A right and B wrong 2, B right and A wrong 1, same outcome but a different answer 1 (--answers"
    assert line in done.err


@pytest.mark.parametrize(("words", "expected"), [
    (["--answers"], "1235"),
    (["--outcome", "FP"], "2"),
    (["--outcome", "FN"], "13"),
    (["--where", "writer=17"], "12"),
    (["--where", "actual=x"], "13"),
    (["--where", "actual_a=x"], "3"),
    (["--where", "score_b<2"], "1"),
    (["--where", "outcome_a=TP"], "1"),
    (["--where", "truth=d"], "2"),
    (["--sort", "score_b"], "123"),
    (["--sort", "-score_b"], "321"),
    (["--sort", "score"], "321"),
    (["--sort", "-score_a", "--limit", "1"], "1"),
])  # fmt: skip
def test_diff_selects_and_sorts(runs: Workshop, words: list[str], expected: str) -> None:
    done = runs.call("diff", "one.jsonl", "other.jsonl", "--format", "json", *words)
    assert found(done, "differences") == [f"c{digit}" for digit in expected]


def test_diff_in_every_format(runs: Workshop) -> None:
    rows = list(csv.DictReader(runs.call("diff", "one.jsonl", "other.jsonl", "--format", "csv").out.splitlines()))
    assert [(row["id"], row["outcome_a"], row["outcome_b"]) for row in rows] == [
        ("c1", "TP", "FN"), ("c2", "TN", "FP"), ("c3", "FN", "TP"),
    ]  # fmt: skip
    assert "A, one: toy 1.0, one: 6 cases" in runs.call("diff", "one.jsonl", "other.jsonl", "--format", "table").out
    for style in ("plain", "tex", "md"):
        assert "c2" in runs.call("diff", "one.jsonl", "other.jsonl", "--format", style).out


def test_diff_matches_by_id_in_any_order(runs: Workshop) -> None:
    header, *records, _end = (runs.folder / "other.jsonl").read_text().splitlines(keepends=True)
    runs.write("shuffled.jsonl", "".join([header, *records[::-1]]))
    done = runs.call("diff", "one.jsonl", "shuffled.jsonl", "--format", "json")
    assert found(done, "differences") == ["c1", "c2", "c3"]


def test_diff_names_cases_that_only_one_has(runs: Workshop) -> None:
    lines = (runs.folder / "other.jsonl").read_text().splitlines(keepends=True)
    runs.write("short.jsonl", "".join(lines[:3]))
    done = runs.call("diff", "one.jsonl", "short.jsonl", "--format", "json")
    assert "only A has 4 cases: c2, c3, c4, c5" in done.err
    assert done.json["only_a"] == {"count": 4, "ids": ["c2", "c3", "c4", "c5"]}
    assert done.json["only_b"] == {"count": 0, "ids": []}
    assert found(done, "differences") == ["c1"]


def test_diff_of_runs_with_several_answers_per_case(runs: Workshop) -> None:
    for name in ("one", "other"):
        words = ["--interface", f"./{name}", "--repeat", "2", "-o", f"{name}-2.jsonl"]
        assert runs.call("run", "toy", *words).status == 0
    done = runs.call("diff", "one-2.jsonl", "other-2.jsonl", "--format", "json")
    assert found(done, "differences") == ["c1", "c1", "c2", "c2", "c3", "c3"]
    done = runs.call("diff", "one-2.jsonl", "other.jsonl", "--format", "json")
    assert found(done, "differences") == ["c1", "c2", "c3"]
    assert "only A has 6 cases: c0 (answer 2), c1 (answer 2)" in done.err


def test_diff_of_a_run_with_itself(runs: Workshop) -> None:
    done = runs.call("diff", "one.jsonl", "one.jsonl", "--answers", "--format", "json")
    assert found(done, "differences") == []
    assert (done.json["a"]["name"], done.json["b"]["name"]) == ("one", "one-2")


def test_diff_of_other_tests_is_refused(runs: Workshop) -> None:
    done = runs.call("diff", "one.jsonl", "hdigits/wisard")
    assert done.status == 2
    assert "not of the same test as one.jsonl: that is toy 1.0, this is hdigits 1.0.0" in done.err


@pytest.mark.parametrize(("words", "expected"), [
    (["show", "one.jsonl", "--where", "writr=1"], "did you mean 'writer'"),
    (["show", "one.jsonl", "--where", "writer"], "write COLUMN=VALUE"),
    (["show", "one.jsonl", "--sort", "size"], "--sort size: no such column"),
    (["show", "one.jsonl", "--outcome", "XP"], "XP"),
    (["show", "none.jsonl"], "none.jsonl: no such file"),
    (["show", "interface.py"], "not a transcript"),
    (["diff", "one.jsonl", "other.jsonl", "--sort", "score_c"], "did you mean 'score"),
    (["diff", "one.jsonl"], "Missing argument"),
])  # fmt: skip
def test_bad_input_gives_one_line_and_status_2(runs: Workshop, words: list[str], expected: str) -> None:
    runs.interface()
    done = runs.call(*words)
    assert done.status == 2
    assert expected in done.err
    assert len(done.err.splitlines()) == 1


def test_a_long_table_goes_through_the_pager(shop: Workshop, tmp_path: Path) -> None:
    """On a real terminal of 24 lines; the pager is a program that saves its input."""
    kept = tmp_path / "kept"
    shop.program("pager", f"#!/bin/sh\ncat > '{kept}'\n")
    primary, secondary = pty.openpty()
    env = shop.env | {"PAGER": str(shop.folder / "pager"), "TERM": "xterm", "COLUMNS": "120", "LINES": "24"}
    done = subprocess.run(
        command(["show", "wisard", "--limit", "500"]), cwd=shop.folder, env=env,
        stdin=secondary, stdout=secondary, stderr=subprocess.PIPE, timeout=WAIT,
    )  # fmt: skip
    os.close(secondary)
    os.close(primary)
    assert done.returncode == 0, done.stderr
    lines = kept.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("hdigits 1.0.0, wisard 1.0: 1,434 cases")
    assert sum(" TP " in line or " TN " in line or " FP " in line or " FN " in line for line in lines[1:]) == 500


def test_show_needs_neither_numpy_nor_requests(runs: Workshop) -> None:
    code = (
        "import sys; from harness.cli.main import call; "
        "assert call(['show', 'one.jsonl']) == 0; assert call(['diff', 'one.jsonl', 'other.jsonl']) == 0; "
        "print(sorted({'numpy', 'scipy', 'requests'} & set(sys.modules)))"
    )
    words = [*command([])[:2], "-c", code]
    done = subprocess.run(words, cwd=runs.folder, env=runs.env, capture_output=True, text=True, timeout=WAIT)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
