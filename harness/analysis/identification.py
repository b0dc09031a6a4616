"""The results of an identification in the terms of ISO/IEC 19795-1: FNIR, FPIR, failures to acquire.

A file of its own, without numpy, since every run of a rank test ends with it."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import UNSET

from harness.transcript.read import open_transcript


@dataclass(frozen=True)
class Identification:
    """Counts of probes, of people in the gallery and of others; a rate is None if it has no probes."""

    rank: int
    threshold: float | None
    enrolled: int
    not_enrolled: int
    # False-negative identification rate: of probes of enrolled people, those that were not found.
    fnir: float | None
    # False-positive identification rate: of probes of others, those that were accepted.
    fpir: float | None
    # No answer: an error, or a refusal.
    failures_to_acquire: int
    # The program scored others but not the right person, who was not enrolled.
    failures_to_enrol: int
    # The right person does not pass the threshold; a wrong one does.
    false_non_matches: int | None
    false_matches: int | None


def identification(path: Path) -> Identification:
    """From a transcript of a rank test."""
    tally = Counter[str]()
    with open_transcript(path) as reader:
        threshold = reader.header.params.get("threshold")
        better = reader.header.test.larger_is_better is not False
        for trial in (trial for block in reader.blocks() for trial in block):
            positive, answered = trial.outcome.positive, not (_no(trial.actual) or trial.error)
            tally["enrolled" if positive else "not enrolled"] += 1
            tally["missed" if positive else "mistaken"] += not trial.outcome.success
            tally["acquire"] += not answered
            tally["enrol"] += positive and answered and _no(trial.score) and not _no(trial.best_wrong)
            if threshold is not None and answered:
                tally["right"] += positive and not _passes(trial.score, threshold, better)
                tally["wrong"] += _passes(trial.best_wrong, threshold, better)
    enrolled, not_enrolled = tally["enrolled"], tally["not enrolled"]
    return Identification(
        rank=int(reader.header.params.get("rank", 1)),
        threshold=threshold,
        enrolled=enrolled,
        not_enrolled=not_enrolled,
        fnir=tally["missed"] / enrolled if enrolled else None,
        fpir=tally["mistaken"] / not_enrolled if not_enrolled else None,
        failures_to_acquire=tally["acquire"],
        failures_to_enrol=tally["enrol"],
        false_non_matches=None if threshold is None else tally["right"],
        false_matches=None if threshold is None else tally["wrong"],
    )


def _no(value: object) -> bool:
    return value is UNSET or value is None


def _passes(score: Any, threshold: float, larger: bool) -> bool:
    return not _no(score) and bool(score >= threshold if larger else score <= threshold)
