"""The error of a run's rate: by its design, and from the algorithm's randomness and the training sample."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.analysis.align import Run, align
from harness.analysis.sampling import Sampling, sample_units, take_sample
from harness.errors import HateError, TranscriptError
from harness.options import DesignOptions
from harness.stats.estimate import Estimate
from harness.stats.repeats import Repeats, TrainingVariance, repeats, training_variance
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.method import Replication
from harness.stats.replication.statistic import rate
from harness.transcript.columns import Coded, Columns, read_columns
from harness.transcript.format import Header
from harness.transcript.read import open_transcript


@dataclass(frozen=True)
class DesignRate:
    """A rate by design; without an estimate, the reason why the sample gives no error."""

    estimate: Estimate | None
    sampling: Sampling | None
    reason: str = ""


def rate_of_units(sums: Mapping[tuple[Any, Any], Sequence[int]], header: Header) -> DesignRate:
    """From the tally that a run kept while it recorded."""
    try:
        sampling, success = sample_units(sums, header)
        return DesignRate(make_estimate(sampling.sample, rate(success), Replication()), sampling)
    except (HateError, ValueError) as error:
        return DesignRate(None, None, str(error))


def rate_of_transcript(path: Path, *, partial: bool = False) -> DesignRate:
    """From a transcript, whatever its design is; `partial` if it need not be complete."""
    try:
        with open_transcript(path) as reader:
            lean = not reader.header.weighs_cases
        aligned = align([Run(read_columns(path, lean=lean), str(path), path.stem)], partial=partial)
        sampling = take_sample(aligned, DesignOptions())
        return DesignRate(make_estimate(sampling.sample, rate(aligned.success[0]), Replication()), sampling)
    except (HateError, ValueError) as error:
        return DesignRate(None, None, str(error))


Labels = npt.NDArray[np.int32]


def transcript_repeats(path: Path, times: int) -> Repeats:
    """Variance between cases and between runs; records are in case order, each case's answers together."""
    return repeats_of(read_columns(path), times)


def repeats_of(columns: Columns, times: int) -> Repeats:
    """The same for records that were read before."""
    return repeats(np.asarray(columns.success).reshape(-1, times), **case_groups(columns, times))


def case_groups(columns: Columns, times: int) -> "dict[str, Labels | None]":
    """The unit and the stratum of each case, for runs that ask it several times."""
    return {
        "units": _labels(columns.psu, times),
        "strata": _labels(columns.stratum, times),
    }


def _labels(column: Coded, times: int) -> "Labels | None":
    return None if (column.codes < 0).any() else column.codes[::times]


def transcripts_training(paths: Sequence[Path], repeat: int) -> TrainingVariance:
    """Variance by training, case and run; records are in case order, each case's answers together."""
    columns = [read_columns(path) for path in paths]
    tables = [np.asarray(run.success).reshape(-1, repeat) for run in columns]
    try:
        return training_variance(np.stack(tables, axis=1), **case_groups(columns[0], repeat))
    except ValueError as error:
        raise TranscriptError(f"{paths[0]} and the others: {error}") from None
