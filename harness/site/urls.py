"""Addresses: what may be shown, whom credentials are for, and where a redirect may lead."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlencode, urljoin, urlsplit, urlunsplit

from harness.errors import DataError

SCHEMES = ("http", "https")
PORTS = {"http": 80, "https": 443}
# Words in the names of query fields that hold secrets, as in presigned addresses.
_SECRET = re.compile(r"token|key|sig|secret|pass|credential|auth", re.IGNORECASE)


@dataclass(frozen=True)
class Address:
    """An address without credentials, and the name and password for it."""

    url: str
    credentials: tuple[str, str] | None = None

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port."""
        parts = urlsplit(self.url)
        return parts.scheme, parts.hostname or "", parts.port or PORTS[parts.scheme]


def is_url(text: str) -> bool:
    """Whether a text is an address, not a file or a published name."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", text) is not None


def masked(url: str) -> str:
    """The address as it may be shown and stored: without name, password and signature."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return re.sub(r"//[^/]*@", "//***@", url)
    host = parts.netloc.rpartition("@")
    netloc = f"***@{host[2]}" if host[1] else parts.netloc
    return urlunsplit(parts._replace(netloc=netloc, query=_masked_query(parts.query)))


def _masked_query(query: str) -> str:
    fields = parse_qsl(query, keep_blank_values=True)
    if not any(_SECRET.search(name) for name, _ in fields):
        return query
    return urlencode([(name, "***" if _SECRET.search(name) else value) for name, value in fields], safe="*")


def parse(url: str) -> Address:
    """An address and its credentials; a DataError if it is not http or https."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise DataError(f"{masked(url)}: not an address: {error}") from None
    if parts.scheme.lower() not in SCHEMES or not parts.hostname:
        raise DataError(f"{masked(url)}: only http:// and https:// addresses can be read")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    netloc = host if port is None else f"{host}:{port}"
    plain = urlunsplit(parts._replace(scheme=parts.scheme.lower(), netloc=netloc, fragment=""))
    given = (parts.username or "", parts.password or "")
    return Address(plain, _decoded(given) if any(given) else None)


def _decoded(given: tuple[str, str]) -> tuple[str, str]:
    return unquote(given[0]), unquote(given[1])


def redirected(address: Address, location: str) -> Address:
    """Where a redirect leads; never from https to http, and credentials stay with their host."""
    here, there = masked(address.url), location
    try:
        there = urljoin(address.url, location)
        target = parse(there)
    except (DataError, ValueError):
        raise DataError(f"{here}: redirected to {masked(there)}, which is not an http or https address") from None
    if address.origin[0] == "https" and target.origin[0] != "https":
        raise DataError(f"{here}: redirected to {masked(there)}, which is not encrypted; refused")
    return Address(target.url, address.credentials if _same_host(address, target) else None)


def _same_host(one: Address, other: Address) -> bool:
    """The same origin, or the same host if its usual http port redirects to its usual https port."""
    upgrade = (one.origin[0], one.origin[2], other.origin[0], other.origin[2]) == ("http", 80, "https", 443)
    return one.origin == other.origin or (upgrade and one.origin[1] == other.origin[1])
