"""Which columns of the cases, and which pairs of them, make a difference to success: analysis of variance."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from harness.analysis.align import AlignedRuns, Run, align
from harness.analysis.groups import several_groups
from harness.analysis.run_names import identity_json
from harness.analysis.sampling import Sampling, finite, take_sample
from harness.errors import UsageError
from harness.options import DesignOptions
from harness.stats.multiplicity import Multiplicity, adjusted
from harness.stats.variance_analysis import Factor, VarianceTerm, variance_terms

# The factor that several runs are.
ALGORITHM = "algorithm"


@dataclass(frozen=True)
class VarianceAnalysis:
    """The terms of all factors, main effects first, with p-values corrected for their number."""

    aligned: AlignedRuns
    sampling: Sampling
    factors: list[Factor]
    terms: list[VarianceTerm]
    p_adjusted: list[float | None]


def analyse_variance(
    runs: Sequence[Run], columns: Sequence[str], design: DesignOptions, *, partial: bool = False
) -> VarianceAnalysis:
    """Main effects and two-way interactions of columns; of several runs, the algorithm is a factor too."""
    aligned = align(runs, partial=partial)
    sampling = take_sample(aligned, design)
    factors = [_factor(aligned, sampling, column) for column in columns]
    if len({factor.name for factor in factors} | {ALGORITHM}) < len(factors) + 1:
        raise UsageError(f"--anova {','.join(columns)}: every column once, and none is called {ALGORITHM}")
    if len(runs) > 1:
        factors.insert(0, Factor(ALGORITHM, np.arange(len(runs)), of_runs=True))
    try:
        terms = variance_terms(aligned.success.astype(np.float64), factors, sampling.sample)
    except ValueError as error:
        raise UsageError(f"--anova {','.join(columns)}: {error}") from None
    return VarianceAnalysis(aligned, sampling, factors, terms, _holm(terms))


def _factor(aligned: AlignedRuns, sampling: Sampling, column: str) -> Factor:
    if column in (sampling.psu, "psu"):
        raise UsageError(
            f"--anova {column}: the values of the sampling unit were drawn, and others would be drawn next time; "
            "name columns whose values stay"
        )
    try:
        groups = several_groups(aligned, column)
    except UsageError as error:
        raise UsageError(str(error).replace("--by", "--anova", 1)) from None
    return Factor(groups.column, groups.codes)


def _holm(terms: Sequence[VarianceTerm]) -> list[float | None]:
    p_values = np.array([np.nan if one.test is None else one.test.p_value for one in terms])
    return [None if isnan(p) else float(p) for p in adjusted(p_values, Multiplicity.HOLM).tolist()]


def anova_json(found: VarianceAnalysis) -> dict[str, Any]:
    """The JSON that the documentation promises."""
    sample = found.sampling.sample
    return {
        "test": identity_json(found.aligned.headers[0].test),
        "transcripts": [{"name": name} for name in found.aligned.names],
        "anova": {
            "factors": [{"name": factor.name, "levels": factor.levels} for factor in found.factors],
            "cases": found.aligned.n,
            "units": sample.units,
            "strata": sample.strata,
            "target": found.sampling.target,
            "terms": [_term_json(*one) for one in zip(found.terms, found.p_adjusted, strict=True)],
        },
    }


def _term_json(term: VarianceTerm, p_adjusted: float | None) -> dict[str, Any]:
    test = term.test
    return {
        "factors": list(term.factors),
        "share": term.share,
        "df": term.df,
        "f": None if test is None else finite(test.f),
        "df_error": None if test is None else finite(test.df_error),
        "p_value": None if test is None else finite(test.p_value),
        "p_adjusted": p_adjusted,
    }
