"""The records of a transcript: the outcome of every imported result."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import UNSET

from harness.model import ErrorKind, Outcome, Trial
from harness.transcript.importing.grouping import Consistency, Design
from harness.transcript.importing.results import Result
from harness.transcript.importing.values import Values
from harness.transcript.importing.verdict import Verdict

# A text this long is a document, not a group; kept only where it was asked for.
LONGEST_COLUMN = 200


class Judge:
    """Turns results into trials."""

    def __init__(self, verdict: Verdict, values: Values, design: Design, *, repeated: bool) -> None:
        self._verdict = verdict
        self._values = values
        self._design = design
        self._repeated = repeated
        self._kept = design.names

    def trials(self, results: Sequence[Result]) -> Iterator[Trial]:
        """A record a result; repeats of a case stand together and are numbered from 1."""
        consistency = Consistency()
        stratum, psu = self._design.stratum, self._design.psu
        turn, last = 0, ""
        for result in results:
            turn, last = (turn + 1 if result.id == last else 1), result.id
            groups = (stratum.of(result) if stratum else None, psu.of(result) if psu else None)
            consistency.check(result, groups[0] or "", result.id if groups[1] is None else groups[1])
            yield self._trial(result, turn, *groups)

    def _trial(self, result: Result, turn: int, stratum: str | None, psu: str | None) -> Trial:
        error, message = self._error(result)
        success = error is None and self._verdict.success(result)
        actual = result.answers.get(self._verdict.metric, result.actual)
        return Trial(
            id=result.id,
            outcome=Outcome.of(positive=result.positive, accepted=success == result.positive),
            positive=result.positive,
            expect=result.expect,
            truth=result.truth or UNSET,
            actual=UNSET if actual is None or error is not None else actual,
            score=_given(self._score(result) if error is None else None),
            error=error or UNSET,
            message=message or UNSET,
            seconds=_given(result.seconds),
            repeat=turn if self._repeated else UNSET,
            stratum=_given(stratum),
            psu=_given(psu),
            values=self._values.of_result(result) or UNSET,
            columns=self._columns(result) or UNSET,
        )

    def _error(self, result: Result) -> tuple[ErrorKind | None, str]:
        if result.error is None and result.marks.get(self._verdict.metric) is None:
            return ErrorKind.ANSWER, f"no mark by {self._verdict.metric}"
        return result.error, result.message

    def _score(self, result: Result) -> float | None:
        """The mark itself where --success-at was applied to it, as a threshold is to a score."""
        return result.score if self._verdict.at is None else result.marks.get(self._verdict.metric)

    def _columns(self, result: Result) -> dict[str, Any]:
        """Those of the case, not of the answer; texts that are not too long."""
        return {
            name: value
            for name, value in result.columns.items()
            if name in self._kept
            or (name not in result.values and (not isinstance(value, str) or len(value) <= LONGEST_COLUMN))
        }


def _given(value: Any) -> Any:
    return UNSET if value is None else value
