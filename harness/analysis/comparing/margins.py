"""As good as, within a margin: non-inferiority and equivalence of every pair, with the error that the design gives."""

from dataclasses import dataclass

import numpy as np

from harness.analysis.comparing.comparison import Comparison, Pair
from harness.stats.equivalence import Equivalence, equivalent, paired_equivalent
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
    tests = [_test(found, pair, margin) for pair in found.pairs]
    known = [test for test in tests if test is not None]
    adjusted = iter(
        zip(
            known,
            *(
                holm(np.array([getattr(test, name) for test in known])).tolist()
                for name in ("p_not_inferior", "p_not_superior", "p_equivalent")
            ),
            strict=True,
        )
    )
    return [None if test is None else Margin(*next(adjusted)) for test in tests]


def _test(found: Comparison, pair: Pair, margin: float) -> Equivalence | None:
    # 1 - 0.95 is not 0.05 in binary.
    one, alpha = pair.replication, round(found.alpha, 12)
    if one is not None and one.se > 0:
        ahead = one.estimate if found.larger_is_better else -one.estimate
        return equivalent(ahead, one.se, margin=margin, df=one.df, alpha=alpha)
    if pair.beyond:
        return None
    # Without a design, or without variance: the score test, the cases of a unit taken for one.
    sample = found.sampling.sample
    effect = 1.0 if one is None else sample.cases / sample.units
    table = Table(n_ff=pair.n_ff, n_sf=pair.n_sf, n_fs=pair.n_fs, n_ss=pair.n_ss)
    return paired_equivalent(table, margin=margin, alpha=alpha, design_effect=effect)


def margin_verdict(found: Comparison, pair: Pair, one: Margin | None) -> str:
    """What was shown, and what was not."""
    a, b = found.aligned.names[pair.a], found.aligned.names[pair.b]
    if one is None:
        return f"{a} and {b}: nothing can be said of a margin, since the difference has no error."
    far = f"{one.found.margin:g}"
    if one.p_equivalent <= found.alpha:
        return f"{a} and {b} are equivalent: they differ by less than {far} (p = {_p(one.p_equivalent)})."
    sides = ((a, b, one.p_not_inferior), (b, a, one.p_not_superior))
    shown = [f"{x} is not worse than {y} by {far} or more (p = {_p(p)})" for x, y, p in sides if p <= found.alpha]
    if shown:
        return f"{shown[0]}; that they are equivalent was not shown (p = {_p(one.p_equivalent)})."
    return f"{a} and {b}: neither was shown to be within {far} of the other (p = {_p(one.p_equivalent)})."


def _p(value: float) -> str:
    return f"{value:.2g}" if value < 0.001 else f"{value:.4f}"
