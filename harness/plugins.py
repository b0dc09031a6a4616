"""What comes in by entry points: from the rooms of this package that can be taken away, and from other packages.

An entry is imported only when it is needed, and checked when it is imported. See docs/reference/plugins.md.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, lru_cache
from importlib import import_module
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar, cast

from harness.errors import UsageError

T = TypeVar("T")

# Packages of the harness on which nothing else rests: without its folder, a room is not there. Each has a table
# ENTRY_POINTS, {group: {name: "module:object"}}, as other packages have in their metadata.
ROOMS = ("lab", "cluster", "vary")


# What was loaded by entry points of other packages, by its outermost module.
_foreign: dict[str, str] = {}


def load_object(where: str, about: str) -> Any:
    """What "module:object" names; a UsageError that begins with what it is about."""
    module, _, name = where.partition(":")
    if (outermost := module.partition(".")[0]) != "harness":
        _foreign.setdefault(outermost, about.rstrip(":"))
    try:
        return attrgetter(name)(import_module(module))
    except (Exception, SystemExit) as error:  # foreign code may raise anything
        text = " ".join(str(error).split())
        raise UsageError(f"{about} cannot be loaded: {type(error).__name__}: {text}") from None


def culprit(error: BaseException) -> str:
    """The plug-in in whose code an error was raised, or in what it called; empty if it was in ours."""
    found, trace = "", error.__traceback__
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        if module == "harness" or module in _foreign:
            found = _foreign.get(module, "")
        trace = trace.tb_next
    return found


class Plugin(NamedTuple):
    """An entry point of an installed package, or of a room; `group` is hate.tasks, hate.measures and so on."""

    group: str
    name: str
    package: str
    version: str
    value: str

    def __str__(self) -> str:
        return f"plug-in {self.package} {self.version}, entry {self.group}: {self.name}"

    def load(self) -> object:
        """Import the object that the entry point names."""
        return load_object(self.value, f"{self}:")


@cache
def in_rooms(group: str) -> tuple[Plugin, ...]:
    """The entries of a group in the rooms that are there, in their order; none is imported."""
    from harness import __version__

    rooms = []
    for room in ROOMS:
        try:
            rooms.append(import_module(f"harness.{room}"))
        except ModuleNotFoundError as error:
            if error.name != f"harness.{room}":
                raise
    # A removed folder may leave `__pycache__`, which imports as an empty package.
    tables = [getattr(room, "ENTRY_POINTS", {}) for room in rooms]
    entries = [entry for table in tables for entry in table.get(group, {}).items()]
    return tuple(Plugin(group, name, "hate-harness", __version__, value) for name, value in entries)


def installed(group: str) -> tuple[Plugin, ...]:
    """The entries of a group in other packages, sorted by name; none is imported."""
    return _installed(group, tuple((folder, _changed(folder)) for folder in sys.path))


def _changed(folder: str) -> int:
    """When something was last added to a folder or taken from it."""
    with suppress(OSError):
        return os.stat(folder or ".").st_mtime_ns
    return 0


@lru_cache
def _installed(group: str, _folders: tuple[tuple[str, int], ...]) -> tuple[Plugin, ...]:
    """The same, looked up again only if another package was installed since, as for every measure of a table."""
    if not _is_mentioned(group):
        return ()
    from importlib.metadata import entry_points

    try:
        entries = entry_points(group=group)
    except UnicodeDecodeError as error:
        raise UsageError(f"{group}: the metadata of an installed package cannot be read: {error}") from None
    plugins = []
    for entry in entries:
        package = entry.dist
        name, version = ("unknown", "") if package is None else (package.name, package.version)
        plugins.append(Plugin(group, entry.name, name, version, entry.value))
    return tuple(sorted(plugins, key=lambda plugin: (plugin.name, plugin.package)))


def _is_mentioned(group: str) -> bool:
    """Whether an installed package may have entries of a group, in a tenth of the time that it takes to read them."""
    for folder in sys.path:
        if os.path.isfile(folder):  # an archive, into which this does not look
            return True
        with suppress(OSError), os.scandir(folder or ".") as found:
            if any(group in _text(f"{one.path}/entry_points.txt") for one in found if one.name.endswith("-info")):
                return True
    return False


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


class PluginGroup(Generic[T]):
    """The entries of one group: found by name, loaded on first use, and checked.

    An entry must name an object of type `kind`; `mistakes` lists what else is wrong with it; `is_built_in` tells
    whether a name is taken. Names of the rooms are taken too. Entries of the rooms are checked by a test, not at every
    start.
    """

    def __init__(
        self,
        group: str,
        kind: type[T],
        mistakes: Callable[[T], Iterator[str]] = lambda _loaded: iter(()),
        is_built_in: Callable[[str], bool] = lambda _name: False,
    ) -> None:
        self.group = group
        self.kind = kind
        self._mistakes = mistakes
        self._is_built_in = is_built_in
        self._loaded: dict[str, tuple[Plugin, T]] = {}

    def here(self) -> dict[str, T]:
        """What the rooms bring in, by name."""
        for plugin in in_rooms(self.group):
            if plugin.name not in self._loaded:
                self._loaded[plugin.name] = (plugin, cast(T, plugin.load()))
        return {plugin.name: self._loaded[plugin.name][1] for plugin in in_rooms(self.group)}

    def names(self) -> list[str]:
        """The names of all that can be found: of the rooms, and of other packages."""
        others = [plugin.name for plugin in installed(self.group) if not self._is_built_in(plugin.name)]
        return list(dict.fromkeys([*self.here(), *others]))

    def find(self, name: str) -> T | None:
        """The object with this name, loaded and checked; None if nobody has it; a UsageError if it is invalid."""
        if name in self._loaded:
            return self._loaded[name][1]
        if name in (here := self.here()):
            return here[name]
        plugins = [plugin for plugin in installed(self.group) if plugin.name == name]
        if not plugins:
            return None
        if len(plugins) > 1:
            both = " and ".join(f"{plugin.package} {plugin.version}" for plugin in plugins)
            raise UsageError(f"{self.group}: {name}: provided by two packages, {both}; uninstall one of them")
        return self.load(plugins[0])

    def load(self, plugin: Plugin) -> T:
        """The object of another package's entry, checked."""
        if self._is_built_in(plugin.name) or plugin.name in self.here():
            raise UsageError(f"{plugin}: this name is built in; the plug-in must choose another")
        loaded = self.checked(plugin)
        self._loaded[plugin.name] = (plugin, loaded)
        return loaded

    def checked(self, plugin: Plugin) -> T:
        """The object of any entry; a UsageError says what is wrong with it."""
        loaded = plugin.load()
        if not isinstance(loaded, self.kind):
            raise UsageError(f"{plugin}: {plugin.value} is {_describe(loaded)}, not a {_path(self.kind)}")
        if mistakes := [*self._name_mistakes(plugin, loaded), *self._mistakes(loaded)]:
            raise UsageError(f"{plugin}: {'; '.join(mistakes)}")
        return loaded

    def all(self) -> Iterator[tuple[Plugin, str | None]]:
        """Load the entries of all other packages; each with what is wrong with it, or None."""
        for plugin in installed(self.group):
            try:
                # By name if possible, which reports two packages with the same name.
                taken = self._is_built_in(plugin.name) or plugin.name in self.here()
                self.load(plugin) if taken else self.find(plugin.name)
                yield plugin, None
            except UsageError as error:
                yield plugin, str(error)

    def plugin(self, name: str) -> Plugin | None:
        """The entry of another package that an object came from; None if it is of this one."""
        found = self._loaded[name][0] if name in self._loaded else None
        return None if found in in_rooms(self.group) else found

    def _name_mistakes(self, plugin: Plugin, loaded: T) -> Iterator[str]:
        name = getattr(loaded, "name", None)
        if name is None:
            yield "name is missing"
        elif name != plugin.name:
            yield f"its name is {name!r}, but the entry's is {plugin.name!r}"


def _describe(loaded: object) -> str:
    return f"the class {loaded.__name__} itself" if isinstance(loaded, type) else f"a {type(loaded).__name__}"


def _path(kind: type) -> str:
    """Where to import it from: the package of its module, if that has it too."""
    package = kind.__module__.rpartition(".")[0]
    return f"{package if hasattr(sys.modules[package], kind.__name__) else kind.__module__}.{kind.__name__}"


class CommandEntry(NamedTuple):
    """A command, of group hate.commands. It is light, since `hate --help` looks at all of them."""

    name: str
    # What it does, for `hate --help`.
    summary: str
    # Its click command, as "module:object".
    where: str
