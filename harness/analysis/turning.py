"""Where the order of two runs turns as a column grows, such as the noise of the inputs."""

from dataclasses import dataclass, replace

from harness.analysis.breakdown import Breakdown
from harness.measures import Measure
from harness.stats.estimate import Estimate


@dataclass(frozen=True)
class LeadSpan:
    """Groups next to one another, apart from those without a verdict, in which one run of a pair leads."""

    leader: int
    first: str
    last: str


def is_significant(difference: Estimate | None, level: float) -> bool:
    """Whether a difference is shown: by its corrected p-value, and by an interval without 0."""
    if difference is None or difference.p_adjusted is None or not difference.p_adjusted <= level:
        return False
    return difference.interval is None or not difference.interval.low <= 0 <= difference.interval.high


def lead_spans(by: Breakdown, pair: int, runs: tuple[int, int], measure: Measure, level: float) -> list[LeadSpan]:
    """Which of two runs leads, from group to group; groups without a significant difference do not count.

    None leads if nobody has said what is better.
    """
    spans: list[LeadSpan] = []
    for group in by.groups if measure.directed else ():
        one, (a, b) = group.pairs[pair], (group.runs[run] for run in runs)
        if a is None or b is None or not is_significant(one, level):
            continue
        leader = runs[0] if measure.merit(a.value) > measure.merit(b.value) else runs[1]
        if spans and spans[-1].leader == leader:
            spans[-1] = replace(spans[-1], last=group.label)
        else:
            spans.append(LeadSpan(leader, group.label, group.label))
    return spans
