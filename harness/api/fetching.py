"""Downloads ahead of time: `harness.fetch`, which `hate fetch` calls."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from harness.api.progress import show_downloads
from harness.api.result import Result
from harness.api.runs import AnyTest, note
from harness.errors import UsageError
from harness.options import LibraryOptions, Writes, option
from harness.report.blocks import Block, Table
from harness.script.cases import CaseSet, load_cases
from harness.script.load import Script
from harness.site.fetch import fetch_data
from harness.site.find_test import find_test
from harness.site.find_transcripts import KnownTranscripts, site_transcripts_of
from harness.site.sites import find_release, sites


class FetchOptions(LibraryOptions):
    """What is downloaded beside a test and its data."""

    transcripts: bool = option(
        "--transcripts", "Also download every transcript of the test at the sites.", default=False
    )
    interfaces: Path | None = option(
        "--interfaces FOLDER",
        "Also copy the interfaces that are published with the test into FOLDER, to read; nothing runs them.",
        default=None,
        writes=Writes.FOLDER,
    )


class FetchedPart(NamedTuple):
    """A part of a test that is here now."""

    # NAME@VERSION.
    test: str
    # "script", "data NAME", "transcript NAME" or "interface NAME".
    part: str
    path: Path


@dataclass(frozen=True, repr=False)
class FetchResult(Result):
    """What is here now, and where."""

    fetched: Sequence[FetchedPart]

    def payload(self) -> dict[str, Any]:
        return {"fetched": [{"test": part.test, "part": part.part, "path": str(part.path)} for part in self.fetched]}

    def blocks(self) -> Sequence[Block]:
        """A row for each part."""
        return [Table(["test", "part", "path"], [[part.test, part.part, str(part.path)] for part in self.fetched])]


def fetch(tests: AnyTest | Iterable[AnyTest], *, options: FetchOptions, progress: bool | None = None) -> FetchResult:
    """Download all that tests need, so that they run without a network; what is here already is not downloaded again.

    >>> harness.fetch("hdigits")
    >>> harness.fetch(["hdigits", "hdigits/wisard"])

    The result names every part and its path: `.fetched`.

    Args:
        tests: Names, NAME@VERSION, paths or URLs of tests, or what `load_test` returned; TEST/NAME is a transcript. One
            or several.
        progress: Show downloads: see `run`.
    """
    several = [tests] if isinstance(tests, (str, Path, CaseSet)) else list(tests)
    if not several:
        raise UsageError("no test; name at least one")
    with show_downloads(progress):
        return FetchResult([part for test in several for part in _fetch(test, options)])


def _fetch(test: AnyTest, options: FetchOptions) -> list[FetchedPart]:
    word = "" if isinstance(test, CaseSet) else str(test)
    if "/" in word and "://" not in word and not Path(word).exists() and not word.endswith(".toml"):
        source = KnownTranscripts().published(word)
        if source.note:
            note(source.note)
        return [FetchedPart(source.full_name.rpartition("/")[0], f"transcript {source.stem}", source.path)]
    script = test.script if isinstance(test, CaseSet) else find_test(word, options.libraries, note)
    paths = fetch_data(script)
    load_cases(script, paths)
    label = f"{script.name}@{script.version}"
    parts = [FetchedPart(label, "script", script.path)]
    parts += [FetchedPart(label, f"data {name}", path) for name, path in paths.items()]
    if options.transcripts:
        among = sites()
        shared = site_transcripts_of(script.name, script.digest, among)
        parts += [FetchedPart(label, f"transcript {source.stem}", source.path) for source in shared]
        for text in among.notes:
            note(text)
    if options.interfaces is not None:
        parts += _interfaces(script, options.interfaces)
    return parts


def _interfaces(script: Script, folder: Path) -> list[FetchedPart]:
    """The interfaces of the first site that has the test."""
    from harness.site.catalogue import copy_interface

    label = f"{script.name}@{script.version}"
    release = find_release(label, sites())
    if release is None or not release.index.interfaces:
        raise UsageError(f"{script.name}: no interfaces are published with it at the sites")
    store = release.catalogue.store
    return [
        FetchedPart(label, f"interface {entry.name}", copy_interface(store, entry, folder))
        for entry in release.index.interfaces
    ]
