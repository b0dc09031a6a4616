"""Elements for the urn, from transcripts or matrices: the columns of each, and its success at every threshold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from harness.analysis.align import Run
from harness.analysis.decisions import limits_of, read_answers
from harness.errors import TranscriptError, UsageError
from harness.matrices.matrix import Matrix
from harness.params import nearest
from harness.stats.arrays import BoolArray, IntArray
from harness.transcript.columns import Coded

# Columns that every source has: the source itself, and the repetition of `--repeat`.
SOURCE, REPEAT = "source", "repeat"


@dataclass(frozen=True, eq=False)
class UrnElements:
    """`success` is (elements, thresholds); a threshold is None for outcomes as recorded."""

    success: BoolArray
    thresholds: Sequence[float | None]
    columns: Mapping[str, IntArray]
    rule: str
    left_out: int = 0

    def column(self, name: str, option: str) -> IntArray:
        """A column as numbers from 0."""
        if name not in self.columns:
            raise UsageError(f"{option} {name}: no such column; {nearest(name, self.columns)}")
        return self.columns[name]


def from_runs(runs: Sequence[Run], paths: Sequence[Path], thresholds: Sequence[float]) -> UrnElements:
    """The records of transcripts, at values of their decision parameter, or with their recorded outcomes."""
    incomplete = [run.source for run in runs if not run.columns.complete]
    if incomplete:
        raise TranscriptError(f"{incomplete[0]}: incomplete; finish it with --resume first")
    if thresholds:
        success = np.concatenate([_decided(path, thresholds) for path in paths])
        rule = f"decided again at each {limits_of(runs[0].columns.header).param}"
    else:
        success = np.concatenate([run.columns.success for run in runs])[:, None]
        rule = "outcome TP or TN, as recorded"
    return UrnElements(success, list(thresholds) or [None], _columns_of_runs(runs), rule)


def _decided(path: Path, thresholds: Sequence[float]) -> BoolArray:
    answers = read_answers(path)
    limit = np.array(answers.limit)[:, None]
    accepted = limit >= np.array(thresholds) if answers.falling else limit <= np.array(thresholds)
    return np.asarray(accepted == np.array(answers.positive, dtype=np.bool_)[:, None])


def _columns_of_runs(runs: Sequence[Run]) -> dict[str, IntArray]:
    names = dict.fromkeys(name for run in runs for name in run.columns.columns)
    own = {"expect": "expect", "truth": "real_class", "stratum": "stratum", "psu": "psu"}
    columns = {name: _joined([run.columns.columns.get(name) for run in runs], runs) for name in names}
    for name, attribute in own.items():
        coded: list[Coded] = [getattr(run.columns, attribute) for run in runs]
        if name not in columns and any((one.codes >= 0).any() for one in coded):
            columns[name] = _joined(coded, runs)
    sizes = [len(run.columns.ids) for run in runs]
    columns.setdefault("id", _numbered(np.array([name for run in runs for name in run.columns.ids])))
    columns.setdefault(SOURCE, np.repeat(np.arange(len(runs)), sizes))
    columns.setdefault(REPEAT, _numbered(np.concatenate([run.columns.repeat for run in runs])))
    return columns


def _joined(parts: Sequence[Coded | None], runs: Sequence[Run]) -> IntArray:
    """A column over several transcripts, by its texts; a missing value is a level of its own."""
    place: dict[str, int] = {"": 0}
    joined = []
    for part, run in zip(parts, runs, strict=True):
        if part is None:
            joined.append(np.zeros(len(run.columns.ids), np.intp))
            continue
        table = np.array([*(place.setdefault(label, len(place)) for label in part.labels), 0], dtype=np.intp)
        joined.append(table[part.codes])
    return _numbered(np.concatenate(joined))


def from_matrices(
    matrices: Sequence[Matrix], thresholds: Sequence[float], *, on: str = "rank", identity: str
) -> UrnElements:
    """The probes of matrices; success is a rank up to the threshold, or a score of the right person that passes it."""
    ranks = [matrix.ranks(identity) for matrix in matrices]
    values = np.concatenate([one.rank if on == "rank" else one.best_right for one in ranks])
    known = ~np.isnan(values)
    larger = {matrix.larger_is_better for matrix in matrices} == {True}
    limits = np.array(thresholds or [1.0])
    above = on == "score" and larger
    success = values[known, None] >= limits if above else values[known, None] <= limits
    labels = [matrix.rows for matrix in matrices]
    names = [name for name in labels[0].columns if all(name in one.columns for one in labels)]
    columns = {name: _numbered(np.concatenate([one.column(name) for one in labels])[known]) for name in names}
    columns.setdefault(SOURCE, np.repeat(np.arange(len(labels)), [len(one) for one in labels])[known])
    rule = f"{on} {'at least' if above else 'at most'} the threshold"
    return UrnElements(success, limits.tolist(), columns, rule, int(np.count_nonzero(~known)))


def _numbered(values: npt.NDArray[np.generic]) -> IntArray:
    codes = np.unique(values, return_inverse=True)[1]
    return np.asarray(codes.reshape(-1), dtype=np.intp)
