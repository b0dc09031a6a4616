"""How often the joint Wald test finds a difference between equally good algorithms at 5 %.

    python -m benchmarks.bench_wald [EXPERIMENTS]

Every algorithm has a skill of its own in each unit (beta, intraclass correlation 0.2). Columns: chi-square, F with
units - strata degrees of freedom, F with `eta` estimated from the units, and the mean eta. With the default of 500
experiments the standard error of 5 % is 1 %.
"""

import sys
from dataclasses import dataclass

import numpy as np

from harness.stats.arrays import FloatArray, IntArray
from harness.stats.cochran import WaldTest, equal_rates
from harness.stats.replication.linearised import linearised_covariance
from harness.stats.replication.sample import Sample, make_sample

ICC = 0.2
UNEQUAL = (2, 3, 4, 5, 6, 8, 10, 14, 20, 30)


@dataclass(frozen=True)
class Design:
    what: str
    sizes: tuple[int, ...]
    rate: float
    units_per_stratum: int | None = None

    def strata(self) -> IntArray:
        units = len(self.sizes)
        return np.arange(units) // (self.units_per_stratum or units)


DESIGNS = (
    Design("10 units of 10, rate 0.8", (10,) * 10, 0.8),
    Design("5 strata of 2 units of 10, rate 0.8", (10,) * 10, 0.8, 2),
    Design("10 units of 2 to 30, rate 0.8", UNEQUAL, 0.8),
    Design("20 units of 10, rate 0.95", (10,) * 20, 0.95),
    Design("40 units of 2 to 30, rate 0.8", UNEQUAL * 4, 0.8),
    Design("20 strata of 2 units of 2 to 30, rate 0.8", UNEQUAL * 4, 0.8, 2),
    Design("40 units of 10, rate 0.99", (10,) * 40, 0.99),
    Design("100 units of 10, rate 0.99", (10,) * 100, 0.99),
    Design("300 units of 10, rate 0.99", (10,) * 300, 0.99),
    Design("300 units of 10, rate 0.8", (10,) * 300, 0.8),
)


def experiment(design: Design, sample: Sample, algorithms: int, rng: np.random.Generator) -> tuple[WaldTest, WaldTest]:
    """The test without and with the values of the units, on counts of successes with equal weights."""
    sizes, spread = np.array(design.sizes), 1 / ICC - 1
    skill = rng.beta(design.rate * spread, (1 - design.rate) * spread, size=(algorithms, len(sizes)))
    successes = rng.binomial(sizes, skill)
    rates = successes.sum(axis=1) / sizes.sum()
    influences: FloatArray = (successes - rates[:, None] * sizes).T / sizes.sum()
    deviations = influences - stratum_means(influences, sample)
    covariance, df = linearised_covariance(sample, influences), sample.units - sample.strata
    return equal_rates(rates, covariance, df=df), equal_rates(rates, covariance, df=df, unit_values=deviations)


def stratum_means(influences: FloatArray, sample: Sample) -> FloatArray:
    strata = sample.stratum_of_unit
    sums = np.stack([np.bincount(strata, weights=column) for column in influences.T], axis=1)
    return np.asarray((sums / sample.stratum_sizes[:, None])[strata])


def row(design: Design, algorithms: int, experiments: int) -> str:
    rng = np.random.default_rng(len(design.sizes) * algorithms)
    sample = make_sample(len(design.sizes), strata=design.strata())
    pairs = [experiment(design, sample, algorithms, rng) for _ in range(experiments)]
    chi2 = np.mean([usual.p_chi2 < 0.05 for usual, _ in pairs])
    usual = np.mean([usual.p_value < 0.05 for usual, _ in pairs])
    corrected = np.mean([found.p_value < 0.05 for _, found in pairs])
    eta = np.mean([found.eta for _, found in pairs])
    return f"{design.what:42} {algorithms:3} {chi2:8.1%} {usual:8.1%} {corrected:8.1%} {eta:8.1f}"


def main(experiments: int) -> None:
    print(f"{'':42} {'m':>3} {'chi2':>8} {'F, df':>8} {'F, eta':>8} {'eta':>8}")
    for algorithms in (3, 5):
        for design in DESIGNS:
            print(row(design, algorithms, experiments), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
