"""The decision on an answer, and its record: the harness decides, never the program."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from harness.model import (
    MAX_VALUES,
    REFUSAL,
    Answer,
    BlindTrial,
    Case,
    ErrorKind,
    ErrorRule,
    Outcome,
    Question,
    Reply,
    Trial,
)
from harness.params import Value
from harness.tasks.answers import with_values
from harness.tasks.task import AnswerError, Task, TaskRules

# The text of an exception can be a whole file; a record only says what went wrong.
MAX_MESSAGE_LENGTH = 2000

# By (positive, accepted): calling `Outcome.of` a million times would be slow.
_OUTCOMES = [
    [Outcome.of(positive=positive, accepted=accepted) for accepted in (False, True)] for positive in (False, True)
]
# Gives the stratum or the PSU of a case; None if the design has none.
Group = Callable[[Case], str] | None


def outcome_of_error(positive: bool, rule: ErrorRule = ErrorRule.FAILURE) -> Outcome:
    """FN for a positive case. For a negative one FP, a failure, or TN if the test counts errors as refusals."""
    return Outcome.of(positive=positive, accepted=not positive and rule is not ErrorRule.REFUSE)


def record(
    case: Case,
    answer: Answer,
    outcome: Outcome,
    error: ErrorKind | None,
    message: str,
    seconds: float | None,
    memory: int | None,
    repeat: int | None,
    stratum: str | None,
    psu: str | None,
) -> Trial:
    """The record of an answer, without missing values."""
    return Trial(
        case.id,
        outcome,
        case.positive,
        case.expect or UNSET,
        # A true claim names the real class already.
        case.truth if case.truth and not (case.positive and case.truth == case.expect) else UNSET,
        UNSET if answer.actual is None else answer.actual,
        UNSET if answer.score is None else answer.score,
        UNSET if answer.rank is None else answer.rank,
        UNSET if answer.best_wrong is None else answer.best_wrong,
        UNSET if error is None else error,
        message[:MAX_MESSAGE_LENGTH] or UNSET,
        UNSET if seconds is None else seconds,
        UNSET if memory is None else memory,
        UNSET if repeat is None else repeat,
        UNSET if stratum is None else stratum,
        UNSET if psu is None else psu,
        case.columns or UNSET,
        answer.values or UNSET,
        answer.pixels or UNSET,
        answer.boxes or UNSET,
    )


class Judge:
    """Turns a case and the reply to it into the record of a transcript."""

    def __init__(
        self,
        task: Task,
        rules: TaskRules,
        params: Mapping[str, Value],
        *,
        errors: ErrorRule = ErrorRule.FAILURE,
        stratum: Group = None,
        psu: Group = None,
        repeated: bool = False,
    ) -> None:
        self._answer = task.answer
        self._failure = None if type(task).failure is Task.failure else task.failure
        # Calling the method of a task that has none of its own a million times would be slow.
        self._complete = None if type(task).complete is Task.complete else task.complete
        self._settle = None if type(task).settle is Task.settle else partial(task.settle, rules=rules, params=params)
        self._recorded = task.recorded_answer
        self._accepts = task.acceptance(rules, params)
        self._records_expect = task.records_expect
        self._rules = rules
        self._errors = errors
        self._stratum = stratum
        self._psu = psu
        self._repeated = repeated
        self._value_names: set[str] = set()

    def _read(self, raw: object, case: Case) -> Answer:
        """The answer with all that follows from it, and the further numbers that the program gave."""
        content, values = with_values(raw)
        answer = self._answer(content, case, self._rules)
        if self._settle is not None:
            answer = self._settle(answer)
        if not values:
            return answer
        self._value_names.update(values)
        if len(self._value_names) > MAX_VALUES:
            raise AnswerError(f"values: more than {MAX_VALUES} names in this run; give each answer the same few")
        return _with_values(answer, values)

    def _without_answer(self, case: Case) -> Answer:
        if self._failure is None:
            return REFUSAL
        try:
            refused = self._errors is ErrorRule.REFUSE
            return self._answer(None, case, self._rules) if refused else self._failure(case, self._rules)
        except AnswerError:  # its truth cannot be read, which the message says already
            return REFUSAL

    def trial(self, case: Case, reply: Reply) -> Trial:
        error, message, answer = reply.error, reply.message, REFUSAL
        if self._complete is not None:
            case = self._complete(case, self._rules)
        if error is None:
            try:
                answer = self._read(reply.raw, case)
                outcome = _OUTCOMES[case.positive][self._accepts(case, answer)]
            except AnswerError as mistake:
                error, message = ErrorKind.ANSWER, str(mistake)
        if error is not None:
            answer, outcome = self._without_answer(case), outcome_of_error(case.positive, self._errors)
        if not self._records_expect:
            case = replace(case, expect="")
        return record(
            case,
            answer,
            outcome,
            error,
            message,
            round(reply.seconds, 7),
            reply.memory,
            reply.question.repeat if self._repeated else None,
            None if self._stratum is None else self._stratum(case),
            None if self._psu is None else self._psu(case),
        )

    def again(self, case: Case, trial: Trial, *, judged: bool = True) -> Trial:
        """The record that a case should have, from the answer, the error and the measurements in the one that it has.

        An AnswerError if what is recorded as an answer is none of this task. Unless the answers are `judged`, because
        they are not recorded, they are believed, with all that follows from them.
        """
        error = trial.error or None
        if not judged:
            case = replace(case, positive=trial.outcome.positive) if self._complete is not None else case
            names = ("actual", "score", "rank", "best_wrong", "values", "pixels", "boxes")
            answer = Answer(**{name: _or_none(getattr(trial, name)) for name in names})
            outcome = trial.outcome
        else:
            case = case if self._complete is None else self._complete(case, self._rules)
            answer = self._without_answer(case) if error is not None else self._recorded(trial, case, self._rules)
            outcome = outcome_of_error(case.positive, self._errors)
        if judged and error is None:
            answer = answer if self._settle is None else self._settle(answer)
            outcome = _OUTCOMES[case.positive][self._accepts(case, answer)]
        if judged and trial.values:
            # Nothing follows from what the task does not compute itself.
            answer = _with_values(answer, trial.values)
        if not self._records_expect:
            case = replace(case, expect="")
        return record(
            case,
            answer,
            outcome,
            error,
            trial.message or "",
            _or_none(trial.seconds),
            _or_none(trial.memory),
            _or_none(trial.repeat),
            None if self._stratum is None else self._stratum(case),
            None if self._psu is None else self._psu(case),
        )


class BlindJudge(Judge):
    """Where the truth is not: checks that a reply is an answer of the task, and records it as it was given."""

    def trial(self, case: Case, reply: Reply) -> Trial:
        """The record of one case, a BlindTrial: it has what is written of a trial, apart from outcomes and groups."""
        error, message, actual = reply.error, reply.message, None
        if error is None:
            try:
                self._answer(with_values(reply.raw)[0], case, self._rules)
                actual = portable(reply.raw)
            except AnswerError as mistake:
                error, message = ErrorKind.ANSWER, str(mistake)
        trial = BlindTrial(
            case.id,
            UNSET if actual is None else actual,
            UNSET if error is None else error,
            message[:MAX_MESSAGE_LENGTH] or UNSET,
            round(reply.seconds, 7),
            UNSET if reply.memory is None else reply.memory,
            reply.question.repeat if self._repeated else UNSET,
        )
        return cast("Trial", trial)


def portable(raw: object) -> Any:
    """An answer as JSON can hold it; numbers and arrays of other libraries become plain ones."""
    try:
        return msgspec.json.decode(msgspec.json.encode(raw, enc_hook=_plain_value))
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        raise AnswerError("JSON cannot hold this answer, so it cannot be handed in; give labels or numbers") from None


def _plain_value(value: Any) -> Any:
    plain = getattr(value, "tolist", None)
    if plain is None:
        raise TypeError
    return plain()


def judged_trial(judge: Judge, case: Case, answered: BlindTrial) -> Trial:
    """The record of a case, from the answer of a blind run and the truth."""
    question = Question(0, case.id, case.input, repeat=answered.repeat or 1)
    raw = None if answered.actual is UNSET else answered.actual
    reply = Reply(
        question, raw, answered.error or None, answered.message or "", answered.seconds or 0.0, answered.memory or None
    )
    return judge.trial(case, reply)


def _with_values(answer: Answer, values: Mapping[str, float | None]) -> Answer:
    """The answer with further numbers; those that the task computed stay."""
    return replace(answer, values={**values, **(answer.values or {})})


def _or_none(value: Any) -> Any:
    return None if value is UNSET else value
