"""What rooms and other packages add to the options of commands: ways to run cases, sections of scripts, more results.

An entry is light, because every command that could have its options looks at it: it says what there is, and `where`
names the code, as "module:object", which is imported when it is used.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, TypeVar

from harness.errors import UsageError
from harness.options.declaration import OptionSet, declared_options, forget_completed
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
        plugin = next(group.plugin(self.name) for group in GROUPS if isinstance(self, group.kind))
        about = f"{plugin or self.name}: {self.where}"
        found = load_object(self.where, about)
        if not (isinstance(found, type) and issubclass(found, kind)):
            raise UsageError(f"{about} is not a subclass of {kind.__module__}.{kind.__name__}")
        return found

    def asked(self, options: OptionSet) -> bool:
        """Whether one of its options was given, other than those that only go with another one."""
        given = options.changed()
        return any(one.name in given for one in declared_options(self.options) if not one.spec.needs)


@dataclass(frozen=True, kw_only=True)
class OptionsEntry(AddedOptions):
    """More options of a command, of group hate.options, and what they add to its result.

    `where` names a subclass of harness.api.extension.Extension. The name is the key of what it adds to the JSON.
    `reads_columns`: whether it looks at more than outcomes, strata and units, which four counts do not have either.
    """

    reads_columns: bool = True


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
    for name in ("options", "extends"):
        kind = getattr(entry, name)
        if not (isinstance(kind, type) and issubclass(kind, OptionSet)):
            yield f"{name} is not a subclass of harness.options.OptionSet"
    if ":" not in entry.where:
        yield "where is not a module and an object, such as my_package.module:OBJECT"


def _engine_mistakes(entry: EngineEntry) -> Iterator[str]:
    wrong = list(_mistakes(entry))
    yield from wrong
    if wrong:
        return
    # Not `declared_options`, which looks at all entries.
    defaults = {field.name: field.default for field in fields(entry.options)}  # type: ignore[arg-type]
    if entry.name not in defaults:
        yield f"options has no option {entry.name!r}, which would choose this engine"
    elif defaults[entry.name] is not None:
        yield f"the default of its option {entry.name!r} is not None, so that it would always be chosen"


EXTENSIONS = PluginGroup("hate.options", OptionsEntry, _mistakes)
ENGINES = PluginGroup("hate.engines", EngineEntry, _engine_mistakes)
SECTIONS = PluginGroup("hate.sections", SectionEntry, _mistakes)
GROUPS: tuple[PluginGroup[Any], ...] = (ENGINES, SECTIONS, EXTENSIONS)


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
        for group in GROUPS:
            for plugin, problem in group.all():
                if problem is not None:
                    _others[0].problems.append(problem)
                elif (entry := group.find(plugin.name)) is not None:
                    _others[0].entries.append(entry)
        forget_completed()
    return _others[0].problems


def all_added() -> Iterable[AddedOptions]:
    """What the rooms add, and other packages, if they were taken in."""
    here = [entry for group in GROUPS for entry in group.here().values()]
    return [*here, *(entry for others in _others for entry in others.entries)]
