"""Standard errors of one curve by several methods of replication, side by side, and with fewer units a stratum."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.analysis.cmc import ProbeRanks
from harness.errors import DataError
from harness.stats.arrays import FloatArray
from harness.stats.identification import Cmc, replicated_cmc
from harness.stats.replication.method import Method, Replication
from harness.stats.replication.sample import Sample, make_sample

KNOWING = (Method.BRR, Method.JACKKNIFE, Method.BOOTSTRAP)
IGNORING = (Method.JACKKNIFE, Method.BOOTSTRAP)


@dataclass(frozen=True, eq=False)
class MethodComparison:
    """`se` by method; those that ignore the strata have names that end so. Without units: strata differ in size."""

    name: str
    strata: int
    units: int
    per_stratum: int | None
    rates: FloatArray
    se: Mapping[str, FloatArray]
    replicates: Mapping[str, int | None]
    # Of the whole sample, and of each sample without the n-th unit of every stratum.
    fewer: Sequence[FloatArray]

    @property
    def ranks(self) -> list[int]:
        """1, 2, ..."""
        return list(range(1, self.rates.size + 1))


IGNORES = ", no strata"


def compare_methods(ranked: ProbeRanks, *, limit: int | None = None, seed: int = 0) -> MethodComparison:
    """All methods on the same probes. A stratum must have been named, by the test or by --stratum."""
    sample, last = ranked.sampling.sample, limit or ranked.gallery
    if not sample.stratified:
        raise DataError(f"{ranked.name}: --methods compares what methods make of strata; name them with --stratum")
    plain = make_sample(sample.cases, units=sample.unit_of_case if sample.clustered else None)
    curves = {method.value: _curve(ranked.rank, sample, method, last, seed) for method in KNOWING}
    curves |= {method.value + IGNORES: _curve(ranked.rank, plain, method, last, seed) for method in IGNORING}
    sizes = set(sample.stratum_sizes.tolist())
    per_stratum = sizes.pop() if len(sizes) == 1 else None
    return MethodComparison(
        name=ranked.name,
        strata=sample.strata,
        units=sample.units,
        per_stratum=per_stratum,
        rates=curves[Method.BRR.value].bands.rate,
        se={name: curve.bands.se for name, curve in curves.items()},
        replicates={name: curve.bands.replicates for name, curve in curves.items()},
        fewer=_fewer(ranked.rank, sample, per_stratum, last, seed),
    )


def _curve(rank: FloatArray, sample: Sample, method: Method, limit: int, seed: int) -> Cmc:
    try:
        return replicated_cmc(rank, sample, limit=limit, replication=Replication(method=method, seed=seed))
    except ValueError as error:
        raise DataError(f"--methods: {method.value}: {error}") from None


def _fewer(rank: FloatArray, sample: Sample, size: int | None, limit: int, seed: int) -> list[FloatArray]:
    """Standard errors by BRR without the n-th unit of every stratum, for each n; none for strata of two or fewer."""
    if size is None or size < 3:
        return []
    number = np.arange(sample.units) % size
    kept = [number[sample.unit_of_case] != left_out for left_out in range(size)]
    return [_curve(rank[at], _part(sample, at), Method.BRR, limit, seed).bands.se for at in kept]


def _part(sample: Sample, at: npt.NDArray[np.bool_]) -> Sample:
    units = sample.unit_of_case[at]
    return make_sample(
        int(at.sum()), strata=sample.stratum_of_unit[units], units=units, weights=sample.weights[at], lone=sample.lone
    )


def methods_json(found: MethodComparison) -> dict[str, Any]:
    """All ranks."""
    return {
        "name": found.name,
        "strata": found.strata,
        "units": found.units,
        "units_per_stratum": found.per_stratum,
        "ranks": found.ranks,
        "rates": found.rates.tolist(),
        "se": {name.replace(IGNORES, "_no_strata"): se.tolist() for name, se in found.se.items()},
        "replicates": {name.replace(IGNORES, "_no_strata"): count for name, count in found.replicates.items()},
        "se_with_a_unit_less": [se.tolist() for se in found.fewer],
    }
