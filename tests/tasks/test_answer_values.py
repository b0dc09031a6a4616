"""Further numbers beside an answer: recorded for every task and through every kind of interface."""

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import harness
from harness.files.images import write_image
from harness.model import MAX_VALUES
from tests.workshop import Record, Workshop

VALUES = {"f1": 0.5, "words": 3}
RANK = "[gallery]\ntable = 'gallery.csv'\n"
BOX = [{"label": "cat", "box": [1, 1, 4, 4], "score": 0.5}]


def write_task(shop: Workshop, task: str) -> Any:
    """A test of two cases of this task, the path or name of it, and what a program may answer to both."""
    folder = shop.folder / "toy"
    if task == "mask":
        (folder / "images").mkdir(parents=True)
        for n in range(2):
            write_image(folder / f"images/{n}.png", np.eye(3, dtype=np.uint8))
        rows = "id,input,expect\nc0,{here}/0.png,{here}/0.png\nc1,{here}/1.png,{here}/1.png\n"
        shop.script(task=task, rows=rows, sections='[data.here]\npath = "images"')
        return {"mask": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}
    if task == "boxes":
        path = shop.script(task=task)
        path.write_text(path.read_text().replace("cases.csv", "cases.jsonl"))
        cases = [{"id": f"c{n}", "input": "", "expect": [{"label": "cat", "box": [1, 1, 4, 4]}]} for n in range(2)]
        shop.write("toy/cases.jsonl", "".join(json.dumps(case) + "\n" for case in cases))
        return {"boxes": BOX}
    if task == "rank":
        shop.write("toy/gallery.csv", "id,input,expect\ng1,x,ann\ng2,y,bob\n")
        shop.script(task=task, rows="id,input,expect\nc0,p,ann\nc1,q,ann\n", sections=RANK)
        return {"ranking": ["ann", "bob"]}
    keys = "tolerance = {absolute = 1}" if task == "value" else ""
    sections = '[params.threshold]\ntype = "float"\ndefault = 0.5\ndecision = true' if task == "score" else ""
    shop.script(task=task, rows="id,input,expect\nc0,a,3\nc1,b,3\n", keys=keys, sections=sections)
    return {"label": {"label": "3", "score": 2.0}, "score": {"score": 3.0}, "value": {"value": 3.2}}[task]


def check(records: list[Record]) -> None:
    assert [record["outcome"] for record in records] == ["TP", "TP"], records
    assert [record["values"] for record in records] == [VALUES, VALUES]


def python(shop: Workshop, answer: Any) -> None:
    shop.interface(f"def answer(case, params):\n    return {answer!r}\n")


def isolated(shop: Workshop, answer: Any) -> None:
    """Workers of the harness, as `-j` and `--isolate` start them."""
    python(shop, answer)


def stream(shop: Workshop, answer: Any) -> None:
    shop.stream(f"say(id=id, **{answer!r})")


def command(shop: Workshop, answer: Any) -> None:
    shop.program("prog.py", f"#!{sys.executable}\nprint({json.dumps(answer)!r})\n")
    shop.toml('[algorithm]\nname = "prog"\n[command]\nargv = ["./prog.py"]\noutput = "json"\n')


def table(shop: Workshop, answer: Any) -> None:
    if not {"label", "score", "scores", "value", "answer"} & set(answer):
        answer = {"answer": {key: value for key, value in answer.items() if key != "values"}} | {
            "values": answer["values"]
        }
    shop.write("answers.jsonl", "".join(json.dumps({"id": f"c{n}", **answer}) + "\n" for n in range(2)))
    shop.toml('[algorithm]\nname = "earlier"\n[scores]\ntable = "answers.jsonl"\n')


KINDS: dict[str, tuple[Callable[[Workshop, Any], None], tuple[str, ...]]] = {
    "python": (python, ()),
    "isolated": (isolated, ("--isolate",)),
    "stream": (stream, ()),
    "command": (command, ()),
    "scores": (table, ()),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("task", ["label", "score", "rank", "value", "mask", "boxes"])
@pytest.mark.parametrize("kind", KINDS)
def test_values_beside_an_answer_are_recorded(shop: Workshop, kind: str, task: str) -> None:
    """Beside the keys of the task, and beside `answer`; they were lost, or made the answer wrong."""
    said = write_task(shop, task)
    for answer in (said, {"answer": said}):
        make, words = KINDS[kind]
        make(shop, {**answer, "values": VALUES})
        check(shop.run(*words, "--force"))
    for path in ("out.jsonl", "out.parquet"):
        if path != "out.jsonl":
            assert shop.call("convert", "out.jsonl", path).status == 0
        found = shop.call("rate", path, "--statistic", "values.f1,words", "--format", "json")
        assert found.status == 0, found.err
        measures = found.json["transcripts"][0]["measures"]
        assert [measures[name]["estimate"] for name in ("values.f1", "words")] == [0.5, 3]
    # They are judged again as they are.
    assert shop.call("check", "out.jsonl").status == 0


def test_values_from_a_table_with_columns(shop: Workshop) -> None:
    write_task(shop, "label")
    shop.write("answers.csv", "id,label,values.f1,values.words\nc0,3,0.5,3\nc1,3,,3\n")
    shop.toml('[algorithm]\nname = "earlier"\n[scores]\ntable = "answers.csv"\n')
    first, second = shop.run()
    assert (first["values"], second["values"]) == (VALUES, {"words": 3})
    shop.write("answers.csv", 'id,label,values\nc0,3,"{""f1"": 0.5, ""words"": 3}"\nc1,3,\n')
    first, second = shop.run("--force")
    assert first["values"] == VALUES
    assert "values" not in second
    shop.write("answers.csv", "id,label,values\nc0,3,much\nc1,3,\n")
    done = shop.call("run", "toy", "-o", "out.jsonl", "--force")
    assert done.status == 2
    assert "answers.csv:2: values 'much' is not an object with names and numbers" in done.err


def test_values_from_a_function(shop: Workshop) -> None:
    write_task(shop, "value")
    found = harness.run("toy", lambda case, params: {"value": np.float64(3.1), "values": {"f1": np.float32(0.5)}})
    assert found is not None
    [path] = sorted(shop.folder.rglob("transcripts/**/*.jsonl"))
    assert [record["values"] for record in shop.records(str(path))] == [{"f1": 0.5}] * 2


def test_a_refusal_has_values_and_a_label_may_be_called_so(shop: Workshop) -> None:
    write_task(shop, "label")
    python(shop, {"values": VALUES})
    assert [(record["outcome"], record["values"]) for record in shop.run()] == [("FN", VALUES)] * 2
    python(shop, {"values": 0.2, "3": 0.9})
    first, _ = shop.run("--force")
    assert (first["actual"], first["score"]) == ("3", pytest.approx(0.7))
    assert "values" not in first


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2], "values [1, 2] is not a mapping of names to numbers"),
        ({"f1": "much"}, "values: 'f1' 'much' is not a number"),
        ({"": 1}, "values: the name '' has 0 characters; give it 1 to 100"),
        ({"x" * 101: 1}, "has 101 characters; give it 1 to 100"),
        ({f"n{k}": k for k in range(MAX_VALUES + 1)}, "values: more than 100 names in this run"),
    ],
    ids=["list", "text", "nameless", "long", "many"],
)
def test_bad_values_are_an_error_of_the_case(shop: Workshop, values: Any, message: str) -> None:
    write_task(shop, "label")
    python(shop, {"label": "3", "values": values})
    assert shop.call("run", "toy", "-o", "out.jsonl").status in (0, 1)  # every case is an error
    for record in shop.records():
        assert (record["error"], record["outcome"]) == ("answer", "FN")
        assert message in record["message"]
    assert shop.call("rate", "out.jsonl").status == 0


def test_a_blind_run_hands_values_in(shop: Workshop) -> None:
    """What is kept of an answer where the truth is not: all of it, and it is an answer."""
    from harness.model import BlindTrial, Case, Question, Reply
    from harness.tasks.judge import BlindJudge, Judge, judged_trial
    from harness.tasks.label import LABEL
    from harness.tasks.task import TaskRules

    case, params = Case("c0", "a", "3"), {"threshold": 0.0}
    raw = {"label": "3", "values": VALUES}
    blind: Any = BlindJudge(LABEL, TaskRules(), params).trial(case, Reply(Question(0, "c0", "a"), raw))
    assert isinstance(blind, BlindTrial)
    assert not blind.error
    judged = judged_trial(Judge(LABEL, TaskRules(), params), case, blind)
    assert (judged.outcome, judged.values) == ("TP", VALUES)
