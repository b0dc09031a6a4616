"""What a comparison finds: every run by itself, every pair, and all together."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.analysis.comparing.align import Aligned
from harness.analysis.comparing.cells import Cells
from harness.analysis.comparing.sampling import Sampling
from harness.measures import MEASURES, Measure
from harness.stats.cochran import CochranQ, WaldTest
from harness.stats.estimate import Estimate
from harness.stats.multiplicity import Multiplicity
from harness.stats.rates import Interval
from harness.stats.replication.plan import Plan


@dataclass(frozen=True)
class RunSummary:
    """One algorithm by itself."""

    name: str
    rate: float
    interval: Interval
    replication: Estimate | None
    # The measure that is compared; nothing where this run has none, such as a precision where it accepts nothing.
    value: float | None


@dataclass(frozen=True)
class Pair:
    """Two algorithms: the first and the second by their places."""

    a: int
    b: int
    n_ff: int
    n_sf: int
    n_fs: int
    n_ss: int
    z: float
    p_chi2: float
    p_exact: float
    p_mid: float
    p_one_sided: float
    p_adjusted: float
    z_design: float
    p_design: float
    confidence_differ: float | None
    confidence_better: float | None
    difference: float
    interval: Interval
    # The design effect by which McNemar's z was divided; None where none is known.
    effect: float | None = None
    replication: Estimate | None = None
    # Whether replication is of another measure than the rate of success, which McNemar's test is about.
    beyond: bool = False

    @property
    def better(self) -> int | None:
        """The one with more successes where the other failed; None on a tie."""
        return None if self.n_sf == self.n_fs else self.a if self.n_sf > self.n_fs else self.b

    @property
    def p_decisive(self) -> float:
        """The p-value that a verdict rests on: replication's where there is a design, corrected for many pairs."""
        if self.replication is None:
            return 1.0 if self.beyond else self.p_adjusted
        # A design that says nothing of the error leaves nothing to decide by: McNemar's test does not know it.
        return 1.0 if self.replication.p_adjusted is None else self.replication.p_adjusted


@dataclass(frozen=True)
class Comparison:
    """Everything that was found."""

    aligned: Aligned
    sampling: Sampling
    plan: Plan
    runs: list[RunSummary]
    better: list[list[int | None]]
    cochran: CochranQ
    wald: WaldTest | None
    pairs: list[Pair]
    groups: list[list[str]]
    letters: list[str]
    oracle: float
    majority: float | None = None
    notes: list[str] = field(default_factory=list)
    # What is compared, and its estimates by the design; None for the rate of success without a design.
    measure: Measure = MEASURES["rate"]
    measured: Cells | None = None
    multiplicity: Multiplicity = Multiplicity.HOLM
    # The run that all others are compared with; None where all pairs are.
    baseline: int | None = None

    @property
    def statistic(self) -> str:
        """The name of what is compared."""
        return self.measure.name

    @property
    def beyond(self) -> bool:
        """Whether something else than the rate of success is compared."""
        return self.measure is not MEASURES["rate"]

    @property
    def larger_is_better(self) -> bool:
        """Of the measure that is compared."""
        return self.measure.larger_is_better

    def leader(self, pair: Pair) -> int | None:
        """The one that the estimate speaks for; None on a tie."""
        if pair.replication is None:
            return None if pair.beyond else pair.better
        ahead = pair.replication.value * (1 if self.larger_is_better else -1)
        return None if ahead == 0 else pair.a if ahead > 0 else pair.b

    @property
    def alpha(self) -> float:
        """The error that is allowed."""
        return 1 - self.plan.confidence


def best_first(runs: Sequence[RunSummary], *, larger_is_better: bool) -> list[int]:
    """The places of the runs by what is compared; those without a value come last."""
    sign = -1 if larger_is_better else 1
    return sorted(range(len(runs)), key=lambda i: math.inf if (value := runs[i].value) is None else sign * value)
