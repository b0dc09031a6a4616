"""Options: declared once as fields of a class, for the command line and for calls from Python.

    class SeedOptions(OptionSet):
        seed: int = option("--seed N", "Seed of the random numbers.", default=0, within=Range(0))

A set is a frozen dataclass whose fields are given by keyword. Sets are mixed by inheritance, and a field declared
again replaces the inherited one. `harness.cli.options.command_options` makes a command's options out of a set.
"""

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from harness.errors import UsageError
from harness.params import nearest

_KEY = "hate_option"
T = TypeVar("T", bound="OptionSet")


class Writes(Enum):
    """What an option names that a command writes."""

    FILE = "a file, which must not be there unless forced"
    TRANSCRIPT = "a transcript, which may be there to be resumed: the engine decides"
    FOLDER = "a folder, in which each file is checked"


# The largest whole number of an option: what Python's own counters can count to.
MAX_INT = (1 << 63) - 1


@dataclass(frozen=True)
class Range:
    """The numbers that an option takes; NaN is in no range."""

    low: float | None = None
    high: float | None = None
    low_open: bool = False
    high_open: bool = False

    def __contains__(self, value: float) -> bool:
        above = self.low is None or (value > self.low if self.low_open else value >= self.low)
        below = self.high is None or (value < self.high if self.high_open else value <= self.high)
        return value == value and above and below

    def __str__(self) -> str:
        left = "" if self.low is None else f"{self.low:g}{'<' if self.low_open else '<='}"
        right = "" if self.high is None else f"{'<' if self.high_open else '<='}{self.high:g}"
        return f"{left}x{right}"


@dataclass(frozen=True, kw_only=True)
class OptionSpec:
    """What a field says about its option, beside its type and default.

    flags       how it is spelled on the command line; none for an option that only Python has
    help        a sentence for `--help`, {measures} in it stands for their names; a function where it is long to make
    metavar     what stands for the value in `--help`
    choices     the words it takes, in any case; of an enumeration all, unless some are named
    within      the range of a number
    parse       text to value; a ValueError or UsageError says what is wrong
    from_python what is natural in Python, and not text, to what the field holds or what is parsed
    separator   of an option that is given once and has several values, such as COLUMN,COLUMN
    completion  what a shell completes it with, a name in `harness.cli.options.COMPLETIONS`
    shown       the default in words, where it is not what a user would write
    writes      what the command writes there; None for an option that writes nothing
    needs       fields, without all of which the option would do nothing, and is refused
    """

    flags: tuple[str, ...]
    help: str | Callable[[], str]
    metavar: str | None
    choices: tuple[str, ...]
    within: Range | None
    parse: Callable[[str], Any] | None
    from_python: Callable[[Any], Any] | None
    separator: str | None
    completion: str | None
    shown: str | None
    writes: Writes | None
    needs: tuple[str, ...]


def option(
    usage: str = "",
    help: str | Callable[[], str] = "",  # noqa: A002 (its name everywhere)
    *,
    default: Any = MISSING,
    choices: Iterable[str] = (),
    within: Range | None = None,
    parse: Callable[[str], Any] | None = None,
    from_python: Callable[[Any], Any] | None = None,
    separator: str | None = None,
    completion: str | None = None,
    shown: str | None = None,
    writes: Writes | None = None,
    needs: Iterable[str] = (),
) -> Any:
    """A field of an OptionSet, as `OptionSpec` describes it; without a default the option is required.

    The usage is how `--help` shows it: its flags, then what stands for the value, as in "-o, --output FILE".
    """
    *flags, last = usage.split(", ")
    flag, _, metavar = last.partition(" ")
    spec = OptionSpec(
        flags=tuple(filter(None, [*flags, flag])),
        help=help,
        metavar=metavar or None,
        choices=tuple(choices),
        within=within,
        parse=parse,
        from_python=from_python,
        separator=separator,
        completion=completion,
        shown=shown,
        writes=writes,
        needs=tuple(needs),
    )
    return dataclasses.field(default=default, metadata={_KEY: spec})


class OptionError(UsageError):
    """A value that an option does not take, as Python writes it; `on_the_command_line` as it is typed."""

    def __init__(self, declared: "DeclaredOption", given: Any, why: object) -> None:
        super().__init__(f"{declared.name}={given!r:.200}: {why}")
        self.on_the_command_line = f"{declared.flag} {given}: {why}"


@dataclass(frozen=True)
class DeclaredOption:
    """A field of a set: its name, what it holds, and what is said about it."""

    name: str
    # The type of a value; of one of them where there are several.
    type: type
    several: bool
    # Whether None is a value; for any other option it would be a mistake.
    optional: bool
    default: Any
    spec: OptionSpec

    @property
    def flag(self) -> str:
        """Its longest spelling on the command line; the name of one that only Python has."""
        return max(self.spec.flags, key=len, default=self.name)

    @property
    def required(self) -> bool:
        return self.default is MISSING

    @property
    def choices(self) -> tuple[str, ...]:
        """The words it takes; none where any word will do."""
        if issubclass(self.type, Enum) and not self.spec.choices:
            return tuple(str(member.value) for member in self.type)
        return self.spec.choices

    def value(self, given: Any) -> Any:
        """What was given as the field's type, checked."""
        if given is None and self.several and self.default == ():
            return ()
        if given is None and not self.optional:
            raise OptionError(self, None, "needs a value" if self.required else "leave it out for its default")
        if given is None or (not self.required and given is self.default):
            return given
        typed = given
        if self.spec.from_python is not None and not isinstance(given, str):
            try:
                given = self.spec.from_python(given)
            except (TypeError, ValueError):
                raise OptionError(self, given, f"write {self.spec.metavar}") from None
        if not self.several:
            return self._checked(given, typed)
        # Where there are several, a single one may stand by itself, and none at all is as if it was not given.
        words: Iterable[Any] = given if isinstance(given, Iterable) else [given]
        if isinstance(given, str):
            words = [given] if self.spec.separator is None else map(str.strip, given.split(self.spec.separator))
        values = tuple(self._checked(word, word) for word in words)
        return values if values or self.required else self.default

    def _checked(self, given: Any, typed: Any) -> Any:
        if self.choices:
            given = self._chosen(given)
        try:
            value = self._typed(given)
        except (ValueError, TypeError, UsageError) as error:
            # At the command line the value stands in the reason alone.
            why = str(error).removeprefix(f"'{given}': ").removeprefix(f"'{given}' is ")
            raise OptionError(self, typed, why) from None
        if self.type is int and abs(value) > MAX_INT:
            raise OptionError(self, typed, f"not in the range x<={MAX_INT}")
        if self.spec.within is not None and value not in self.spec.within:
            raise OptionError(self, typed, f"not in the range {self.spec.within}")
        return value

    def _chosen(self, given: Any) -> Any:
        """One of the choices, in whatever case it is written."""
        for choice in self.choices:
            if str(given).casefold() == choice.casefold():
                return choice
        raise OptionError(self, given, f"not one of {', '.join(self.choices)}")

    def _typed(self, given: Any) -> Any:
        if self.spec.parse is not None and isinstance(given, str):
            return self.spec.parse(given)
        if isinstance(given, self.type) and not (isinstance(given, bool) and self.type is not bool):
            return given
        if self.type is bool or (self.type in (int, float) and isinstance(given, bool)):
            raise TypeError(f"not {'true or false' if self.type is bool else 'a number'}")
        if self.type is int and isinstance(given, float) and not given.is_integer():
            raise ValueError("not a whole number")
        if self.type is float and isinstance(given, int):
            return float(given)
        # Where a value is parsed from text, anything else must be what the text would come to.
        if self.spec.parse is not None or (self.type is str and not isinstance(given, (int, float, Path))):
            raise TypeError(f"not a {self.type.__name__}")
        try:
            return self.type(given)
        except ValueError:
            raise ValueError("not a whole number" if self.type is int else "not a number") from None


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option,))
class OptionSet:
    """Base of all sets of options. Values are checked when a set is made, from wherever they come.

    An instance also has the options that rooms and other packages add to its set; its class is a subclass.
    """

    # Whether other packages may add to the result of a command that has these options.
    extendable: ClassVar[bool] = False
    # The set as it is declared, of one that was completed.
    _declared: ClassVar["type[OptionSet] | None"] = None

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True, repr=False)(cls)

    def __new__(cls, **_values: Any) -> Self:
        """Make one of the completed set, with the options that plug-ins add."""
        return super().__new__(completed(cls))

    def __reduce__(self) -> tuple[Any, ...]:
        values = {declared.name: getattr(self, declared.name) for declared in class_options(type(self))}
        return _unpickled, (self._declared or type(self), values)

    def __post_init__(self) -> None:
        for declared in class_options(type(self)):
            object.__setattr__(self, declared.name, declared.value(getattr(self, declared.name)))

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """A set from keyword arguments; a TypeError names the nearest option for one that does not exist."""
        if _unknown(cls, settings):
            from harness.options.entries import include_others

            problems = include_others()
            for name in _unknown(cls, settings):
                names = sorted(declared.name for declared in declared_options(cls))
                raise TypeError("; ".join([f"there is no option {name!r}", nearest(name, names), *problems]))
        missing = [known.name for known in declared_options(cls) if known.required and known.name not in settings]
        if missing:
            raise TypeError(f"missing: {', '.join(f'{name}=' for name in missing)}")
        return cls(**settings)

    @classmethod
    def taken_from(cls, options: "OptionSet") -> Self:
        """The options that another set has too, with its values; the rest have their defaults."""
        names = {declared.name for declared in declared_options(cls)}
        shared = [declared.name for declared in class_options(type(options)) if declared.name in names]
        return cls(**{name: getattr(options, name) for name in shared})

    def outputs(self, *kinds: Writes) -> list[tuple[str, Path]]:
        """The options that were given and name what is written, of these kinds or of all, and what they name."""
        wanted = kinds or tuple(Writes)
        written = [declared for declared in class_options(type(self)) if declared.spec.writes in wanted]
        named = [(declared.spec.flags[0], getattr(self, declared.name)) for declared in written]
        return [(flag, path) for flag, path in named if path is not None]

    def check_needs(self) -> None:
        """Raise an error if an option was given that does nothing without another one.

        Not when a set is made: a set that takes over a part of another's options need not have the other one.
        """
        declared = {known.name: known for known in class_options(type(self))}
        given = self.changed()
        for name in given:
            needed = [declared[other] for other in declared[name].spec.needs if other in declared]
            if needed and not any(other.name in given for other in needed):
                flag = declared[name].flag
                flags = " or ".join(
                    f"another {other.flag} than {other.default}" if other.choices and other.default else other.flag
                    for other in needed
                )
                raise UsageError(f"{flag} does nothing without {flags}; add it, or leave {flag} out")

    def refuse_others(self, why: str, *allowed: "type[OptionSet] | str") -> None:
        """Raise an error if an option was given that is not allowed: not in one of these sets, nor of these names.

        For an analysis that reads only some options of its command, whatever others the command is given later.
        """
        known: set[str] = set()
        for kind in allowed:
            known |= {kind} if isinstance(kind, str) else {declared.name for declared in declared_options(kind)}
        given = self.changed()
        for declared in class_options(type(self)):
            if declared.name in given and declared.name not in known:
                raise UsageError(f"{why}; leave out {declared.flag}")

    def changed(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        given = ((declared, getattr(self, declared.name)) for declared in class_options(type(self)))
        return {declared.name: value for declared, value in given if value != declared.default}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.changed().items())})"


def _unknown(kind: type[OptionSet], settings: Mapping[str, Any]) -> list[str]:
    return [name for name in settings if name not in {declared.name for declared in declared_options(kind)}]


def _unpickled(kind: type[OptionSet], values: Mapping[str, Any]) -> OptionSet:
    # Another process may not have looked yet for the packages that have some of them.
    return kind.of(values)


# Not by functools.cache, whose types do not take classes.
_completed: dict[type[OptionSet], Any] = {}
_class_options: dict[type[OptionSet], Sequence[DeclaredOption]] = {}


def completed(kind: type[T]) -> type[T]:
    """The set with what rooms and other packages add to it, as a subclass; the set itself if they add nothing."""
    if kind not in _completed:
        from harness.options.entries import options_added_to

        added = [options for options in options_added_to(kind) if not issubclass(kind, options)]
        about = {"__module__": kind.__module__, "__doc__": kind.__doc__, "_declared": kind}
        whole = type(kind.__name__, (kind, *dict.fromkeys(added)), about) if added and kind._declared is None else kind
        _completed[kind] = whole
    found: type[T] = _completed[kind]
    return found


def forget_completed() -> None:
    """Complete all sets anew, because more was added; instances that were made before stay what they are."""
    _completed.clear()


def declared_options(kind: type[OptionSet]) -> Sequence[DeclaredOption]:
    """The options of a set: its own, those that it inherits, in the order of its bases, and those that are added."""
    return class_options(completed(kind))


def class_options(kind: type[OptionSet]) -> Sequence[DeclaredOption]:
    """The same without those that are added: what an instance of this very class has."""
    if kind not in _class_options:
        fields: Sequence[Field[Any]] = dataclasses.fields(kind)  # type: ignore[arg-type]
        by_name = {field.name: field for field in fields}
        hints = typing.get_type_hints(kind)
        names = dict.fromkeys(name for base in kind.__mro__ for name in inspect.get_annotations(base))
        _class_options[kind] = [_declared(by_name[name], hints[name]) for name in names if name in by_name]
    return _class_options[kind]


def _declared(field: "Field[Any]", hint: Any) -> DeclaredOption:
    """From a field of type `X`, `X | None` or `tuple[X, ...]`."""
    optional = isinstance(hint, types.UnionType)
    if optional:
        [hint] = [part for part in typing.get_args(hint) if part is not types.NoneType]
    several = typing.get_origin(hint) is tuple
    kind = typing.get_args(hint)[0] if several else hint
    return DeclaredOption(field.name, kind, several, optional, field.default, field.metadata[_KEY])
