"""How cases were sampled, and so what the intervals are about, in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from harness.report.numbers import degrees_of_freedom, method_words

if TYPE_CHECKING:
    # Not at run time: a run prints what its interval is about without importing numpy.
    from harness.analysis.sampling import Sampling
    from harness.stats.estimate import Estimate

INDEPENDENT = "for new cases, taken as independent"


def target_text(target: str, stratum: str | None) -> str:
    """The target in the JSON output, reworded for a sentence: these strata (truth) and new images."""
    return target if stratum is None else target.replace("these strata, ", f"these strata ({stratum}) and ", 1)


def target_words(sampling: Sampling) -> str:
    """What an interval by design is for: for these strata (truth) and new images."""
    return f"for {target_text(sampling.target, sampling.stratum)}"


def sampling_lines(sampling: Sampling, estimate: Estimate | None) -> list[str]:
    """How the cases were sampled, what follows for the intervals, and how to change it."""
    lines = _sampling_lines(sampling, estimate)
    if sampling.identities is None or sampling.psu is not None:
        return lines
    a, b = sampling.identities
    told = (
        f"Each case compares two identities, {a} and {b}. Comparisons that share one are alike, but are taken as "
        f"independent here, so intervals are too narrow: --psu {a} or --psu {b} allows for new ones on one side; hate "
        f"roc, det and pr have --subjects {a},{b} for both sides."
    )
    return [told] if not sampling.known else [*lines, told]


def _sampling_lines(sampling: Sampling, estimate: Estimate | None) -> list[str]:
    if not sampling.known:
        return [
            "No stratum and no PSU: cases are taken as independent. If they come in groups, say so: "
            "--psu COLUMN (groups that were drawn), --stratum COLUMN (groups that a repetition would have again)."
        ]
    if estimate is None:
        return [f"Results by design are {target_words(sampling)}."]
    sample = sampling.sample
    how = f"{estimate.replicates:,} replicates" if estimate.replicates else "all groupings of units at once"
    how = "no replicates needed" if not estimate.replicates and estimate.groupings is None else how
    strata = f"{sample.strata:,} {'stratum' if sample.strata == 1 else 'strata'}, " if sampling.stratum else ""
    known = "" if math.isinf(estimate.df) else f"{degrees_of_freedom(estimate.df)}, "
    joined = [f"Strata with a single unit were joined: {', '.join(names)}." for names in sample.collapsed]
    return [
        f"Intervals by design use {method_words(estimate.method)}, {target_words(sampling)}.",
        f"{strata}{sample.units:,} units, {how}, {known}weights: {sampling.weights}.",
        *joined,
    ]
