"""Plug-ins: tasks, measures and importers of other installed packages, found through their entry points.

Nothing of a plug-in is imported before it is asked for, and whatever is imported is checked. See docs/plugins.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from harness.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


@dataclass(frozen=True)
class Plugin:
    """An entry point of an installed package; `group` is hate.tasks, hate.measures or hate.importers."""

    group: str
    name: str
    package: str
    version: str
    entry: EntryPoint

    def __str__(self) -> str:
        return f"plug-in {self.package} {self.version}, entry {self.group}: {self.name}"

    def load(self) -> object:
        """Import what the entry names."""
        try:
            return self.entry.load()
        except (Exception, SystemExit) as error:  # it is somebody else's code: anything can happen
            text = " ".join(str(error).split())
            raise UsageError(f"{self}: cannot be loaded: {type(error).__name__}: {text}") from None


def installed(group: str) -> Iterator[Plugin]:
    """The plug-ins of a group, by name; nothing of them is imported."""
    from importlib.metadata import entry_points  # takes some milliseconds, which most commands need not spend

    found = []
    for entry in entry_points(group=group):
        package = entry.dist
        name, version = ("unknown", "") if package is None else (package.name, package.version)
        found.append(Plugin(group, entry.name, name, version, entry))
    yield from sorted(found, key=lambda plugin: (plugin.name, plugin.package))


class PluginGroup(Generic[T]):
    """The plug-ins of one group: found by name, loaded when first asked for, and checked.

    `kind` is the type that an entry must name an object of; `mistakes` are what else is wrong with one; `is_built_in`
    says which names are taken.
    """

    def __init__(
        self,
        group: str,
        kind: type[T],
        mistakes: Callable[[T], Iterator[str]],
        is_built_in: Callable[[str], bool],
    ) -> None:
        self.group = group
        self._kind = kind
        self._mistakes = mistakes
        self._is_built_in = is_built_in
        self._loaded: dict[str, tuple[Plugin, T]] = {}

    def names(self) -> list[str]:
        """The names that can be asked for."""
        return list(
            dict.fromkeys(plugin.name for plugin in installed(self.group) if not self._is_built_in(plugin.name))
        )

    def find(self, name: str) -> T | None:
        """The object of a name, loaded and checked; None where no package has it. A UsageError says what is wrong."""
        if name in self._loaded:
            return self._loaded[name][1]
        found = [plugin for plugin in installed(self.group) if plugin.name == name]
        if not found:
            return None
        if len(found) > 1:
            both = " and ".join(f"{plugin.package} {plugin.version}" for plugin in found)
            raise UsageError(f"{self.group}: {name}: in two packages, {both}; uninstall one of them")
        return self.load(found[0])

    def load(self, plugin: Plugin) -> T:
        """The object of a plug-in, checked."""
        if self._is_built_in(plugin.name):
            raise UsageError(f"{plugin}: the name is built in; the plug-in must choose another")
        made = plugin.load()
        if not isinstance(made, self._kind):
            raise UsageError(f"{plugin}: {plugin.entry.value} is {_what(made)}, not a {_path(self._kind)}")
        if mistakes := [*self._name_mistakes(plugin, made), *self._mistakes(made)]:
            raise UsageError(f"{plugin}: {'; '.join(mistakes)}")
        self._loaded[plugin.name] = (plugin, made)
        return made

    def all(self) -> Iterator[tuple[Plugin, str | None]]:
        """Every plug-in that is installed, loaded, and what is wrong with it, if anything."""
        found = list(installed(self.group))
        for plugin in found:
            try:
                # By name where it can be: two packages that have the same one are then found out.
                self.load(plugin) if self._is_built_in(plugin.name) else self.find(plugin.name)
                yield plugin, None
            except UsageError as error:
                yield plugin, str(error)

    def plugin(self, name: str) -> Plugin | None:
        """The plug-in that an object came from; None for what is built in."""
        return self._loaded[name][0] if name in self._loaded else None

    def _name_mistakes(self, plugin: Plugin, made: T) -> Iterator[str]:
        name = getattr(made, "name", None)
        if name is None:
            yield "name is missing"
        elif name != plugin.name:
            yield f"its name is {name!r}, and the entry's {plugin.name!r}"


def _what(made: object) -> str:
    return f"the class {made.__name__} itself" if isinstance(made, type) else f"a {type(made).__name__}"


def _path(kind: type) -> str:
    return f"{'.'.join(kind.__module__.split('.')[:-1])}.{kind.__name__}"
