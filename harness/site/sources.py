"""Transcripts wherever they are: a file, a URL, a published name, standard input."""

import atexit
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urlsplit

from harness.errors import OutputError, TranscriptError
from harness.site.limits import Limits
from harness.site.published import SUFFIXES, find_published
from harness.site.urls import is_url, masked


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


def open_source(text: str, limits: Limits | None = None) -> Source:
    """The transcript that a user means by a path, a URL, TEST/NAME, NAME or `-`.

    A URL is downloaded into the cache; what cannot be read twice (standard input, a pipe) is copied to a temporary
    file that is gone when the program ends. The transcript itself is checked by whoever reads it.
    """
    if text == "-":
        return Source(_spooled(sys.stdin.buffer, "standard input"), "standard input", "stdin")
    if is_url(text):
        return _from_url(text, limits or Limits())
    path = Path(text)
    if path.is_dir():
        raise TranscriptError(f"{text}: a folder; name a transcript in it")
    if path.is_file():
        return Source(path, text, _stem(path.name))
    if path.exists():
        return _from_pipe(path)
    if path.name.endswith(SUFFIXES) or path.is_absolute() or len(path.parts) > 2:
        raise TranscriptError(f"{text}: no such file")
    found = find_published(text)
    return Source(found.path, found.place or str(found.path), found.name, found.note)


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
