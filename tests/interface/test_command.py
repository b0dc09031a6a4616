"""[command]: one process per case; every output, every placeholder, every way to fail."""

import json
import shutil
from collections.abc import Sequence

import pytest

from harness.interface.load import load_interface
from tests.workshop import Record, Workshop, errors

ROWS = "id,input,expect,positive\nc0,x0,x0,true\nc1,x1,y1,false\n"


def command(
    shop: Workshop, program: str, *, rest: str = 'output = "label"', words: Sequence[str] = ("{input}",)
) -> None:
    shop.program("prog", "#!/bin/sh\n" + program)
    shop.toml(f"[algorithm]\nname = 'cmd'\n[command]\nargv = {json.dumps(['./prog', *words])}\n{rest}\n")


def run(shop: Workshop, *words: str) -> list[Record]:
    shop.script(rows=ROWS)
    return shop.run(*words)


OUTPUTS = {
    # How it is read, what the program does, the answer recorded for input x0, and its score.
    "label": ('output = "label"', "echo $1", "x0", None),
    "label by default": ("", "echo $1", "x0", None),
    "blanks around, lines after": ('output = "label"', "echo; echo \"  $1  \"; echo more", "x0", None),
    "nothing is a refusal": ('output = "label"', ":", None, None),
    "json": ('output = "json"', 'echo "{\\"label\\": \\"$1\\", \\"score\\": 2}"', "x0", 2.0),
    "json of scores": ('output = "json"', 'echo "{\\"scores\\": {\\"$1\\": 5, \\"b\\": 1.5}}"', "x0", 3.5),
    "json null": ('output = "json"', "echo null", None, None),
    "json nothing": ('output = "json"', ":", None, None),
    "exit": ('output = "exit"', "exit 7", "7", None),
    "pattern": ("pattern = '^best (?P<label>\\w+) by (?P<score>\\S+)$'", "echo hm; echo best $1 by 1.5", "x0", 1.5),
    "pattern without the score": ("pattern = '(?P<label>\\w+)(?P<score>!)?'", "echo $1", "x0", None),
    "stdin is empty": ('output = "label"', "cat; echo $1", "x0", None),
    "many lines of stderr": ('output = "label"', "yes | head -n 100000 >&2; echo $1", "x0", None),
}  # fmt: skip


@pytest.mark.parametrize("how", OUTPUTS)
def test_every_way_to_read_an_answer(how: str, shop: Workshop) -> None:
    rest, program, label, score = OUTPUTS[how]
    command(shop, program, rest=rest)
    records = run(shop)
    assert errors(records) == {}
    assert (records[0].get("actual"), records[0].get("score")) == (label, score)
    assert records[0]["outcome"] == ("TP" if label == "x0" else "FN")


@pytest.mark.parametrize(("task", "output"), [("score", "score"), ("value", "value")])
def test_numbers(task: str, output: str, shop: Workshop) -> None:
    keys = "" if task == "score" else "tolerance = {absolute = 0.5}"
    limit = '[params.threshold]\ntype = "float"\ndefault = 1.5\ndecision = true\n' if task == "score" else ""
    shop.script(task=task, keys=keys, sections=limit, rows="id,input,expect,positive\nc0,a,2,true\nc1,b,2,false\n")
    command(shop, 'test "$1" = a && echo 1.5 || echo 0.25', rest=f'output = "{output}"')
    records = shop.run()
    assert [record["outcome"] for record in records] == ["TP", "TN"]
    assert [record["actual"] for record in records] == [1.5, 0.25]


FAILURES = {
    "status": ("", "echo $1; echo oh >&2; echo dear >&2; exit 3", "crash", "exit status 3: oh | dear"),
    "signal": ("", "kill -SEGV $$", "crash", "killed by SIGSEGV"),
    "signal, if the status is the answer": ('output = "exit"', "kill -9 $$", "crash", "killed by SIGKILL"),
    "not JSON": ('output = "json"', "echo yes", "answer", "printed 'yes', which is not JSON"),
    "two JSON values": ('output = "json"', "echo 1; echo 2", "answer", "not JSON"),
    "NaN": ('output = "json"', 'echo "{\\"label\\": 1, \\"score\\": NaN}"', "answer", "not JSON"),
    "no match": ("pattern = '(?P<label>\\d+)$'", "echo abc", "answer", "'abc', which does not match"),
    "17 MB": ("", "head -c 17000000 /dev/zero", "answer", "more than 16 MiB"),
}  # fmt: skip


@pytest.mark.parametrize("what", FAILURES)
def test_a_failure_is_an_error_of_its_case_only(what: str, shop: Workshop) -> None:
    rest, program, kind, word = FAILURES[what]
    good = {'output = "json"': 'echo "[\\"x1\\", 1]"', 'output = "exit"': "exit 1"}.get(rest, "echo 1")
    command(shop, f'if test "$1" = x0; then {program}; else {good}; fi', rest=rest)
    records = run(shop)
    assert errors(records) == {"c0": kind}
    assert word in records[0]["message"]
    assert [record["outcome"] for record in records] == ["FN", "TN"]


HANGS = {
    "sleeps": "sleep 1000",
    "in a child": "sleep 1000 & wait",
    "ignores SIGTERM": "trap '' TERM; sleep 1000",
    "closes its output first": "exec >&- 2>&-; sleep 1000",
    "prints for ever": "yes",
    "prints to stderr for ever": "yes >&2",
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("how", HANGS)
def test_a_time_limit_kills_it_and_its_children(how: str, jobs: str, shop: Workshop) -> None:
    command(shop, f'if test "$1" = x0; then {HANGS[how]}; else echo $1; fi')
    records = run(shop, "--timeout", "0.3", "-j", jobs)
    assert errors(records) == {"c0": "timeout"}
    assert records[0]["message"].startswith("no answer in 0.3 s")


def test_a_child_that_keeps_the_pipes_open_does_not_delay_the_answer(shop: Workshop) -> None:
    command(shop, "sleep 3 & echo $1")
    assert errors(run(shop)) == {}


def test_placeholders(shop: Workshop) -> None:
    """docs/reference/interfaces.md: input, id, expect, repeat, parameters, columns; a list is several arguments."""
    rows = [
        {"id": "a b", "input": ["one", "two words", 3], "expect": "e", "day": "mon", "threshold": "no", "id2": True},
        {"id": "$(id)", "input": {"k": [1]}, "expect": "e", "day": "", "threshold": "no", "id2": None},
    ]
    shop.script(rows="\n".join(map(json.dumps, rows)))
    (shop.folder / "toy/cases.csv").rename(shop.folder / "toy/cases.jsonl")
    path = shop.folder / "toy/toy.hate.toml"
    path.write_text(path.read_text().replace("cases.csv", "cases.jsonl"))
    words = [
        "{id}",
        "{input}",
        "{expect}",
        "n={n},{word}",
        "{threshold}",
        "{day}",
        "{id2}",
        "{print $1}",
        "{repeat}",
    ]
    command(shop, 'printf "[%s]" "$@" >> seen; echo >> seen; echo e', words=words)
    toml = shop.folder / "interface.toml"
    toml.write_text(toml.read_text().replace("[command]", 'params = {n = 3, word = "w x"}\n[command]'))
    records = shop.run("--param", "threshold=2.5")
    assert errors(records) == {}
    assert (shop.folder / "seen").read_text().splitlines() == [
        "[a b][one][two words][3][][n=3,w x][2.5][mon][true][{print $1}][1]",
        '[$(id)][{"k":[1]}][][n=3,w x][2.5][][][{print $1}][1]',
    ]


def test_a_misspelt_placeholder_is_an_error_of_every_case(shop: Workshop) -> None:
    command(shop, "echo $1", words=["{inptu}"])
    records = run(shop)
    assert {record["error"] for record in records} == {"interface"}
    assert records[0]["message"] == "nothing to fill in for {inptu}; did you mean 'input'?"


def test_training_comes_first_and_once(shop: Workshop) -> None:
    shop.script(rows=ROWS, sections='[train]\ntable = "train.csv"\n')
    shop.write("toy/train.csv", "input,expect\na,A\n")
    rest = 'train = ["./prog", "train", "{train}", "{work}"]'
    command(
        shop,
        'if test "$1" = train; then cat "$2" > "$3/net"; echo t >> trained; echo noise\n'
        'else cat "$2/net" >/dev/null && echo $1; fi',
        rest=rest,
        words=("{input}", "{work}"),
    )
    records = shop.run("-j", "2")
    assert errors(records) == {}
    assert (shop.folder / "trained").read_text() == "t\n"


def test_training_that_fails_is_reported_at_once(shop: Workshop) -> None:
    shop.script(rows=ROWS)
    command(shop, "echo no such data >&2; exit 9", rest='train = ["./prog"]')
    done = shop.call("run", "toy", "-o", "out.jsonl")
    assert done.status == 2
    assert "training failed: exit status 9: no such data" in done.err
    assert not (shop.folder / "out.jsonl").exists()


def test_an_input_too_long_for_an_argument(shop: Workshop) -> None:
    shop.script(rows=f"id,input,expect\nc0,{'x' * 5_000_000},x\nc1,x,x\n")
    command(shop, "echo x")
    records = shop.run()
    assert errors(records) == {"c0": "interface"}
    assert "Argument list too long" in records[0]["message"]


LOADING = {
    "no program": ('[command]\nargv = ["./gone"]', "no program ./gone"),
    "not on PATH": ('[command]\nargv = ["no-such-program-here"]', "no program 'no-such-program-here' on PATH"),
    "not executable": ('[command]\nargv = ["./plain"]', "chmod +x"),
    "a folder": ('[command]\nargv = ["./toy"]', "no program ./toy"),
    "empty argv": ("[command]\nargv = []", "argv"),
    "empty word": ('[command]\nargv = [""]', "argv is empty"),
    "a string, not a list": ('[command]\nargv = "prog x"', "argv"),
    "no argv": ("[command]\n", "command.argv: missing"),
    "number in argv": ('[command]\nargv = ["./prog", 1]', "argv"),
    "unknown output": ('[command]\nargv = ["./prog"]\noutput = "text"', "'label'"),
    "misspelt key": ('[command]\nargv = ["./prog"]\nouptut = "label"', "did you mean 'output'?"),
    "misspelt section": ('[comand]\nargv = ["./prog"]', "did you mean 'command'?"),
    "pattern and output": ('[command]\nargv = ["./prog"]\noutput = "label"\npattern = "x"', "either output or pattern"),
    "bad pattern": ('[command]\nargv = ["./prog"]\npattern = "("', "not a regular expression"),
    "pattern without groups": ('[command]\nargv = ["./prog"]\npattern = "x"', "(?P<label>...)"),
    "training program missing": ('[command]\nargv = ["./prog"]\ntrain = ["./gone"]', "command.train"),
    "two kinds": ('[command]\nargv = ["./prog"]\n[stream]\nargv = ["./prog"]', "exactly one of [command], [stream]"),
    "no kind": ("[algorithm]\nname = 'x'\n", "exactly one of [command], [stream]"),
    "empty": ("", "exactly one of"),
    "not TOML": ("[command\n", "not TOML"),
    "bad parameter": ('[algorithm.params]\na = [1]\n[command]\nargv = ["./prog"]', "parameter a"),
    "reserved parameter": ('[algorithm.params]\ninput = 1\n[command]\nargv = ["./prog"]', "parameter 'input'"),
    "in_flight 0": ('[stream]\nargv = ["./prog"]\nin_flight = 0', "in_flight"),
    "stream program missing": ('[stream]\nargv = ["./gone"]', "stream.argv: no program ./gone"),
    "http without url": ("[http]\n", "http.url: missing"),
    "not a web address": ('[http]\nurl = "ftp://x"', "http.url"),
    "bad port": ('[http]\nurl = "http://localhost:port/x"', "http.url"),
    "no host": ('[http]\nurl = "http://:80"', "http.url"),
    "scores without a file": ("[scores]\n", "either table or matrix"),
    "scores file missing": ('[scores]\ntable = "gone.csv"', "no file gone.csv"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", LOADING)
def test_mistakes_are_reported_on_loading(mistake: str, shop: Workshop) -> None:
    text, word = LOADING[mistake]
    shop.script(rows=ROWS)
    shop.program("prog", "#!/bin/sh\necho x\n")
    shop.write("plain", "no program")
    shop.toml(text)
    done = shop.call("run", "toy")
    assert done.status == 2
    assert word in done.err
    assert "interface.toml" in done.err
    assert done.err.count("\n") == 1
    assert shop.call("check", "interface.toml").status == 1


def test_a_broken_interpreter_line_is_an_error_of_each_case(shop: Workshop) -> None:
    shop.program("prog", "#!/no/such/interpreter\n")
    shop.toml('[command]\nargv = ["./prog", "{input}"]\n')
    assert errors(run(shop)) == {"c0": "interface", "c1": "interface"}


def test_another_program_changes_the_digest(shop: Workshop) -> None:
    """Design: an interface's sha256 covers its program, and the script that an interpreter runs, in its folder."""
    shop.program("prog", "#!/bin/sh\necho x\n")
    shop.write("model.pl", "print 1")
    for argv in ('["./prog"]', '["sh", "prog"]', '["perl", "model.pl"]'):
        if shutil.which("perl") is None and "perl" in argv:
            continue
        shop.toml(f"[command]\nargv = {argv}\n")
        before = load_interface(None).sha256
        assert load_interface("interface.toml").sha256 == load_interface(str(shop.folder)).sha256 == before
        shop.program("prog", f"#!/bin/sh\necho {argv}\n")
        shop.write("model.pl", f"print '{argv}'")
        assert load_interface(None).sha256 != before


def test_a_long_word_in_a_command_is_not_a_file(shop: Workshop) -> None:
    shop.toml(f'[command]\nargv = ["sh", "-c", "echo x # {"x" * 3000}"]\n')
    assert load_interface(None).kind == "command"
