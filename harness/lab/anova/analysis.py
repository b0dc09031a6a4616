"""Which columns of the cases, and which pairs of them, make a difference to success: analysis of variance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.align import AlignedRuns, Run, align
from harness.analysis.groups import crossed_columns, several_groups
from harness.analysis.sampling import Sampling, take_sample
from harness.errors import UsageError
from harness.lab.anova.statistics import Factor, variance_terms
from harness.model import finite
from harness.options import DesignOptions
from harness.stats.multiplicity import holm

# The factor that several runs are.
ALGORITHM = "algorithm"


@dataclass(frozen=True)
class TestedTerm:
    """A main effect or an interaction of two factors, as in `VarianceTerm`; None for what is not known.

    `p_adjusted` is corrected for the number of terms.
    """

    factors: tuple[str, ...]
    share: float
    df: int
    f: float | None
    df_error: float | None
    p_value: float | None
    p_adjusted: float | None


@dataclass(frozen=True)
class VarianceAnalysis:
    """The terms of all factors, main effects first."""

    aligned: AlignedRuns
    sampling: Sampling
    factors: list[Factor]
    terms: list[TestedTerm]


def analyse_variance(runs: Sequence[Run], by: str, design: DesignOptions, *, partial: bool = False) -> VarianceAnalysis:
    """Main effects and two-way interactions of columns; of several runs, the algorithm is a factor too."""
    columns = crossed_columns(by)
    aligned = align(runs, partial=partial)
    sampling = take_sample(aligned, design)
    factors = [_factor(aligned, sampling, column) for column in columns]
    if len({factor.name for factor in factors} | {ALGORITHM}) < len(factors) + 1:
        raise UsageError(f"--by {by}: every column once, and none is called {ALGORITHM}")
    if len(runs) > 1:
        factors.insert(0, Factor(ALGORITHM, np.arange(len(runs)), of_runs=True))
    try:
        terms = variance_terms(aligned.success_of_cases, factors, sampling.sample)
    except ValueError as error:
        raise UsageError(f"--by {by}: {error}") from None
    p_values = holm([None if term.test is None else term.test.p_value for term in terms])
    tested = []
    for term, p_adjusted in zip(terms, p_values.tolist(), strict=True):
        test = term.test
        numbers = (None, None, None) if test is None else (test.f, test.df_error, test.p_value)
        tested.append(TestedTerm(term.factors, term.share, term.df, *map(finite, (*numbers, p_adjusted))))
    return VarianceAnalysis(aligned, sampling, factors, tested)


def _factor(aligned: AlignedRuns, sampling: Sampling, column: str) -> Factor:
    if column in (sampling.psu, "psu"):
        raise UsageError(
            f"--by {column}: the values of the sampling unit were drawn, and others would be drawn next time; "
            "name columns whose values stay"
        )
    groups = several_groups(aligned, column)
    return Factor(groups.column, groups.codes)
