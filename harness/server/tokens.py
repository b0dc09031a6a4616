"""Who may submit: a file with names and hashes of tokens. A token itself is shown once and never stored."""

import hashlib
import hmac
import os
import re
import secrets
import threading
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from filelock import FileLock
from msgspec.structs import replace

from harness.errors import OutputError, UsageError
from harness.transcript.format import now

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_LONGEST_TOKEN = 200


class Token(msgspec.Struct, frozen=True):
    """A token: its owner and its salted hash."""

    name: str
    salt: str
    sha256: str
    created: str = ""
    # Submissions on a day; 0 for what the server allows everyone.
    per_day: int = 0


class _File(msgspec.Struct, frozen=True):
    tokens: list[Token] = []


def _hashed(secret: str, salt: str) -> str:
    """One fast hash is enough: a token has 256 random bits and cannot be guessed."""
    return hashlib.sha256(f"{salt}:{secret}".encode()).hexdigest()


def read_tokens(path: Path) -> list[Token]:
    """All tokens of a file; none if there is no file yet."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=_File).tokens
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not a file of tokens: {error}; `hate token add NAME` makes one") from None


def add_token(path: Path, name: str, *, per_day: int = 0) -> str:
    """Make a token for a name that has none; this is the only time that it is known."""
    if _NAME.fullmatch(name) is None:
        raise UsageError(f"'{name:.80}': not a valid name; use up to 64 letters, digits and ._-")
    secret, salt = secrets.token_urlsafe(32), secrets.token_hex(16)
    with _locked(path):
        tokens = read_tokens(path)
        if any(token.name == name for token in tokens):
            raise UsageError(f"{path}: {name} already has a token; `hate token remove {name}` revokes it")
        _write(path, [*tokens, Token(name, salt, _hashed(secret, salt), now(), per_day)])
    return f"{name}:{secret}"


def remove_token(path: Path, name: str) -> None:
    """Revoke a token, also for a running server."""
    with _locked(path):
        tokens = _with_token(path, name)
        _write(path, [token for token in tokens if token.name != name])


def set_quota(path: Path, name: str, per_day: int) -> None:
    """Change how much a name may hand in on a day, also for a running server."""
    with _locked(path):
        tokens = _with_token(path, name)
        _write(path, [replace(token, per_day=per_day) if token.name == name else token for token in tokens])


def _with_token(path: Path, name: str) -> list[Token]:
    """All tokens, if one of them has this name."""
    tokens = read_tokens(path)
    if all(token.name != name for token in tokens):
        known = ", ".join(token.name for token in tokens[:10]) or "none"
        raise UsageError(f"{path}: {name:.80} has no token; known: {known}")
    return tokens


def _locked(path: Path) -> FileLock:
    return FileLock(path.with_name(f"{path.name}.lock"))


def _write(path: Path, tokens: list[Token]) -> None:
    """Write all tokens or nothing, to a file that only its owner can read."""
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(_File(tokens)), indent=1) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OutputError(f"{path}: {error.strerror or error}") from None


@dataclass
class TokenStore:
    """The tokens in a file, which may change while the server runs."""

    path: Path
    _known: dict[str, Token] = field(default_factory=dict)
    _stamp: tuple[int, int, int] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def owner(self, token: str) -> str | None:
        """The name that a token belongs to; None if it is not valid."""
        found = self.find(token)
        return None if found is None else found.name

    def find(self, token: str) -> Token | None:
        """What is known about a token; None if it is not valid."""
        name, _, secret = token[:_LONGEST_TOKEN].partition(":")
        known = self._current().get(name)
        # Hashed even if the name is unknown, so that timing does not reveal which names exist.
        salt, expected = (known.salt, known.sha256) if known is not None else ("", "")
        return known if hmac.compare_digest(_hashed(secret, salt), expected) else None

    def _current(self) -> dict[str, Token]:
        with self._lock:
            try:
                status = self.path.stat()
                stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            except FileNotFoundError:
                stamp = (0, 0, 0)
            if stamp != self._stamp:
                self._known = {token.name: token for token in read_tokens(self.path)}
                self._stamp = stamp
            return self._known
