"""What to download and within which limits, what arrived, and who is told about progress."""

from collections.abc import Callable, Iterable, Iterator, Sequence
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
    # Of the bytes that are transferred, and of what they decompress to.
    size: int = 4 << 30
    attempts: int = 4
    # The second attempt follows at once, the third after so many seconds; the pause then doubles, with jitter.
    pause: float = 0.5
    connect_seconds: float = 10.0
    # A server that sends nothing for this long is gone.
    silent_seconds: float = MINUTE
    # What to do about a download that is too slow or too large, for the messages.
    slow_remedy: str = "allow more time with --http-timeout"
    large_remedy: str = "allow more with --http-limit if you trust the server"


@dataclass(frozen=True)
class Validators:
    """A server's names for one state of a file, by which it can say whether the file has changed."""

    etag: str = ""
    modified: str = ""

    def headers(self) -> dict[str, str]:
        """The headers of a conditional request."""
        named = {"If-None-Match": self.etag, "If-Modified-Since": self.modified}
        return {name: value for name, value in named.items() if value}


@dataclass(frozen=True)
class Download:
    """A file that has arrived whole."""

    path: Path
    sha256: str
    validators: Validators = field(default_factory=Validators)
    # What a user should know about it, such as that it is a copy because the server did not answer.
    note: str = ""

    @property
    def size(self) -> int:
        """Bytes."""
        return self.path.stat().st_size


@dataclass(frozen=True)
class DownloadRequest:
    """A file to download: where it is, what is known about it, and within which limits."""

    url: str
    limits: DownloadLimits = field(default_factory=DownloadLimits)
    # Other addresses with the same content, in the order in which to try them.
    mirrors: Sequence[str] = ()
    # Of content that is known beforehand, and who stated it, for the messages.
    sha256: str = ""
    size: int | None = None
    stated_by: str = "the script"
    # A copy that is already here; it is downloaded again only if the server has a newer one.
    known: Download | None = None
    # Applied to the body on its way to the file.
    body_filter: BodyFilter = iter
    # Whether the server may compress the body.
    compressed: bool = True
    # What people call the file, for the progress bar.
    label: str = ""

    @property
    def name(self) -> str:
        """The address for messages, without secrets."""
        return masked(self.url)

    @property
    def conditions(self) -> dict[str, str]:
        """The headers by which the server is asked only for a newer file than the known copy."""
        return {} if self.known is None else self.known.validators.headers()

    @property
    def resumable(self) -> bool:
        """Whether a partial file can be continued: not a compressed one, and only if the whole will be checked."""
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
    """Content that is known by its SHA-256. What is small may be compressed; large downloads can be resumed instead."""
    url, *mirrors = urls
    if size is None:
        limits = DownloadLimits(seconds=DAY, size=1 << 40, slow_remedy="try again", large_remedy="refused")
    else:
        most = size + (COMPRESSION_MARGIN if small else 0)
        remedy = f"{stated_by} says so; refused"
        limits = DownloadLimits(seconds=DAY, size=most, slow_remedy="try again", large_remedy=remedy)
    return DownloadRequest(url, limits, mirrors, sha256, size, stated_by, compressed=small, label=label)


class ProgressListener(Protocol):
    """Is told about downloads, from the threads that do them; several may be under way."""

    def begin(self, name: str, total: int | None, done: int) -> None:
        """A download begins, or continues after `done` bytes."""

    def advance(self, name: str, count: int) -> None:
        """So many more bytes have arrived."""

    def end(self, name: str) -> None:
        """It has ended, successfully or not."""


_listeners: list[ProgressListener] = []


def set_progress_listener(listener: ProgressListener) -> None:
    """Tell this one from now on, instead of any other."""
    _listeners[:] = [listener]


def clear_progress_listener() -> None:
    """Tell nobody."""
    _listeners.clear()


def progress_listener() -> ProgressListener | None:
    """Who is told."""
    return _listeners[0] if _listeners else None
