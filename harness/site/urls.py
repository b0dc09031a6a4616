"""Addresses: what may be shown, which host gets the credentials, and where a redirect may lead."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlencode, urljoin, urlsplit, urlunsplit

from harness.errors import DataError

SCHEMES = ("http", "https")
PORTS = {"http": 80, "https": 443}
# Query fields with such names hold secrets, as in presigned addresses.
_SECRET = re.compile(r"token|key|sig|secret|pass|credential|auth", re.IGNORECASE)


@dataclass(frozen=True)
class Address:
    """An address without credentials, and its user name and password."""

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
    """The address without user name, password and signature, fit to be shown and stored."""
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
    credentials = (unquote(parts.username or ""), unquote(parts.password or ""))
    return Address(plain, credentials if any(credentials) else None)


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
    """Whether the origins are equal, or differ only by a redirect from port 80 to https on port 443."""
    upgrade = (one.origin[0], one.origin[2], other.origin[0], other.origin[2]) == ("http", 80, "https", 443)
    return one.origin == other.origin or (upgrade and one.origin[1] == other.origin[1])
