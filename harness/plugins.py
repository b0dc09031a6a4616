"""Plug-ins: tasks, measures and importers in other installed packages, found through their entry points.

A plug-in is imported only when it is needed, and checked when it is imported. See docs/reference/plugins.md.
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
        """Import the object that the entry point names."""
        try:
            return self.entry.load()
        except (Exception, SystemExit) as error:  # foreign code may raise anything
            text = " ".join(str(error).split())
            raise UsageError(f"{self}: cannot be loaded: {type(error).__name__}: {text}") from None


def installed(group: str) -> Iterator[Plugin]:
    """The plug-ins of a group, sorted by name; none is imported."""
    from importlib.metadata import entry_points  # takes some milliseconds, and most commands do not need it

    plugins = []
    for entry in entry_points(group=group):
        package = entry.dist
        name, version = ("unknown", "") if package is None else (package.name, package.version)
        plugins.append(Plugin(group, entry.name, name, version, entry))
    yield from sorted(plugins, key=lambda plugin: (plugin.name, plugin.package))


class PluginGroup(Generic[T]):
    """The plug-ins of one group: found by name, loaded on first use, and checked.

    An entry point must name an object of type `kind`; `mistakes` lists what else is wrong with it; `is_built_in`
    tells whether a name is taken.
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
        """The names of the plug-ins, except those that are built in."""
        return list(
            dict.fromkeys(plugin.name for plugin in installed(self.group) if not self._is_built_in(plugin.name))
        )

    def find(self, name: str) -> T | None:
        """The object with this name, loaded and checked; None if no package has it; a UsageError if it is invalid."""
        if name in self._loaded:
            return self._loaded[name][1]
        found = [plugin for plugin in installed(self.group) if plugin.name == name]
        if not found:
            return None
        if len(found) > 1:
            both = " and ".join(f"{plugin.package} {plugin.version}" for plugin in found)
            raise UsageError(f"{self.group}: {name}: provided by two packages, {both}; uninstall one of them")
        return self.load(found[0])

    def load(self, plugin: Plugin) -> T:
        """The object of a plug-in, checked."""
        if self._is_built_in(plugin.name):
            raise UsageError(f"{plugin}: this name is built in; the plug-in must choose another")
        loaded = plugin.load()
        if not isinstance(loaded, self._kind):
            raise UsageError(f"{plugin}: {plugin.entry.value} is {_describe(loaded)}, not a {_path(self._kind)}")
        if mistakes := [*self._name_mistakes(plugin, loaded), *self._mistakes(loaded)]:
            raise UsageError(f"{plugin}: {'; '.join(mistakes)}")
        self._loaded[plugin.name] = (plugin, loaded)
        return loaded

    def all(self) -> Iterator[tuple[Plugin, str | None]]:
        """Load every installed plug-in; each with what is wrong with it, or None."""
        for plugin in installed(self.group):
            try:
                # By name if possible, which reports two packages with the same name.
                self.load(plugin) if self._is_built_in(plugin.name) else self.find(plugin.name)
                yield plugin, None
            except UsageError as error:
                yield plugin, str(error)

    def plugin(self, name: str) -> Plugin | None:
        """The plug-in that an object came from; None if it is built in."""
        return self._loaded[name][0] if name in self._loaded else None

    def _name_mistakes(self, plugin: Plugin, loaded: T) -> Iterator[str]:
        name = getattr(loaded, "name", None)
        if name is None:
            yield "name is missing"
        elif name != plugin.name:
            yield f"its name is {name!r}, but the entry's is {plugin.name!r}"


def _describe(loaded: object) -> str:
    return f"the class {loaded.__name__} itself" if isinstance(loaded, type) else f"a {type(loaded).__name__}"


def _path(kind: type) -> str:
    return f"{'.'.join(kind.__module__.split('.')[:-1])}.{kind.__name__}"
