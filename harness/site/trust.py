"""Whether to trust a site: its index is signed, its key is pinned, and no index is older than the last one seen.

What was seen is recorded outside the cache, so that clearing the cache forgets nothing.
"""

import base64
import binascii
import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from filelock import FileLock
from platformdirs import user_state_path

from harness.errors import DataError, MissingExtra, OutputError, UsageError
from harness.site.config import SiteConfig
from harness.site.layout import FORMAT, Signature, Top, decode, encode
from harness.site.urls import is_url, masked, parse

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


class TrustRecord(msgspec.Struct, frozen=True):
    """What is known about a site from its last index."""

    site: str
    key: str = ""
    serial: int = 0
    sha256: str = ""


def trust_folder() -> Path:
    """Where the records are kept."""
    return user_state_path("hate", appauthor=False) / "sites"


def check_top(site: SiteConfig, data: bytes, top: Top, signature: Callable[[], bytes | None]) -> None:
    """Record this index, or raise a DataError if it cannot be trusted. The signature is fetched only if needed."""
    seen = last_seen(site)
    key = site.key or seen.key
    _check_key(site, key, top)
    _check_serial(site, seen, data, top)
    if (sha256 := _sha256(data)) == seen.sha256 and seen.key == key == top.key:
        return
    if top.key:
        check_signature(data, signature(), key or top.key, site.name)
    _remember(site, TrustRecord(site.name, top.key, top.serial, sha256))


def _check_key(site: SiteConfig, key: str, top: Top) -> None:
    if not key or top.key == key:
        return
    remedy = "the configuration says so" if site.key else f"if its owner confirms this, `hate cache forget {site.name}`"
    if not top.key:
        raise DataError(f"{site.name}: no longer signed, but it was signed by {key} before; refused ({remedy})")
    raise DataError(f"{site.name}: signed by another key, {top.key:.80}, not by {key}; refused ({remedy})")


def _check_serial(site: SiteConfig, seen: TrustRecord, data: bytes, top: Top) -> None:
    if top.serial > seen.serial or (top.serial == seen.serial and _sha256(data) == seen.sha256):
        return
    remedy = f"if the site was rebuilt, `hate cache forget {site.name}`"
    if top.serial == seen.serial:
        raise DataError(f"{site.name}: two different indexes have the number {top.serial:,}; refused ({remedy})")
    raise DataError(
        f"{site.name}: its index has number {top.serial:,}, "
        f"but number {seen.serial:,} was seen before; refused ({remedy})"
    )


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _path(site: SiteConfig) -> Path:
    """The record of a site, whatever credentials its address has."""
    place = parse(site.address).url if is_url(site.address) else str(Path(site.address).resolve())
    return trust_folder() / f"{_sha256(place.encode())}.json"


def last_seen(site: SiteConfig) -> TrustRecord:
    """What is known about a site, which may be nothing yet."""
    try:
        return msgspec.json.decode(_path(site).read_bytes(), type=TrustRecord)
    except FileNotFoundError:
        return TrustRecord(site.name)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise DataError(f"{_path(site)}: cannot be read; `hate cache forget {masked(site.name)}` removes it") from None


def _remember(site: SiteConfig, seen: TrustRecord) -> None:
    path = _path(site)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")):
            # Another process may have recorded a newer index in the meantime.
            if last_seen(site).serial <= seen.serial:
                with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                    file.write(msgspec.json.encode(seen))
                Path(file.name).replace(path)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}; the key of {site.name} cannot be remembered") from None


def forget(site: SiteConfig) -> bool:
    """Forget what is known about a site; returns whether anything was known."""
    path = _path(site)
    known = path.exists()
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    return known


KIND = "ed25519:"
KEY_BYTES = 32


@dataclass(frozen=True)
class Signer:
    """A private key, and the public key as text, as in sites and configurations."""

    private: "Ed25519PrivateKey"
    key: str

    def sign(self, data: bytes) -> bytes:
        """The signature file of a top index."""
        signature = base64.b64encode(self.private.sign(data)).decode()
        return encode(Signature("signature", FORMAT, self.key, signature))


def _require_library() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise MissingExtra("signatures need cryptography: pip install 'hate-harness[sign]'") from None


def new_key(path: Path) -> Signer:
    """Make a key and write it to a new file that only its owner can read, as `openssl genpkey` does."""
    _require_library()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    private = Ed25519PrivateKey.generate()
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise OutputError(f"{path}: already exists; a key is never overwritten") from None
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}") from None
    with os.fdopen(fd, "wb") as file:
        file.write(pem)
    return Signer(private, public_text(private.public_key()))


def read_key(path: Path) -> Signer:
    """The key in a file: Ed25519, PEM, without a password."""
    _require_library()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    private: object = None
    try:
        with contextlib.suppress(ValueError, TypeError):
            private = load_pem_private_key(path.read_bytes(), None)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; make a key with `hate publish --new-key FILE`") from None
    if not isinstance(private, Ed25519PrivateKey):
        raise UsageError(f"{path}: not an Ed25519 key in PEM format without a password; make one with --new-key FILE")
    return Signer(private, public_text(private.public_key()))


def public_text(public: "Ed25519PublicKey") -> str:
    """A public key as text."""
    return KIND + base64.b64encode(public.public_bytes_raw()).decode()


def _public(key: str) -> "Ed25519PublicKey":
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    return Ed25519PublicKey.from_public_bytes(_key_bytes(key) or b"")


def _key_bytes(key: str) -> bytes | None:
    if not key.startswith(KIND):
        return None
    try:
        data = base64.b64decode(key.removeprefix(KIND), validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if len(data) == KEY_BYTES else None


def is_key(key: str) -> bool:
    """Whether a text is a public key."""
    return _key_bytes(key) is not None


def check_signature(data: bytes, signature: bytes | None, key: str, name: str) -> None:
    """A DataError unless the signature file holds this key's signature of these bytes."""
    _require_library()
    from cryptography.exceptions import InvalidSignature

    if not is_key(key):
        raise DataError(f"{name}: '{key:.80}' is not a key; a key is {KIND} and 32 bytes in base64")
    if signature is None:
        raise DataError(f"{name}: signed by {key}, but its signature is missing; refused")
    decoded = decode(signature, Signature, f"{name}: signature")
    try:
        _public(key).verify(base64.b64decode(decoded.signature, validate=True), data)
    except (InvalidSignature, binascii.Error, ValueError):
        raise DataError(f"{name}: not signed by {key}: the index was changed; refused") from None
