"""Python interfaces: every form in docs/reference/interfaces.md, and mistakes that are reported on loading."""

import json
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from harness.errors import InterfaceError
from harness.interface.load import load_interface
from tests.workshop import ECHO, Record, Workshop, errors

SHAPES = {
    "function": ECHO,
    "any callable": "answer = lambda case, params: case.input\n",
    "more arguments with defaults": "def answer(case, params, *, beam=3):\n    return case.input\n",
    "class": "class Mine:\n    def answer(self, case, params):\n        return case.input\n",
    "class called Interface, beside another": (
        "class Base:\n    def answer(self, case, params):\n        return 'wrong'\n"
        "class Interface(Base):\n    def answer(self, case, params):\n        return case.input\n"
    ),
    "static and class methods": (
        "class Mine:\n    @staticmethod\n    def train(cases, params): pass\n"
        "    @classmethod\n    def answer(cls, case, params):\n        return case.input\n"
    ),
    "batches": "def answer_batch(cases, params):\n    return [case.input for case in cases]\n",
    "batches of two": "BATCH = 2\ndef answer_batch(cases, params):\n    return (case.input for case in cases)\n",
    "class with batches": (
        "class Mine:\n    BATCH = 4\n    def answer_batch(self, cases, params):\n"
        "        return tuple(case.input for case in cases)\n"
    ),
    "a neighbour": "from neighbour import answer\n",
}
each_mode = pytest.mark.parametrize("words", [(), ("-j", "2"), ("--timeout", "60")], ids=["inline", "two", "limited"])


@pytest.fixture
def expected(toy: Workshop) -> list[Record]:
    return toy.run(output="expected.jsonl")


@pytest.mark.parametrize("shape", SHAPES)
def test_every_form_gives_the_same_answers(shape: str, toy: Workshop, expected: list[Record]) -> None:
    toy.write("neighbour.py", ECHO)
    toy.interface(SHAPES[shape])
    assert toy.run() == expected


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shape", ["class", "batches of two", "a neighbour"])
def test_every_form_works_in_workers(shape: str, toy: Workshop, expected: list[Record]) -> None:
    toy.write("neighbour.py", ECHO)
    toy.interface(SHAPES[shape])
    assert toy.run("-j", "2") == expected


MISTAKES: dict[str, tuple[str | bytes, str]] = {
    # The file, and a part of the message.
    "no function": ("x = 1\n", "no function answer(case, params)"),
    "empty": ("", "no function answer(case, params)"),
    "answer is None": ("answer = None\n", "no function answer(case, params)"),
    "answer is text": ("answer = 'yes'\n", "answer is not a function"),
    "one argument": ("def answer(case):\n    return 1\n", "answer(case) does not take (case, params)"),
    "three arguments": ("def answer(case, params, model):\n    return 1\n", "does not take (case, params)"),
    "method without self": ("class A:\n    def answer(case, params):\n        return 1\n", "does not take"),
    "async": ("async def answer(case, params):\n    return 1\n", "answer is async"),
    "train takes nothing": ("def train():\n    pass\n" + ECHO, "train() does not take (cases, params)"),
    "close takes something": ("def close(x):\n    pass\n" + ECHO, "close(x) does not take ()"),
    "two classes": (
        "class A:\n    def answer(self, case, params): pass\nclass B:\n    def answer(self, case, params): pass\n",
        "which class is the interface, A, B?",
    ),
    "class that needs arguments": (
        "class A:\n    def __init__(self, model): pass\n    def answer(self, case, params): pass\n",
        "does not take ()",
    ),
    "syntax error": ("def answer(case, params)\n    return 1\n", "interface.py:1: expected ':'"),
    "import error": ("import no_such_module\n" + ECHO, "No module named 'no_such_module' (interface.py:1)"),
    "exception": ("\n1 / 0\n", "ZeroDivisionError: division by zero (interface.py:2)"),
    "exit": ("import sys\nsys.exit('bye')\n", "SystemExit: bye"),
    "not UTF-8": (b"x = '\xff'\n", "interface.py"),
    "NUL": (b"x = 1\0\n", "interface.py"),
    "PARAMS is a list": ("PARAMS = ['a']\n" + ECHO, "PARAMS is not a mapping"),
    "PARAMS with a list": ("PARAMS = {'a': [1]}\n" + ECHO, "parameter a: default [1]"),
    "PARAMS with None": ("PARAMS = {'a': None}\n" + ECHO, "parameter a: default None"),
    "PARAMS with infinity": ("PARAMS = {'a': float('inf')}\n" + ECHO, "parameter a: default inf"),
    "PARAMS with a bad name": ("PARAMS = {'a b': 1}\n" + ECHO, "'a b' is not a name"),
    "NAME is a list": ("NAME = ['x']\n" + ECHO, "NAME is ['x']"),
    "BATCH is 0": ("BATCH = 0\ndef answer_batch(cases, params): return []\n", "BATCH is 0"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_reported_on_loading(mistake: str, toy: Workshop) -> None:
    text, word = MISTAKES[mistake]
    toy.write("interface.py", text)
    done = toy.call("run", "toy")
    assert done.status == 2
    assert word in done.err
    assert "interface.py" in done.err
    assert done.err.count("\n") == 1
    assert not (toy.folder / "transcripts").exists()


ANSWERS = {
    # What answer() does on case c2, the kind of error, and a part of the message.
    "raises": ("raise ValueError('bad pixel')", "crash", "ValueError: bad pixel (interface.py:3)"),
    "exits": ("import sys; sys.exit(3)", "crash", "SystemExit"),
    "KeyboardInterrupt": ("raise KeyboardInterrupt", "crash", "KeyboardInterrupt"),
    "recursion": ("return (f := lambda: f())()", "crash", "RecursionError"),
    "an error that cannot be printed": ("raise type('E', (Exception,), {'__str__': lambda s: 1 / 0})()", "crash", "E"),
    "half a character in an error": ("raise ValueError('\\ud800')", "crash", "ValueError"),
    "a megabyte of error": ("raise ValueError('x' * 1000000)", "crash", "xxx"),
    "escape sequences": ("raise ValueError('\\x1b[2J')", "crash", "ValueError"),
    "NaN": ("return float('nan')", "answer", "nan is not a finite number"),
    "numpy NaN": ("import numpy; return {'a': numpy.float32('nan')}", "answer", "nan"),
    "infinity": ("return ('a', float('inf'))", "answer", "inf"),
    "an object": ("return object()", "answer", "a object is not an answer"),
    "bytes": ("return b'x'", "answer", "bytes"),
    "a generator": ("return (x for x in 'ab')", "answer", "generator"),
    "half a character": ("return '\\ud800'", "answer", "half a character"),
    "half a character among scores": ("return {'\\ud800': 1}", "answer", "half a character"),
    "three": ("return ['a', 1, 2]", "answer", "['a', 1, 2]"),
    "a complex score": ("return ('a', 1j)", "answer", "complex"),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_a_bad_answer_is_an_error_of_its_case_only(what: str, toy: Workshop, expected: list[Record]) -> None:
    act, kind, word = ANSWERS[what]
    toy.interface(f"def answer(case, params):\n    if case.id == 'c2':\n        {act}\n    return case.input\n")
    records = toy.run()
    assert errors(records) == {"c2": kind}
    assert word in records[2]["message"]
    assert len(records[2]["message"]) < 2100
    assert records[2]["outcome"] == "FN"
    assert [r for r in records if r["id"] != "c2"] == [e for e in expected if e["id"] != "c2"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("what", ["exits", "half a character", "half a character in an error", "numpy NaN"])
def test_a_bad_answer_in_a_worker_is_the_same(what: str, toy: Workshop) -> None:
    act, _, _ = ANSWERS[what]
    toy.interface(f"def answer(case, params):\n    if case.id == 'c2':\n        {act}\n    return case.input\n")
    assert toy.run("-j", "2", output="two.jsonl") == toy.run()


def test_numbers_of_any_size_are_the_same_in_a_worker(toy: Workshop) -> None:
    toy.interface("def answer(case, params):\n    return 10 ** 30 if case.id == 'c0' else -(2 ** 64)\n")
    records = toy.run()
    assert records[0]["actual"] == "1" + "0" * 30
    assert toy.run("-j", "2", output="two.jsonl") == records


BATCHES = {
    "raises on one": "if any(c.id == 'c2' for c in cases): raise ValueError('no')\n    return [c.input for c in cases]",
    "too few": "return [c.input for c in cases if c.id != 'c2']",
    "nonsense for one": "return [object() if c.id == 'c2' else c.input for c in cases]",
}


@pytest.mark.parametrize("what", BATCHES)
def test_one_bad_case_does_not_spoil_its_batch(what: str, toy: Workshop, expected: list[Record]) -> None:
    toy.interface(f"def answer_batch(cases, params):\n    {BATCHES[what]}\n")
    records = toy.run()
    assert set(errors(records)) == {"c2"}
    assert [r for r in records if r["id"] != "c2"] == [e for e in expected if e["id"] != "c2"]


STATE = """\
PARAMS = {"start": 5, "word": "w", "exact": False, "rate": 0.5}
class Mine:
    def train(self, cases, params):
        self.seen = [(case.id, case.input, case.expect, case.columns["day"]) for case in cases]
        assert self.seen == [("t1", "a", "A", "mon"), ("t2", "b", "B", "tue")], self.seen
        self.left = params["start"]
    def answer(self, case, params):
        self.left -= 1
        assert type(params["start"]) is int and type(params["exact"]) is bool and type(params["rate"]) is float
        assert (case.expect, case.columns, hasattr(case, "positive")) == ("", {"day": "wed"}, False)
        return params["word"] + str(self.left)
    def close(self):
        with open("closed", "a") as file:
            file.write("closed\\n")
"""


@pytest.mark.sampled(3)
@each_mode
def test_a_class_learns_answers_and_closes(words: tuple[str, ...], shop: Workshop) -> None:
    """docs/reference/interfaces.md: train once per worker with labels, answer without them, close at the end."""
    shop.script(rows="id,input,expect,day\n1,a,v9,wed\n2,b,v8,wed\n", sections='[train]\ntable = "train.csv"\n')
    shop.write("toy/train.csv", "id,input,expect,day\nt1,a,A,mon\nt2,b,B,tue\n")
    shop.interface(STATE)
    settings = ["--param", "start=10", "--param", "word=v", "--param", "exact=yes", "--param", "rate=1"]
    records = shop.run(*settings, *words)
    assert errors(records) == {}
    if "-j" not in words:
        assert [record["actual"] for record in records] == ["v9", "v8"]
    assert (shop.folder / "closed").read_text() == "closed\n" * (2 if "-j" in words else 1)
    assert shop.lines()[0]["params"] == {"threshold": 0.0, "start": 10, "word": "v", "exact": True, "rate": 1.0}


@each_mode
def test_training_that_fails_is_reported_and_nothing_is_written(words: tuple[str, ...], toy: Workshop) -> None:
    toy.interface("def train(cases, params):\n    raise RuntimeError('no data')\n" + ECHO)
    done = toy.call("run", "toy", "-o", "out.jsonl", *words)
    assert done.status == 2
    assert "cannot train: RuntimeError: no data (interface.py:2)" in done.err
    assert done.err.count("\n") == 1
    assert not (toy.folder / "out.jsonl").exists()


def test_names_and_versions(shop: Workshop) -> None:
    """Design: NAME and VERSION name the algorithm; without them the folder does."""
    named = load_interface(str(shop.write("a/interface.py", "NAME = 'Best one'\nVERSION = 2\n" + ECHO)))
    assert (named.name, named.version, named.kind) == ("Best one", "2", "python")
    assert load_interface(str(shop.write("b/interface.py", ECHO))).name == "b"
    assert load_interface(str(shop.write("b/other.py", ECHO))).name == "other"
    assert load_interface("b").name == "b"
    assert load_interface("wisard").name == "wisard"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("more", [(), ("--isolate",), ("-j", "2")])
def test_links_to_code_and_paper_are_in_the_header(toy: Workshop, more: tuple[str, ...]) -> None:
    toy.interface(f'CODE = "https://code.example.org/mine"\nPAPER = "https://papers.example.org/7"\n{ECHO}')
    assert toy.call("run", "toy", "-o", "mine.jsonl", *more).status == 0
    header = json.loads((toy.folder / "mine.jsonl").read_text(encoding="utf-8").splitlines()[0])
    links = {"code": "https://code.example.org/mine", "paper": "https://papers.example.org/7"}
    assert header["algorithm"].items() >= links.items()
    toy.interface(f'CODE = "javascript:alert(1)"\n{ECHO}')
    wrong = toy.call("run", "toy", "-o", "wrong.jsonl", *more)
    assert wrong.status == 2
    assert "code is 'javascript:alert(1)'; make it an address, https://..." in wrong.err


def test_a_file_with_the_name_of_a_bundled_interface(shop: Workshop) -> None:
    shop.write("wisard", "a compiled program, or whatever")
    assert load_interface("wisard").kind == "python"
    shop.write("notes.txt", "")
    with pytest.raises(InterfaceError, match=r"notes\.txt: an interface is a \.py or a \.toml file"):
        load_interface("notes.txt")


def test_an_edit_is_seen_at_once(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytecode is cached by time and size: a quick edit that keeps the size would not be noticed."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = shop.write("interface.py", "NAME = 'one'\n" + ECHO)
    before = path.stat()
    assert load_interface(None).name == "one"
    path.write_text("NAME = 'two'\n" + ECHO, encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert load_interface(None).name == "two"
    assert not Path("__pycache__").exists()


NEIGHBOURS = {
    "a module": ("from helper import answer\n", "helper.py"),
    "a package": ("from models.best import answer\n", "models/best.py"),
    "a package with a file of its own": ("from models import answer\n", "models/__init__.py"),
    "a module that is imported late": (
        "def answer(case, params):\n    import helper\n    return helper.answer(case, params)\n",
        "helper.py",
    ),
    # Names that the source does not show.
    "a computed name": ("answer = __import__('hel' + 'per').answer\n", "helper.py"),
    "a computed name that is imported late": (
        "def answer(case, params):\n    return __import__('hel' + 'per').answer(case, params)\n",
        "helper.py",
    ),
    "a module that a text names": (
        "from importlib import import_module\nanswer = import_module('models.best').answer\n",
        "models/best.py",
    ),
    "a package that a text names": (
        "from importlib import import_module\nanswer = import_module('models').answer\n",
        "models/__init__.py",
    ),
}


def says(word: str) -> str:
    return f"def answer(case, params):\n    return '{word}'\n"


@pytest.mark.parametrize("kind", NEIGHBOURS)
def test_each_interface_of_a_process_has_its_own_neighbours(kind: str, toy: Workshop) -> None:
    source, neighbour = NEIGHBOURS[kind]
    for word in ("one", "two"):
        toy.write(f"{word}/interface.py", source)
        toy.write(f"{word}/{neighbour}", says(word))
    for word in ("one", "two", "one"):
        records = toy.run("--interface", word, "--force")
        assert {record["actual"] for record in records} == {word}


def test_a_file_beside_one_interface_is_not_there_for_another(toy: Workshop) -> None:
    source = (
        "try:\n    from helper import answer\nexcept ImportError:\n" + "    " + says("none").replace("\n", "\n    ")
    )
    for word in ("one", "two"):
        toy.write(f"{word}/interface.py", f"{source}\n")
    toy.write("one/helper.py", says("one"))
    for word, said in (("one", "one"), ("two", "none"), ("one", "one")):
        records = toy.run("--interface", word, "--force")
        assert {record["actual"] for record in records} == {said}


@pytest.mark.parametrize("kind", NEIGHBOURS)
def test_an_edit_of_a_neighbour_is_seen_at_once(kind: str, toy: Workshop) -> None:
    source, neighbour = NEIGHBOURS[kind]
    toy.interface(source)
    # Of the same size, and often in the same second: what was compiled before must not be taken for it.
    for word in ("one", "two", "six"):
        toy.write(neighbour, says(word))
        assert {record["actual"] for record in toy.run("--force")} == {word}


def test_what_the_program_itself_has_imported_stays_its_own(toy: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    toy.interface("from helper import answer\n")
    own = ModuleType("helper")
    own.__file__ = str(toy.write("helper.py", says("file")))
    own.answer = lambda case, params: "program"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "helper", own)
    assert {record["actual"] for record in toy.run()} == {"program"}
    toy.write("elsewhere/interface.py", ECHO)
    toy.run("--interface", "elsewhere", "--force")
    assert sys.modules["helper"] is own


def test_another_module_of_that_name_is_not_taken_for_a_neighbour(
    toy: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy.write("mine/helper.py", says("right"))
    toy.write("mine/interface.py", "from helper import answer\n")
    other = ModuleType("helper")
    other.__file__ = str(toy.write("elsewhere/helper.py", says("wrong")))
    monkeypatch.setitem(sys.modules, "helper", other)
    done = toy.call("run", "toy", "--interface", "mine")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "mine/interface.py: imports 'helper' from beside it, but this program has imported another one" in done.err
    apart = toy.run("--interface", "mine", "--isolate")
    assert {record["actual"] for record in apart} == {"right"}


NOISE = """\
import ctypes, os, subprocess, sys
print("at import")
def train(cases, params): print("at training")
def answer(case, params):
    print("from print")
    sys.stdout.write("from write\\n")
    os.write(1, b"from the descriptor\\n")
    subprocess.run(["echo", "from a child"])
    return case.input
def close(): print("at close")
"""


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("-j", "2")], ids=["inline", "two"])
def test_what_an_interface_prints_does_not_disturb_the_results(words: tuple[str, ...], toy: Workshop) -> None:
    """docs/reference/interfaces.md: what an interface prints goes to stderr."""
    toy.interface(NOISE)
    done = toy.hate("run", "toy", "--format", "json", *words)
    assert done.status == 0
    assert (done.row["TP"], done.row["TN"], done.row["ER"]) == (3, 3, 0)
    tested = toy.hate("test", "toy", "--verbose", *words)
    assert tested.out.count("\n") == 7
    if not words:
        for text in ("at import", "at training", "from print", "from the descriptor", "from a child", "at close"):
            assert text in done.err
