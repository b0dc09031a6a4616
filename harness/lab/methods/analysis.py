"""Standard errors of one curve by several methods of replication, and with fewer units per stratum."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.analysis.curves.cmc import ProbeRanks
from harness.errors import DataError
from harness.stats.arrays import FloatArray
from harness.stats.identification import Cmc, replicated_cmc
from harness.stats.replication.method import Method, Replication
from harness.stats.replication.sample import Sample, make_sample

WITH_STRATA = (Method.BRR, Method.JACKKNIFE, Method.BOOTSTRAP)
WITHOUT_STRATA = (Method.JACKKNIFE, Method.BOOTSTRAP)
# The suffix of a method that ignores the strata.
NO_STRATA = "_no_strata"


@dataclass(frozen=True, eq=False)
class MethodComparison:
    """`se` by method, named with `NO_STRATA` if it ignores the strata; one number for each rank.

    `units_per_stratum` is None if strata differ in size. `se_with_a_unit_less`: standard errors of each sample without
    the n-th unit of every stratum.
    """

    name: str
    strata: int
    units: int
    units_per_stratum: int | None
    ranks: list[int]
    rates: FloatArray
    se: Mapping[str, FloatArray]
    replicates: Mapping[str, int | None]
    se_with_a_unit_less: Sequence[FloatArray]


def compare_methods(ranked: ProbeRanks, *, limit: int | None = None, seed: int = 0) -> MethodComparison:
    """All methods on the same probes. The test or --stratum must name a stratum."""
    sample, last = ranked.sampling.sample, limit or ranked.gallery
    if not sample.stratified:
        raise DataError(f"{ranked.name}: methods are compared by how they treat strata; name them with --stratum")
    plain = make_sample(sample.cases, units=sample.unit_of_case if sample.clustered else None)
    curves = {method.value: _curve(ranked, sample, method, last, seed) for method in WITH_STRATA}
    curves |= {method.value + NO_STRATA: _curve(ranked, plain, method, last, seed) for method in WITHOUT_STRATA}
    rates, sizes = curves[Method.BRR.value].bands.rate, set(sample.stratum_sizes.tolist())
    per_stratum = sizes.pop() if len(sizes) == 1 else None
    return MethodComparison(
        name=ranked.name,
        strata=sample.strata,
        units=sample.units,
        units_per_stratum=per_stratum,
        ranks=list(range(1, rates.size + 1)),
        rates=rates,
        se={name: curve.bands.se for name, curve in curves.items()},
        replicates={name: curve.bands.replicates for name, curve in curves.items()},
        se_with_a_unit_less=_fewer(ranked, per_stratum, last, seed),
    )


def _curve(ranked: ProbeRanks, sample: Sample, method: Method, limit: int, seed: int) -> Cmc:
    try:
        return replicated_cmc(ranked.rank, sample, limit=limit, replication=Replication(method=method, seed=seed))
    except ValueError as error:
        raise DataError(f"{ranked.name}: {method.value}: {error}") from None


def _fewer(ranked: ProbeRanks, size: int | None, limit: int, seed: int) -> list[FloatArray]:
    """Standard errors by BRR without the n-th unit of every stratum, for each n; none for strata of two or fewer."""
    if size is None or size < 3:
        return []
    sample = ranked.sampling.sample
    number = np.arange(sample.units) % size
    errors = []
    for left_out in range(size):
        at = number[sample.unit_of_case] != left_out
        units, weights = sample.unit_of_case[at], sample.weights[at]
        strata = sample.stratum_of_unit[units]
        rest = make_sample(units.size, strata=strata, units=units, weights=weights, lone=sample.lone)
        errors.append(_curve(replace(ranked, rank=ranked.rank[at]), rest, Method.BRR, limit, seed).bands.se)
    return errors
