"""A comparison with all that was asked for beside it: an operating point, a margin, groups, items, costs."""

from dataclasses import dataclass

from harness.analysis.comparing.align import Aligned
from harness.analysis.comparing.by_group import Basis, ByGroup, by_group
from harness.analysis.comparing.cells import measure_runs
from harness.analysis.comparing.compare import compare
from harness.analysis.comparing.comparison import Comparison
from harness.analysis.comparing.items import Items, look_at_items
from harness.analysis.comparing.margins import Margin, margins
from harness.analysis.comparing.operating import Operated, Point, chosen_measure, operate
from harness.analysis.comparing.sampling import Sampling
from harness.errors import TranscriptError, UsageError
from harness.measures import MEASURES
from harness.stats.estimate import Estimate
from harness.stats.multiplicity import Multiplicity
from harness.stats.replication.plan import Plan


@dataclass(frozen=True)
class Asked:
    """What to compare by, and what to add."""

    statistic: str = "rate"
    point: Point | None = None
    margin: float | None = None
    by: str | None = None
    items: bool = False
    baseline: int | None = None
    multiplicity: Multiplicity = Multiplicity.HOLM


@dataclass(frozen=True)
class Costs:
    """Seconds, or bytes of memory, of every run that has them, and the ratios of the pairs in the order asked for."""

    runs: list[Estimate | None]
    pairs: list[Estimate | None]


@dataclass(frozen=True)
class Further:
    """What was found beside the comparison; None where it was not asked for, or not recorded."""

    operated: Operated | None = None
    margins: list[Margin | None] | None = None
    by: ByGroup | None = None
    items: Items | None = None
    seconds: Costs | None = None
    memory: Costs | None = None


def compare_further(aligned: Aligned, sampling: Sampling, plan: Plan, asked: Asked) -> tuple[Comparison, Further]:
    """Compare; where an operating point is asked for, on outcomes that are decided anew."""
    measure = chosen_measure(asked.statistic, asked.point, aligned)
    operated = None if asked.point is None else operate(aligned, asked.point, sampling.sample.weights)
    decided = aligned if operated is None else operated.aligned
    try:
        found = compare(
            decided, sampling, plan, baseline=asked.baseline, measure=measure, multiplicity=asked.multiplicity
        )
    except ValueError as error:
        # What the statistics refuse is the sample, such as one in which half of the units weigh nothing.
        raise TranscriptError(f"{aligned.headers[0].test.name}: {error}") from None
    pairs = [(pair.a, pair.b) for pair in found.pairs]
    basis = Basis(decided, sampling, measure, plan)
    return found, Further(
        operated=operated,
        margins=None if asked.margin is None else margins(found, asked.margin),
        by=None if asked.by is None else by_group(basis, pairs, asked.by),
        items=look_at_items(found) if asked.items else None,
        seconds=costs("seconds", aligned, pairs, sampling, plan),
        memory=costs("memory", aligned, pairs, sampling, plan),
    )


def costs(name: str, aligned: Aligned, pairs: list[tuple[int, int]], sampling: Sampling, plan: Plan) -> Costs | None:
    """What answers cost; a design that has no error for a mean leaves out the costs, not the comparison."""
    try:
        found = measure_runs(MEASURES[name], aligned, sampling.sample, plan)
    except (UsageError, ValueError):
        return None
    if not found.place:
        return None
    runs = [found.one(run) for run in range(len(aligned.names))]
    return Costs(runs, [found.ratio(a, b) for a, b in pairs])
