"""Ed25519 keys and signatures: made, read and checked."""

import base64
import binascii
import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import DataError, MissingExtra, OutputError, UsageError
from harness.site.layout import FORMAT, Signature, decode, encode

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

KIND = "ed25519:"
KEY_BYTES = 32


@dataclass(frozen=True)
class Signer:
    """A private key, and the public key as text, as in sites and configurations."""

    private: "Ed25519PrivateKey"
    key: str

    def sign(self, data: bytes) -> bytes:
        """The signature file of some bytes."""
        signature = base64.b64encode(self.private.sign(data)).decode()
        return encode(Signature("signature", FORMAT, self.key, signature))


def _require_library() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise MissingExtra("signatures need cryptography: pip install 'hate-harness[sign]'") from None


def make_key() -> Signer:
    """A key that is in no file yet."""
    _require_library()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.generate()
    return Signer(private, public_text(private.public_key()))


def write_key(signer: Signer, path: Path) -> None:
    """Write a key to a new file that only its owner can read, as `openssl genpkey` does."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    pem = signer.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise OutputError(f"{path}: already exists; a key is never overwritten") from None
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}") from None
    with os.fdopen(fd, "wb") as file:
        file.write(pem)


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
    return KIND + base64.b64encode(public.public_bytes_raw()).decode()


def _key_bytes(key: str) -> bytes | None:
    if not key.startswith(KIND):
        return None
    try:
        data = base64.b64decode(key.removeprefix(KIND), validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if len(data) == KEY_BYTES else None


def is_key(key: str) -> bool:
    return _key_bytes(key) is not None


def check_signature(data: bytes, signature: bytes | None, key: str, name: str) -> None:
    """A DataError unless the signature file holds this key's signature of these bytes."""
    _require_library()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if not is_key(key):
        raise DataError(f"{name}: '{key:.80}' is not a key; a key is {KIND} and 32 bytes in base64")
    if signature is None:
        raise DataError(f"{name}: signed by {key}, but its signature is missing; refused")
    decoded = decode(signature, Signature, f"{name}: signature")
    try:
        public = Ed25519PublicKey.from_public_bytes(_key_bytes(key) or b"")
        public.verify(base64.b64decode(decoded.signature, validate=True), data)
    except (InvalidSignature, binascii.Error, ValueError):
        raise DataError(f"{name}: not signed by {key}: the index was changed; refused") from None
