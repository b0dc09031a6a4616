"""What rooms and other packages add to the options of commands: ways to run cases, sections of scripts, more results.

An entry is light, because every command that could have its options looks at it: it says what there is, and `where`
names the code, as "module:object", which is imported when it is used.
"""

import re
from collections.abc import Iterator
from dataclasses import Field, dataclass, fields
from typing import Any, NamedTuple, TypeVar

from harness.errors import UsageError
from harness.options.declaration import OptionSet, class_options, declared_options, forget_completed
from harness.options.shared import ExecutionOptions
from harness.plugins import PluginGroup, load_object

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class AddedOptions:
    """Options that sets of the harness have in addition: all that inherit from `extends`."""

    name: str
    where: str
    options: type[OptionSet]
    extends: type[OptionSet]

    def load(self, kind: type[T]) -> type[T]:
        """What `where` names, which must be a subclass."""
        plugin = next(group.plugin(self.name) for entry, group in GROUPS.items() if isinstance(self, entry))
        about = f"{plugin or self.name}: {self.where}"
        loaded = load_object(self.where, about)
        if not (isinstance(loaded, type) and issubclass(loaded, kind)):
            raise UsageError(f"{about} is not a subclass of {kind.__module__}.{kind.__name__}")
        return loaded

    def is_given(self, options: OptionSet) -> bool:
        """Whether one of its options was given, other than those that only go with another one."""
        given = options.changed()
        return any(declared.name in given for declared in declared_options(self.options) if not declared.spec.needs)


E = TypeVar("E", bound=AddedOptions)


@dataclass(frozen=True, kw_only=True)
class OptionsEntry(AddedOptions):
    """More options of a command, of group hate.options, and what they add to its result.

    `where` names a subclass of harness.api.extension.Extension. The name is the key of what it adds to the JSON.
    One that extends `TableOptions` reads no more than outcomes, strata and units, and can go with `--table`.
    """


@dataclass(frozen=True, kw_only=True)
class EngineEntry(AddedOptions):
    """A way to run cases, of group hate.engines: the option of its name chooses it.

    `where` names a subclass of harness.engine.engines.Engine; `library` is what it needs, `extra` what to install.
    """

    extends: type[OptionSet] = ExecutionOptions
    library: str = ""
    extra: str = ""


@dataclass(frozen=True, kw_only=True)
class SectionEntry(AddedOptions):
    """A section of test scripts that makes several versions of every case, of group hate.sections.

    `where` names a subclass of harness.script.expansion.Expansion. An option `no_NAME` takes the originals alone.
    `made` is the folder in the cache for the inputs that it makes, and `holds` what users call them.
    """

    extends: type[OptionSet] = ExecutionOptions
    made: str
    holds: str


def _mistakes(entry: AddedOptions) -> Iterator[str]:
    """What makes an entry unusable."""
    wrong = False
    for name in ("options", "extends"):
        kind = getattr(entry, name)
        if not (isinstance(kind, type) and issubclass(kind, OptionSet)):
            wrong = True
            yield f"{name} is not a subclass of harness.options.OptionSet"
    if not isinstance(entry.where, str) or ":" not in entry.where:
        yield "where is not a module and an object, such as my_package.module:OBJECT"
    if wrong:
        return
    undeclared = [name for name, field in _fields(entry.options).items() if "hate_option" not in field.metadata]
    if undeclared:
        yield f"{undeclared[0]} of its options is not declared with option()"
        return
    known = _words_of(entry.extends)
    for added in class_options(entry.options):
        if added.required:
            yield f"its option {added.flag} has no default, so that no command would do without it"
        if any(not flag.startswith("-") for flag in added.spec.flags):
            yield f"its option {added.flag} does not begin with a dash"
        if clash := [word for word in (added.name, *added.spec.flags) if word in known]:
            yield f"its option {clash[0]} is there already; choose another name"


def _fields(kind: type[OptionSet]) -> "dict[str, Field[Any]]":
    return {field.name: field for field in fields(kind)}  # type: ignore[arg-type]


def _words_of(kind: type[OptionSet]) -> set[str]:
    """The names and flags of the options of a set, and of all sets that inherit from it, as far as they are known."""
    words = {word for declared in class_options(kind) for word in (declared.name, *declared.spec.flags)}
    return words.union(*(_words_of(other) for other in kind.__subclasses__()))


def _extension_mistakes(entry: OptionsEntry) -> Iterator[str]:
    yield from _mistakes(entry)
    if not getattr(entry.extends, "extendable", False):
        yield "extends is not the options of a command whose result can be extended, such as CompareOptions"


def _engine_mistakes(entry: EngineEntry) -> Iterator[str]:
    wrong = list(_mistakes(entry))
    yield from wrong
    if wrong:
        return
    if entry.name not in _fields(entry.options):
        yield f"options has no option {entry.name!r}, which would choose this engine"
    elif _fields(entry.options)[entry.name].default is not None:
        yield f"the default of its option {entry.name!r} is not None, so that it would always be chosen"


def _section_mistakes(entry: SectionEntry) -> Iterator[str]:
    yield from _mistakes(entry)
    if not (isinstance(entry.made, str) and re.fullmatch("[a-z0-9]+", entry.made)):
        yield "made is not the name of a folder, in small letters and digits"


# The sections that every script may have.
_SECTIONS = {"format", "test", "data", "train", "gallery", "cases", "params", "design"}
EXTENSIONS = PluginGroup("hate.options", OptionsEntry, _extension_mistakes)
ENGINES = PluginGroup("hate.engines", EngineEntry, _engine_mistakes)
SECTIONS = PluginGroup("hate.sections", SectionEntry, _section_mistakes, _SECTIONS.__contains__)
GROUPS: dict[type[AddedOptions], PluginGroup[Any]] = {
    EngineEntry: ENGINES,
    SectionEntry: SECTIONS,
    OptionsEntry: EXTENSIONS,
}


class Others(NamedTuple):
    """What other packages add, and what is wrong with those that cannot be used."""

    entries: list[AddedOptions]
    problems: list[str]


# They are looked for when somebody uses an option that nobody here has, or asks what there is.
_others: list[Others] = []


def include_others() -> list[str]:
    """Take in what other packages add, from now on; what is wrong with those that cannot be used."""
    if not _others:
        _others.append(Others([], []))
        package_of: dict[str, str] = {}
        for group in GROUPS.values():
            for plugin, problem in group.all():
                entry = group.find(plugin.name) if problem is None else None
                words = () if entry is None else _words_of(entry.options)
                if clash := [word for word in sorted(words) if word in package_of]:
                    other = package_of[clash[0]]
                    problem = f"{plugin}: its option {clash[0]} is also one of {other}; uninstall one of them"
                if problem is not None:
                    _others[0].problems.append(problem)
                elif entry is not None:
                    package_of |= dict.fromkeys(words, plugin.package)
                    _others[0].entries.append(entry)
        forget_completed()
    return _others[0].problems


def all_added(kind: type[E]) -> list[E]:
    """What the rooms add of a kind, and other packages, if they were taken in."""
    others = (entry for each in _others for entry in each.entries)
    return [*GROUPS[kind].here().values(), *(entry for entry in others if isinstance(entry, kind))]


def options_added_to(kind: type[OptionSet]) -> Iterator[type[OptionSet]]:
    """The sets that entries add to a set; extensions take long to import, so only those that can have one look."""
    for each in GROUPS:
        if each is not OptionsEntry or getattr(kind, "extendable", False):
            yield from (entry.options for entry in all_added(each) if issubclass(kind, entry.extends))
