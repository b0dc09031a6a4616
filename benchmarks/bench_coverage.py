"""How often intervals of 95 % contain the truth: t intervals on the raw scale, and those of `harness.stats.limits`.

    python -m benchmarks.bench_coverage [--trials 10000] [--seed 1] [--only WORD]

Every line is a design whose truth is known. Rates are drawn in units from beta distributions, scores from normal
ones, both with an intraclass correlation. `before` is the t (DeLong: normal) interval clipped to the possible range,
with Wilson's limits if there is no variance; `after` is what is printed now; `low` and `high` are how often its lower
limit is above the truth and its upper limit below it. Slow designs (areas, curves) have a quarter of the trials, the
bootstrap a twentieth. It takes a minute or two.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from harness.measures import known_measures
from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.curves.bands import fixed_fpr_bands, replicated_bands, wilson_bands
from harness.stats.curves.scores import ScoredCases, counts_of, make_scored_cases
from harness.stats.curves.summaries import AREA, fnr_at_fpr, summary_difference, summary_estimate
from harness.stats.estimate import Estimate
from harness.stats.limits import (
    difference_limits,
    paired_limits,
    share_limits,
)
from harness.stats.rates import Intervals, wilson
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.linearised import stratum_variances
from harness.stats.replication.sample import Sample, make_sample

SLOW, SLOWEST = 4, 20


@dataclass(frozen=True)
class Trials:
    """The limits of every trial, before and after; `before` may be missing."""

    truth: float
    before: Intervals | None
    after: Intervals


@dataclass(frozen=True)
class Design:
    name: str
    run: Callable[[np.random.Generator, int], Trials]
    cost: int = 1


@dataclass(frozen=True)
class Units:
    """Units with these sizes and rates, in strata; `icc` is the intraclass correlation within a unit."""

    sizes: FloatArray
    rates: FloatArray
    icc: float
    strata: int = 1

    @property
    def sample(self) -> Sample:
        units = self.sizes.size
        return make_sample(units, strata=np.repeat(np.arange(self.strata), units // self.strata))

    @property
    def truth(self) -> float:
        return float(self.sizes @ self.rates / self.sizes.sum())

    @property
    def kish(self) -> dict[str, float]:
        return {"cases": float(self.sizes.sum()), "units": float(self.sizes.sum() ** 2 / (self.sizes**2).sum())}


def equal(units: int, size: int, rate: float, icc: float) -> Units:
    return Units(np.full(units, float(size)), np.full(units, rate), icc)


@dataclass(frozen=True)
class Estimates:
    """Weighted rates of all trials, with standard errors over units."""

    value: FloatArray
    se: FloatArray
    df: float
    linear: FloatArray


def draw(units: Units, rng: np.random.Generator, trials: int) -> FloatArray:
    """Successes (units, trials)."""
    rates = np.broadcast_to(units.rates[:, None], (units.sizes.size, trials))
    if units.icc > 0:
        scale = (1 - units.icc) / units.icc
        rates = rng.beta(rates * scale, (1 - rates) * scale)
    return rng.binomial(units.sizes.astype(int)[:, None], rates).astype(float)


def estimate(units: Units, sums: FloatArray) -> Estimates:
    sample, total = units.sample, units.sizes.sum()
    value = sums.sum(axis=0) / total
    linear = (sums - units.sizes[:, None] * value) / total
    return Estimates(value, root(stratum_variances(sample, linear)), float(sample.units - sample.strata), linear)


def root(variances: FloatArray) -> FloatArray:
    total = variances.sum(axis=0)
    return np.sqrt(np.where(total > 1e-24, total, 0.0))


def t_limits(found: Estimates, units: Units) -> Intervals:
    """What was printed before: Student's t, or Wilson's limits with the units if there is no variance."""
    half = t_quantile(found.df) * found.se
    without = wilson(found.value * units.kish["units"], units.kish["units"])
    return Intervals(
        np.where(found.se == 0, without.low, np.maximum(found.value - half, 0)),
        np.where(found.se == 0, without.high, np.minimum(found.value + half, 1)),
    )


def t_quantile(df: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(df, 0.975))


def rate(units: Units) -> Callable[[np.random.Generator, int], Trials]:
    def run(rng: np.random.Generator, trials: int) -> Trials:
        found = estimate(units, draw(units, rng, trials))
        after = share_limits(found.value, found.se, found.df, **units.kish)
        return Trials(units.truth, t_limits(found, units), after)

    return run


def unpaired(a: Units, b: Units) -> Callable[[np.random.Generator, int], Trials]:
    def run(rng: np.random.Generator, trials: int) -> Trials:
        one, other = (estimate(units, draw(units, rng, trials)) for units in (a, b))
        limits = [share_limits(x.value, x.se, x.df, **u.kish) for x, u in ((one, a), (other, b))]
        gap, se = one.value - other.value, np.hypot(one.se, other.se)
        half = t_quantile(one.df + other.df) * se
        after = difference_limits(one.value, limits[0], other.value, limits[1])
        return Trials(a.truth - b.truth, Intervals(gap - half, gap + half), after)

    return run


def paired(
    units: int, size: int, shares: tuple[float, float], icc: float
) -> Callable[[np.random.Generator, int], Trials]:
    """The shares are those of the cases that only A, and only B, has right."""
    each = equal(units, size, 0.0, icc)

    def run(rng: np.random.Generator, trials: int) -> Trials:
        a, b = discordant(rng, (units, trials), size, shares, icc)
        gap, for_a, for_b = (estimate(each, sums) for sums in (a - b, a, b))
        after = paired_limits(for_a.value, for_b.value, gap.se, gap.df, **each.kish)
        sides = [wilson(x.value * units, units) for x in (for_a, for_b)]
        without = difference_limits(for_a.value, sides[0], for_b.value, sides[1])
        half = t_quantile(gap.df) * gap.se
        low, high = np.maximum(gap.value - half, -1), np.minimum(gap.value + half, 1)
        none = gap.se == 0
        before = Intervals(np.where(none, without.low, low), np.where(none, without.high, high))
        return Trials(shares[0] - shares[1], before, after)

    return run


def discordant(
    rng: np.random.Generator, shape: tuple[int, int], size: int, shares: tuple[float, float], icc: float
) -> tuple[FloatArray, FloatArray]:
    """Cases that only A, and only B, has right, with shares from a Dirichlet distribution in every unit."""
    three = np.broadcast_to(np.array([*shares, 1 - sum(shares)]), (*shape, 3))
    if icc > 0:
        three = np.maximum(rng.gamma(three * (1 - icc) / icc), 1e-300)
        three = three / three.sum(axis=-1, keepdims=True)
    counts = rng.multinomial(size, three)
    return counts[..., 0].astype(float), counts[..., 1].astype(float)


@dataclass(frozen=True)
class Scores:
    """Normal scores: positives `shift` above negatives, in units (0: independent) that share a part of their score."""

    positives: int
    negatives: int
    shift: float
    units: int = 0
    icc: float = 0.0

    @classmethod
    def of_area(cls, area: float, positives: int, negatives: int, units: int = 0, icc: float = 0.0) -> "Scores":
        from scipy.special import ndtri

        return cls(positives, negatives, float(ndtri(area)) * 2**0.5, units, icc)

    @property
    def positive(self) -> BoolArray:
        return np.asarray(np.arange(self.positives + self.negatives) < self.positives)

    @property
    def labels(self) -> IntArray | None:
        """Positives and negatives are dealt to the units in turn."""
        if not self.units:
            return None
        return np.concatenate([np.arange(self.positives), np.arange(self.negatives)]) % self.units

    def noise(self, rng: np.random.Generator) -> FloatArray:
        own = rng.normal(size=self.positive.size)
        if self.labels is None:
            return own
        shared = rng.normal(size=self.units)[self.labels]
        return np.asarray(np.sqrt(self.icc) * shared + np.sqrt(1 - self.icc) * own)

    def draw(self, rng: np.random.Generator) -> ScoredCases:
        return make_scored_cases(self.noise(rng) + self.shift * self.positive, self.positive)

    def sample(self) -> Sample:
        return make_sample(self.positive.size, units=self.labels)


def stack(limits: list[tuple[float, float]]) -> Intervals:
    low, high = np.array(limits).T
    return Intervals(low, high)


def independent_area(area: float, scores: Scores) -> Callable[[np.random.Generator, int], Trials]:
    return estimated_area(area, scores, None)


def clustered_area(area: float, scores: Scores) -> Callable[[np.random.Generator, int], Trials]:
    return estimated_area(area, scores, scores.sample())


def estimated_area(area: float, scores: Scores, sample: Sample | None) -> Callable[[np.random.Generator, int], Trials]:
    """The t interval on the raw scale, and the interval as a user gets it."""

    def run(rng: np.random.Generator, trials: int) -> Trials:
        found = [summary_estimate(AREA, scores.draw(rng), sample) for _ in range(trials)]
        smaller = min(scores.positives, scores.negatives)
        before = stack([raw_t(one, smaller, (0.0, 1.0)) for one in found])
        return Trials(area, before, stack([printed_limits(one) for one in found]))

    return run


def fitted_area(area: float, scores: Scores) -> Callable[[np.random.Generator, int], Trials]:
    """The area under the binormal curve; samples without a curve, as their classes do not overlap, are drawn again."""
    from harness.lab.binormal.statistics import binormal_area

    sample = scores.sample() if scores.units else make_sample(scores.positives + scores.negatives)

    def one(rng: np.random.Generator) -> Estimate:
        while True:
            try:
                return make_estimates(sample, binormal_area([(scores.draw(rng), None)])).estimate(0)
            except ValueError:
                continue

    def run(rng: np.random.Generator, trials: int) -> Trials:
        found = [one(rng) for _ in range(trials)]
        before = stack([raw_t(one, min(scores.positives, scores.negatives), (0.0, 1.0)) for one in found])
        return Trials(area, before, stack([printed_limits(one) for one in found]))

    return run


def printed_limits(one: Estimate) -> tuple[float, float]:
    return (-np.inf, np.inf) if one.interval is None else (one.interval.low, one.interval.high)


def raw_t(one: Estimate, cases: float, bounds: tuple[float, float]) -> tuple[float, float]:
    """Student's t, clipped; Wilson's limits with this number of cases if there is no variance."""
    if one.se == 0:
        limits = wilson(one.value * cases, cases)
        return float(limits.low), float(limits.high)
    half = t_quantile(min(one.df, 1e9)) * one.se
    return max(one.value - half, bounds[0]), min(one.value + half, bounds[1])


def paired_areas(areas: tuple[float, float], scores: Scores, r: float) -> Callable[[np.random.Generator, int], Trials]:
    """Two areas on the same cases, noise correlated by r."""
    shifts = [Scores.of_area(area, 1, 1).shift for area in areas]

    def run(rng: np.random.Generator, trials: int) -> Trials:
        before, after = [], []
        for _ in range(trials):
            one, other = scores.noise(rng), scores.noise(rng)
            noises = one, r * one + np.sqrt(1 - r * r) * other
            a, b = (
                make_scored_cases(x + s * scores.positive, scores.positive) for x, s in zip(noises, shifts, strict=True)
            )
            gap = summary_difference(AREA, a, b)
            before.append(raw_t(gap, 1.0, (-1.0, 1.0)) if gap.se > 0 else (-1.0, 1.0))
            after.append(printed_limits(gap))
        return Trials(areas[0] - areas[1], stack(before), stack(after))

    return run


def curve_at(fpr: float, scores: Scores) -> Callable[[np.random.Generator, int], Trials]:
    """Before: the band at the threshold with this false-positive rate; after: the band at the rate itself."""
    sample = scores.sample() if scores.units else None

    def run(rng: np.random.Generator, trials: int) -> Trials:
        before, after = [], []
        for _ in range(trials):
            cases = scores.draw(rng)
            before.append(at_threshold(cases, sample, fpr))
            band = fixed_fpr_bands(cases, sample, [fpr])
            after.append((float(band.low[0]), float(band.high[0])))
        return Trials(true_tpr(scores, fpr), stack(before), stack(after))

    return run


def at_threshold(cases: ScoredCases, sample: Sample | None, fpr: float) -> tuple[float, float]:
    counts = counts_of(cases)
    place = [int(np.searchsorted(counts.fpr, fpr + 1e-12, side="right")) - 1]
    bands = wilson_bands(counts, place) if sample is None else replicated_bands(cases, sample, place)
    return float(bands.tpr.low[0]), float(bands.tpr.high[0])


def bootstrap_at(fpr: float, scores: Scores) -> Callable[[np.random.Generator, int], Trials]:
    """`fnr_at_fpr` with the bootstrap of units and its t interval."""
    sample = scores.sample()

    def run(rng: np.random.Generator, trials: int) -> Trials:
        found = [summary_estimate(fnr_at_fpr(fpr), scores.draw(rng), sample) for _ in range(trials)]
        return Trials(1 - true_tpr(scores, fpr), None, stack([raw_t(one, 1.0, (0.0, 1.0)) for one in found]))

    return run


def true_tpr(scores: Scores, fpr: float) -> float:
    from scipy.special import ndtr, ndtri

    return float(ndtr(scores.shift + ndtri(fpr)))


def rate_designs() -> Iterator[Design]:
    for units, size, p, icc in [
        (40, 10, 0.9, 0.2), (40, 10, 0.9, 0.5), (10, 10, 0.9, 0.2), (10, 10, 0.9, 0.5),
        (40, 4, 0.7, 0.2), (40, 4, 0.7, 0.5), (10, 4, 0.7, 0.2), (10, 10, 0.7, 0.5),
        (200, 5, 0.993, 0.0), (200, 5, 0.993, 0.1), (200, 10, 0.993, 0.2),
        (100, 5, 0.99, 0.0), (100, 5, 0.99, 0.1), (100, 10, 0.99, 0.2),
        (5, 10, 0.9, 0.1), (10, 100, 0.95, 0.02), (10, 100, 0.9, 0.1), (20, 50, 0.9, 0.3), (73, 2, 0.95, 0.7),
    ]:  # fmt: skip
        yield Design(f"rate {p}, {units} units of {size}, icc {icc}", rate(equal(units, size, p, icc)))
    mixed = np.tile([2.0, 5.0, 10.0, 23.0], 10)
    yield Design("rate 0.9, 40 units of 2 to 23, icc 0.2", rate(Units(mixed, np.full(40, 0.9), 0.2)))
    for strata in (10, 40):
        rates = np.repeat(np.linspace(0.8, 0.99, strata), 2)
        twos = Units(np.full(2 * strata, 10.0), rates, 0.2, strata)
        yield Design(f"rate 0.8 to 0.99, {strata} strata of 2 units of 10, icc 0.2", rate(twos))


def difference_designs() -> Iterator[Design]:
    for units, size, shares, icc in [
        (5, 20, (0.15, 0.02), 0.3), (10, 10, (0.15, 0.02), 0.3), (5, 20, (0.15, 0.02), 0.1),
        (10, 10, (0.15, 0.02), 0.1), (10, 10, (0.15, 0.02), 0.0),
        (100, 10, (0.006, 0.001), 0.1), (100, 10, (0.006, 0.001), 0.0), (5, 10, (0.08, 0.08), 0.1),
        (10, 10, (0.08, 0.08), 0.1), (40, 10, (0.02, 0.02), 0.1), (100, 10, (0.003, 0.003), 0.1),
    ]:  # fmt: skip
        name = f"paired {shares[0]} against {shares[1]}, {units} units of {size}, icc {icc}"
        yield Design(name, paired(units, size, shares, icc))
    for a, b in [
        (equal(5, 4, 0.95, 0.2), equal(50, 4, 0.7, 0.2)), (equal(5, 4, 0.9, 0.2), equal(50, 4, 0.9, 0.2)),
        (equal(10, 10, 0.9, 0.2), equal(10, 10, 0.9, 0.2)), (equal(40, 10, 0.9, 0.2), equal(40, 10, 0.8, 0.2)),
    ]:  # fmt: skip
        name = f"unpaired {a.truth:.2f}, {a.sizes.size} units against {b.truth:.2f}, {b.sizes.size} units, icc 0.2"
        yield Design(name, unpaired(a, b))


def area_designs() -> Iterator[Design]:
    for area in (0.98, 0.948, 0.8):
        scores = Scores.of_area(area, 50, 50)
        yield Design(f"area {area}, 50 and 50", independent_area(area, scores), SLOW)
    for area, icc in ((0.98, 0.2), (0.9, 0.5)):
        scores = Scores.of_area(area, 100, 100, 20, icc)
        yield Design(f"area {area}, 20 units of 5 and 5, icc {icc}", clustered_area(area, scores), SLOW)
    for areas in ((0.98, 0.95), (0.95, 0.95), (0.9, 0.8)):
        run = paired_areas(areas, Scores.of_area(0.9, 50, 50), 0.6)
        yield Design(f"areas {areas[0]} against {areas[1]}, 50 and 50", run, SLOW)


def binormal_designs() -> Iterator[Design]:
    if "auc_binormal" not in known_measures():  # of the lab, which may have been taken away
        return
    for area in (0.98, 0.948, 0.8):
        yield Design(f"binormal area {area}, 50 and 50", fitted_area(area, Scores.of_area(area, 50, 50)), SLOW)
    scores = Scores.of_area(0.9, 100, 100, 20, 0.5)
    yield Design("binormal area 0.9, 20 units of 5 and 5, icc 0.5", fitted_area(0.9, scores), SLOW)


def curve_designs() -> Iterator[Design]:
    for fpr in (0.01, 0.1):
        for n in (100, 500):
            yield Design(f"tpr at fpr {fpr}, {n} and {n}", curve_at(fpr, Scores(n, n, 2.0)), SLOW)
        units = Scores(400, 400, 2.0, 40, 0.2)
        yield Design(f"tpr at fpr {fpr}, 40 units of 10 and 10, icc 0.2", curve_at(fpr, units), SLOW)
        run = bootstrap_at(fpr, Scores(100, 100, 2.0))
        yield Design(f"tpr at fpr {fpr}, 100 and 100, bootstrap (after)", run, SLOWEST)


def percent(inside: BoolArray) -> str:
    return f"{100 * inside.mean():6.1f}"


def line(design: Design, rng: np.random.Generator, trials: int) -> str:
    count = max(trials // design.cost, 1)
    found = design.run(rng, count)
    after, truth, slack = found.after, found.truth, 1e-12
    low, high = after.low > truth + slack, after.high < truth - slack
    before = " " * 6
    if found.before is not None:
        before = percent((found.before.low <= truth + slack) & (found.before.high >= truth - slack))
    return f"  {design.name:64} {before} {percent(~(low | high))} {percent(low)} {percent(high)} {count:8}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Coverage of 95 % intervals.")
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print(f"  {'design':64} before  after    low   high   trials")
    for designs in (rate_designs, difference_designs, area_designs, binormal_designs, curve_designs):
        for number, design in enumerate(designs()):
            if options.only in design.name:
                rng = np.random.default_rng([options.seed, number])
                print(line(design, rng, options.trials), flush=True)


if __name__ == "__main__":
    main()
