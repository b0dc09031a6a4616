"""What a task is: what an answer looks like, how it is scored, and what scripts, curves and tables ask about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from harness.model import Answer, Case
from harness.params import Param, Value
from harness.tasks.gallery import Gallery

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    BoolArray = npt.NDArray[np.bool_]
    FloatArray = npt.NDArray[np.float64]


class AnswerError(Exception):
    """What the program said is not an answer of this task; the text says why."""


@dataclass(frozen=True)
class TaskRules:
    """What a script says about decisions, beside the decision parameters."""

    larger_is_better: bool = True
    relative_tolerance: bool = False
    # The script's table by the name of the task, such as [mask].
    settings: Mapping[str, Any] = field(default_factory=dict)
    # Rank tests: whom a probe is compared with.
    gallery: Gallery | None = None


# Whether an answer accepts the claim of its case.
Accepts = Callable[[Case, Answer], bool]


class RecordedAnswer(Protocol):
    """What a transcript has of an answer; msgspec's UNSET, which is false, where a record lacks something."""

    @property
    def expect(self) -> Any:
        """The claim."""

    @property
    def actual(self) -> Any:
        """The answer as given."""

    @property
    def score(self) -> Any:
        """The number that the decision rests on."""

    @property
    def rank(self) -> Any:
        """The rank of the right identity."""


@dataclass(frozen=True)
class DecisionLimits:
    """How to decide again on recorded answers, for any number of values of the task's decision parameter.

    Each answer has a limit: the strictest value of the parameter at which it is still accepted.
    """

    param: str
    # A threshold: values up to the limit accept. Otherwise, as for a tolerance, values from the limit on do.
    falling: bool
    # The limit of a recorded answer that is not an error; the second argument: whether its case is positive.
    of: Callable[[RecordedAnswer, bool], float]

    @property
    def always(self) -> float:
        """The limit of what every value accepts."""
        return inf if self.falling else -inf

    @property
    def never(self) -> float:
        """The limit of what no value accepts."""
        return -self.always


class TextColumn(Protocol):
    """A column of texts: each as a number into `labels`, -1 where a record has none."""

    @property
    def codes(self) -> npt.NDArray[np.int32]:
        """The numbers."""

    @property
    def labels(self) -> Sequence[str]:
        """The texts."""


class RecordColumns(Protocol):
    """The records of a transcript as columns, as far as tasks look at them; numbers are nan where there is none."""

    @property
    def positive(self) -> BoolArray:
        """Whether the case is positive."""

    @property
    def score(self) -> FloatArray:
        """The number that the decision rests on."""

    @property
    def rank(self) -> FloatArray:
        """The rank of the right identity."""

    @property
    def expect(self) -> TextColumn:
        """The claim."""

    @property
    def actual(self) -> TextColumn:
        """The answer as given."""

    @property
    def error(self) -> TextColumn:
        """Why there is no answer."""


@dataclass(frozen=True, eq=False)
class CurveRule:
    """What of recorded answers a curve over all thresholds is made of."""

    larger_is_better: bool
    # Answers whose score counts; no threshold accepts any other.
    counts: BoolArray
    # Answers that must have a score, as a curve cannot be drawn without it.
    needed: BoolArray


@dataclass(frozen=True)
class ExampleScript:
    """What `hate new script` writes for a task: further lines of [test], further sections, and tables by file name."""

    test: str = ""
    sections: str = ""
    tables: Mapping[str, str] = field(default_factory=dict)


class Task(ABC):
    """One task. A task has no state: it is a constant of its module.

    A subclass must have a name, a summary, decision parameters and the three abstract methods. The rest has defaults,
    which suit a task whose answers get a score that a threshold is applied to.
    """

    name: ClassVar[str]
    # What is asked of an algorithm, in a few words.
    summary: ClassVar[str]
    decisions: ClassVar[Mapping[str, Param]]
    # Decision parameters that a test has only where its script declares them.
    optional: ClassVar[frozenset[str]] = frozenset()

    # Whether the program may see `expect`: a claim to verify, and not the very answer that is asked for.
    shows_claim: ClassVar[bool] = False
    # Whether a positive case is meaningless without `expect`.
    needs_expect: ClassVar[bool] = True
    # Whether `case_mistake` finds any; asking it for a million cases takes time.
    checks_cases: ClassVar[bool] = False
    # Whether probes are compared with a gallery: then a script has one, and records have ranks.
    uses_gallery: ClassVar[bool] = False
    # Whether `expect` and `truth` name classes, of which a false one can be claimed.
    claims_classes: ClassVar[bool] = True
    # Whether answers are classes too, so that one can be confused with another.
    answers_classes: ClassVar[bool] = False
    # Keys of [test] that only some tasks have: `tolerance`, `larger_is_better`.
    script_keys: ClassVar[frozenset[str]] = frozenset()
    # Keys of the script's table by the name of the task; none: a script has no such table.
    setting_keys: ClassVar[frozenset[str]] = frozenset()
    # Measures that a run of this task has, beside those of the outcomes.
    measures: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[ExampleScript] = ExampleScript()

    @abstractmethod
    def answer(self, raw: object, case: Case, rules: TaskRules) -> Answer:
        """An answer as the program gave it, in the terms of this task; AnswerError where it is none."""

    @abstractmethod
    def acceptance(self, rules: TaskRules, params: Mapping[str, Value]) -> Accepts:
        """The decision for these decision parameters."""

    @abstractmethod
    def limits(self, rules: TaskRules, params: Mapping[str, Value]) -> DecisionLimits:
        """The same decision for all values at once, from what was recorded; it must agree with `acceptance`.

        Where there are several decision parameters, `params` has the values of the others.
        """

    def case_mistake(self, case: Case, rules: TaskRules) -> str | None:
        """What is wrong with a case for this task, if anything."""
        return None

    def script_mistakes(self, params: Mapping[str, Param], *, has_gallery: bool) -> Iterator[tuple[str, str]]:
        """What a script of this task lacks, each with its key; `params` are those that it declares."""
        yield from ()

    def setting_mistakes(self, settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """What is wrong with the script's table by the name of the task, each with its key."""
        yield from ()

    def curve(self, columns: RecordColumns, rules: TaskRules, params: Mapping[str, Value]) -> CurveRule:
        """Which recorded scores count in a curve over all thresholds."""
        given = answered(columns)
        return CurveRule(rules.larger_is_better, counts=given, needed=given)


def answered(columns: RecordColumns) -> BoolArray:
    """Which records have an answer."""
    import numpy as np

    given = (columns.actual.codes >= 0) | ~np.isnan(columns.score)
    return np.asarray((columns.error.codes < 0) & given)
