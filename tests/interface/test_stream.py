"""[stream]: the protocol of docs/reference/interfaces.md step by step, and programs that break it."""

import pytest

from harness.tasks import TASKS
from tests.workshop import STREAM, Record, Workshop, errors

GOOD = "say(id=id, label=given)"


@pytest.fixture
def six_cases(shop: Workshop) -> Workshop:
    shop.script(6)
    return shop


def run(shop: Workshop, body: str, *words: str, in_flight: int = 16, whole: str = "") -> list[Record]:
    shop.stream(body, in_flight=in_flight, whole=whole)
    return shop.run(*words, "--force")


@pytest.fixture
def expected(six_cases: Workshop) -> list[Record]:
    """The records of the same algorithm as a Python function."""
    six_cases.interface()
    records = six_cases.run()
    (six_cases.folder / "interface.py").unlink()
    return records


each_window = pytest.mark.parametrize("in_flight", [1, 16])

GOOD_BODIES = {
    "in order": GOOD,
    "with spaces and unknown keys": "text = ' {\"why\" : [1, {}], \"label\": \"%s\" , \"id\": \"%s\"}\\r\\n'\n"
    "os.write(1, (text % (given, id)).encode())",
    "one byte at a time": "line = json.dumps({'id': id, 'label': given}) + '\\n'\n"
    "for byte in line.encode(): os.write(1, bytes([byte]))",
    "with empty lines between": "os.write(1, b'\\n\\n  \\n'); say(id=id, label=given)",
    "answers twice": "say(id=id, label=given); say(id=id, label='z')",
    "answers twice, late": "say(id=id, label=given); time.sleep(0.01); say(id=id, label='z')",
    "closes stderr": "if n == 0: os.close(2)\nsay(id=id, label=given)",
    "says much on stderr": "os.write(2, b'e' * 300000)\nsay(id=id, label=given)",
    "as an answer": "say(id=id, answer=given)",
    "as scores": "say(id=id, scores={given: 3, 'zz': 1})",
}  # fmt: skip


@pytest.mark.sampled(3)
@each_window
@pytest.mark.parametrize("how", GOOD_BODIES)
def test_good_programs(how: str, in_flight: int, six_cases: Workshop, expected: list[Record]) -> None:
    records = run(six_cases, GOOD_BODIES[how], in_flight=in_flight)
    for record in records:
        record.pop("score", None)
    assert records == expected


def test_answers_may_come_in_any_order(six_cases: Workshop, expected: list[Record]) -> None:
    body = """\
held = globals().setdefault("held", [])
held.append(case)
if len(held) == 6:
    for one in reversed(held):
        say(id=one["id"], label=one["input"])"""
    assert run(six_cases, body) == expected


def test_no_more_than_in_flight_are_sent(six_cases: Workshop) -> None:
    body = """\
held = globals().setdefault("held", [])
held.append(id)
if len(held) == 3:
    for one in held:
        say(id=one, label=str(len(held)))
    held.clear()"""
    records = run(six_cases, body, in_flight=3)
    assert {record["actual"] for record in records} == {"3"}


BAD_ACTS = {
    # What it does on case c2, the kind of error, and a part of the message.
    "garbage": ("os.write(1, b'loading...\\n')", "answer", "loading..."),
    "garbage, then the answer": ("os.write(1, b'hm\\n'); say(id=id, label=given)", "answer", "hm"),
    "not UTF-8": ("os.write(1, b'\\xff\\xfe\\n')", "answer", "instead of"),
    "another id": ("say(id='c99', label=given)", "answer", "c99"),
    "no id": ("say(label=given)", "answer", "id"),
    "an id that is a list": ("say(id=[1], label=given)", "answer", "id"),
    "JSON that is not an object": ("os.write(1, b'[1]\\n')", "answer", "[1]"),
    "NaN": ("os.write(1, ('{\"id\":\"%s\",\"score\":NaN}\\n' % id).encode())", "answer", "NaN"),
    "infinity as text": ("say(id=id, label='x', score='inf')", "answer", "finite"),
    "an object as label": ("say(id=id, label={'a': 1})", "answer", "label"),
    "no answer in it": ("say(id=id, lable=given)", "answer", "lable"),
    "an error": ("say(id=id, error='cannot read it')", "crash", "cannot read it"),
    "deep nesting": ("os.write(1, b'[' * 100000 + b'\\n')", "answer", "[[["),
    "a megabyte of garbage": ("os.write(1, b'x' * (1 << 20) + b'\\n')", "answer", "xxx"),
    "an endless line": ("for _ in range(300): os.write(1, b'x' * (1 << 16))", "crash", "16 MiB"),
    "exit": ("os.write(2, b'out of luck\\n'); sys.exit(3)", "crash", "exit status 3 before it answered: out of luck"),
    "exit without a word": ("os._exit(4)", "crash", "exit status 4"),
    "exit 0": ("sys.exit()", "crash", "exit status 0"),
    "torn answer": ("os.write(1, b'{\"id\":\"c'); os._exit(0)", "answer", "c"),
    "abort": ("os.abort()", "crash", "SIGABRT"),
    "closes its output": ("os.close(1); time.sleep(1000)", "crash", "closed its output"),
    "closes everything": ("os.closerange(0, 3); time.sleep(1000)", "crash", "closed its output"),
}  # fmt: skip


@pytest.mark.sampled(7)
@pytest.mark.parametrize("in_flight", [1, 16])
@pytest.mark.parametrize("what", BAD_ACTS)
def test_a_mistake_is_an_error_of_its_case_only(
    what: str, in_flight: int, six_cases: Workshop, expected: list[Record]
) -> None:
    """Design: a crash or an invalid answer is a failure of that case, counted also in ER."""
    act, kind, word = BAD_ACTS[what]
    records = run(six_cases, f"if id == 'c2':\n    {act}\nelse:\n    {GOOD}", in_flight=in_flight)
    assert errors(records) == {"c2": kind}
    wrong = records[2]
    assert word in wrong["message"]
    assert len(wrong["message"]) < 2100
    assert wrong["outcome"] == "FN"
    assert [record for record in records if record["id"] != "c2"] == [e for e in expected if e["id"] != "c2"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("in_flight", [1, 16])
def test_a_case_that_hangs(in_flight: int, six_cases: Workshop, expected: list[Record]) -> None:
    body = f"if id == 'c2':\n    os.write(2, b'thinking\\n'); time.sleep(1000)\n{GOOD}"
    records = run(six_cases, body, "--timeout", "0.5", in_flight=in_flight)
    assert errors(records) == {"c2": "timeout"}
    assert records[2]["message"] == "no answer in 0.5 s: thinking"
    assert [record for record in records if record["id"] != "c2"] == [e for e in expected if e["id"] != "c2"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("in_flight", [1, 16])
def test_a_program_that_never_flushes_its_answers(in_flight: int, six_cases: Workshop) -> None:
    records = run(six_cases, "pass", "--timeout", "0.2", in_flight=in_flight)
    assert set(errors(records).values()) == {"timeout"}
    assert len(records) == 6


@pytest.mark.parametrize("in_flight", [1, 16])
def test_a_program_that_answers_one_case_and_ends(in_flight: int, six_cases: Workshop, expected: list[Record]) -> None:
    """It is started again for the others, even if its last line has no newline."""
    body = "os.write(1, json.dumps({'id': id, 'label': given}).encode()); os._exit(0)"
    assert run(six_cases, body, in_flight=in_flight) == expected


def test_a_program_that_dies_on_every_case(six_cases: Workshop) -> None:
    records = run(six_cases, "os._exit(1)")
    assert errors(records) == {f"c{n}": "crash" for n in range(6)}
    assert [record["outcome"] for record in records] == ["FN", "FP"] * 3


NOT_READY = {
    "exits at once": ("import sys; sys.exit(5)", "exit status 5"),
    "exits at once with words": ("import sys; sys.exit('no model here')", "no model here"),
    "says why not": ('print(\'{"error":"needs a GPU"}\', flush=True); input(); input()', "needs a GPU"),
    "has a banner": ("print('Welcome!', flush=True); input(); input()", "'Welcome!' instead of {\"ready\":true}"),
    "is not ready": ("print('{\"ready\":false}', flush=True); input(); input()", "ready"),
    "closes its output": ("import os, time; os.close(1); time.sleep(1000)", "closed its output"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("how", NOT_READY)
def test_a_program_that_does_not_get_ready_is_reported_at_once(how: str, jobs: str, six_cases: Workshop) -> None:
    whole, word = NOT_READY[how]
    six_cases.stream("", whole=whole)
    done = six_cases.call("run", "toy", "-o", "out.jsonl", "-j", jobs)
    assert done.status == 2
    assert word in done.err
    assert "streamer" in done.err
    assert done.err.count("\n") == 1
    assert not (six_cases.folder / "out.jsonl").exists()


def test_the_user_is_told_what_the_harness_waits_for(six_cases: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the hint, nothing would show that a program does not flush its output."""
    monkeypatch.setattr("harness.interface.stream.HINT_SECONDS", 0.01)
    body = STREAM.format(body=f"    {GOOD}").replace("say(ready=True)", "time.sleep(0.5); say(ready=True)")
    six_cases.stream("", whole=body)
    done = six_cases.call("run", "toy")
    assert done.status == 0
    assert 'hate: waiting for streamer to say {"ready":true}; does it flush its output?\n' in done.err


def test_what_the_program_is_told(shop: Workshop) -> None:
    """docs/reference/interfaces.md: test, parameters, training cases; then, for each case, id, input and the rest."""
    shop.script(rows="id,input,expect,writer\n1,a,a,w\n", sections='[train]\ntable = "train.csv"\n')
    shop.write("toy/train.csv", "id,input,expect\nt1,a,A\n")
    body = "open('seen', 'w').write(json.dumps([hello, open(hello['train']).read(), line]))\n" + GOOD
    run(shop, body, "--param", "threshold=2")
    import json

    hello, train, line = json.loads((shop.folder / "seen").read_text())
    assert hello["hate"] == "stream"
    assert hello["test"] == {"name": "toy", "version": "1.0", "task": "label"}
    assert hello["params"] == {"threshold": 2.0}
    assert train == '{"id":"t1","input":"a","expect":"A"}\n'
    assert line == '{"id":"1","input":"a","columns":{"writer":"w"}}\n'


def test_the_program_ends_when_its_input_does(six_cases: Workshop) -> None:
    whole = STREAM.format(body=f"    {GOOD}") + "open('ended', 'w').write('well')\n"
    run(six_cases, "", whole=whole)
    assert (six_cases.folder / "ended").read_text() == "well"


def test_repeats_have_the_same_id_and_a_number(shop: Workshop) -> None:
    shop.script(2)
    records = run(shop, "say(id=id, label=str(case.get('repeat', 1)))", "--repeat", "3")
    assert [(record["id"], record["actual"]) for record in records] == [
        (f"c{n}", str(turn)) for n in range(2) for turn in (1, 2, 3)
    ]


def test_an_answer_stands_under_a_key_of_its_task(shop: Workshop) -> None:
    """Whether that is a key of this task, the task says; bytes by themselves stand under `answer`."""
    keys = sorted(set().union(*(task.keys for task in TASKS.values())))
    assert {"label", "scores", "score", "value", "ranking", "mask", "boxes", "bytes"} <= set(keys)
    rows = "".join(f"{key},{key},x\n" for key in [*keys, "answer", "values", "text"])
    shop.script(rows=f"id,input,expect\n{rows}")
    shop.stream("say(id=id, **{given: 'x'})")
    assert shop.call("run", "toy", "-o", "out.jsonl").status == 0
    unknown = "no label, score, scores, value or error in "
    refused = [record["id"] for record in shop.records() if record.get("message", "").startswith(unknown)]
    assert refused == ["bytes", "text"]
