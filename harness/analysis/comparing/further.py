"""A comparison with all that was asked for beside it: an operating point, a margin, groups, items, costs."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis.comparing.align import Aligned, FloatArray
from harness.analysis.comparing.by_group import ByGroup, by_group
from harness.analysis.comparing.compare import compare
from harness.analysis.comparing.comparison import Comparison, Pair
from harness.analysis.comparing.cost import Costs, costs
from harness.analysis.comparing.items import Items, look_at_items
from harness.analysis.comparing.margins import Margin, margins
from harness.analysis.comparing.operating import Operated, Point, chosen_form, operate
from harness.analysis.comparing.sampling import Sampling
from harness.errors import TranscriptError
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
    beyond = asked.statistic != "rate" or asked.point is not None
    form = chosen_form(asked.statistic, asked.point, aligned) if beyond else None
    operated = None if asked.point is None else operate(aligned, asked.point, sampling.sample.weights)
    decided = aligned if operated is None else operated.aligned
    try:
        found = compare(decided, sampling, plan, baseline=asked.baseline, form=form)
    except ValueError as error:
        # What the statistics refuse is the sample, such as one in which half of the units weigh nothing.
        raise TranscriptError(f"{aligned.headers[0].test.name}: {error}") from None
    return found, Further(
        operated=operated,
        margins=None if asked.margin is None else margins(found, asked.margin),
        by=None if asked.by is None else by_group(found, asked.by),
        items=look_at_items(found) if asked.items else None,
        seconds=_costs(aligned.seconds, found.pairs, sampling, plan),
        memory=_costs(aligned.memory, found.pairs, sampling, plan),
    )


def _costs(values: FloatArray, pairs: Sequence[Pair], sampling: Sampling, plan: Plan) -> Costs | None:
    """A design that has no error for a mean leaves out the costs, not the comparison."""
    try:
        return costs(values, [(pair.a, pair.b) for pair in pairs], sampling.sample, plan)
    except ValueError:
        return None
