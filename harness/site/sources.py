"""Transcripts wherever they are: a file, a URL, a name, standard input."""

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

from harness.errors import HateError, OutputError, TranscriptError
from harness.site.limits import Limits
from harness.site.naming import Known, Named, known_here
from harness.site.own import SUFFIXES
from harness.site.published import Published, at_sites, the_one
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
    # What a user should know about where it came from; a command says it on stderr.
    note: str = ""
    # TEST/NAME, of a published one.
    full_name: str = ""


def open_source(text: str, limits: Limits | None = None) -> Source:
    """The transcript that a user means by a path, a URL, TEST/NAME, NAME or `-`."""
    return open_sources([text], limits)[0]


def open_sources(texts: Sequence[str], limits: Limits | None = None) -> list[Source]:
    """The transcripts that a user means, each a path, a URL, TEST/NAME, NAME or `-`.

    A NAME that several tests have is taken of the test that all of the transcripts can be of, and of several such tests
    of that of the newest run. A URL is downloaded into the cache; what cannot be read twice (standard input, a pipe) is
    copied to a temporary file that is gone when the program ends. The transcript itself is checked by whoever reads it.
    """
    here = functools.cache(known_here)  # looked through once, and only where there is a name
    return _settled([_direct(text, limits or Limits()) or _named(text, here()) for text in texts])


def _direct(text: str, limits: Limits) -> Source | None:
    """What is not a name; a bare word is none if something else has it, such as the program that was run."""
    if text == "-":
        return Source(_spooled(sys.stdin.buffer, "standard input"), "standard input", "stdin")
    if is_url(text):
        return _from_url(text, limits)
    path = Path(text)
    source = _at_path(path, text)
    if source is None and (path.name.endswith(SUFFIXES) or path.is_absolute() or len(path.parts) > 2):
        raise TranscriptError(f"{text}: no such file")
    if source is not None and path.name == text and path.is_file() and not _test_of(source):
        return None
    return source


def _at_path(path: Path, text: str) -> Source | None:
    """A file or a pipe; None where there is nothing."""
    if path.is_dir() and path.name != text:
        raise _a_folder(text)
    if path.is_file():
        return Source(path, text, _stem(path.name))
    return _from_pipe(path) if path.exists() and not path.is_dir() else None


def _a_folder(text: str) -> TranscriptError:
    return TranscriptError(f"{text}: a folder; name a transcript in it")


def _named(text: str, known: Known) -> Source | Named:
    """TEST/NAME, which is a published one always, or all that a NAME may mean."""
    named = known.named(text)
    if "/" not in text:
        return named if named.tests or not Path(text).exists() else _no_name(text)
    found = the_one(text, list(named.published.values())) if named.published else at_sites(text)
    # An algorithm may have a slash in its name, as models do.
    return named if found is None else _from_published(found)


def _no_name(text: str) -> Source:
    """A file that is no transcript, and whose name nothing else has: whoever reads it says what is wrong with it."""
    if Path(text).is_dir():
        raise _a_folder(text)
    return Source(Path(text), text, _stem(text))


def _settled(found: Sequence[Source | Named]) -> list[Source]:
    """Every name decided, with the others in view."""
    if all(isinstance(one, Source) or len(one.tests) == 1 for one in found):
        return [one if isinstance(one, Source) else _taken(one, None) for one in found]
    test = _common_test(found)
    here = [one if isinstance(one, Source) or one.tests else _elsewhere(one, test) for one in found]
    test = _common_test(here)
    return [one if isinstance(one, Source) else _taken(one, test) for one in here]


def _common_test(found: Sequence[Source | Named]) -> str | None:
    """The test that all can be of; of several, that of the newest run among them. None where there is none."""
    possible = [tests for one in found if (tests := one.tests if isinstance(one, Named) else _test_of(one))]
    common = set.intersection(*possible) if possible else set()
    if len(common) < 2:
        return common.pop() if common else None
    own = [runs[0] for one in found if isinstance(one, Named) for test, runs in one.own.items() if test in common]
    return max(own, key=lambda run: run.order).header.test.name if own else None


def _test_of(source: Source) -> set[str]:
    try:
        with open_transcript(source.path) as reader:
            return {reader.header.test.name}
    except HateError:  # whoever reads it says what is wrong with it
        return set()


def _taken(named: Named, test: str | None) -> Source:
    taken = named.take(test)
    # Said also where the name leaves no choice: a damaged transcript may have been meant.
    other = f"the file {named.text} is no transcript" if Path(named.text).is_file() else ""
    if taken.published is not None:
        return _from_published(taken.published, taken.note, other)
    return Source(taken.path, str(taken.path), taken.stem, "; ".join(filter(None, [taken.note, other])))


def _elsewhere(named: Named, test: str | None) -> Source:
    """What is at the sites only: the transcript of the test that the others are of, or the only one of that name."""
    if "/" in named.text:
        raise named.missing()
    found = at_sites(f"{test}/{named.text}") if test is not None else None
    found = found or at_sites(named.text)
    if found is None:
        raise named.missing()
    return _from_published(found, named.note_published(found))


def _from_published(found: Published, *notes: str) -> Source:
    note = "; ".join(filter(None, [found.note, *notes]))
    return Source(found.path, found.place or str(found.path), found.name, note, found.full_name)


def _from_url(url: str, limits: Limits) -> Source:
    # Here, because most commands never need it and it takes long to import.
    from harness.site.remote import remote_transcript

    found = remote_transcript(url, limits)
    return Source(found.path, masked(url), _stem(unquote(Path(urlsplit(url).path).name)) or "transcript", found.note)


def _from_pipe(path: Path) -> Source:
    try:
        with path.open("rb") as stream:
            return Source(_spooled(stream, str(path)), str(path), path.name)
    except OSError as error:
        raise TranscriptError(f"{path}: {error.strerror}") from None


def _stem(name: str) -> str:
    for suffix in (".gz", ".jsonl", ".out"):
        name = name.removesuffix(suffix)
    return name


def _spooled(stream: IO[bytes], name: str) -> Path:
    try:
        with tempfile.NamedTemporaryFile(prefix="hate-", suffix=".jsonl", delete=False) as file:
            path = Path(file.name)
            atexit.register(path.unlink, missing_ok=True)
            shutil.copyfileobj(stream, file, 1 << 20)
    except OSError as error:
        raise OutputError(f"{name}: cannot be kept in a temporary file: {error.strerror or error}") from None
    if not path.stat().st_size:
        raise TranscriptError(f"{name}: empty, or read already; `-` can be given once")
    return path
