"""What tasks read of the records of a transcript: one at a time, as columns, and of runs that are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    BoolArray = npt.NDArray[np.bool_]
    FloatArray = npt.NDArray[np.float64]


class RecordedAnswer(Protocol):
    """An answer in a transcript; what a record lacks is msgspec's UNSET, which is false."""

    @property
    def expect(self) -> Any:
        """The claim."""

    @property
    def actual(self) -> Any:
        """The answer as given."""

    @property
    def score(self) -> Any:
        """The number that the decision is based on."""

    @property
    def rank(self) -> Any:
        """The rank of the right identity."""

    @property
    def pixels(self) -> Any:
        """What is recorded of an image."""

    @property
    def boxes(self) -> Any:
        """What is recorded of a list of boxes."""


class TextColumn(Protocol):
    """A column of texts, each as an index into `labels`, or -1 if a record has none."""

    @property
    def codes(self) -> npt.NDArray[np.int32]:
        """The indices."""

    @property
    def labels(self) -> Sequence[str]:
        """The texts."""


class RecordColumns(Protocol):
    """The records of a transcript as columns, as far as tasks need them; missing numbers are NaN."""

    @property
    def positive(self) -> BoolArray:
        """Whether the case is positive."""

    @property
    def score(self) -> FloatArray:
        """The number that the decision is based on."""

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

    @property
    def details(self) -> Mapping[str, Sequence[Any]]:
        """What is recorded under `pixels` and `boxes`, None for a record without it; a key is there if any has it."""


class ComparedRuns(Protocol):
    """Runs on the same cases, as far as a task has something to say about their comparison."""

    @property
    def names(self) -> list[str]:
        """The names of the runs."""

    def detail(self, name: str) -> list[list[Any]]:
        """What is recorded under `pixels` or `boxes`, for each run and case; None for a record without it."""
