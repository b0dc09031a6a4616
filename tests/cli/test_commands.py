"""Every command in every format, end to end."""

import csv
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from statsmodels.stats.proportion import proportion_confint

from tests.workshop import ECHO, SCRIPT, Workshop, command

HATE = Path(sys.executable).parent / "hate"
TABULAR = ["table", "plain", "json", "csv", "tex", "md"]


def test_list_in_json_has_the_fixed_keys(toy: Workshop) -> None:
    """Design: {"tests": [{"name", "version", "synopsis", "task", "cases", "site", "digest"}]}."""
    found = {test["name"]: test for test in toy.call("list", "--format", "json").json["tests"]}
    assert {"toy", "hdigits", "blank"} <= set(found)
    assert set(found["toy"]) == {"name", "version", "synopsis", "task", "cases", "site", "digest"}
    assert found["toy"]["cases"] == 6
    assert found["toy"]["site"] == "."
    assert found["hdigits"]["site"] == "bundled"
    assert found["hdigits"]["cases"] == 1434


@pytest.mark.sampled(6)
@pytest.mark.parametrize("what", [[], ["--interfaces"], ["--transcripts"]])
@pytest.mark.parametrize("style", TABULAR)
def test_list_in_every_format(style: str, what: list[str], toy: Workshop) -> None:
    toy.call("run", "toy")
    done = toy.call("list", *what, "--format", style)
    assert done.status == 0
    expected = {"--interfaces": ["wisard", "here"], "--transcripts": ["toy", "hdigits"]}.get(
        "".join(what), ["toy", "hdigits"]
    )
    assert all(word in done.out for word in expected)
    if style == "csv":
        header, *rows = csv.reader(io.StringIO(done.out))
        assert all(len(row) == len(header) for row in rows)
    if style == "plain":
        assert done.out.startswith("# ")


def test_list_skips_a_broken_script(toy: Workshop) -> None:
    toy.write("broken/broken.hate.toml", "format = 1\n[test\n")
    done = toy.call("list", "--format", "json")
    assert done.status == 0
    assert "broken.hate.toml" in done.err
    assert "toy" in [test["name"] for test in done.json["tests"]]


def test_a_list_fetches_nothing(toy: Workshop) -> None:
    """A library may have tests with gigabytes of data behind slow links."""
    sections = '[data.images]\nurl = "http://127.0.0.1:9/images.zip"\nsha256 = "' + "0" * 64 + '"\nunpack = true\n'
    toy.script(rows="id,input,expect\n1,{images}/1.png,a\n", sections=sections)
    text = SCRIPT.format(task="label", keys="", sections=sections).replace('"toy"', '"globbed"')
    glob = 'glob = "{images}/*.png"\npattern = "(?P<expect>.)"'
    toy.write("globbed/globbed.hate.toml", text.replace('table = "cases.csv"', glob))
    done = toy.call("list", "--format", "json")
    counts = {test["name"]: test["cases"] for test in done.json["tests"]}
    assert (counts["toy"], counts["globbed"]) == (1, None)
    # A bundled test may need a room that is not there.
    assert [line for line in done.err.splitlines() if "has no folder harness/" not in line] == []
    assert "globbed" in toy.call("list").out


@pytest.mark.parametrize("how", ["--library", "HATE_LIBRARY"])
def test_libraries(how: str, shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.write("far/lib/toy/cases.csv", "id,input,expect\n1,a,a\n")
    text = SCRIPT.format(task="label", keys="", sections="").replace('"toy"', '"far-toy"')
    shop.write("far/lib/toy/toy.hate.toml", text)
    shop.interface()
    assert shop.call("run", "far-toy").status == 2
    words = ["--library", "far/lib"] if how == "--library" else []
    if not words:
        monkeypatch.setenv("HATE_LIBRARY", "far/lib")
    assert shop.call("run", "far-toy", *words, "--format", "json").row["TP"] == 1
    assert "far/lib" in shop.call("list", *words).out
    assert shop.call("run", "far-toy@1.0", *words).status == 0
    assert "no version 2" in shop.call("run", "far-toy@2", *words).err


@pytest.mark.sampled(4)
@pytest.mark.parametrize("style", ["table", "plain", "json", "md"])
def test_describe(style: str, shop: Workshop) -> None:
    done = shop.call("describe", "hdigits", "--format", style)
    assert done.status == 0
    for word in ("hdigits", "threshold", "label", "truth", "image"):
        assert word in done.out
    if style == "json":
        assert done.json["cases"] == {"total": 1434, "positive": 717, "negative": 717}
        assert Path(done.json["train"]).is_file()
        assert all(Path(place).exists() for place in done.json["data"].values())


@pytest.mark.parametrize("style", [*TABULAR, "transcript"])
def test_run_in_every_format(style: str, toy: Workshop) -> None:
    done = toy.call("run", "toy", "--format", style)
    assert done.status == 0
    path = toy.folder / "transcripts/toy/work.jsonl"
    if style == "json":
        row = done.row
        assert {key: row[key] for key in ("tests", "TP", "TN", "FP", "FN", "ER", "rate")} == {
            "tests": 6, "TP": 3, "TN": 3, "FP": 0, "FN": 0, "ER": 0, "rate": 1.0,
        }  # fmt: skip
        assert row["params"] == {"threshold": 0.0}
        assert row["interval"] == pytest.approx([0.6096657, 1.0])
        assert done.json["transcripts"] == ["transcripts/toy/work.jsonl"]
    elif style == "transcript":
        assert done.out == path.read_text()
    elif style == "plain":
        assert [line.split() for line in done.out.splitlines()] == [
            ["#", "tests", "TP", "TN", "FP", "FN", "ER"], ["6", "3", "3", "0", "0", "0"],
        ]  # fmt: skip
    else:
        assert "TP" in done.out
        assert "1.0000" in done.out or "1.0" in done.out
    assert path.exists()


def test_a_compressed_transcript_is_printed_uncompressed(toy: Workshop) -> None:
    done = toy.call("run", "toy", "--format", "transcript", "-o", "out.jsonl.gz")
    assert [json.loads(line) for line in done.out.splitlines()] == toy.lines("out.jsonl.gz")


def test_errors_are_reported_with_the_counts(toy: Workshop) -> None:
    toy.interface(
        "def answer(case, params):\n    if case.id == 'c1': raise ValueError('\\x1b[31mred')\n    return 'x0'\n"
    )
    done = toy.call("run", "toy", "-o", "out.jsonl")
    assert done.status == 0
    assert "1 errors; the first, case c1: crash: ValueError" in done.err
    assert "\x1b" not in done.err
    assert toy.call("run", "toy", "-o", "o2.jsonl", "--strict").status == 1


@pytest.mark.parametrize(("loudness", "lines"), [(None, 3), ("--verbose", 7), ("--quiet", 1), ("--silent", 0)])
@pytest.mark.parametrize("output", [[], ["-o", "out.jsonl"]])
def test_test_prints_failures_and_sets_the_status(
    loudness: str | None, lines: int, output: list[str], toy: Workshop
) -> None:
    """Design: exit status 1 if a case failed, so that it can be used in a build."""
    toy.interface(
        "def answer(case, params):\n    if case.id == 'c2': raise ValueError\n"
        "    return 'y1' if case.id == 'c1' else case.input\n"
    )
    words = [loudness] if loudness else []
    done = toy.call("test", "toy", *words, *output)
    assert done.status == 1
    assert len(done.out.splitlines()) == lines
    if lines == 3:
        assert "c1: FP: should refuse y1, answered y1" in done.out
        assert "c2: FN: expected x2, crash: ValueError" in done.out
    if lines:
        low, high = proportion_confint(4, 6, method="wilson")
        rate = f"rate 0.6667, 95 % interval {low:.4f} to {high:.4f}"
        assert done.out.endswith(f"toy: 2 of 6 cases failed, 1 of them in error; {rate}\n")
    assert (toy.folder / "transcripts").exists() is False
    assert (toy.folder / "out.jsonl").exists() is bool(output)
    toy.interface()
    assert toy.call("test", "toy", *words).status == 0


def test_one_case(toy: Workshop) -> None:
    done = toy.call("run", "toy", "--case", "c2")
    assert (done.status, done.out) == (0, "c2: TP: expected x2, answered x2\n")
    shown = toy.call("run", "toy", "--case", "c3", "--case", "c1", "--verbose").out
    for word in ("case: c1", "case: c3", "input: x3", "expect: y3", "positive: no", "outcome: TN", "answer: x3"):
        assert word in shown
    assert not (toy.folder / "transcripts").exists()
    toy.interface("def answer(case, params):\n    return {1: 2, 'z': 1.5}\n")
    done = toy.call("run", "toy", "--case", "c2", "--verbose", "-j", "2")
    assert done.status == 1
    assert "score: 0.5" in done.out
    toy.interface("def answer(case, params):\n    raise ValueError('no')\n")
    assert "error: crash: ValueError: no (interface.py:2)" in toy.call("run", "toy", "--case", "c2", "--verbose").out


@pytest.mark.parametrize("words", [["-o", "x"], ["--limit", "2"], ["--resume"], ["--force"], ["--format", "json"]])
def test_one_case_cannot_be_combined_with(words: list[str], toy: Workshop) -> None:
    done = toy.call("run", "toy", "--case", "c2", *words)
    assert done.status == 2
    assert words[0] in done.err


def test_check(toy: Workshop) -> None:
    toy.run()
    done = toy.call("check", ".")
    assert done.status == 0
    assert "toy.hate.toml: a valid test: toy 1.0, 6 cases, 1:" in done.out
    assert "interface.py: a valid interface: work (python)" in done.out
    assert "out.jsonl: a valid transcript: toy, work, 6 records" in done.out
    assert done.out.endswith("3 checked, 0 invalid\n")
    path = toy.folder / "out.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"x0"', b'"x9"', 1))
    toy.interface("x = 1\n")
    toy.write("toy/cases.csv", "id,input,expect\n1,a,a\n1,a,a\n")
    done = toy.call("check", ".")
    assert done.status == 1
    assert done.out.endswith("3 checked, 3 invalid\n")
    for word in ("changed or damaged", "no function answer", "id '1' appears twice"):
        assert word in done.out


def test_check_warns_of_training_inputs_among_the_cases(toy: Workshop) -> None:
    toy.script(sections='[train]\ntable = "train.csv"\n')
    toy.write("toy/train.csv", "input,expect\nx3,x3\n")
    done = toy.call("check", "toy")
    assert done.status == 0
    assert "warning: 1 test inputs are training material too, such as that of case 'c3'" in done.out


@pytest.mark.slow
def test_a_new_interface_runs(shop: Workshop) -> None:
    """README: `hate new interface`, then `hate run hdigits`, in an empty folder, with the installed command."""
    for words in (["new", "interface"], ["check", "interface.py"], ["run", "hdigits", "--format", "json"]):
        done = subprocess.run([HATE, *words], env=shop.env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout)["rows"][0]
    assert (row["tests"], row["ER"]) == (1434, 0)


@pytest.mark.parametrize("kind", ["python", "command", "stream"])
def test_scaffolds_are_valid_once_their_program_exists(kind: str, shop: Workshop) -> None:
    assert shop.call("new", "interface", "my algo", "--kind", kind).status == 0
    if kind != "python":
        assert shop.call("check", ".").status == 1
        shop.program("my-algo", "#!/bin/sh\n")
    version = "" if kind == "python" else " 1.0"
    assert f"a valid interface: my-algo{version} ({kind})" in shop.call("check", ".").out
    before = {path: path.read_bytes() for path in shop.folder.iterdir()}
    for again in ("python", "command"):
        done = shop.call("new", "interface", "--kind", again)
        assert done.status == 2
        assert "exists" in done.err
    assert {path: path.read_bytes() for path in shop.folder.iterdir()} == before


def test_a_new_script_is_valid_and_runs(shop: Workshop) -> None:
    assert shop.call("new", "script", "my-test").status == 0
    assert shop.call("check", "my-test").status == 0
    shop.interface("def answer(case, params):\n    return 'yes'\n")
    row = shop.call("run", "my-test", "--format", "json").row
    assert (row["tests"], row["TP"], row["FP"]) == (2, 1, 1)
    assert shop.call("new", "script", "my-test").status == 2
    assert "small letters" in shop.call("new", "script", "My Test").err


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str, shop: Workshop) -> None:
    done = shop.hate("completion", shell)
    assert done.status == 0
    assert "_HATE_COMPLETE" in done.out


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("hate ru", "run"),
        ("hate run hd", "hdigits"),
        ("hate test hd", "hdigits"),
        ("hate run hdigits --interface wis", "wisard"),
        ("hate run hdigits --param thr", "threshold="),
        ("hate run hdigits --interface wisard --param b", "bits="),
        ("hate sweep shapes --interface relief --param win", "window="),
        ("hate compare hdigits/wis", "hdigits/wisard"),
    ],
)
def test_completion_completes(words: str, expected: str, shop: Workshop) -> None:
    place = {"_HATE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = subprocess.run([HATE], env=shop.env | place, capture_output=True, text=True)
    assert f"plain,{expected}" in done.stdout.splitlines()


def test_version_and_help(shop: Workshop) -> None:
    from harness import __version__

    assert shop.call("--version").out == f"hate, version {__version__}\n"
    for words in ([], ["--help"], ["-h"]):
        done = shop.call(*words)
        assert done.status == 0
        assert "describe" in done.out
    for name in ("list", "describe", "run", "test", "check", "new", "completion"):
        done = shop.call(name, "--help")
        assert done.status == 0
        assert f"Usage: hate {name}" in done.out


def imported(shop: Workshop, *words: str) -> set[str]:
    """The packages that a command imports."""
    argv = command(words)
    done = subprocess.run([argv[0], "-X", "importtime", *argv[1:]], env=shop.env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines() if "|" in line}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("words", [["--help"], ["--version"], ["run", "--help"]])
def test_help_imports_nothing_heavy(words: list[str], shop: Workshop) -> None:
    """Design: `hate --help` imports none of numpy, scipy, requests."""
    assert not imported(shop, *words) & {"numpy", "scipy", "requests"}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("words", [["list"], ["run", "toy"], ["test", "toy"], ["check", "toy"]])
def test_running_never_imports_scipy(words: list[str], toy: Workshop) -> None:
    assert not imported(toy, *words) & {"scipy", "requests"}


@pytest.mark.slow
def test_a_bar_on_a_terminal_and_nothing_in_a_pipe(toy: Workshop) -> None:
    toy.interface("import time\ndef answer(case, params):\n    time.sleep(0.15)\n    return case.input\n")
    status, out, shown = with_a_terminal_for_stderr(toy, "run", "toy")
    assert status == 0
    assert b"/6" in shown
    assert b"/s" in shown
    assert out.startswith(b"# tests")
    assert toy.hate("run", "toy").err == "transcript: transcripts/toy/work-2.jsonl\n"


def test_results_in_a_pipe_stay_there_while_a_bar_is_shown(toy: Workshop) -> None:
    toy.interface("def answer(case, params):\n    return 'wrong'\n")
    status, out, shown = with_a_terminal_for_stderr(toy, "test", "toy")
    assert status == 1
    assert all(f"c{n}".encode() in out for n in (0, 2, 4))
    assert b"c2" not in shown


def with_a_terminal_for_stderr(shop: Workshop, *words: str) -> tuple[int, bytes, bytes]:
    """Run a command whose stdout is a pipe; its status, its stdout, and what the terminal shows."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command(words), env=shop.env, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while block := os.read(ours, 4096):
                shown += block
        except OSError:  # how Linux says that the other side is closed
            pass
        assert process.stdout is not None
        out = process.stdout.read()
    os.close(ours)
    return process.returncode, out, shown


def test_an_algorithm_without_a_name_gets_that_of_its_folder(toy: Workshop) -> None:
    toy.write("other/interface.py", ECHO)
    toy.call("run", "toy", "--interface", "other")
    assert (toy.folder / "transcripts/toy/other.jsonl").exists()
