"""The variance of trainings, from the transcripts of runs that each held back another fold."""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness.analysis.repeats import case_groups
from harness.errors import TranscriptError
from harness.stats.training_variance import TrainingVariance, training_variance
from harness.transcript.columns import read_columns


def transcripts_training(paths: Sequence[Path], repeat: int) -> TrainingVariance:
    """Training, case and run, kept apart; records are in case order, each case's answers together."""
    columns = [read_columns(path) for path in paths]
    tables = [np.asarray(one.success).reshape(-1, repeat) for one in columns]
    try:
        return training_variance(np.stack(tables, axis=1), **case_groups(columns[0], repeat))
    except ValueError as error:
        raise TranscriptError(f"{paths[0]} and the others: {error}") from None


def as_json(found: TrainingVariance) -> dict[str, Any]:
    """What JSON can hold of it."""
    plain = dataclasses.asdict(found)
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in plain.items()}


def sentences(found: TrainingVariance, psu: str = "units") -> list[str]:
    """The result in words; `psu` is what the units are."""
    new = "new cases" if found.units == found.cases else f"new {psu}"
    parts = {"training": found.training, "case": found.case}
    parts |= {"case by training" if found.runs > 1 else "case by training and dice": found.interaction}
    if found.runs > 1:
        parts["run"] = found.run
    total = sum(max(part, 0.0) for part in parts.values())
    shares = ", ".join(f"{name} {max(part, 0.0) / total:.1%}" for name, part in parts.items()) if total else "none"
    return [
        f"{found.folds} trainings, each without another fold: rate {found.rate:.4f}, from {min(found.rates):.4f} to "
        f"{max(found.rates):.4f}; variance of an answer: {shares}",
        f"standard error {found.se_cases:.4f} for {new}, {found.se_training:.4f} for another training sample "
        f"({found.df_training:.0f} degrees of freedom), {found.se:.4f} for both",
    ]
