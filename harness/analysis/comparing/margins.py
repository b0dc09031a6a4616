"""As good as, within a margin: non-inferiority and equivalence of every pair, with the error that the design gives."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.comparing.comparison import Comparison, Pair
from harness.stats.equivalence import Equivalence, equivalent, paired_equivalent
from harness.stats.limits import cases_without_variance
from harness.stats.multiplicity import holm
from harness.stats.paired import Table


@dataclass(frozen=True)
class Margin:
    """The tests of one pair; p-values are corrected for the number of pairs, each kind by itself.

    `not_inferior`: A is not worse than B by the margin; `not_superior`: nor B than A.
    """

    found: Equivalence
    p_not_inferior: float
    p_not_superior: float
    p_equivalent: float


def margins(found: Comparison, margin: float) -> list[Margin | None]:
    """Of every pair; None where a run has no value to compare. Worse is smaller, or larger for a rate of errors."""
    return with_corrected([_test(found, pair, margin) for pair in found.pairs])


def with_corrected(tests: Sequence[Equivalence | None]) -> list[Margin | None]:
    """Tests with p-values corrected for their number."""
    known = [test for test in tests if test is not None]
    corrected = iter(
        zip(
            known,
            *(
                holm(np.array([getattr(test, name) for test in known])).tolist()
                for name in ("p_not_inferior", "p_not_superior", "p_equivalent")
            ),
            strict=True,
        )
    )
    return [None if test is None else Margin(*next(corrected)) for test in tests]


def _test(found: Comparison, pair: Pair, margin: float) -> Equivalence | None:
    # 1 - 0.95 is not 0.05 in binary.
    one, alpha = pair.replication, round(found.alpha, 12)
    if one is not None and one.se > 0 and one.interval is not None:
        ahead = one.value if found.larger_is_better else -one.value
        return equivalent(ahead, one.se, margin=margin, df=one.df, alpha=alpha)
    if pair.beyond:
        return None
    # Without a design, or without variance: the score test, with what the cases are worth then.
    sample = found.sampling.sample
    effect = 1.0 if one is None else sample.cases / float(cases_without_variance(sample.cases, sample.units))
    table = Table(n_ff=pair.n_ff, n_sf=pair.n_sf, n_fs=pair.n_fs, n_ss=pair.n_ss)
    return paired_equivalent(table, margin=margin, alpha=alpha, design_effect=effect)
