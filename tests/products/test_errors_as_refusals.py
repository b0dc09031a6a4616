"""Errors that count as refusals, by every analysis on every task: all numbers are those of a run that refuses."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.products import subjects
from tests.products.calls import CALLS, refusal
from tests.products.laws import differences, statistics, without
from tests.products.subjects import SUBJECTS, Runs, make_runs
from tests.workshop import Workshop

CRASH = 'raise RuntimeError("out of luck")'
# What says how many errors there are. A refusal may have values beside it; here it has none.
OF_ERRORS = ("ER", "errors", "digest")
# Neither infinite score of a case without an answer is a probability.
OF_PROBABILITIES = {"brier", "ece"}


@pytest.mark.sampled(29)
@pytest.mark.parametrize("name", SUBJECTS)
def test_errors_that_count_as_refusals_have_their_numbers(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    crashed = _runs(shop.folder / "crashed", name)
    monkeypatch.setattr(subjects, "INTERFACE", subjects.INTERFACE.replace(CRASH, "return None"))
    refused = _runs(shop.folder / "refused", name)
    names = ",".join(one for one in statistics(name) if one not in OF_PROBABILITIES)
    for question, call in CALLS.items():
        if not call.json or call.command == "fuse" or refusal(question, name) is not None:
            continue
        words = [*call.words, *(["--statistic", names] if question == "rate" else [])]
        found = []
        for runs in (crashed, refused):
            done = shop.call(call.command, *runs.paths[: call.runs], *words, "--format", "json")
            assert done.status == 0, done.err
            found.append(without(done.json, *OF_ERRORS))
        assert list(differences(*found)) == [], question


def _runs(folder: Path, name: str) -> Runs:
    subject = replace(SUBJECTS[name], keys=f'{SUBJECTS[name].keys}\nerrors = "refuse"')
    return make_runs(subject, folder / name, "--param", "crash=7")
