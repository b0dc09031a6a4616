"""Find the transcripts that a user means: a file, a URL, TEST/NAME, NAME or standard input.

A NAME is the newest complete run of that algorithm under the working folder, or else the published transcript.
"""

import atexit
import functools
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

from harness.errors import HateError, OutputError, TranscriptError, UsageError
from harness.site.local_runs import (
    ROOT,
    SUFFIXES,
    LocalRun,
    LocalRuns,
    SkippedRun,
    local_runs,
    one_line,
    transcript_stem,
)
from harness.site.published import (
    PublishedTranscript,
    bundled_transcripts,
    find_at_sites,
    find_transcript_at,
    name_hint,
    only_match,
    published_header,
)
from harness.site.remote import remote_transcript
from harness.site.request import DownloadLimits
from harness.site.urls import is_url, masked, url_path
from harness.transcript.read import open_transcript
from harness.transcript.settings import changed_params, differing, in_words

MOST_NAMED = 3


@dataclass(frozen=True)
class ChosenTranscript:
    """The transcript that a name means."""

    path: Path
    stem: str
    published: PublishedTranscript | None = None
    # Which file it is, if there was a choice.
    note: str = ""


@dataclass(frozen=True)
class NameMatches:
    """All that a name may mean."""

    text: str
    # The user's complete runs by test, newest first.
    own: dict[str, list[LocalRun]]
    # Newest first.
    skipped: list[SkippedRun]
    # By test.
    published: dict[str, PublishedTranscript]
    known: "LocalTranscripts"

    @property
    def tests(self) -> set[str]:
        """The tests that it may belong to."""
        return {*self.own, *self.published}

    def choose(self, test: str | None = None) -> ChosenTranscript:
        """The transcript to use, for this test or any; a UsageError if the name is ambiguous."""
        own = [runs for name, runs in self.own.items() if test in (None, name)]
        if own:
            runs = max(own, key=lambda runs: runs[0].order)
            return ChosenTranscript(runs[0].path, runs[0].stem, note=self._note(runs))
        found = only_match(self.text, [entry for name, entry in self.published.items() if test in (None, name)])
        return ChosenTranscript(found.path, found.name, found, self.note_published(found))

    def _note(self, runs: Sequence[LocalRun]) -> str:
        """Which run was chosen, how old it is and its parameters; empty if there was no choice."""
        run, others = runs[0], list(self._others(runs))
        if not others:
            return ""
        path, params = one_line(str(run.path)), in_words(self._params(runs))
        return f"{self.text} is {path}, {run.how_old}{params and f', {params}'} ({'; '.join(others)})"

    def _others(self, runs: Sequence[LocalRun]) -> Iterator[str]:
        """What else there was to choose from."""
        run, test = runs[0], runs[0].header.test.name
        where = f" on {test}" if len(self.own) > 1 else ""
        if len(runs) > 1 or where:
            yield f"the newest of {len(runs):,}{where}" if len(runs) > 1 else f"the one{where}"
        others = [name for name in self.own if name != test]
        if others:
            yield f"there are runs on {' and '.join(others[:MOST_NAMED])} too"
        newer = [other for other in self.skipped if other.test == test and other.moment > run.order[:2]]
        for other in newer[:1]:
            yield f"{one_line(other.path.name)} is newer but {other.why}"
        for published in self.published.values():
            if not published.path.samefile(run.path):
                yield f"{published.full_name} is the published one"

    def _params(self, runs: Sequence[LocalRun]) -> dict[str, Any]:
        changed = changed_params(runs[0].header, published_header(runs[0].header, self.known.published))
        return differing([run.header.params for run in runs])[0] if changed is None else changed

    def note_published(self, found: PublishedTranscript) -> str:
        """Why a published transcript was chosen although the user has runs; empty if there are none."""
        chosen = f"{self.text} is the published {found.full_name}{f', {found.run.how_old}' if found.run else ''}"
        if self.own:
            return f"{chosen} (your own runs are on {', '.join(self.own)})"
        if self.skipped:
            return f"{chosen} ({self.skipped[0].path} {self.skipped[0].why})"
        return ""

    def missing(self) -> HateError:
        """The error for a name that matches nothing."""
        if self.text.endswith(SUFFIXES):
            return TranscriptError(f"{self.text}: no such file")
        if self.skipped:
            files = "; ".join(f"{one_line(str(run.path))} {run.why}" for run in self.skipped[:MOST_NAMED])
            return UsageError(
                f"{self.text}: no complete run and no published transcript of that name; name a file to use it anyway: "
                f"{files}"
            )
        return UsageError(
            f"{self.text}: no such file, no run here and no published transcript of that name; {self._hint()}"
        )

    def _hint(self) -> str:
        """What the user may have meant. TEST/NAME never means the user's own run, even if its path looks like that."""
        test, slash, name = self.text.rpartition("/")
        if slash and (runs := self.known.named(name).own.get(test)):
            return f"TEST/NAME is a published transcript; your own run is {name}, or {runs[0].path}"
        return name_hint(self.text, self.known.published, sorted(self.known.own.names()))


@dataclass(frozen=True)
class LocalTranscripts:
    """The transcripts on this machine, searched once for all names of a command."""

    own: LocalRuns
    published: list[PublishedTranscript]

    def named(self, text: str) -> NameMatches:
        """All that a name may mean."""
        complete, skipped = self.own.named(text)
        published = {entry.test: entry for entry in self.published if entry.has_name(text)}
        return NameMatches(one_line(text), complete, skipped, published, self)

    def names(self) -> set[str]:
        """All names that are known on this machine."""
        return self.own.names() | {name for entry in self.published for name in (entry.name, entry.full_name)}


def local_transcripts() -> LocalTranscripts:
    """What is under the working folder, and what ships with the harness."""
    return LocalTranscripts(local_runs(), bundled_transcripts())


@dataclass(frozen=True)
class Source:
    """A transcript that can be read from `path`, in any form."""

    path: Path
    # What to call it in messages: the file, the URL without credentials, "standard input".
    name: str
    # The file's base name without .jsonl, .gz or .parquet, to distinguish two runs of one algorithm.
    stem: str
    # A note for the user about where it came from; commands print it to stderr.
    note: str = ""
    # TEST/NAME, if it is published.
    full_name: str = ""


def open_sources(texts: Sequence[str], limits: DownloadLimits | None = None) -> list[Source]:
    """The transcripts that a user means, each a path, a URL, TEST/NAME, NAME or `-`.

    If several tests have a NAME, it means the test that all the transcripts can belong to; if there are several such
    tests, that of the newest run. A URL is downloaded into the cache. Input that cannot be read twice (standard input,
    a pipe) is copied to a temporary file that is removed when the program ends. The records are not checked here.
    """
    local = functools.cache(local_transcripts)  # searched once, and only if there is a name
    return _choose_all([_direct(text, limits or DownloadLimits()) or _by_name(text, local()) for text in texts])


def _direct(text: str, limits: DownloadLimits) -> Source | None:
    """A source that is not a name. A bare word is a name, unless there is a transcript file called that."""
    if not text:
        raise UsageError("an empty name; give a transcript as a file, URL, TEST/NAME or NAME")
    if text == "-":
        return Source(_copy_stream(sys.stdin.buffer, "standard input"), "standard input", "stdin")
    if is_url(text):
        return _from_url(text, limits)
    path = Path(text)
    source = _at_path(path, text)
    if source is None and path.name.endswith(SUFFIXES) and not path.is_absolute():
        # As `hate list --transcripts` names the files in there.
        source = _at_path(ROOT / path, text)
    if source is None and path.name == text and path.name.endswith(SUFFIXES):
        return None  # it may be the name of a published one, with an ending
    if source is None and (path.name.endswith(SUFFIXES) or path.is_absolute() or len(path.parts) > 2):
        raise TranscriptError(f"{one_line(text)}: no such file")
    if source is not None and path.name == text and path.is_file() and not _test_of(source):
        return None
    return source


def _at_path(path: Path, text: str) -> Source | None:
    """A file or a pipe; None if there is nothing."""
    if path.is_dir() and path.name != text:
        raise _folder_error(text)
    if path.is_file():
        return _file_source(path)
    return _from_pipe(path) if path.exists() and not path.is_dir() else None


def _folder_error(text: str) -> TranscriptError:
    return TranscriptError(f"{one_line(text)}: a folder; name a transcript in it")


def _by_name(text: str, known: LocalTranscripts) -> Source | NameMatches:
    """TEST/NAME, which is always a published transcript, or all that a NAME may mean."""
    named = known.named(text)
    if "/" not in text:
        return named if named.tests or not Path(text).exists() else _bad_file(text)
    found = only_match(text, list(named.published.values())) if named.published else find_at_sites(text)
    # An algorithm's name may contain a slash, as the names of models do.
    return named if found is None else _from_published(found)


def _bad_file(text: str) -> Source:
    """A file that is not a transcript, if nothing else has the name; reading it reports what is wrong."""
    if Path(text).is_dir():
        raise _folder_error(text)
    return _file_source(Path(text))


def _file_source(path: Path) -> Source:
    return Source(path, one_line(str(path)), one_line(transcript_stem(path.name)))


def _choose_all(found: Sequence[Source | NameMatches]) -> list[Source]:
    """The transcript for every name; the other names help to choose the test."""
    if all(isinstance(one, Source) or len(one.tests) == 1 for one in found):
        return [one if isinstance(one, Source) else _choose(one, None) for one in found]
    test = _common_test(found)
    here = [one if isinstance(one, Source) or one.tests else _at_sites(one, test) for one in found]
    test = _common_test(here)
    return [one if isinstance(one, Source) else _choose(one, test) for one in here]


def _common_test(found: Sequence[Source | NameMatches]) -> str | None:
    """The test that all can belong to; if there are several, that of the newest run. None if there is none."""
    possible = [tests for one in found if (tests := one.tests if isinstance(one, NameMatches) else _test_of(one))]
    common = set.intersection(*possible) if possible else set()
    if len(common) < 2:
        return common.pop() if common else None
    own = [runs[0] for one in found if isinstance(one, NameMatches) for test, runs in one.own.items() if test in common]
    return max(own, key=lambda run: run.order).header.test.name if own else None


def _test_of(source: Source) -> set[str]:
    try:
        with open_transcript(source.path) as reader:
            return {reader.header.test.name}
    except HateError:  # reading it reports what is wrong
        return set()


def _choose(named: NameMatches, test: str | None) -> Source:
    chosen = named.choose(test)
    # Noted even if the name is unambiguous: the user may have meant a damaged transcript.
    other = f"the file {named.text} is not a transcript" if Path(named.text).is_file() else ""
    if chosen.published is not None:
        return _from_published(chosen.published, chosen.note, other)
    note = "; ".join(filter(None, [chosen.note, other]))
    return Source(chosen.path, one_line(str(chosen.path)), one_line(chosen.stem), note)


def _at_sites(named: NameMatches, test: str | None) -> Source:
    """A transcript that only sites have: of the test of the others, or the only one with that name."""
    if "/" in named.text:
        raise named.missing()
    found = find_at_sites(f"{test}/{named.text}") if test is not None else None
    found = found or find_at_sites(named.text)
    if found is not None:
        return _from_published(found, named.note_published(found))
    found = _without_ending(named, test)
    if found is None:
        raise named.missing()
    return _from_published(found, f"{named.text} is not here: {found.full_name} is the published transcript")


def _without_ending(named: NameMatches, test: str | None) -> PublishedTranscript | None:
    """A file that is not here, but whose name without its ending is published: the tutorial's warlock.out.

    It is of the test of the others; if they tell none, there must be only one.
    """
    stem = transcript_stem(named.text)
    if stem == named.text or not stem:
        return None
    here = [one for name, one in named.known.named(stem).published.items() if test in (None, name)]
    if here:
        return only_match(named.text, here)
    return find_at_sites(stem if test is None else f"{test}/{stem}")


def _from_published(found: PublishedTranscript, *notes: str) -> Source:
    note = "; ".join(filter(None, [found.note, *notes]))
    return Source(found.path, found.location or one_line(str(found.path)), found.name, note, found.full_name)


def _from_url(url: str, limits: DownloadLimits) -> Source:
    if (published := find_transcript_at(url)) is not None:
        return _from_published(published)
    found = remote_transcript(url, limits)
    stem = one_line(transcript_stem(unquote(Path(url_path(url)).name)))
    return Source(found.path, one_line(masked(url)), stem or "transcript", found.note)


def _from_pipe(path: Path) -> Source:
    try:
        with path.open("rb") as stream:
            return Source(_copy_stream(stream, str(path)), one_line(str(path)), one_line(path.name))
    except OSError as error:
        raise TranscriptError(f"{one_line(str(path))}: {error.strerror}") from None


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
