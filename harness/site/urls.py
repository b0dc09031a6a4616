"""Addresses: what may be shown, which host gets the credentials, and where a redirect may lead."""

import re
from dataclasses import dataclass
from posixpath import normpath
from urllib.parse import parse_qsl, unquote, urlencode, urljoin, urlsplit, urlunsplit

from harness.errors import DataError

SCHEMES = ("http", "https")
PORTS = {"http": 80, "https": 443}
_ESCAPED = re.compile("%[0-9A-Fa-f]{2}")
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


def url_path(url: str) -> str:
    """The path of an address; empty where it is not one, which `parse` explains."""
    try:
        return urlsplit(url).path
    except ValueError:
        return ""


def masked(url: str) -> str:
    """The address without user name, password and signature, fit to be shown and stored."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return re.sub(r"//[^/]*@", "//***@", url)
    host = parts.netloc.rpartition("@")
    netloc = f"***@{host[2]}" if host[1] else parts.netloc
    query, fields = parts.query, parse_qsl(parts.query, keep_blank_values=True)
    if any(_SECRET.search(name) for name, _ in fields):
        query = urlencode([(name, "***" if _SECRET.search(name) else value) for name, value in fields], safe="*")
    return urlunsplit(parts._replace(netloc=netloc, query=query))


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


def is_exposed(url: str) -> bool:
    """Whether what is sent to an address can be read on the way: not encrypted, and not to this machine."""
    scheme, host, _ = parse(url).origin
    return scheme == "http" and host != "localhost" and not host.startswith("127.") and host != "::1"


def normalised(url: str) -> str:
    """One spelling for all that lead to the same place (RFC 3986, section 6.2), so that a site has one trust record.

    Host in lower case without a final dot, no default port, no needless percent signs, no `.`, `..` or doubled slashes
    in the path, no slash at its end. User name and password stay.
    """
    address, parts = parse(url), urlsplit(url)
    scheme, host, port = address.origin
    host = f"[{host}]" if ":" in host else host.rstrip(".")
    netloc = host if port == PORTS[scheme] else f"{host}:{port}"
    user, at, _ = parts.netloc.rpartition("@")
    plain = _ESCAPED.sub(lambda escape: _plain_escape(escape[0]), parts.path)
    path = re.sub("/+", "/", normpath(plain)) if plain else ""
    return urlunsplit((scheme, user + at + netloc, path.rstrip("/"), parts.query, ""))


def _plain_escape(escape: str) -> str:
    """A percent sign and two digits; the character itself if it means nothing special."""
    char = unquote(escape)
    return char if char.isascii() and (char.isalnum() or char in "-._~") else escape.upper()


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
    return Address(target.url, address.credentials if _is_same_host(address, target) else None)


def _is_same_host(first: Address, other: Address) -> bool:
    """Whether the origins are equal, or differ only by a redirect from port 80 to https on port 443."""
    upgrade = (first.origin[0], first.origin[2], other.origin[0], other.origin[2]) == ("http", 80, "https", 443)
    return first.origin == other.origin or (upgrade and first.origin[1] == other.origin[1])
