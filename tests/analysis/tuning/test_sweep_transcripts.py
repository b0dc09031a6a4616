"""The transcripts of a sweep, in a folder of the user's choice."""

import pytest

from harness.api.sweeps import file_names
from harness.params import Value
from tests.workshop import Workshop

INTERFACE = """\
NAME = "n"
PARAMS = {"step": 1, "word": "x"}
def answer(case, params):
    return (case.input, float(int(case.id[1:]) * params["step"]))
"""


@pytest.fixture
def stepping(shop: Workshop) -> Workshop:
    shop.script()
    shop.interface(INTERFACE)
    return shop


def test_there_is_one_for_each_algorithm_setting(stepping: Workshop) -> None:
    words = ("--param", "step=1,2", "--param", "threshold=0,3,9")
    done = stepping.call("sweep", "toy", *words, "-o", "out", "--format", "json")
    assert done.json["transcripts"] == ["out/n,step=1.jsonl", "out/n,step=2.jsonl"]
    assert "transcripts: 2 in out" in done.err
    for step in (1, 2):
        again = stepping.run("--param", f"step={step}", output=f"{step}.jsonl")
        assert stepping.records(f"out/n,step={step}.jsonl") == again
        assert stepping.lines(f"out/n,step={step}.jsonl")[0]["params"]["step"] == step


def test_a_decision_parameter_with_one_value_has_been_applied(stepping: Workshop) -> None:
    stepping.call("sweep", "toy", "--param", "step=1,2", "--param", "threshold=3", "-o", "out")
    again = stepping.run("--param", "step=2", "--param", "threshold=3")
    assert stepping.records("out/n,step=2.jsonl") == again
    assert stepping.lines("out/n,step=2.jsonl")[0]["params"]["threshold"] == 3
    assert stepping.call("compare", "out/n,step=1.jsonl", "out/n,step=2.jsonl").status == 0


def test_transcripts_of_other_runs_are_not_overwritten(stepping: Workshop) -> None:
    words = ("sweep", "toy", "--param", "step=1,2", "-o", "out")
    assert stepping.call(*words).status == 0
    assert stepping.call(*words).status == 0
    stepping.interface(INTERFACE + "# changed\n")
    done = stepping.call(*words)
    assert done.status == 2
    assert "out/n,step=1.jsonl: exists, of another run: interface" in done.err
    assert stepping.call(*words, "--force").status == 0


def test_names_of_any_kind_become_file_names() -> None:
    settings: list[dict[str, Value]] = [
        {"w": "a/b"},
        {"w": "a b"},
        {"w": "a_b"},
        {"w": "é" * 300},
        {"w": True},
        {"w": 0.5},
    ]
    names = file_names("../x", settings, ["w"])
    assert names[:3] == ["x,w=a_b.jsonl", "x,w=a_b-2.jsonl", "x,w=a_b-3.jsonl"]
    assert names[4:] == ["x,w=true.jsonl", "x,w=0.5.jsonl"]
    assert len(set(names)) == 6
    assert all(len(name) < 200 and "/" not in name for name in names)
