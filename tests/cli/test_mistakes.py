"""Mistakes of users: status 2, a message of a few lines that names the culprit, no traceback."""

import pytest

from tests.workshop import Workshop

# The command, and what the message must contain.
TABLE: list[tuple[list[str], list[str]]] = [
    (["run", "nope"], ["no test 'nope'", "toy"]),
    (["run", "hdigit"], ["'hdigit'", "did you mean 'hdigits'?"]),
    (["run", "no/such.hate.toml"], ["no/such.hate.toml", "hate list"]),
    (["run", "toy@9"], ["toy", "no version 9", "1.0"]),
    (["rnu", "toy"], ["rnu", "run"]),
    (["lits"], ["lits", "list"]),
    (["xyzzy"], ["xyzzy"]),
    (["run"], ["TEST"]),
    (["run", "toy", "extra"], ["extra"]),
    (["run", "toy", "--nope"], ["--nope"]),
    (["run", "toy", "--interfac", "wisard"], ["--interfac", "--interface"]),
    (["run", "toy", "--interface", "nope"], ["nope", "wisard"]),
    (["run", "toy", "--interface", "wisrd"], ["wisrd", "did you mean 'wisard'?"]),
    (["run", "toy", "--interface", "empty"], ["empty", "no interface.py or interface.toml"]),
    (["run", "toy", "--interface", "toy/cases.csv"], ["cases.csv", ".py or a .toml"]),
    (["run", "toy", "--param", "treshold=1"], ["treshold", "did you mean 'threshold'?"]),
    (["run", "toy", "--param", "threshold=high"], ["threshold=high", "number"]),
    (["run", "toy", "--param", "threshold=nan"], ["threshold=nan", "finite"]),
    (["run", "toy", "--param", "threshold"], ["threshold", "NAME=VALUE"]),
    (["run", "toy", "--param", "=1"], ["=1", "NAME=VALUE"]),
    (["run", "toy", "--case", "c9"], ["c9"]),
    (["run", "toy", "--case", "zzz"], ["zzz", "c0", "c5"]),
    (["run", "toy", "--verbose"], ["--verbose", "--case"]),
    (["run", "toy", "-j", "0"], ["0", "1"]),
    (["run", "toy", "-j", "two"], ["two"]),
    (["run", "toy", "--timeout", "0"], ["--timeout", "0"]),
    (["run", "toy", "--timeout", "-1"], ["--timeout", "-1"]),
    (["run", "toy", "--timeout", "nan"], ["--timeout", "nan"]),
    (["run", "toy", "--repeat", "0"], ["--repeat", "0"]),
    (["run", "toy", "--limit", "0"], ["--limit", "0"]),
    (["run", "toy", "--limit", "x"], ["--limit", "x"]),
    (["run", "toy", "--format", "xml"], ["xml", "json"]),
    (["run", "toy", "--resume", "--force"], ["--resume", "--force"]),
    (["run", "hdigits", "--library", "gone"], ["gone", "--library"]),
    (["run", "broken.hate.toml"], ["broken.hate.toml", "line 2"]),
    (["run", "future.hate.toml"], ["future.hate.toml", "format 2", "newer"]),
    (["run", "twins"], ["twins", "2 scripts", "a.hate.toml"]),
    (["run", "clash.hate.toml", "--interface", "clash.py"], ["k", "rename"]),
    (["describe", "nope"], ["nope"]),
    (["describe", "toy", "--format", "csv"], ["csv"]),
    (["list", "--format", "transcript"], ["transcript"]),
    (["check"], ["PATH"]),
    (["check", "gone"], ["gone"]),
    (["check", "empty"], ["empty", "no script"]),
    (["test", "nope"], ["nope"]),
    (["new"], ["new --help"]),
    (["new", "nope"], ["nope"]),
    (["new", "script"], ["NAME"]),
    (["completion", "tcsh"], ["tcsh", "bash"]),
]


@pytest.fixture
def full(toy: Workshop) -> Workshop:
    (toy.folder / "empty").mkdir()
    toy.write("broken.hate.toml", "format = 1\n[test\n")
    toy.write("future.hate.toml", 'format = 2\n[exam]\nname = "x"\n')
    toy.write("twins/a.hate.toml", "")
    toy.write("twins/b.hate.toml", "")
    good = (toy.folder / "toy/toy.hate.toml").read_text().replace('"cases.csv"', '"toy/cases.csv"')
    toy.write("clash.hate.toml", good + '[params.k]\ntype = "int"\ndefault = 1\n')
    toy.write("clash.py", "PARAMS = {'k': 2}\ndef answer(case, params): return 1\n")
    return toy


@pytest.mark.parametrize(("words", "expected"), TABLE, ids=[" ".join(words) for words, _ in TABLE])
def test_mistakes(words: list[str], expected: list[str], full: Workshop) -> None:
    before = sorted(full.folder.rglob("*"))
    done = full.call(*words)
    assert done.status == 2
    for word in expected:
        assert word in done.err
    assert done.out == ""
    assert done.err.startswith("hate: ")
    assert done.err.count("\n") <= 8
    assert max(map(len, done.err.splitlines())) < 400
    assert sorted(full.folder.rglob("*")) == before


def test_no_interface_here(shop: Workshop) -> None:
    shop.script()
    done = shop.call("run", "toy")
    assert done.status == 2
    for word in ("interface.py", "hate new interface", "--interface", "wisard"):
        assert word in done.err
    assert done.err.count("\n") == 1


def test_an_unexpected_error_is_one_line_and_hate_debug_shows_the_traceback(
    toy: Workshop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from harness.api import runs
    from harness.cli import main

    def fail(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(runs, "find_test", fail)
    assert main.call(["describe", "toy"]) == 2
    assert capsys.readouterr().err.startswith("hate: internal error: RuntimeError: boom; HATE_DEBUG=1 shows where")
    monkeypatch.setenv("HATE_DEBUG", "1")
    with pytest.raises(RuntimeError, match="boom"):
        main.call(["describe", "toy"])


def test_escape_sequences_do_not_reach_the_terminal(toy: Workshop) -> None:
    """Escape sequences in a test, an interface or an answer are shown as codes."""
    toy.interface('NAME = "\\x1b[31mred"\ndef answer(case, params):\n    return "\\x1b]0;title\\x07"\n')
    toy.write("toy/cases.csv", "id,input,expect\n\x1b[2Jc0,a,\x1b[5mb\n")
    for words in (
        ["run", "toy", "--interface", "interface.py"],
        ["test", "toy"],
        ["run", "toy", "--case", "\x1b[2Jc0", "--verbose"],
        ["check", "interface.py"],
        ["list", "--interfaces"],
        ["run", "\x1b[31m"],
    ):
        done = toy.call(*words)
        assert "\x1b" not in done.out + done.err
        assert "\x07" not in done.out + done.err
