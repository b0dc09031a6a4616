"""What to download, and what has arrived."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from harness.site.limits import Limits
from harness.site.urls import masked

Filter = Callable[[Iterable[bytes]], Iterator[bytes]]


@dataclass(frozen=True)
class Validators:
    """What a server calls the state of a file, so that it can be asked whether that has changed."""

    etag: str = ""
    modified: str = ""

    def headers(self) -> dict[str, str]:
        """The conditions of a request."""
        named = {"If-None-Match": self.etag, "If-Modified-Since": self.modified}
        return {name: value for name, value in named.items() if value}


@dataclass(frozen=True)
class Fetched:
    """A file that has arrived whole."""

    sha256: str
    size: int
    validators: Validators


@dataclass(frozen=True)
class Wish:
    """What to fetch, and how."""

    url: str
    limits: Limits = field(default_factory=Limits)
    # Of a copy that is here already.
    known: Validators = field(default_factory=Validators)
    # What is made of the content on its way to the file.
    through: Filter = iter
    # Whether the server may compress on the way.
    compressed: bool = True
    # What people call it, for a bar.
    label: str = ""
    # Whether what is in the target already is its beginning; whoever says so checks the SHA-256 of the whole.
    resumed: bool = False

    @property
    def name(self) -> str:
        """The address for messages."""
        return masked(self.url)
