"""What a section of a script may do to its cases: make several versions of each, whose inputs are made when needed.

[vary], which makes versions of images, is one. A section comes in through an entry of group `hate.sections`
(`harness.options.entries`), and the rest of the harness knows it by what is here: a test has originals, the cases as
they are written down, and versions, which are what is run.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec

from harness.errors import HateError
from harness.model import Case
from harness.options.entries import SectionEntry
from harness.tasks.task import Task, TaskRules

if TYPE_CHECKING:
    from harness.script.load import Script

# The column with the id of the case that a version was made from. Versions of one original are not independent of one
# another, so it is their sampling unit, unless the script names a larger one.
ORIGINAL = "original"


class InputError(HateError):
    """The input of a version cannot be made: an error of this case, not of the run."""


class InputMaker(ABC):
    """Makes the inputs of versions one after the other; those of one original should follow one another."""

    @abstractmethod
    def make(self, version: Case) -> tuple[Case, Any]:
        """The case with the truth of this version, and what a program is given; raises an InputError."""


class Expansion(ABC):
    """A section of a script, as read from it. Plain data, which can be pickled."""

    # What it comes in by.
    entry: ClassVar[SectionEntry]
    # What it must look like: a type for pydantic, such as dict[str, MySection].
    section: ClassVar[Any]

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def made(self) -> str:
        """The folder of made files in the cache; references begin with it, as if it were data of the script."""
        return self.entry.made

    @classmethod
    @abstractmethod
    def of(cls, section: Any) -> Self | None:
        """What a valid section says; None if it makes nothing."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """What inputs depend on beside the script, such as the version of a method; part of the test's digest."""

    @property
    @abstractmethod
    def columns(self) -> Sequence[str]:
        """The columns in which the versions of an original differ."""

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of versions of an original."""

    @abstractmethod
    def versions(self, cases: Iterable[Case]) -> Iterator[Case]:
        """Every version of every case, with ids of their own; those of one original follow one another."""

    def originals(self, cases: Iterable[Case]) -> Iterator[Case]:
        """The cases as they are, with the column that versions have too."""
        return (msgspec.structs.replace(case, columns={**case.columns, ORIGINAL: case.id}) for case in cases)

    @abstractmethod
    def moves_truth(self, task: Task) -> bool:
        """Whether versions differ in their truth, which `make` moves."""

    @abstractmethod
    def script_mistakes(self, script: "Script") -> Iterator[tuple[str, str]]:
        """What does not go with the rest of a script: the key and what is wrong with it."""

    @abstractmethod
    def case_mistakes(self, case: Case, data: Collection[str]) -> Iterator[str]:
        """What is wrong with an original; `data` are the names of the test's data, which need not be at hand."""

    @abstractmethod
    def maker(self, data_paths: Mapping[str, Path], task: Task, rules: TaskRules) -> InputMaker:
        """What makes the inputs; `data_paths` says where each data entry is, and has the folder `made` too."""

    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """What `hate describe` says of it in JSON, under its name."""

    @abstractmethod
    def page(self, originals: int) -> list[str]:
        """What `hate describe` says of it to people: lines of Markdown, with a heading of the second level."""
