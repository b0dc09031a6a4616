"""Runs, sweeps and tuning from Python: the same as the commands, with functions and classes of the caller too."""

import functools
import hashlib
import inspect
import os
import pickle
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import harness
from harness.api.runs import PlanOptions, make_plan
from harness.engine.progress import NoProgress
from harness.engine.run import run as run_plan
from harness.engine.target import Target
from harness.errors import HateError, InterfaceError, UsageError
from harness.model import Counts, Question
from harness.params import Value
from tests.workshop import Record, Workshop

TRAIN = "id,input,expect\n" + "".join(f"t{n},{n % 3 * 10 + n / 100},{'abc'[n % 3]}\n" for n in range(60))
CASES = "id,input,expect,positive\n" + "".join(f"c{n},{n % 3 * 10 + n / 100},{'abc'[n % 3]},true\n" for n in range(9))


def echo(case: Question, params: Mapping[str, Value]) -> Any:
    return case.input


class Nearest:
    """Learns the mean of each class, and answers the nearest."""

    PARAMS = {"bias": 0.0}

    def train(self, cases: Sequence[Question], params: Mapping[str, Value]) -> None:
        groups: dict[str, list[float]] = {}
        for case in cases:
            groups.setdefault(case.expect, []).append(float(case.input))
        self.means = {label: sum(values) / len(values) for label, values in groups.items()}

    def answer(self, case: Question, params: Mapping[str, Value]) -> dict[str, float]:
        value = float(case.input) + float(params["bias"])
        return {label: -abs(value - mean) for label, mean in self.means.items()}


@pytest.fixture
def nearest(shop: Workshop) -> Workshop:
    shop.script(rows=CASES, sections='[train]\ntable = "train.csv"\n')
    shop.write("toy/train.csv", TRAIN)
    return shop


def header(shop: Workshop, name: str) -> Record:
    return shop.lines(name)[0]


def test_a_test_has_a_length_and_cases_and_says_what_it_is(toy: Workshop) -> None:
    test = harness.load_test("toy")
    assert len(test) == 6
    assert [case.id for case in test] == ["c0", "c1", "c2", "c3", "c4", "c5"]
    assert repr(test) == "<toy 1.0, a label test of 6 cases (3 positive)>"
    assert len(harness.load_test(toy.folder / "toy")) == 6
    assert harness.load_test(test) is test
    assert len(harness.load_test("toy", libraries="toy")) == len(harness.load_test("toy", libraries=[toy.folder])) == 6
    with pytest.raises(UsageError, match="did you mean 'toy'"):
        harness.load_test("tyo")


def test_a_function_is_run_and_the_header_says_so(toy: Workshop) -> None:
    found = harness.run(harness.load_test("toy"), echo, name="echo", output="echo.jsonl")
    assert found.counts == Counts(TP=3, TN=3)
    assert found.rate == 1.0
    assert found.interval is not None
    assert found.interval.low == pytest.approx(0.6097, abs=1e-4)
    assert os.fspath(found) == "echo.jsonl"
    first = header(toy, "echo.jsonl")
    assert first["algorithm"] == {"name": "echo", "version": ""}
    assert first["interface"] == {
        "kind": "python",
        "sha256": hashlib.sha256(inspect.getsource(echo).encode()).hexdigest(),
    }


def test_an_algorithm_is_not_called_nothing(toy: Workshop) -> None:
    for name in ("", " ", 3):
        with pytest.raises(UsageError, match=f"name={name!r}: not a name"):
            harness.run("toy", echo, name=name)  # type: ignore[arg-type]
    assert not (toy.folder / "transcripts").exists()


def test_the_result_is_that_of_the_command(toy: Workshop) -> None:
    found = harness.run("toy", "interface.py", params={"threshold": 0.5}, output="a.jsonl")
    done = toy.call("run", "toy", "--param", "threshold=0.5", "-o", "a.jsonl", "--force", "--format", "json")
    assert found.to_dict() == done.json
    assert toy.call("run", "toy", "-o", "a.jsonl", "--force").out == str(
        harness.run("toy", output="a.jsonl", force=True)
    )
    assert "<table" in found._repr_html_()
    assert found.remarks == ["transcript: a.jsonl"]


def test_without_an_output_a_run_goes_where_the_command_puts_it(toy: Workshop) -> None:
    paths = [str(harness.run("toy", echo).path) for _ in range(2)]
    assert paths == ["transcripts/toy/echo.jsonl", "transcripts/toy/echo-2.jsonl"]


def test_an_existing_transcript_is_refused_forced_or_resumed(toy: Workshop) -> None:
    first = harness.run("toy", echo, output="a.jsonl", limit=6)
    with pytest.raises(HateError, match="exists"):
        harness.run("toy", echo, output="a.jsonl")
    assert "nothing was left to run" in harness.run("toy", echo, output="a.jsonl", resume=True).remarks
    assert harness.run("toy", echo, output="a.jsonl", force=True).counts == first.counts
    with pytest.raises(HateError, match="from a different run: algorithm"):
        harness.run("toy", echo, name="other", output="a.jsonl", resume=True)
    with pytest.raises(UsageError, match="exclude one another"):
        harness.run("toy", echo, force=True, resume=True)


def test_several_threads_call_a_function_and_the_records_are_the_same(toy: Workshop) -> None:
    toy.script(200)
    threads = set()
    both = threading.Barrier(2, timeout=60)

    def answer(case: Question, params: Mapping[str, Value]) -> Any:
        if case.id in ("c0", "c1"):  # neither is answered before the other was asked
            both.wait()
        threads.add(threading.get_ident())
        return case.input

    harness.run("toy", answer, jobs=2, output="two.jsonl")
    harness.run("toy", echo, name="answer", output="one.jsonl")
    assert len(threads) == 2
    assert toy.records("two.jsonl") == toy.records("one.jsonl")


def test_a_class_learns_once_for_each_worker(nearest: Workshop) -> None:
    made = []

    class Counted(Nearest):
        def __init__(self) -> None:
            made.append(self)

    found = harness.run("toy", Counted, jobs=3, output="a.jsonl")
    assert found.counts == Counts(TP=9)
    assert len(made) == 3
    assert header(nearest, "a.jsonl")["algorithm"]["name"] == "Counted"
    assert harness.run("toy", Nearest(), params=["bias=10"], output="b.jsonl").counts.TP == 3


@pytest.mark.parametrize(
    ("given", "options", "says"),
    [
        (echo, {"timeout": 1}, "timeout=1: echo runs in this process and cannot be stopped; put it into a file"),
        (
            Nearest(),
            {"jobs": 2},
            "jobs=2: Nearest is a single object, which several threads would share; give its class",
        ),
        (echo, {"params": {"treshold": 1}}, "no parameter 'treshold'; did you mean 'threshold'?"),
        (echo, {"params": {"threshold": "high"}}, "'high' is not a finite number"),
        (echo, {"jobs": 0}, "jobs=0: not in the range"),
    ],
)
def test_what_cannot_be_is_refused(toy: Workshop, given: object, options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says.replace("?", r"\?")):
        harness.run("toy", given, **options)
    assert not (toy.folder / "transcripts").exists()


def test_an_unknown_option_names_the_nearest(toy: Workshop) -> None:
    with pytest.raises(TypeError, match="there is no option 'job'; did you mean 'jobs'"):
        harness.run("toy", echo, job=2)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (lambda case: case, r"answer\(case\) does not take \(case, params\)"),
        (3, "int is not an interface; give a function"),
        (int, "int is not an interface; give a function"),
        ("no-such", "interface='no-such': neither a file nor a bundled interface"),
    ],
)
def test_what_is_no_interface_is_refused(toy: Workshop, given: object, says: str) -> None:
    with pytest.raises(InterfaceError, match=says):
        harness.run("toy", given)


def test_names_come_from_the_caller_the_object_or_its_definition(toy: Workshop) -> None:
    def named(case: Question, params: Mapping[str, Value]) -> Any:
        return case.input

    named.NAME, named.VERSION, named.PARAMS = "mine", "2", {"tuples": 8}  # type: ignore[attr-defined]
    harness.run("toy", named, params={"tuples": 4}, output="a.jsonl")
    assert header(toy, "a.jsonl")["algorithm"] == {"name": "mine", "version": "2"}
    assert header(toy, "a.jsonl")["params"] == {"threshold": 0.0, "tuples": 4}
    given = {
        "function": lambda case, params: case.input,
        "echo": functools.partial(echo),
        "renamed": "interface.py",
    }
    for name, interface in given.items():
        harness.run("toy", interface, name=name if name == "renamed" else None, output="b.jsonl", force=True)
        assert header(toy, "b.jsonl")["algorithm"]["name"] == name


def test_a_source_that_python_does_not_know_is_not_claimed(toy: Workshop) -> None:
    scope: dict[str, Any] = {}
    exec("def answer(case, params):\n    return 1 / 0\n", scope)
    found = harness.run("toy", scope["answer"], output="a.jsonl")
    assert header(toy, "a.jsonl")["interface"] == {"kind": "python", "sha256": ""}
    assert found.counts.ER == 6
    assert "ZeroDivisionError: division by zero (<string>:2)" in found.remarks[0]


def test_what_a_function_prints_is_printed(toy: Workshop) -> None:
    def loud(case: Question, params: Mapping[str, Value]) -> Any:
        print("asked", case.id)
        return case.input

    toy.capsys.readouterr()
    harness.run("toy", loud, limit=1)
    assert toy.capsys.readouterr() == ("asked c0\n", "")


def test_a_sweep_is_that_of_the_command(toy: Workshop) -> None:
    toy.interface("PARAMS = {'n': 0}\ndef answer(case, params):\n    return case.input, params['n']\n")
    found = harness.sweep("toy", params={"threshold": [0, 1.5], "n": "1:2:1"})
    done = toy.call("sweep", "toy", "--param", "threshold=0,1.5", "--param", "n=1:2:1", "--format", "json")
    assert found.to_dict() == done.json
    assert [(row.params["threshold"], row.params["n"], row.counts.TP) for row in found.rows] == [
        (0.0, 1, 3), (0.0, 2, 3), (1.5, 1, 0), (1.5, 2, 3),
    ]  # fmt: skip
    assert "from the cache: 2 of 2 runs" in done.err
    with pytest.raises(UsageError, match="'a,b' has a comma"):
        harness.sweep("toy", params={"n": ["a,b"]})


def test_runs_of_a_function_are_not_taken_from_the_cache(toy: Workshop) -> None:
    asked = []

    def answer(case: Question, params: Mapping[str, Value]) -> Any:
        asked.append(case.id)
        return case.input, 1.0

    for _ in range(2):
        found = harness.sweep("toy", answer, params={"threshold": [0, 2]})
        assert [row.counts.TP for row in found.rows] == [3, 0]
    assert len(asked) == 12


def test_tuning_finds_what_the_command_finds(nearest: Workshop) -> None:
    found = harness.tune("toy", Nearest, params={"bias": [0, 6]}, folds=2)
    assert found.params == {"bias": 0.0}
    assert found.to_dict()["command"] is None
    source = inspect.getsource(Nearest).replace(": Sequence[Question]", "").replace(": Mapping[str, Value]", "")
    nearest.interface(source.replace("case: Question", "case").replace(" -> dict[str, float]", ""))
    done = nearest.call("tune", "toy", "--param", "bias=0,6", "--folds", "2", "--format", "json")
    own = found.to_dict()
    assert [own[key] for key in ("goal", "winner", "default", "rows")] == [
        done.json[key] for key in ("goal", "winner", "default", "rows")
    ]


@pytest.mark.parametrize("kind", ["python", "command"])
def test_a_plan_can_be_sent_to_another_process(toy: Workshop, kind: str) -> None:
    if kind == "command":
        (toy.folder / "interface.py").unlink()
        toy.toml("[algorithm]\nname = 'sh'\n[command]\nargv = ['echo', '{input}']\npattern = '(?P<label>.*)'\n")
    plan = make_plan("toy", None, PlanOptions(), name="sent")
    received = pickle.loads(pickle.dumps(plan))
    for number, one in enumerate((plan, received)):
        run_plan(one, Target(toy.folder / f"{number}.jsonl"), NoProgress())
    assert toy.records("0.jsonl") == toy.records("1.jsonl")
    assert header(toy, "1.jsonl")["algorithm"]["name"] == "sent"
    with pytest.raises(TypeError, match="put it into a file"):
        pickle.dumps(make_plan("toy", echo, PlanOptions()))


@pytest.mark.parametrize(("weights", "rate"), [("cases", "rate 0.5000"), ("equal", "unweighted rate 0.5000")])
def test_a_rate_without_the_weights_of_the_test_is_called_so(shop: Workshop, weights: str, rate: str) -> None:
    """The variance of repeated answers counts every case once."""
    rows = ["id,input,expect,s", "a,x,x,s", "b,x,x,s", "c,x,y,s", "d,x,y,t"]
    shop.script(rows="\n".join([*rows, ""]), sections=f'[design]\nstratum = "s"\nweights = "{weights}"\n')
    shop.interface("def answer(case, params):\n    return case.input\n")
    done = shop.call("run", "toy", "--repeat", "2", "-o", "run.jsonl")
    assert f"2 answers per case: {rate}" in done.err
    assert shop.call("report", "run.jsonl", "-o", "page.md").status == 0
    assert f"2 answers per case: {rate}" in (shop.folder / "page.md").read_text(encoding="utf-8")
