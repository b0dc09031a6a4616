"""Runs on different inputs, such as two sensors in the same scenes: nothing is matched, and variances add.

The strata must be the same ones: they are what makes the two samples comparable (Micheals and Boult 2001, section 6).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from harness.analysis.comparing.align import Aligned, Run, align
from harness.analysis.comparing.measured import measure
from harness.analysis.comparing.operating import Point, chosen_form, operate
from harness.analysis.comparing.replicated import Replicated, with_holm
from harness.analysis.comparing.sampling import DesignOptions, Sampling, take_sample
from harness.analysis.comparing.statistics import Form
from harness.analysis.names import run_names
from harness.analysis.same_test import difference as test_difference
from harness.errors import TranscriptError, UsageError
from harness.stats.rates import Interval, wilson
from harness.stats.replication.intervals import t_interval, t_p_value
from harness.stats.replication.plan import Plan
from harness.stats.unpaired import Unpaired
from harness.stats.unpaired import unpaired as independent

MOST_NAMED = 5
# Shares of strata that differ by more are worth a word.
MIXED = 0.02


@dataclass(frozen=True)
class Wish:
    """What to compare, and how; see `hate compare`."""

    design: DesignOptions
    plan: Plan
    statistic: str = "rate"
    point: Point | None = None
    partial: bool = False


@dataclass(frozen=True)
class Side:
    """One run with its own cases."""

    name: str
    aligned: Aligned
    sampling: Sampling
    rate: float
    interval: Interval
    # The statistic; None without a design where Wilson and Newcombe serve, and where it has no value.
    replication: Replicated | None
    value: float | None
    threshold: float | None = None


@dataclass(frozen=True)
class Contrast:
    """Two runs. `independent` compares the rates as if all cases were independent; `replication` by the design."""

    a: int
    b: int
    independent: Unpaired
    p_adjusted: float
    replication: Replicated | None


@dataclass(frozen=True)
class UnpairedComparison:
    """Everything that was found."""

    sides: list[Side]
    contrasts: list[Contrast]
    statistic: str
    words: str
    larger_is_better: bool
    plan: Plan
    notes: list[str]
    point: Point | None = None

    @property
    def alpha(self) -> float:
        """The error that is allowed."""
        return 1 - self.plan.confidence

    def p_decisive(self, one: Contrast) -> float:
        """The p-value that a verdict rests on: replication's where there is any."""
        if one.replication is not None:
            return 1.0 if one.replication.p_adjusted is None else one.replication.p_adjusted
        return one.p_adjusted if self.plain else 1.0

    @property
    def plain(self) -> bool:
        """Whether the rates are compared as if all cases were independent."""
        return self.statistic == "rate" and not any(side.sampling.known for side in self.sides) and self.point is None

    def ahead(self, one: Contrast) -> float:
        """By how much A is better than B."""
        gap = one.independent.difference if one.replication is None else one.replication.estimate
        return gap if self.larger_is_better else -gap

    @property
    def first_is_worse(self) -> bool:
        """Whether another is significantly better than the first."""
        return any(c.a == 0 and self.ahead(c) < 0 and self.p_decisive(c) <= self.alpha for c in self.contrasts)


def compare_unpaired(runs: Sequence[Run], wish: Wish) -> UnpairedComparison:
    """Compare rates, or another statistic, of runs on different inputs."""
    _check_tests(runs)
    names = run_names([run.columns.header.algorithm.name for run in runs], [run.stem for run in runs])
    both = [_side(run, name, wish) for run, name in zip(runs, names, strict=True)]
    sides, form = [side for side, _ in both], both[0][1]
    _check_strata(sides)
    return UnpairedComparison(
        sides=sides,
        contrasts=_contrasts(sides, form, wish.plan),
        statistic=form.name,
        words=form.words,
        larger_is_better=form.larger_is_better,
        plan=wish.plan,
        notes=_notes(sides),
        point=wish.point,
    )


def _check_tests(runs: Sequence[Run]) -> None:
    """Name and version must agree; the data are meant to differ."""
    first = runs[0].columns.header.test
    for run in runs[1:]:
        test = run.columns.header.test
        if (test.name, test.version) != (first.name, first.version):
            how = test_difference(first, test)
            raise TranscriptError(f"{run.source}: not of the same test as {runs[0].source}: {how}")


def _side(run: Run, name: str, wish: Wish) -> tuple[Side, Form]:
    aligned = replace(align([run], partial=wish.partial), names=[name])
    sampling = take_sample(aligned, wish.design)
    threshold = None
    if wish.point is not None:
        operated = operate(aligned, wish.point, sampling.sample.weights)
        aligned, threshold = operated.aligned, operated.thresholds[0]
    form = chosen_form(wish.statistic, wish.point, aligned)
    plain = wish.statistic == "rate" and wish.point is None and not sampling.known
    measured = None if plain else measure(form, 1, sampling.sample, wish.plan)
    one = None if measured is None else measured.run(0)
    hits = aligned.counts[0].successes
    interval, rate = wilson(hits, aligned.n, confidence=wish.plan.confidence), hits / aligned.n
    value = one.estimate if one else rate if plain else None
    return Side(name, aligned, sampling, rate, interval, one, value, threshold), form


def _check_strata(sides: Sequence[Side]) -> None:
    """The same strata on all sides, or on none."""
    for side in sides[1:]:
        first, other = (set(one.sampling.shares) for one in (sides[0], side))
        if first != other:
            only = [f"{_some(first - other)} only in {sides[0].name}"] * bool(first - other)
            only += [f"{_some(other - first)} only in {side.name}"] * bool(other - first)
            raise UsageError(f"not the same strata: {'; '.join(only)}; --stratum COLUMN names others, none drops them")


def _some(names: set[str]) -> str:
    listed = sorted(names)
    return ", ".join(listed[:MOST_NAMED]) + (", ..." if len(listed) > MOST_NAMED else "")


def _contrasts(sides: Sequence[Side], form: Form, plan: Plan) -> list[Contrast]:
    from harness.stats.multiplicity import holm

    pairs = list(combinations(range(len(sides)), 2))
    plain = [independent(_tally(sides[a]), _tally(sides[b]), confidence=plan.confidence) for a, b in pairs]
    replicated = [_apart(sides[a].replication, sides[b].replication, form, plan) for a, b in pairs]
    adjusted = iter(with_holm([one for one in replicated if one is not None]))
    p_values = holm(np.array([one.p_fisher for one in plain])).tolist()
    return [
        Contrast(a, b, one, p, None if found is None else next(adjusted))
        for (a, b), one, p, found in zip(pairs, plain, p_values, replicated, strict=True)
    ]


def _tally(side: Side) -> tuple[int, int]:
    return side.aligned.counts[0].successes, side.aligned.n


def _apart(one: Replicated | None, other: Replicated | None, form: Form, plan: Plan) -> Replicated | None:
    """Variances add; degrees of freedom as Welch and Satterthwaite have them."""
    if one is None or other is None:
        return None
    v, w = one.se**2, other.se**2
    estimate, se = one.estimate - other.estimate, math.sqrt(v + w)
    width = form.bounds[1] - form.bounds[0]
    if se > 0:
        df = (v + w) ** 2 / ((v**2 / one.df if v else 0.0) + (w**2 / other.df if w else 0.0))
        interval = t_interval(estimate, se, df, bounds=(-width, width), confidence=plan.confidence)
        p_value: float | None = t_p_value(estimate, se, df)
    else:
        df, p_value = min(one.df, other.df), 1.0 if abs(estimate) < 1e-12 else None
        interval = _by_squares(one, other, width)
    return replace(
        one, estimate=estimate, se=se, df=df, interval=interval, p_value=p_value, design_effect=None, icc=None
    )


def _by_squares(one: Replicated, other: Replicated, width: float) -> Interval:
    """Neither varies: the limits of both, put together by squares as Newcombe does."""
    gap = one.estimate - other.estimate
    below = math.hypot(one.estimate - one.interval.low, other.interval.high - other.estimate)
    above = math.hypot(one.interval.high - one.estimate, other.estimate - other.interval.low)
    return Interval(max(gap - below, -width), min(gap + above, width))


def _notes(sides: Sequence[Side]) -> list[str]:
    notes, first = [], sides[0]
    for side in sides[1:]:
        if set(side.aligned.ids) == set(first.aligned.ids) and _digest(side) == _digest(first):
            notes.append(f"{first.name} and {side.name} are of the same cases: without --unpaired it is sharper.")
        moved = max(
            (abs(share - side.sampling.shares[name]) for name, share in first.sampling.shares.items()), default=0
        )
        if moved > MIXED:
            notes.append(
                f"The strata have other shares of the cases in {first.name} than in {side.name}, which alone can make "
                "a difference: --weights equal counts all strata alike."
            )
    return notes


def _digest(side: Side) -> str:
    return side.aligned.headers[0].test.digest
