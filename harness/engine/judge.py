"""The verdict on a reply: the harness decides, never the interface."""

from collections.abc import Mapping

from msgspec import UNSET

from harness.model import REFUSAL, Case, ErrorKind, ErrorRule, Outcome, Reply, Trial
from harness.params import Value
from harness.script.cases import CaseSet
from harness.tasks.task import AnswerError

# An exception can hold a whole file; a record says what went wrong.
LONGEST_MESSAGE = 2000

# By (positive, accepted); `Outcome.of` a million times would be felt.
_OUTCOMES = [
    [Outcome.of(positive=positive, accepted=accepted) for accepted in (False, True)] for positive in (False, True)
]


class Judge:
    """Turns a case and the reply to it into the record of a transcript."""

    def __init__(self, cases: CaseSet, params: Mapping[str, Value], *, repeated: bool) -> None:
        script = cases.script
        self._rules = cases.rules
        self._answer = script.task.answer
        self._accepts = script.task.acceptance(cases.rules, params)
        self._error_rule = script.file.test.errors
        self._stratum = cases.stratum
        self._psu = cases.psu
        self._repeated = repeated

    def trial(self, case: Case, reply: Reply) -> Trial:
        """The record of one case."""
        error, message = reply.error, reply.message
        answer = REFUSAL
        if error is None:
            try:
                answer = self._answer(reply.raw, case, self._rules)
                accepted = self._accepts(case, answer)
            except AnswerError as mistake:
                error, message = ErrorKind.ANSWER, str(mistake)
        if error is not None:
            # A failure, whatever was claimed; or, where the test says so, a refusal.
            accepted = self._error_rule is not ErrorRule.REFUSE and not case.positive
        return Trial(
            case.id,
            _OUTCOMES[case.positive][accepted],
            case.positive,
            case.expect or UNSET,
            case.truth if case.truth and case.truth != case.expect else UNSET,
            UNSET if answer.actual is None else answer.actual,
            UNSET if answer.score is None else answer.score,
            UNSET if answer.rank is None else answer.rank,
            UNSET if answer.best_wrong is None else answer.best_wrong,
            UNSET if error is None else error,
            message[:LONGEST_MESSAGE] or UNSET,
            round(reply.seconds, 7),
            UNSET if reply.memory is None else reply.memory,
            reply.question.repeat if self._repeated else UNSET,
            UNSET if self._stratum is None else self._stratum(case),
            UNSET if self._psu is None else self._psu(case),
            case.columns or UNSET,
        )
