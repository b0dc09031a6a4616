"""Where the order of two runs turns as a column grows, such as the noise of the inputs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from harness.analysis.breakdown import Breakdown, breakdown_json
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


class ComparedGroups(Protocol):
    """A comparison by a column, as far as its JSON is concerned."""

    @property
    def breakdowns(self) -> Sequence[Breakdown]:
        """The groups, by each column that was asked for."""

    @property
    def names(self) -> list[str]:
        """What the runs are called."""

    @property
    def places(self) -> list[tuple[int, int]]:
        """The pairs."""

    @property
    def measure(self) -> Measure:
        """What is compared."""

    @property
    def confidence(self) -> float:
        """Of the intervals."""


def groups_json(compared: ComparedGroups) -> dict[str, Any]:
    """The groups of a comparison: `by` the first column, and `breakdowns` by all of them if there are several."""
    found = [_breakdown_json(compared, by) for by in compared.breakdowns]
    several = {"breakdowns": found} if len(found) > 1 else {}
    return {"by": found[0], **several} if found else {}


def _breakdown_json(compared: ComparedGroups, by: Breakdown) -> dict[str, Any]:
    """The groups, and which run of each pair leads where, if the column is a number."""
    names = compared.names
    found = breakdown_json(by, names, compared.places)
    if by.positions is None:
        return found
    leads = [
        {
            "a": names[runs[0]],
            "b": names[runs[1]],
            "spans": [
                {"leader": names[span.leader], "first": span.first, "last": span.last}
                for span in lead_spans(by, number, runs, compared.measure, 1 - compared.confidence)
            ],
        }
        for number, runs in enumerate(compared.places)
    ]
    return {**found, "leads": leads}
