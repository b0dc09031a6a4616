"""Find tests by path, or by name in the working folder, in library folders and among the bundled tests."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.bundled import bundled
from harness.errors import ScriptError, UsageError
from harness.files.caches import MemoryCache
from harness.files.digest import stamp_of
from harness.files.toml_text import read_toml
from harness.params import nearest

# How the names of scripts end.
SUFFIX = ".hate.toml"


@dataclass(frozen=True)
class FoundScript:
    """A script that was found, with the name and version in it."""

    path: Path
    name: str
    version: str
    site: str
    # The algorithm that a newcomer should beat; empty if it names none.
    baseline: str = ""


def library_folders(libraries: Sequence[str | Path] = ()) -> list[tuple[str, Path]]:
    """The folders to search for tests, in order, each with a name for it."""
    named = [Path(folder) for folder in (*libraries, *os.environ.get("HATE_LIBRARY", "").split())]
    missing = [folder for folder in named if not folder.is_dir()]
    if missing:
        raise UsageError(f"library {missing[0]}: no such folder; see --library and HATE_LIBRARY")
    folders = [(".", Path()), *((str(folder), folder) for folder in named), ("bundled", bundled("test_scripts"))]
    return list({path.resolve(): (name, path) for name, path in reversed(folders)}.values())[::-1]


def scripts_in(folder: Path) -> Iterator[Path]:
    """Script files in a folder and in its subfolders."""
    for parents in ([folder], _subfolders(folder), _subfolders(folder / "test_scripts")):
        paths = (Path(entry.path) for parent in parents for entry in _entries(parent) if entry.name.endswith(SUFFIX))
        yield from sorted(path for path in paths if path.is_file())


def _subfolders(folder: Path) -> list[Path]:
    # Only links are looked up, which an entry of a folder with 100,000 files does not need.
    folders = (entry for entry in _entries(folder) if entry.is_dir(follow_symlinks=False) or entry.is_symlink())
    return [Path(entry.path) for entry in folders if Path(entry.path).is_dir()]


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder; nothing if it is closed to us, or gone: other programs come and go in shared folders."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def find_all(libraries: Sequence[str | Path] = ()) -> list[FoundScript]:
    """Every test that has a name, nearest folders first; files that cannot be parsed are skipped."""
    scripts: list[FoundScript] = []
    seen: set[Path] = set()
    for site, folder in library_folders(libraries):
        for path in scripts_in(folder):
            real = path.resolve()
            if real not in seen and (entry := peek(path, site)) is not None:
                seen.add(real)
                scripts.append(entry)
    return scripts


def peek(path: Path, site: str = "") -> FoundScript | None:
    """The name and version in a script, without checking the rest of it; None if it has none."""
    try:
        key = (path.absolute(), stamp_of(path.stat()))
        name, version, baseline = _NAMES.get_or_make(key, lambda: _names(path))
    except (OSError, ScriptError, KeyError, TypeError, AttributeError):
        return None
    return FoundScript(path, name, version, site, baseline)


# Name, version and baseline by path and stamp: who asks twice in one process does not wait for the parser again.
_NAMES: MemoryCache[tuple[str, str, str]] = MemoryCache(1000)


def _names(path: Path) -> tuple[str, str, str]:
    test = read_toml(path)[0]["test"]
    return str(test["name"]), str(test["version"]), str(test.get("baseline", ""))


def find_script(text: str, libraries: Sequence[str | Path] = ()) -> Path:
    """The script for a path, NAME, or NAME@VERSION."""
    path = Path(text)
    is_path = text.endswith(".toml") or "/" in text or os.sep in text
    # A bare name is not a path: many people name their program after the test.
    if is_path and path.is_file():
        return path
    if path.is_dir() and (scripts := sorted(path.glob(f"*{SUFFIX}"))):
        if len(scripts) > 1:
            raise ScriptError(f"{text}: has {len(scripts)} scripts, {', '.join(p.name for p in scripts)}; name one")
        return scripts[0]
    if is_path:
        raise ScriptError(f"{text}: no such script; `hate list` shows the tests")
    known = find_all(libraries)
    name, _, version = text.partition("@")
    for entry in known:
        if entry.name == name and version in ("", entry.version):
            return entry.path
    versions = sorted({entry.version for entry in known if entry.name == name})
    if versions:
        raise UsageError(f"test '{name}' has no version {version}; there is {', '.join(versions)}")
    raise UsageError(f"no test '{name}'; {nearest(name, {entry.name for entry in known})} (see `hate list`)")
