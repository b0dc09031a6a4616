"""A Python program reads of keywords and functions, whatever it reads; what others said is quoted as they said it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.api.wording import PythonWords
from harness.errors import HateError, Interrupted, UsageError, quoting
from harness.report.blocks import CommandText
from tests.rooms import needs_all_rooms
from tests.workshop import Workshop

HOSTILE = "call hate rate --seed 3, or -j 4"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`hate token remove ann` revokes it", "`harness.remove_token('ann')` revokes it"),
        ("`hate token add NAME --tokens FILE`", "`harness.add_token(NAME, tokens=FILE)`"),
        ("`hate publish T... --to FOLDER` writes", "`harness.publish(T, to=FOLDER)` writes"),
        ("`hate publish --new-key FILE`", "`harness.publish(new_key=FILE)`"),
        ("`hate rate T --statistic tpr,fpr` counts", "`harness.rate(T, statistic='tpr,fpr')` counts"),
        ("`hate compare a b`", "`harness.compare(['a', 'b'])`"),
        ("`hate diff a b c`", "`hate diff a b c`"),
        ("`hate serve --tokens`", "`harness.serve(tokens=...)`"),
        ("`hate list --plugins`", "`harness.list_plugins`"),
        ("`hate run t --format csv`", "`hate run t --format csv`"),
        ("`hate check 'my test'`; `hate check 'my`", "`harness.check('my test')`; `hate check 'my`"),
        ("hate compare --statistic NAME compares them", "harness.compare(statistic=NAME) compares them"),
        ("hate roc --at sets a threshold", "harness.roc(at=...) sets a threshold"),
        ("finish it with `hate run --resume`", "finish it with `harness.run(resume=True)`"),
        ("hate token quota sets it", "harness.set_token_quota sets it"),
        ("--table: 3 numbers; --sequential is for rates", "counts: 3 numbers; compare_sequentially is for rates"),
        ("--format csv and --format json have it", ".to_frame() and .to_dict() have it"),
        ("--plot draws it, --all shows it", ".plot() draws it, print() shows it"),
        ("the same command without --fresh carries on", "the same call without fresh=True carries on"),
        (f"case 'a, {HOSTILE}': --by x=3", f"case 'a, {HOSTILE}': by='x=3'"),
        (quoting(f"{HOSTILE}: leave out --by", HOSTILE), f"{HOSTILE}: leave out by"),
        (quoting("--by truth shows the truth", "truth"), "by='truth' shows the truth"),
        (CommandText("Run it: hate run t --interface 'my i' --param a=3 --param b=x"),
         "Run it: harness.run('t', interface='my i', params={'a': 3, 'b': 'x'})"),
    ],
)  # fmt: skip
def test_the_words_of_python(text: str, expected: str) -> None:
    assert PythonWords()(text) == expected
    assert PythonWords()(PythonWords()(text)) == expected


def said(call: Callable[[], Any]) -> str:
    with pytest.raises(HateError) as raised:
        call()
    return str(raised.value)


def is_told_in_python(text: str) -> None:
    assert not re.search(r" --[a-z]|\bhate [a-z]", text)


def test_names_that_were_given_are_quoted(shop: Workshop) -> None:
    name = "my -j 3 file.jsonl"
    assert said(lambda: harness.read(name)).startswith(f"{name}: ")
    assert said(lambda: harness.compare([name, Path("hate rate --by x")])).startswith(f"{name}: ")
    assert said(lambda: harness.load("a --seed 3.csv")).startswith("a --seed 3.csv: ")
    Path(name).touch()
    report = harness.make_report("wisard")
    Path("hate rate -j 3.md").touch()
    assert said(lambda: report.write("hate rate -j 3.md")) == "hate rate -j 3.md: exists; force=True overwrites it"
    made = harness.run("hdigits", "wisard", limit=2, output=f"new {name}")
    assert f"transcript: new {name}" in made.remarks


class Unwilling:
    def train(self, case: Any, params: Any) -> None:
        raise ValueError(HOSTILE)

    def answer(self, case: Any, params: Any) -> str:
        raise ValueError(HOSTILE)


FILES = {
    "interface.py": f"def answer(case, params):\n    pass\nraise ValueError({HOSTILE!r})\n",
    "interface.toml": f"""[algorithm]\nname = "a"\nversion = "1"
[stream]\nargv = ["sh", "-c", 'echo "{HOSTILE}" >&2; exit 3']\n""",
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("isolate", [False, True])
def test_what_a_program_said_is_quoted(name: str, isolate: bool, shop: Workshop) -> None:
    Path(name).write_text(FILES[name], encoding="utf-8")
    assert HOSTILE in said(lambda: harness.run("hdigits", name, limit=4, isolate=isolate))


def test_what_was_raised_in_training_is_quoted(shop: Workshop) -> None:
    assert HOSTILE in said(lambda: harness.run("hdigits", Unwilling(), limit=4))


def refuse(case: Any, params: Any) -> str:
    raise ValueError(HOSTILE)


def test_what_was_wrong_with_a_run_stands_below_its_numbers(shop: Workshop) -> None:
    """At a prompt, and where a script prints it."""
    for call in (
        lambda: harness.run("hdigits", refuse, limit=4),
        lambda: harness.sweep("hdigits", refuse, params={"threshold": [0, 1]}, limit=4),
    ):
        result = call()
        assert any(HOSTILE in text for text in result.remarks)
        for text in (repr(result), str(result), result._repr_html_()):
            assert "the first, case 0001a: " in text
        assert any(HOSTILE in text for text in result.cautions)
        assert "the first" not in result.render("plain")
    odd = harness.run("hdigits", lambda case, params: "three")
    assert "1,434 of 1,434 answers are no label of the test" in repr(odd)
    assert "1,434 of 1,434 answers are no label of the test" in str(odd)
    good = harness.run("hdigits", "wisard", limit=4)
    assert str(good) == good.render("plain")


def test_sentences_of_results(shop: Workshop) -> None:
    rated = harness.rate("wisard")
    assert "by='truth' shows its groups." in str(rated)
    compared = harness.compare(["wisard", "witch", "warlock"])
    assert "multiplicity='max-t' gives intervals" in str(compared)
    grown = harness.compare_sequentially(["wisard", "witch"])
    planned = harness.power(difference=0.05, discordance=0.2)
    for result in (rated, compared, grown, planned, harness.roc("wisard", at="fpr=0.01")):
        for text in (str(result), repr(result), result._repr_html_(), result.render("table"), result.render("md")):
            is_told_in_python(text)
        for text in result.remarks:
            is_told_in_python(text)
    # The command is told as before, also after Python was; and JSON is the same.
    printed = shop.call("rate", "hdigits/wisard").out
    assert "--by truth shows its groups." in printed
    assert shop.call("rate", "hdigits/wisard", "--format", "json").json == rated.to_dict()
    assert shop.call(*["compare", "hdigits/wisard", "hdigits/witch", "hdigits/warlock", "--format", "json"]).json == (
        compared.to_dict()
    )


@needs_all_rooms
def test_sentences_of_experiments(shop: Workshop) -> None:
    from harness.lab.experiments import urn

    is_told_in_python(str(urn("hdigits/wisard", group="truth", resample="groups", groups=2)))


@pytest.mark.slow
def test_remarks(shop: Workshop) -> None:
    again = [harness.sweep("hdigits", "wisard", params={"threshold": [0, 9]}, limit=4) for _ in range(2)][1]
    assert any(text.endswith("; fresh=True runs everything again") for text in again.remarks)
    tuned = harness.tune("hdigits", "witch", params={"threshold": [0, 50]}, folds=2, limit=40)
    assert "harness.run('hdigits', interface='witch', params={'threshold': " in str(tuned)
    assert tuned.to_dict()["command"].startswith("hate run hdigits ")


def test_methods_of_results(shop: Workshop) -> None:
    report, curves = harness.make_report("wisard"), harness.roc("wisard")
    assert said(lambda: report.write("r.docx")) == "report r.docx: the name of a report must end in .html, .md or .pdf"
    Path("r.md").touch()
    Path("r.svg").touch()
    assert said(lambda: report.write("r.md")) == "r.md: exists; force=True overwrites it"
    pytest.importorskip("matplotlib")
    assert said(lambda: curves.plot("r.svg")) == "r.svg: exists; force=True overwrites it"


def test_other_functions_are_named(shop: Workshop) -> None:
    assert said(lambda: harness.compare_table([1, 2, 3])).startswith("counts: 3 numbers; expected four")
    Path("t.jsonl").write_bytes(harness.read("wisard").path.read_bytes())
    assert "already a transcript, which can be used as it is" in said(lambda: harness.load("t.jsonl"))
    is_told_in_python(said(lambda: harness.submit("t.jsonl", to="folder")))
    is_told_in_python(said(lambda: harness.submit("t.jsonl", to="http://localhost:1")))


def test_notes_of_errors(shop: Workshop) -> None:
    words = PythonWords(None, ["my -j 3.jsonl"])
    for error in (UsageError("--by x"), Interrupted(2)):
        error.note = "4 of 9 trials are in my -j 3.jsonl; carry on with --resume"
        words.tell(error)
        assert error.note == "4 of 9 trials are in my -j 3.jsonl; carry on with resume=True"


LEARNS = """
class Learns:
    PARAMS = {"step": 0}

    def train(self, cases, params):
        if params["step"] == 2:
            raise ValueError("two")

    def answer(self, case, params):
        return "3"
"""


@pytest.mark.slow
def test_what_is_kept_of_runs(shop: Workshop) -> None:
    """Of an interface from a file, each run; of a class of the program, none."""
    Path("interface.py").write_text(LEARNS, encoding="utf-8")
    learns: dict[str, Any] = {}
    exec(LEARNS, learns)
    kept, own = "1 of 3 runs are finished and kept; the same call", learns["Learns"]
    for interface, fresh, note in (
        ("interface.py", False, f"{kept} carries on"),
        ("interface.py", True, f"{kept} without fresh=True carries on"),
        (own, False, "1 of 3 runs are finished; none is kept, because Learns is not in a file, and may have changed"),
    ):
        with pytest.raises(HateError, match="two") as stopped:
            harness.sweep("hdigits", interface, params={"step": [1, 2, 3]}, limit=4, fresh=fresh)
        assert stopped.value.note == note
