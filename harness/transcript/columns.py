"""A transcript as columns: numpy arrays of numbers and of codes for texts, ready to be compared."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.model import Outcome
from harness.transcript.format import Header
from harness.transcript.texts import Coded

__all__ = ["DETAILS", "NOT_LEAN", "NUMBERS", "OUTCOMES", "TEXTS", "Coded", "Columns", "read_columns"]

OUTCOMES = tuple(Outcome)
# The fields of a record that become columns, by their kind.
TEXTS = ("expect", "truth", "actual", "error", "stratum", "psu")
NUMBERS = ("score", "seconds", "memory", "rank")
DETAILS = ("pixels", "boxes")
# What is left out if columns are read for outcomes and resources alone.
NOT_LEAN = frozenset({"expect", "truth", "actual", "score", "rank", "columns", "values", "details"})


@dataclass(frozen=True)
class Columns:
    """All records of a transcript, in the order of the file."""

    header: Header
    complete: bool
    ids: Sequence[str]
    # Indexes into OUTCOMES.
    outcome: npt.NDArray[np.int8]
    # Numbers are NaN if a record has none.
    score: npt.NDArray[np.float64]
    seconds: npt.NDArray[np.float64]
    memory: npt.NDArray[np.float64]
    rank: npt.NDArray[np.float64]
    repeat: npt.NDArray[np.int32]
    expect: Coded
    truth: Coded
    actual: Coded
    error: Coded
    stratum: Coded
    psu: Coded
    columns: dict[str, Coded] = field(default_factory=dict)
    # Further numbers by name, also NaN if a record has none.
    values: dict[str, npt.NDArray[np.float64]] = field(default_factory=dict)
    # What tasks record of images and boxes, by the key of the record; None for a record without it.
    details: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def real_class(self) -> Coded:
        """The truth, or the claim if it is true: a record of a true claim need not state both."""
        labels = list(dict.fromkeys([*self.truth.labels, *self.expect.labels]))
        code_of = {label: code for code, label in enumerate(labels)}
        tables = [np.array([*map(code_of.get, each.labels), -1], dtype=np.int32) for each in (self.truth, self.expect)]
        claimed = np.where(self.positive, tables[1][self.expect.codes], -1)
        return Coded(np.where(self.truth.codes >= 0, tables[0][self.truth.codes], claimed), labels)

    @property
    def success(self) -> npt.NDArray[np.bool_]:
        """Whether each outcome is TP or TN."""
        by_code = np.array([outcome.success for outcome in OUTCOMES])
        success: npt.NDArray[np.bool_] = by_code[self.outcome]
        return success

    @property
    def positive(self) -> npt.NDArray[np.bool_]:
        """Whether each outcome is TP or FN."""
        by_code = np.array([outcome.positive for outcome in OUTCOMES])
        positive: npt.NDArray[np.bool_] = by_code[self.outcome]
        return positive


def read_columns(path: Path, *, name: str | None = None, lean: bool = False) -> Columns:
    """Read a transcript, plain or gzipped; it may be incomplete. `name` is for messages.

    `lean` leaves out what only some analyses need: see `NOT_LEAN`.
    """
    # With their decoders, which programs that only name columns need not make.
    from harness.transcript.collect import collect
    from harness.transcript.forms import is_parquet
    from harness.transcript.kept_columns import find_columns

    found = find_columns(path, lean=lean)
    if found is None and is_parquet(path):
        from harness.transcript.parquet_columns import read_parquet_columns

        found = read_parquet_columns(path, lean=lean)
    return collect(path, name=name, lean=lean) if found is None else found
