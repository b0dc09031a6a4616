"""What must be known of all answers before the first record is written, from one pass over them in flat memory."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, eq
from typing import NamedTuple

from harness.errors import ForeignError
from harness.files.digest import case_list_digest
from harness.files.sorting import SortedTexts, in_lists
from harness.model import MAX_COLUMNS
from harness.transcript.importing.contract import ImportedAnswer, Mark

BLOCK = 2_000
_PLAIN_MARKS = frozenset((None, 0.0, 1.0))


class PlacedMark(NamedTuple):
    """A mark, the number of its answer, and where that is in the file."""

    number: int
    place: str
    mark: float


@dataclass
class MetricFacts:
    """The marks that a metric gave to the answers without an error."""

    # How many have one.
    marks: int = 0
    # The first that is neither 0 nor 1, and the first that is not finite.
    graded: "PlacedMark | None" = None
    infinite: "PlacedMark | None" = None


@dataclass
class Survey:
    """The answers of a run, summed up."""

    answers: int = 0
    # Answers without an error.
    judged: int = 0
    # By metric, of the judged answers; and the names of the metrics, values and columns of all of them.
    metrics: dict[str, MetricFacts] = field(default_factory=dict)
    mark_names: dict[str, None] = field(default_factory=dict)
    value_names: dict[str, None] = field(default_factory=dict)
    columns: dict[str, None] = field(default_factory=dict)
    # Whether every answer has an id of its own, so that their order is that of the cases.
    is_plain: bool = True
    digest: str = ""

    @staticmethod
    def of(
        results: Iterable[ImportedAnswer], watch: Callable[[Sequence[ImportedAnswer]], None] = lambda _block: None
    ) -> "Survey":
        """Go through all answers; `watch` sees them too, many at a time."""
        survey = Survey()
        with SortedTexts() as cases:
            for block in in_lists(iter(results), BLOCK):
                survey._add(block)
                watch(block)
                cases.extend([f"{result.id}\0{result.expect}\n" for result in block])
            if survey.is_plain:
                survey.digest = case_list_digest(survey._checked(cases))
        return survey

    def _add(self, block: Sequence[ImportedAnswer]) -> None:
        if not all(map(attrgetter("id"), block)) or {*map(attrgetter("repeat"), block)} != {1}:
            self.is_plain = False
        self._add_columns(block)
        judged = [result for result in block if result.error is None]
        for names, own in ((self.mark_names, "marks"), (self.value_names, "values")):
            for kind in dict.fromkeys(map(tuple, map(attrgetter(own), block))):
                names.update(dict.fromkeys(kind))
        for name in dict.fromkeys(name for kind in dict.fromkeys(tuple(r.marks) for r in judged) for name in kind):
            self._add_marks(name, judged)
        self.answers += len(block)
        self.judged += len(judged)

    def _add_columns(self, block: Sequence[ImportedAnswer]) -> None:
        """Each column becomes an array in memory, even if every record has one of its own."""
        for result in block:
            if not result.columns.keys() <= self.columns.keys():
                self.columns.update(dict.fromkeys(result.columns))
                if len(self.columns) > MAX_COLUMNS:
                    raise ForeignError(f"{result.place}: more than {MAX_COLUMNS:,} columns; leave some out")

    def _add_marks(self, name: str, judged: Sequence[ImportedAnswer]) -> None:
        facts = self.metrics.setdefault(name, MetricFacts())
        marks: list[Mark] = [result.marks.get(name) for result in judged]
        facts.marks += len(marks) - marks.count(None)
        if _PLAIN_MARKS.issuperset(marks) or (facts.graded and facts.infinite):
            return
        for number, (mark, result) in enumerate(zip(marks, judged, strict=True), self.judged):
            if mark not in _PLAIN_MARKS and mark is not None:
                facts.graded = facts.graded or PlacedMark(number, result.place, mark)
                if not math.isfinite(mark):
                    facts.infinite = facts.infinite or PlacedMark(number, result.place, mark)

    def _checked(self, cases: SortedTexts) -> Iterator[str]:
        """The sorted cases, many at a time; equal ids follow one another."""
        last = ""
        for lines in in_lists(iter(cases), BLOCK):
            ids = [last, *(line.partition("\0")[0] for line in lines)]
            self.is_plain = self.is_plain and not any(map(eq, ids, ids[1:]))
            last = ids[-1]
            yield "".join(lines)
