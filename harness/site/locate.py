"""Find the transcripts that a user means: a file, a URL, a name, standard input."""

import atexit
import functools
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urlsplit

from harness.errors import HateError, OutputError, TranscriptError, UsageError
from harness.site.local_runs import SUFFIXES, one_line, transcript_stem
from harness.site.names import LocalTranscripts, NameMatches, local_transcripts
from harness.site.published_transcripts import PublishedTranscript, find_at_sites, only_match
from harness.site.remote import remote_transcript
from harness.site.request import DownloadLimits
from harness.site.urls import is_url, masked
from harness.transcript.read import open_transcript


@dataclass(frozen=True)
class Source:
    """A transcript that can be read from `path`, plain or gzipped."""

    path: Path
    # What to call it in messages: the file, the URL without credentials, "standard input".
    name: str
    # The file's base name without .jsonl or .gz, to tell apart two runs of one algorithm.
    stem: str
    # What a user should know about where it came from; commands print it to stderr.
    note: str = ""
    # TEST/NAME, if it is published.
    full_name: str = ""


def open_source(text: str, limits: DownloadLimits | None = None) -> Source:
    """The transcript that a user means by a path, a URL, TEST/NAME, NAME or `-`."""
    return open_sources([text], limits)[0]


def open_sources(texts: Sequence[str], limits: DownloadLimits | None = None) -> list[Source]:
    """The transcripts that a user means, each a path, a URL, TEST/NAME, NAME or `-`.

    If several tests have a NAME, the test is chosen that all of the transcripts can belong to; if there are several
    such tests, that of the newest run. A URL is downloaded into the cache. What cannot be read twice (standard input,
    a pipe) is copied to a temporary file that is removed when the program ends. Whoever reads a transcript checks it.
    """
    local = functools.cache(local_transcripts)  # searched once, and only if there is a name
    return _chosen([_direct(text, limits or DownloadLimits()) or _by_name(text, local()) for text in texts])


def _direct(text: str, limits: DownloadLimits) -> Source | None:
    """What is not a name. A bare word is a name, even if a file is called that, unless the file is a transcript."""
    if not text:
        raise UsageError("an empty name; name a transcript by its file, URL, TEST/NAME or NAME")
    if text == "-":
        return Source(_spooled(sys.stdin.buffer, "standard input"), "standard input", "stdin")
    if is_url(text):
        return _from_url(text, limits)
    path = Path(text)
    source = _at_path(path, text)
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
    """TEST/NAME, which is always a published one, or all that a NAME may mean."""
    named = known.named(text)
    if "/" not in text:
        return named if named.tests or not Path(text).exists() else _unnamed_file(text)
    found = only_match(text, list(named.published.values())) if named.published else find_at_sites(text)
    # An algorithm may have a slash in its name, as models do.
    return named if found is None else _from_published(found)


def _unnamed_file(text: str) -> Source:
    """A file that is not a transcript, with a name that nothing else has: whoever reads it says what is wrong."""
    if Path(text).is_dir():
        raise _folder_error(text)
    return _file_source(Path(text))


def _file_source(path: Path) -> Source:
    return Source(path, one_line(str(path)), one_line(transcript_stem(path.name)))


def _chosen(found: Sequence[Source | NameMatches]) -> list[Source]:
    """The transcript for every name, chosen with regard to the others."""
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
    except HateError:  # whoever reads it says what is wrong
        return set()


def _choose(named: NameMatches, test: str | None) -> Source:
    chosen = named.choose(test)
    # Said even if the name leaves no choice: a damaged transcript may have been meant.
    other = f"the file {named.text} is not a transcript" if Path(named.text).is_file() else ""
    if chosen.published is not None:
        return _from_published(chosen.published, chosen.note, other)
    note = "; ".join(filter(None, [chosen.note, other]))
    return Source(chosen.path, one_line(str(chosen.path)), one_line(chosen.stem), note)


def _at_sites(named: NameMatches, test: str | None) -> Source:
    """What only sites have: the transcript for the test of the others, or the only one with that name."""
    if "/" in named.text:
        raise named.missing()
    found = find_at_sites(f"{test}/{named.text}") if test is not None else None
    found = found or find_at_sites(named.text)
    if found is None:
        raise named.missing()
    return _from_published(found, named.note_published(found))


def _from_published(found: PublishedTranscript, *notes: str) -> Source:
    note = "; ".join(filter(None, [found.note, *notes]))
    return Source(found.path, found.location or one_line(str(found.path)), found.name, note, found.full_name)


def _from_url(url: str, limits: DownloadLimits) -> Source:
    found = remote_transcript(url, limits)
    stem = one_line(transcript_stem(unquote(Path(urlsplit(url).path).name)))
    return Source(found.path, one_line(masked(url)), stem or "transcript", found.note)


def _from_pipe(path: Path) -> Source:
    try:
        with path.open("rb") as stream:
            return Source(_spooled(stream, str(path)), one_line(str(path)), one_line(path.name))
    except OSError as error:
        raise TranscriptError(f"{one_line(str(path))}: {error.strerror}") from None


def _spooled(stream: IO[bytes], name: str) -> Path:
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
