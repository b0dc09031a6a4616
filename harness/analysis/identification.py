"""The results of an identification in the terms of ISO/IEC 19795-1: FNIR, FPIR, failures to acquire."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import UNSET

from harness.model import Trial
from harness.transcript.format import Header
from harness.transcript.read import open_transcript


@dataclass(frozen=True)
class Identification:
    """Counts of probes; a rate is None if it has no probes."""

    rank: int
    threshold: float | None
    enrolled: int
    strangers: int
    # Probes of enrolled people that were not found; probes of strangers that were accepted.
    missed: int
    mistaken: int
    # No answer: an error, or a refusal.
    failures_to_acquire: int
    # The program scored others but not the right person, who was not enrolled.
    failures_to_enrol: int
    # The right person does not pass the threshold; a wrong one does.
    false_non_matches: int | None
    false_matches: int | None

    @property
    def fnir(self) -> float | None:
        """False-negative identification rate."""
        return self.missed / self.enrolled if self.enrolled else None

    @property
    def fpir(self) -> float | None:
        """False-positive identification rate."""
        return self.mistaken / self.strangers if self.strangers else None


def identification(path: Path) -> Identification:
    """From a transcript of a rank test."""
    with open_transcript(path) as reader:
        return _count(reader.header, [trial for block in reader.blocks() for trial in block])


def _count(header: Header, trials: Iterable[Trial]) -> Identification:
    tally = dict.fromkeys(("enrolled", "strangers", "missed", "mistaken", "acquire", "enrol", "right", "wrong"), 0)
    threshold = header.params.get("threshold")
    better = header.test.larger_is_better is not False
    for trial in trials:
        positive, answered = trial.outcome.positive, not (_no(trial.actual) or trial.error)
        tally["enrolled" if positive else "strangers"] += 1
        tally["missed" if positive else "mistaken"] += not trial.outcome.success
        tally["acquire"] += not answered
        tally["enrol"] += positive and answered and _no(trial.score) and not _no(trial.best_wrong)
        if threshold is not None and answered:
            tally["right"] += positive and not _passes(trial.score, threshold, better)
            tally["wrong"] += _passes(trial.best_wrong, threshold, better)
    return Identification(
        int(header.params.get("rank", 1)), threshold, tally["enrolled"], tally["strangers"], tally["missed"],
        tally["mistaken"], tally["acquire"], tally["enrol"],
        None if threshold is None else tally["right"], None if threshold is None else tally["wrong"],
    )  # fmt: skip


def _no(value: object) -> bool:
    return value is UNSET or value is None


def _passes(score: Any, threshold: float, larger: bool) -> bool:
    return not _no(score) and bool(score >= threshold if larger else score <= threshold)


def identification_json(result: Identification) -> dict[str, Any]:
    """The JSON that the documentation promises."""
    return {
        "rank": result.rank,
        "threshold": result.threshold,
        "enrolled": result.enrolled,
        "not_enrolled": result.strangers,
        "fnir": result.fnir,
        "fpir": result.fpir,
        "failures_to_acquire": result.failures_to_acquire,
        "failures_to_enrol": result.failures_to_enrol,
        "false_non_matches": result.false_non_matches,
        "false_matches": result.false_matches,
    }
