"""Options that rooms and other packages add to a command, and what they add to its result."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import Any, Generic, TypeVar, cast

from harness.api.result import Addition, Result
from harness.errors import UsageError
from harness.options import OptionSet
from harness.options.entries import OptionsEntry, all_added

O = TypeVar("O", bound=OptionSet)  # noqa: E741 (as R for results)
R = TypeVar("R", bound=Result)
F = TypeVar("F", bound=Callable[..., Result])


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


def extendable(command: F) -> F:
    """Let extensions change the options of a command, and add to its result."""

    @wraps(command)
    def extended(*arguments: Any, options: OptionSet) -> Any:
        given = options
        extensions = {entry.name: entry.load(Extension)() for entry in asked_for(given)}  # type: ignore[type-abstract]
        for name, extension in extensions.items():
            options = extension.prepare(options)
            if name not in {entry.name for entry in asked_for(options)}:
                raise UsageError(f"hate.options: {name}: its extension takes back the option that asks for it")
        result = command(*arguments, options=options)
        additions = {name: extension.add(result, given) for name, extension in extensions.items()}
        for name, addition in additions.items():
            if not isinstance(addition, Addition):
                raise UsageError(f"hate.options: {name}: its extension adds {type(addition).__name__}, not an Addition")
        return result.with_additions(additions)

    return cast(F, extended)


def asked_for(options: OptionSet) -> list[OptionsEntry]:
    """The entries of which an option was given."""
    entries = [entry for entry in all_added(OptionsEntry) if isinstance(options, entry.options)]
    return [entry for entry in entries if entry.is_given(options)]
