"""The rate of a run with the error that its design gives: what `run`, `sweep` and `import` print beside the counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.analysis.comparing.align import Aligned, Run, align
from harness.analysis.comparing.sampling import DesignOptions, Sampling, sample_units, take_sample
from harness.analysis.deciding import Answers
from harness.errors import HateError
from harness.params import Value
from harness.stats.estimate import Estimate
from harness.stats.replication.estimates import make_estimate, make_estimates
from harness.stats.replication.plan import Plan
from harness.stats.replication.sample import Sample
from harness.stats.replication.statistic import rate
from harness.transcript.columns import read_columns
from harness.transcript.format import Header
from harness.transcript.read import open_transcript

# Settings of a sweep that are estimated at a time.
BLOCK = 64


@dataclass(frozen=True)
class DesignRate:
    """A rate by design; no estimate, but the reason, where the sample is too small for an error."""

    estimate: Estimate | None
    sampling: Sampling | None
    reason: str = ""


def rate_of_units(sums: Mapping[tuple[Any, Any], Sequence[int]], header: Header) -> DesignRate:
    """From the tally that a run kept while it recorded."""
    try:
        sampling, success = sample_units(sums, header)
        return DesignRate(make_estimate(sampling.sample, rate(success), Plan()), sampling)
    except (HateError, ValueError) as error:
        return DesignRate(None, None, str(error))


def rate_of_transcript(path: Path) -> DesignRate:
    """From a transcript, whatever its design is."""
    try:
        aligned = _aligned(path)
        sampling = take_sample(aligned, DesignOptions())
        return DesignRate(make_estimate(sampling.sample, rate(aligned.success[0]), Plan()), sampling)
    except (HateError, ValueError) as error:
        return DesignRate(None, None, str(error))


def sampling_of_transcript(path: Path) -> Sampling:
    """How the cases of a transcript were sampled; a HateError where that is not enough for an error."""
    return take_sample(_aligned(path), DesignOptions())


def rates_of_answers(answers: Answers, values: Sequence[Value], sampling: Sampling) -> list[DesignRate]:
    """Of recorded answers at several values of the decision parameter."""
    try:
        return [DesignRate(one, sampling) for one in _at_values(answers, values, sampling.sample)]
    except ValueError as error:
        return [DesignRate(None, None, str(error))] * len(values)


def _aligned(path: Path) -> Aligned:
    with open_transcript(path) as reader:
        lean = not reader.header.weighs_cases
    return align([Run(read_columns(path, lean=lean), str(path), path.stem)])


def _at_values(answers: Answers, values: Sequence[Value], sample: Sample) -> list[Estimate]:
    limit, positive = np.asarray(answers.limit), np.asarray(answers.positive, dtype=np.bool_)
    found: list[Estimate] = []
    for start in range(0, len(values), BLOCK):
        block = np.array([float(value) for value in values[start : start + BLOCK]])
        accepted = limit[:, None] >= block if answers.falling else limit[:, None] <= block
        found += make_estimates(sample, rate(accepted == positive[:, None]), Plan()).all()
    return found
