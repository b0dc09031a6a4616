"""Deciding again on recorded answers gives exactly what running again would have given."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from harness.analysis.decisions import Setting, pool_answers, read_answers, write_decided
from harness.analysis.settings import blocks
from harness.engine.header import run_header
from harness.engine.plan import Plan
from harness.errors import TranscriptError
from harness.interface.load import load_interface
from harness.model import Case, Counts, ErrorKind, Question, Reply, Trial
from harness.script.cases import load_cases
from harness.script.load import load_script
from harness.transcript.read import open_transcript
from harness.transcript.write import TranscriptWriter
from tests.simulation import examples

THRESHOLD = '[params.threshold]\ntype = "float"\ndefault = 0.5\ndecision = true\n'
TESTS = {
    "label": ('task = "label"', ""),
    "label, errors refuse": ('task = "label"\nerrors = "refuse"', ""),
    "score": ('task = "score"', THRESHOLD),
    "distance": ('task = "score"\nlarger_is_better = false', THRESHOLD),
    "distance, errors refuse": ('task = "score"\nlarger_is_better = false\nerrors = "refuse"', THRESHOLD),
    "value": ('task = "value"\ntolerance = {absolute = 0.25}', ""),
    "relative value": ('task = "value"\ntolerance = {relative = 0.1}\nerrors = "refuse"', ""),
}
# Few values, so that scores, thresholds and errors are often equal; some have no exact binary representation.
NUMBER = st.sampled_from([-1.0, -0.1, 0.0, 0.1, 0.25, 0.3, 0.5, 1.0, 1.1, 2.0, 1e-300, 1e300, 0.1 + 0.2])
LABEL = st.sampled_from(["a", "b", "c"])
LABEL_ANSWER = st.one_of(
    st.none(),
    LABEL,
    st.tuples(LABEL, NUMBER).map(list),
    st.dictionaries(LABEL, NUMBER),
    st.just([1, 2, 3]),  # nonsense
)
NUMBER_ANSWER = st.one_of(st.none(), NUMBER, NUMBER.map(str), st.just("nonsense"))
ERROR = st.sampled_from([None, None, None, ErrorKind.CRASH, ErrorKind.TIMEOUT])


def make_plan(folder: Path, name: str) -> Plan:
    keys, sections = TESTS[name]
    folder.mkdir(exist_ok=True)
    (folder / "cases.csv").write_text("id,input,expect\n1,x,1\n")
    script = f'format = 1\n[test]\nname = "t"\nversion = "1"\nsynopsis = "s"\n{keys}\n[cases]\ntable = "cases.csv"\n'
    (folder / "t.hate.toml").write_text(script + sections)
    (folder / "interface.py").write_text("def answer(case, params):\n    return None\n")
    cases = load_cases(load_script(folder / "t.hate.toml"), {})
    params = {param.name: param.default for param in cases.script.params.values()}
    return Plan(cases, load_interface(str(folder / "interface.py")), params)


@st.composite
def answered(draw: st.DrawFn, task: str) -> list[tuple[Case, Reply]]:
    found = []
    for number in range(draw(st.integers(0, 12))):
        positive = draw(st.booleans())
        claims = {"label": LABEL, "score": LABEL, "value": st.sampled_from(["1", "0.1", "-2", "0.3"])}[task]
        expect = draw(claims) if positive or draw(st.booleans()) else ""
        raw = draw(LABEL_ANSWER if task == "label" else NUMBER_ANSWER)
        case = Case(f"c{number}", "x", expect, positive)
        error = draw(ERROR)
        question = Question(number, case.id, "x")
        found.append((case, Reply(question, None if error else raw, error, "because" if error else "")))
    return found


def trials(plan: Plan, replies: list[tuple[Case, Reply]], params: dict[str, Any]) -> list[Trial]:
    judge = plan.cases.judge(params, repeated=False)
    return [judge.trial(case, reply) for case, reply in replies]


def write(path: Path, plan: Plan, records: list[Trial]) -> None:
    writer = TranscriptWriter.create(path, run_header(plan), force=True)
    for index, trial in enumerate(records):
        writer.append(index, trial)
    writer.finish()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", TESTS)
@given(data=st.data())
@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_new_decision_is_a_new_run(tmp_path: Path, name: str, data: st.DataObject) -> None:
    plan = make_plan(tmp_path / "t", name)
    task = plan.cases.script.task
    replies = data.draw(answered(task.name))
    values = data.draw(st.lists(NUMBER, min_size=1, max_size=6))
    write(tmp_path / "run.jsonl", plan, trials(plan, replies, dict(plan.params)))
    (param,) = task.decisions
    again = [trials(plan, replies, {**plan.params, param: value}) for value in values]
    answers = read_answers(tmp_path / "run.jsonl")
    assert answers.counts(values) == [Counts.of(run) for run in again]
    settings = [Setting({**plan.params, param: value}, (tmp_path / "run.jsonl",), answers) for value in values]
    assert [one.counts for one in settings] == [Counts.of(run) for run in again]
    for places, runs in blocks(settings) if replies else ():
        assert places == list(range(len(values)))
        assert runs.success.tolist() == [[trial.outcome.success for trial in run] for run in again]
        assert [header.params for header in runs.headers] == [one.params for one in settings]


@pytest.mark.parametrize("name", TESTS)
@given(data=st.data())
@examples(15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_transcript_decided_again_is_that_of_a_new_run(tmp_path: Path, name: str, data: st.DataObject) -> None:
    plan = make_plan(tmp_path / "t", name)
    replies = data.draw(answered(plan.cases.script.task.name))
    (param,) = plan.cases.script.task.decisions
    params = {**plan.params, param: data.draw(NUMBER)}
    write(tmp_path / "run.jsonl", plan, trials(plan, replies, dict(plan.params)))
    other = Plan(plan.cases, plan.interface, params)
    write_decided([tmp_path / "run.jsonl"], tmp_path / "other.jsonl", run_header(other))
    with open_transcript(tmp_path / "other.jsonl") as reader:
        records = list(itertools.chain.from_iterable(reader.blocks()))
    assert records == trials(plan, replies, params)
    assert reader.end is not None
    assert reader.end.counts == Counts.of(records)
    assert reader.header.params == params


def test_parts_are_pooled(tmp_path: Path) -> None:
    plan = make_plan(tmp_path / "t", "score")
    replies = [(Case(f"c{n}", "x", "a", n % 2 == 0), Reply(Question(n, "", "x"), n / 10)) for n in range(10)]
    for part in range(2):
        write(tmp_path / f"{part}.jsonl", plan, trials(plan, replies[part * 5 : part * 5 + 5], dict(plan.params)))
    write(tmp_path / "whole.jsonl", plan, trials(plan, replies, dict(plan.params)))
    both = pool_answers([read_answers(tmp_path / f"{part}.jsonl") for part in range(2)])
    values = [0.0, 0.3, 0.55, 1.0]
    assert both.counts(values) == read_answers(tmp_path / "whole.jsonl").counts(values)


def test_incomplete_runs_are_refused(tmp_path: Path) -> None:
    plan = make_plan(tmp_path / "t", "label")
    TranscriptWriter.create(tmp_path / "run.jsonl", run_header(plan)).close()
    with pytest.raises(TranscriptError, match="incomplete"):
        read_answers(tmp_path / "run.jsonl")
