"""A download: what to get and within which limits, the result, and reports of progress."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from harness.site.urls import masked

BodyFilter = Callable[[Iterable[bytes]], Iterator[bytes]]
MINUTE = 60.0
DAY = 86_400.0
# Compression makes tiny content larger by a few bytes.
COMPRESSION_MARGIN = 1024


@dataclass(frozen=True)
class DownloadLimits:
    """Limits of one download, including its redirects and repeated attempts."""

    seconds: float = 10 * MINUTE
    # In bytes, as transferred and also as decompressed.
    size: int = 4 << 30
    attempts: int = 4
    # The second attempt follows at once, the third after this many seconds; the pause then doubles, with jitter.
    pause: float = 0.5
    connect_seconds: float = 10.0
    # A server that sends nothing for this long is gone.
    silent_seconds: float = MINUTE
    # For messages: what to do about a download that is too slow or too large.
    slow_remedy: str = "allow more time with --http-timeout"
    large_remedy: str = "allow more with --http-limit if you trust the server"


@dataclass(frozen=True)
class Validators:
    """The ETag and date of a file, from which its server can tell whether it has changed."""

    etag: str = ""
    modified: str = ""

    def headers(self) -> dict[str, str]:
        """The headers of a conditional request."""
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.modified}
        return {name: value for name, value in headers.items() if value}


@dataclass(frozen=True)
class Download:
    """A complete file."""

    path: Path
    sha256: str
    validators: Validators = field(default_factory=Validators)
    # What the user should know, for example that the server did not answer and this is a copy.
    note: str = ""

    @property
    def size(self) -> int:
        """In bytes."""
        return self.path.stat().st_size


@dataclass(frozen=True)
class DownloadRequest:
    """A file to download: its address, what is known about it, and the limits."""

    url: str
    limits: DownloadLimits = field(default_factory=DownloadLimits)
    # Other addresses with the same content, in the order in which to try them.
    mirrors: Sequence[str] = ()
    # If known beforehand; `stated_by` says who stated it, for messages.
    sha256: str = ""
    size: int | None = None
    stated_by: str = "the script"
    # A copy that is already here; the file is downloaded only if the server has a newer one.
    known: Download | None = None
    # Applied to the body on its way to the file.
    body_filter: BodyFilter = iter
    # Whether the server may compress the body.
    compressed: bool = True
    # The name of the file for the progress bar.
    label: str = ""

    @property
    def name(self) -> str:
        """The address for messages, without secrets."""
        return masked(self.url)

    @property
    def conditions(self) -> dict[str, str]:
        """The headers that ask the server for the file only if it is newer than the known copy."""
        return {} if self.known is None else self.known.validators.headers()

    @property
    def resumable(self) -> bool:
        """Whether a partial file can be continued: only if it is not compressed, and its hash will be checked."""
        return bool(self.sha256) and not self.compressed

    def at(self, url: str) -> "DownloadRequest":
        """The same content at another address."""
        return replace(self, url=url, mirrors=())


def content_request(
    urls: Sequence[str],
    sha256: str,
    size: int | None,
    *,
    stated_by: str = "the script",
    small: bool = False,
    label: str = "",
) -> DownloadRequest:
    """Content with a known SHA-256. A small file may be compressed; a large download can be resumed instead."""
    url, *mirrors = urls
    if size is None:
        limits = DownloadLimits(seconds=DAY, size=1 << 40, slow_remedy="try again", large_remedy="refused")
    else:
        largest = size + (COMPRESSION_MARGIN if small else 0)
        remedy = f"{stated_by} says so; refused"
        limits = DownloadLimits(seconds=DAY, size=largest, slow_remedy="try again", large_remedy=remedy)
    return DownloadRequest(url, limits, mirrors, sha256, size, stated_by, compressed=small, label=label)


class ProgressListener(Protocol):
    """Receives the progress of downloads, from their threads; there may be several at once."""

    def begin(self, name: str, total: int | None, done: int) -> None:
        """A download begins, or continues after `done` bytes."""

    def advance(self, name: str, count: int) -> None:
        """`count` more bytes have arrived."""

    def end(self, name: str) -> None:
        """The download has ended, successfully or not."""


_listeners: list[ProgressListener] = []


@contextmanager
def reporting_to(listener: ProgressListener | None) -> Iterator[None]:
    """Within it, progress is reported to this listener only; None for nobody."""
    before, _listeners[:] = _listeners[:], [] if listener is None else [listener]
    try:
        yield
    finally:
        _listeners[:] = before


def progress_listener() -> ProgressListener | None:
    return _listeners[0] if _listeners else None
