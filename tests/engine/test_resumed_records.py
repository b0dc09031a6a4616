"""What a stopped run left is matched with the cases of the test, whatever the order of its records."""

import json
from functools import reduce
from itertools import chain
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from harness.engine.resumed_records import PlannedTrial, unanswered
from harness.model import Case, Counts, ErrorKind, Outcome, Trial
from harness.transcript.format import AlgorithmInfo, Header
from harness.transcript.format import TestInfo as Info
from harness.transcript.write import TranscriptWriter
from tests.workshop import Workshop

CASES = [Case(f"c{number}", "") for number in range(12)]


def planned(repeat: int) -> list[PlannedTrial]:
    return [(n * repeat + turn - 1, turn, case) for n, case in enumerate(CASES) for turn in range(1, repeat + 1)]


@given(st.data(), st.integers(1, 3))
def test_each_record_finds_its_case(tmp_path_factory: object, data: st.DataObject, repeat: int) -> None:
    """Any part of the trials was recorded, in any order: those are kept, the others are asked, in case order."""
    trials = planned(repeat)
    recorded = data.draw(st.permutations(trials))[: data.draw(st.integers(0, len(trials)))]
    path = Path(tmp_path_factory.mktemp("earlier")) / "t.jsonl"  # type: ignore[attr-defined]
    header = Header("transcript", 1, Info("toy", "1", "1:a", cases=12), AlgorithmInfo("a"), started="2026-01-01")
    writer = TranscriptWriter.create(path, header)
    for index, turn, case in recorded:
        writer.add(Trial(case.id, Outcome.TP, repeat=turn, message=f"earlier {index}"))
    stream = iter(trials)
    left = list(chain(unanswered(writer, stream), stream))
    assert left == [trial for trial in trials if trial not in recorded]
    for index, turn, case in left:
        writer.append(index, Trial(case.id, Outcome.TP, repeat=turn, message=f"later {index}"))
    lines = [json.loads(line) for line in writer.finish().read_text().splitlines()[1:-1]]
    when = {index: "earlier" for index, *_ in recorded}
    assert [line["message"] for line in lines] == [f"{when.get(index, 'later')} {index}" for index, *_ in trials]
    assert [(line["id"], line["repeat"]) for line in lines] == [(case.id, turn) for _, turn, case in trials]


def test_records_are_counted_as_one_by_one() -> None:
    errors = [None, ErrorKind.CRASH, ErrorKind.TIMEOUT]
    trials = [Trial("c", outcome, error=error) for outcome in Outcome for error in errors for _ in outcome.value]
    assert Counts.of(trials) == reduce(Counts.plus, trials, Counts())
    assert Counts.of([]) == Counts()


def test_a_retry_copies_lines_as_they_are(shop: Workshop) -> None:
    """docs/reference/transcripts.md: a reader ignores keys that it does not know, so others may have added some."""
    shop.script(4)
    fail = "    if case.id == 'c2': raise ValueError\n"
    shop.interface(f"def answer(case, params):\n{fail}    return case.input\n")
    shop.run()
    text = (shop.folder / "out.jsonl").read_text().replace('{"id":"c1",', '{"note":"seen by us","id":"c1", ')
    head, *records, _end = text.splitlines()
    (shop.folder / "out.jsonl").write_text("\n".join([head, *records]) + '\n{"end":true,"tests":4,"TP":1}\n')
    assert shop.call("run", "toy", "-o", "out.jsonl", "--retry-errors").status == 0
    again = (shop.folder / "out.jsonl").read_text().splitlines()
    assert again[1:3] + again[4:5] == records[:2] + records[3:]
    assert json.loads(again[3])["error"] == "crash"
