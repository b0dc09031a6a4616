"""Cases that are worth looking at, against a plain search of the same records."""

from pathlib import Path

import numpy as np

from harness.analysis.notable_cases import CasesById
from tests.analysis.transcripts import aligned, transcript

NAMES = [f"c{number:05d}" for number in range(40)]


def runs(folder: Path) -> list[Path]:
    rng = np.random.default_rng(3)
    return [transcript(folder / f"{name}.jsonl", rng.random(40) < 0.6) for name in "abc"]


def test_failed_and_differing_cases(tmp_path: Path) -> None:
    both = aligned(*runs(tmp_path))
    wanted = {name: tuple(both.success[:, place].tolist()) for place, name in enumerate(NAMES)}
    cases = CasesById(both)
    failed, differing = cases.failed(1000), cases.differing(1000)
    assert [case.id for case in failed.cases] == [name for name in NAMES if not any(wanted[name])]
    assert [case.id for case in differing.cases] == [name for name in NAMES if 0 < sum(wanted[name]) < 3]
    assert failed.count == len(failed.cases)
    for case in differing.cases:
        assert tuple(reply.right == 1 for reply in case.replies) == wanted[case.id]
        assert [reply.outcome for reply in case.replies] == ["TP" if good else "FN" for good in wanted[case.id]]


def test_each_way_to_differ_is_among_the_few_that_are_shown(tmp_path: Path) -> None:
    both = aligned(*runs(tmp_path))
    cases = CasesById(both)
    ways = {tuple(reply.right for reply in case.replies) for case in cases.differing(1000).cases}
    assert len(ways) == 6
    few = cases.differing(6)
    assert {tuple(reply.right for reply in case.replies) for case in few.cases} == ways
    assert few.count == cases.differing(1000).count
    assert [case.id for case in few.cases] == sorted(case.id for case in few.cases)


def test_several_answers_to_a_case(tmp_path: Path) -> None:
    good = [True, True, True, False, True, False, False, False, False, True, False, False]
    path = transcript(
        tmp_path / "dice.jsonl", good, ids=[f"q{n // 3}" for n in range(12)], repeat=[n % 3 + 1 for n in range(12)]
    )
    cases = CasesById(aligned(path))
    assert [case.id for case in cases.failed(10).cases] == ["q2"]
    assert [(case.id, round(case.replies[0].right, 4)) for case in cases.unsteady(10).cases] == [
        ("q1", 0.3333),
        ("q3", 0.3333),
    ]
    assert cases.differing(10).count == 0


def test_few_of_many_are_spread_over_the_test(tmp_path: Path) -> None:
    path = transcript(tmp_path / "bad.jsonl", [False] * 40)
    few = CasesById(aligned(path)).failed(4)
    assert few.count == 40
    assert [case.id for case in few.cases] == [NAMES[0], NAMES[13], NAMES[26], NAMES[39]]
