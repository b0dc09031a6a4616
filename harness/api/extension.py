"""Options that rooms and other packages add to a command, and what they add to its result."""

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from harness.api.result import Addition, Result
from harness.errors import UsageError
from harness.options import OptionSet
from harness.options.entries import OptionsEntry, all_added

O = TypeVar("O", bound=OptionSet)  # noqa: E741 (as R for results)
R = TypeVar("R", bound=Result)


class Extension(ABC, Generic[O, R]):
    """What is done when one of the options of an `OptionsEntry` was given."""

    def prepare(self, options: O) -> O:
        """The options that the command works with; a UsageError for what does not go together.

        It is called before anything is read.
        """
        return options

    @abstractmethod
    def add(self, result: R, options: O) -> Addition:
        """What is added to the result of the command; `options` are as they were given."""


def prepared(options: O) -> O:
    """The options of a command, as the extensions that were asked for want them."""
    for entry in asked_for(options):
        options = _extension(entry).prepare(options)
    return options


def extended(result: R, options: OptionSet) -> R:
    """The result of a command, with what the extensions that were asked for add."""
    additions = {entry.name: _extension(entry).add(result, options) for entry in asked_for(options)}
    for name, addition in additions.items():
        if not isinstance(addition, Addition):
            raise UsageError(f"hate.options: {name}: its extension adds {type(addition).__name__}, not an Addition")
    return result.with_additions(additions)


def asked_for(options: OptionSet) -> list[OptionsEntry]:
    """The entries of which an option was given."""
    entries = [one for one in all_added() if isinstance(one, OptionsEntry) and isinstance(options, one.options)]
    return [entry for entry in entries if entry.asked(options)]


def _extension(entry: OptionsEntry) -> Extension[Any, Any]:
    return entry.load(Extension)()  # type: ignore[type-abstract]
