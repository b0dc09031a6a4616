"""Find the transcripts that a user means: a file, a URL, TEST/NAME, NAME or standard input.

A NAME is the newest complete run of that algorithm under the working folder, or else the published transcript.
"""

import atexit
import difflib
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import IO
from urllib.parse import unquote

from harness.errors import DataError, HateError, OutputError, TranscriptError, UsageError
from harness.site.catalogue import Catalogue
from harness.site.config import configured_sites, site_config
from harness.site.download_request import DownloadLimits
from harness.site.layout import TestIndex, TranscriptEntry
from harness.site.local_runs import ROOT, SUFFIXES, LocalRun, bundled_runs, one_line, transcript_stem, user_runs
from harness.site.sites import TEST_IN_ADDRESS, Sites, open_site, page_address, sites
from harness.site.url_cache import remote_transcript
from harness.site.urls import is_url, masked, url_path
from harness.transcript.format import Header, changed_params, differing_params, params_text
from harness.transcript.read import open_transcript

# The address of a transcript is that of its page.
_ADDRESS = re.compile(rf"(?P<site>.+?)/transcripts/{TEST_IN_ADDRESS}/(?P<transcript>[A-Za-z0-9][A-Za-z0-9._+-]*)")
MAX_NAMED = 3
MAX_HINTS = 10


@dataclass(frozen=True)
class Source:
    """A transcript that a user means, which can be read from `path`, in any form."""

    path: Path
    # What to call it in messages: the file, the URL without credentials, "standard input".
    name: str
    # The file's base name without .jsonl, .gz or .parquet, to distinguish two runs of one algorithm.
    stem: str
    # A note for the user about where it came from; commands print it to stderr.
    note: str = ""
    # TEST/NAME, if it is published.
    full_name: str = ""
    # The user's own word for it, which may have a password in it.
    typed: str = field(default="", repr=False)
    # Whether it came from standard input or a pipe, which nobody can read again.
    piped: bool = False

    @property
    def known_as(self) -> str:
        """How a later command can name it."""
        return self.full_name or self.name

    @property
    def tests(self) -> set[str]:
        """The test that it belongs to; empty if it cannot be read, which reading it reports."""
        try:
            with open_transcript(self.path) as reader:
                return {reader.header.test.name}
        except HateError:
            return set()


class KnownTranscripts:
    """All that a name can mean: the user's runs, what ships with the harness, and what is published at sites.

    The folders are searched once, when they are needed.
    """

    @cached_property
    def user_runs(self) -> list[LocalRun]:
        """Those under the working folder."""
        return user_runs()

    @cached_property
    def bundled(self) -> list[LocalRun]:
        """Those that ship with the harness."""
        return bundled_runs()

    def names(self) -> set[str]:
        """All names that are known on this machine."""
        return self.user_names() | {name for run in self.bundled for name in (run.stem, run.full_name)}

    def user_names(self) -> set[str]:
        return set[str]().union(*(run.names for run in self.user_runs))

    def open(self, texts: Sequence[str], limits: DownloadLimits | None = None) -> list[Source]:
        """The transcripts that a user means, each a path, a URL, TEST/NAME, NAME or `-`.

        If several tests have a NAME, it means the test that all the transcripts can belong to; if there are several
        such tests, that of the newest run. A URL is downloaded into the cache. Input that cannot be read twice
        (standard input, a pipe) is copied to a temporary file that is removed when the program ends. The records are
        not checked here.
        """
        matches = [_direct(text, limits or DownloadLimits()) or self._by_name(text) for text in texts]
        test = None
        if any(isinstance(match, NameMatches) and len(match.tests) != 1 for match in matches):
            test = _common_test(matches)
            matches = [match if isinstance(match, Source) or match.tests else match.at_sites(test) for match in matches]
            test = _common_test(matches)
        chosen = [match if isinstance(match, Source) else match.choose(test) for match in matches]
        return [replace(source, typed=text) for source, text in zip(chosen, texts, strict=True)]

    def published(self, text: str) -> Source:
        """The published transcript with this name, downloaded if it is at a site; a UsageError lists what exists."""
        matches = self.bundled_as(text)
        source = _published_source(_only_match(text, list(matches.values()))) if matches else _at_sites(text)
        if source is None:
            raise UsageError(f"{text}: no such file and no published transcript of that name; {self.hint(text)}")
        return source

    def published_header(self, header: Header) -> Header | None:
        """The header of the bundled run of the same algorithm on the same test, if there is one."""
        names = (header.test.name, header.algorithm.name)
        return next((run.header for run in self.bundled if (run.test, run.algorithm) == names), None)

    def bundled_as(self, text: str) -> dict[str, LocalRun]:
        """The bundled transcripts with a name, with or without the test and the test's version, by test."""
        test, slash, name = text.rpartition("/")
        test_name, at, version = test.partition("@")
        named = {run.path.parent.name: run for run in self.bundled if run.stem == name}
        return {
            folder: run
            for folder, run in named.items()
            if not slash or folder == test_name
            if not at or (run.header is not None and run.header.test.version == version)
        }

    def named(self, text: str) -> "NameMatches":
        """All that a name may mean on this machine."""
        # Files that are no transcripts are known by the names of the runs of an algorithm: NAME, NAME-2.
        numbered = re.compile(rf"{re.escape(text)}(-[0-9]+)?\.(jsonl|parquet).*")
        runs = [
            run for run in self.user_runs if text in run.names or (not run.names and numbered.fullmatch(run.path.name))
        ]
        runs.sort(key=lambda run: run.order, reverse=True)
        complete = [run for run in runs if not run.flaw]
        by_test: dict[str, list[LocalRun]] = {}
        # Algorithms go before files.
        for run in [run for run in complete if run.algorithm == text] or complete:
            by_test.setdefault(run.test, []).append(run)
        return NameMatches(one_line(text), by_test, [run for run in runs if run.flaw], self.bundled_as(text), self)

    def _by_name(self, text: str) -> "Source | NameMatches":
        """TEST/NAME, which is always a published transcript, or all that a NAME may mean."""
        named, path = self.named(text), Path(text)
        if "/" in text:
            bundled = next(iter(named.bundled.values()), None)
            # An algorithm's name may contain a slash, as the names of models do.
            return (_at_sites(text) if bundled is None else _published_source(bundled)) or named
        if named.tests or not path.exists():
            return named
        if path.is_dir():
            raise _folder_error(text)
        # Not a transcript, but nothing else has the name; reading it reports what is wrong.
        return _source(LocalRun(path))

    def hint(self, text: str, others: Iterable[str] = ()) -> str:
        """Names that the user may have meant by an unknown one."""
        full = [run.full_name for run in self.bundled]
        names = sorted({run.stem for run in self.bundled} | set(full) | set(others))
        near = difflib.get_close_matches(text, names, n=3, cutoff=0.6)
        if near:
            return f"did you mean {' or '.join(near)}?"
        listed = [*dict.fromkeys(others), *full]
        more = f" and {len(listed) - MAX_HINTS:,} more" if len(listed) > MAX_HINTS else ""
        return f"known: {', '.join(listed[:MAX_HINTS])}{more}" if listed else "nothing is published here"


@dataclass(frozen=True)
class NameMatches:
    """All that a name may mean on this machine."""

    text: str
    # The user's complete runs by test, newest first.
    complete: dict[str, list[LocalRun]]
    # The user's other files of that name, newest first.
    skipped: list[LocalRun]
    # By test.
    bundled: dict[str, LocalRun]
    known: KnownTranscripts

    @property
    def tests(self) -> set[str]:
        return {*self.complete, *self.bundled}

    def choose(self, test: str | None = None) -> Source:
        """The transcript to use, for this test or any; a UsageError if the name is ambiguous."""
        # Noted even if the name is unambiguous: the user may have meant a damaged transcript.
        other = f"the file {self.text} is not a transcript" if Path(self.text).is_file() else ""
        candidates = [runs for name, runs in self.complete.items() if test in (None, name)]
        if candidates:
            runs = max(candidates, key=lambda runs: runs[0].order)
            return _source(runs[0], self._note(runs), other)
        run = _only_match(self.text, [run for name, run in self.bundled.items() if test in (None, name)])
        return _published_source(run, self._published_note(run.full_name, run), other)

    def at_sites(self, test: str | None) -> Source:
        """A transcript that only sites have: of the test of the others, or the only one with that name."""
        if "/" in self.text:
            raise self._missing()
        source = _at_sites(f"{test}/{self.text}") if test is not None else None
        source = source or _at_sites(self.text)
        if source is not None:
            note = self._published_note(source.full_name, LocalRun(source.path))
        else:
            source = self._without_ending(test)
            note = f"{self.text} is not here: {source.full_name} is the published transcript"
        return replace(source, note="; ".join(filter(None, [source.note, note])))

    def _without_ending(self, test: str | None) -> Source:
        """A file that is not here, but whose name without its ending is published: the tutorial's warlock.out.

        It is of the test of the others; if they tell none, there must be only one.
        """
        stem = transcript_stem(self.text)
        if stem in (self.text, ""):
            raise self._missing()
        here = [run for name, run in self.known.bundled_as(stem).items() if test in (None, name)]
        if here:
            return _published_source(_only_match(self.text, here))
        source = _at_sites(stem if test is None else f"{test}/{stem}")
        if source is None:
            raise self._missing()
        return source

    def _note(self, runs: Sequence[LocalRun]) -> str:
        """Which run was chosen, how old it is and its parameters; empty if there was no choice."""
        run, others = runs[0], list(self._others(runs))
        if not others:
            return ""
        headers = [run.header for run in runs if run.header is not None]
        changed = changed_params(headers[0], self.known.published_header(headers[0]))
        params = params_text(differing_params([header.params for header in headers])[0] if changed is None else changed)
        path = one_line(str(run.path))
        return f"{self.text} is {path}, {run.how_old}{params and f', {params}'} ({'; '.join(others)})"

    def _others(self, runs: Sequence[LocalRun]) -> Iterator[str]:
        """What else there was to choose from."""
        run = runs[0]
        where = f" on {run.test}" if len(self.complete) > 1 else ""
        if len(runs) > 1 or where:
            yield f"the newest of {len(runs):,}{where}" if len(runs) > 1 else f"the one{where}"
        others = [name for name in self.complete if name != run.test]
        if others:
            yield f"there are runs on {' and '.join(others[:MAX_NAMED])} too"
        newer = [other for other in self.skipped if other.test == run.test and other.order[:2] > run.order[:2]]
        for other in newer[:1]:
            yield f"{one_line(other.path.name)} is newer but {other.flaw}"
        for published in self.bundled.values():
            if not published.path.samefile(run.path):
                yield f"{published.full_name} is the published one"

    def _published_note(self, full_name: str, run: LocalRun) -> str:
        """Why a published transcript was chosen although the user has runs; empty if there are none."""
        if not (self.complete or self.skipped):
            return ""
        how_old = "" if run.header is None else f", {run.how_old}"
        if self.complete:
            why = f"your own runs are on {', '.join(self.complete)}"
        else:
            why = f"{self.skipped[0].path} {self.skipped[0].flaw}"
        return f"{self.text} is the published {full_name}{how_old} ({why})"

    def _missing(self) -> HateError:
        """The error for a name that matches nothing."""
        if self.text.endswith(SUFFIXES):
            return TranscriptError(f"{self.text}: no such file")
        if self.skipped:
            files = "; ".join(f"{one_line(str(run.path))} {run.flaw}" for run in self.skipped[:MAX_NAMED])
            return UsageError(
                f"{self.text}: no complete run and no published transcript of that name; name a file to use it anyway: "
                f"{files}"
            )
        # TEST/NAME never means the user's own run, even if its path looks like that.
        test, slash, name = self.text.rpartition("/")
        if slash and (runs := self.known.named(name).complete.get(test)):
            hint = f"TEST/NAME is a published transcript; your own run is {name}, or {runs[0].path}"
        else:
            hint = self.known.hint(self.text, sorted(self.known.user_names()))
        return UsageError(f"{self.text}: no such file, no run here and no published transcript of that name; {hint}")


def _common_test(matches: Sequence[Source | NameMatches]) -> str | None:
    """The test that all can belong to; if there are several, that of the newest run. None if there is none."""
    possible = [tests for match in matches if (tests := match.tests)]
    common = set.intersection(*possible) if possible else set()
    if len(common) < 2:
        return common.pop() if common else None
    newest = [
        runs[0]
        for match in matches
        if isinstance(match, NameMatches)
        for test, runs in match.complete.items()
        if test in common
    ]
    return max(newest, key=lambda run: run.order).test if newest else None


def _only_match(text: str, matches: Sequence[LocalRun]) -> LocalRun:
    """The only match; a UsageError lists them if there are several."""
    if len(matches) > 1:
        names = ", ".join(run.full_name for run in matches)
        raise UsageError(f"{text}: several tests have a transcript of that name; say which: {names}")
    return matches[0]


def _source(run: LocalRun, *notes: str) -> Source:
    return Source(run.path, one_line(str(run.path)), one_line(run.stem), "; ".join(filter(None, notes)))


def _published_source(run: LocalRun, *notes: str) -> Source:
    return replace(_source(run, *notes), full_name=run.full_name)


def _direct(text: str, limits: DownloadLimits) -> Source | None:
    """A source that is not a name. A bare word is a name, unless there is a transcript file called that."""
    if not text:
        raise UsageError("an empty name; give a transcript as a file, URL, TEST/NAME or NAME")
    if text == "-":
        return Source(_copy_stream(sys.stdin.buffer, "standard input"), "standard input", "stdin", piped=True)
    if is_url(text):
        return _from_url(text, limits)
    path = Path(text)
    is_bare, is_file_name = path.name == text, path.name.endswith(SUFFIXES)
    source = _at_path(path, text)
    if source is None and is_file_name and not path.is_absolute():
        # As `hate list --transcripts` names the files in there.
        source = _at_path(ROOT / path, text)
    if source is None and ((is_file_name and not is_bare) or path.is_absolute() or len(path.parts) > 2):
        raise TranscriptError(f"{one_line(text)}: no such file")
    # What is not a transcript, or not there, may be the name of a published one, with an ending or without.
    return None if source is not None and is_bare and path.is_file() and not source.tests else source


def _at_path(path: Path, text: str) -> Source | None:
    """A file or a pipe; None if there is nothing."""
    if path.is_dir() and path.name != text:
        raise _folder_error(text)
    if path.is_file():
        return _source(LocalRun(path))
    if path.is_dir() or not path.exists():
        return None
    try:
        with path.open("rb") as stream:
            return Source(_copy_stream(stream, str(path)), one_line(str(path)), one_line(path.name), piped=True)
    except OSError as error:
        raise TranscriptError(f"{one_line(str(path))}: {error.strerror}") from None


def _folder_error(text: str) -> TranscriptError:
    return TranscriptError(f"{one_line(text)}: a folder; name a transcript in it")


def _copy_stream(stream: IO[bytes], name: str) -> Path:
    try:
        with tempfile.NamedTemporaryFile(prefix="hate-", suffix=".jsonl", delete=False) as file:
            path = Path(file.name)
            atexit.register(path.unlink, missing_ok=True)
            shutil.copyfileobj(stream, file, 1 << 20)
    except OSError as error:
        raise OutputError(f"{name}: cannot be copied to a temporary file: {error.strerror or error}") from None
    if not path.stat().st_size:
        raise TranscriptError(f"{name}: empty, or already read; `-` can be given once")
    return path


def _from_url(url: str, limits: DownloadLimits) -> Source:
    """The transcript in the file at a URL, or that whose page has this address; both are downloaded."""
    if (published := _at_address(url)) is not None:
        return published
    download = remote_transcript(url, limits)
    stem = one_line(transcript_stem(unquote(Path(url_path(url)).name)))
    return Source(download.path, one_line(masked(url)), stem or "transcript", download.note)


def _at_address(url: str) -> Source | None:
    match = _ADDRESS.fullmatch(page_address(url))
    if match is None or match["transcript"].endswith(SUFFIXES):
        return None
    try:
        catalogue, note = open_site(site_config(match["site"]))
    except HateError:
        return None
    test = match["name"] + (f"@{match['version']}" if match["version"] else "")
    known = _site_entry(catalogue, f"{test}/{match['transcript']}")
    if known is None:
        raise UsageError(f"{masked(url)}: no transcript '{match['transcript']}' of {test} at {catalogue.store.name}")
    return _site_source(catalogue, *known, note)


def _at_sites(text: str) -> Source | None:
    """The transcript with this name at the first site that has it, downloaded; None if none does."""
    if not configured_sites():
        return None
    searched = sites()
    for _, catalogue in searched:
        try:
            entry = _site_entry(catalogue, text)
        except UsageError:
            raise
        except HateError as error:
            searched.refuse(error)
            continue
        if entry is not None:
            return _site_source(catalogue, *entry, "; ".join(searched.notes))
    searched.raise_refusal()
    return None


def _site_entry(catalogue: Catalogue, text: str) -> tuple[TestIndex, TranscriptEntry] | None:
    """TEST/NAME or TEST@VERSION/NAME; NAME, if only one test of the site has it."""
    test, slash, name = text.rpartition("/")
    if not slash:
        known = catalogue.tests_with(name)
        if known is None:
            return None
        if known.count > 1:
            more = f" and {known.count - len(known.tests):,} more" if known.count > len(known.tests) else ""
            names = ", ".join(f"{test}/{name}" for test in known.tests)
            raise UsageError(f"{name}: several tests have a transcript of that name; say which: {names}{more}")
        test = known.tests[0]
    test_name, _, version = test.partition("@")
    index = catalogue.test(test_name)
    entry = None if index is None else catalogue.transcript(index, name, version)
    return None if index is None or entry is None else (index, entry)


def _site_source(catalogue: Catalogue, index: TestIndex, entry: TranscriptEntry, note: str = "") -> Source:
    """A transcript of a site, downloaded; a DataError if it does not belong to the test that the index says."""
    full_name = f"{index.name}/{entry.name}"
    label = f"{catalogue.store.name}: {full_name}"
    path = catalogue.store.file(entry.file, entry.name)
    with open_transcript(path, name=label) as reader:
        test = reader.header.test
    if (test.name, test.version, test.digest) != (index.name, entry.version, entry.digest):
        raise DataError(f"{label}: a transcript of {test.name} {test.version}, not what the index says; refused")
    return Source(path, label, entry.name, note, full_name)


def site_transcripts_of(test: str, digest: str, searched: Sites) -> Iterator[Source]:
    """All transcripts of a test at the sites, each downloaded when it is its turn."""
    for _, catalogue in searched:
        try:
            index = catalogue.test(test)
            known = () if index is None else catalogue.transcripts(index)
            entries = [entry for entry in known if entry.digest == digest]
        except HateError as error:
            searched.refuse(error)
            continue
        if index is not None:
            yield from (_site_source(catalogue, index, entry) for entry in entries)
