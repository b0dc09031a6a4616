"""What the products are made of: every task has a subject, with cases of both kinds and runs that differ."""

import pytest

from harness.tasks import TASKS
from tests.products.conftest import AllRuns
from tests.products.subjects import ALGORITHMS, CASES, SUBJECTS
from tests.workshop import Workshop


def test_every_task_has_a_subject() -> None:
    assert {subject.task for subject in SUBJECTS.values()} == set(TASKS)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", SUBJECTS)
def test_runs_differ_and_can_be_told_apart(shop: Workshop, all_runs: AllRuns, name: str) -> None:
    """Errors of all kinds occur, or a measure that counts them would agree with one that does not."""
    runs = all_runs.of(name)
    for path in runs.paths:
        assert shop.call("check", path).status == 0
    rated = shop.call("rate", *runs.paths, "--format", "json").json["transcripts"]
    assert [one["name"] for one in rated] == list(ALGORITHMS)
    rates = [one["measures"]["rate"]["estimate"] for one in rated]
    assert len(set(rates)) == len(rates)
    for path in runs.paths:
        _, *records, end = shop.lines(str(path))
        assert len(records) == CASES
        assert not any("error" in record for record in records)
        outcomes = {record["outcome"] for record in records}
        assert outcomes >= {"TP", "FN"}
        assert outcomes == {"TP", "FN"} or outcomes == {"TP", "FN", "TN", "FP"}, end
