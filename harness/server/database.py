"""What a server must remember: tokens, what each name has used of its day, and what blind tests were handed.

It is a file of SQLite. Every step opens it anew, so that a file that was replaced is noticed, and is a transaction of
its own: when it returns, its change is on disk, and steps of several threads, servers and commands come one after
another. A token itself is shown once and never stored; the file has its salted hash.
"""

import hashlib
import hmac
import os
import re
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from harness.errors import DataError, HateError, OutputError, UsageError
from harness.transcript.format import now

# In the header of the file: whose it is, and which tables it has.
APPLICATION = int.from_bytes(b"hate")
VERSION = 1
_TABLES = (
    """CREATE TABLE tokens (
        name TEXT PRIMARY KEY, salt TEXT NOT NULL, sha256 TEXT NOT NULL, created TEXT NOT NULL, per_day INTEGER NOT NULL
    )""",
    "CREATE TABLE uses (site TEXT, name TEXT, day TEXT, used INTEGER NOT NULL, PRIMARY KEY (site, name, day))",
    """CREATE TABLE submissions (
        number INTEGER PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, answers TEXT NOT NULL, shown TEXT NOT NULL,
        successes INTEGER NOT NULL, tests INTEGER NOT NULL, measure TEXT NOT NULL, value REAL NOT NULL
    )""",
)
# How long a step waits for those of others.
BUSY_SECONDS = 30.0
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_MAX_TOKEN_LENGTH = 200
_creating = threading.Lock()

# What to do about an error of SQLite that is not about the content of the file.
_REMEDIES = {
    sqlite3.SQLITE_FULL: "make room on the disk",
    sqlite3.SQLITE_BUSY: f"another process has held it for {BUSY_SECONDS:.0f} s; end that one, or try again",
    sqlite3.SQLITE_READONLY: "the server must be able to write the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "the server must be able to write the file and its folder",
    sqlite3.SQLITE_PERM: "the server must be able to write the file and its folder",
    sqlite3.SQLITE_IOERR: "look after the disk, then try again",
}


Row = TypeVar("Row")


class Token(NamedTuple):
    """A token: its owner and its salted hash."""

    name: str
    salt: str
    sha256: str
    created: str
    # Submissions on a day; 0 for what the server allows everyone.
    per_day: int


class BoardEntry(NamedTuple):
    """A submission to a blind test, as the site remembers it."""

    by: str
    name: str
    # Of the answers; and of the file that is published, if it is shown.
    answers: str
    shown: str = ""
    successes: int = 0
    tests: int = 0
    # What it is ranked by.
    measure: str = ""
    value: float = 0.0

    @property
    def rate(self) -> float:
        """The share of successes."""
        return self.successes / self.tests if self.tests else 0.0


@dataclass(frozen=True)
class Database:
    """A file of SQLite; without one, nothing is remembered yet. `content` is what messages call it a file of."""

    path: Path
    content: str = "tokens"

    def check(self) -> None:
        """A HateError if the file is not what it should be."""
        problems = self._read(tuple[str], "PRAGMA quick_check")
        if problems and problems[0] != ("ok",):
            raise self._not_ours(problems[0][0])

    def tokens(self) -> list[Token]:
        """All tokens, the oldest first."""
        return self._read(Token, "SELECT name, salt, sha256, created, per_day FROM tokens ORDER BY rowid")

    def add_token(self, name: str, *, per_day: int = 0) -> str:
        """Make a token for a name that has none; this is the only time that it is known."""
        if _NAME.fullmatch(name) is None:
            raise UsageError(f"'{name:.80}': not a valid name; use up to 64 letters, digits and ._-")
        secret, salt = secrets.token_urlsafe(32), secrets.token_hex(16)
        row = (name, salt, _hashed(secret, salt), now(), per_day)
        if not self._write("INSERT OR IGNORE INTO tokens VALUES (?, ?, ?, ?, ?)", row):
            raise UsageError(f"{self.path}: {name} already has a token; `hate token remove {name}` revokes it")
        return f"{name}:{secret}"

    def remove_token(self, name: str) -> None:
        """Revoke a token, also for a running server."""
        if not self.path.exists() or not self._write("DELETE FROM tokens WHERE name = ?", (name,)):
            raise self._no_token(name)

    def set_quota(self, name: str, per_day: int) -> None:
        """Change how much a name may hand in on a day, also for a running server."""
        if not self.path.exists() or not self._write("UPDATE tokens SET per_day = ? WHERE name = ?", (per_day, name)):
            raise self._no_token(name)

    def _no_token(self, name: str) -> UsageError:
        known = ", ".join(token.name for token in self.tokens()[:10]) or "none"
        return UsageError(f"{self.path}: {name:.80} has no token; known: {known}")

    def find_token(self, text: str) -> Token | None:
        """What is known about a token; None if it is not valid."""
        name, _, secret = text[:_MAX_TOKEN_LENGTH].partition(":")
        tokens = self._read(Token, "SELECT name, salt, sha256, created, per_day FROM tokens WHERE name = ?", (name,))
        # Hashed even if the name is unknown, so that timing does not reveal which names exist.
        known = tokens[0] if tokens else Token(name, "", "", "", 0)
        return known if hmac.compare_digest(_hashed(secret, known.salt).encode(), known.sha256.encode()) else None

    def take(self, site: str, name: str, limit: int, at: datetime) -> float:
        """Use one of the `limit` of a name's day: 0 if there was one left, otherwise the seconds until the next day."""
        used = """INSERT INTO uses VALUES (?, ?, ?, 1)
            ON CONFLICT (site, name, day) DO UPDATE SET used = used + 1 WHERE used < ?"""
        with self._transaction("IMMEDIATE") as connection:
            connection.execute("DELETE FROM uses WHERE day < ?", (_day(at),))
            if connection.execute(used, (site, name, _day(at), limit)).rowcount:
                return 0.0
        midnight = (at + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        return max(1.0, (midnight - at).total_seconds())

    def used(self, site: str, name: str, at: datetime) -> int:
        """How much of its day a name has used."""
        uses = self._read(
            tuple[int], "SELECT used FROM uses WHERE site = ? AND name = ? AND day = ?", (site, name, _day(at))
        )
        return uses[0][0] if uses else 0

    def submissions(self) -> list[BoardEntry]:
        """All submissions to a blind test, the oldest first."""
        columns = "owner, name, answers, shown, successes, tests, measure, value"
        return self._read(BoardEntry, f"SELECT {columns} FROM submissions ORDER BY number")  # noqa: S608 (our own words)

    def add_submission(self, entry: BoardEntry) -> None:
        self._write("INSERT INTO submissions VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)", entry)

    def _read(self, row: type[Row], query: str, values: Sequence[Any] = ()) -> list[Row]:
        """The rows of a query; none if there is no file yet, or nothing in it."""
        try:
            if not self.path.stat().st_size:
                return []
        except FileNotFoundError:
            return []
        except OSError as error:
            raise OutputError(f"{self.path}: {error.strerror}; name another file") from None
        try:
            with self._transaction("DEFERRED") as connection:
                return msgspec.convert(connection.execute(query, values).fetchall(), list[row])  # type: ignore[valid-type]
        except msgspec.ValidationError as error:
            raise self._not_ours(error) from None

    def _write(self, change: str, values: Sequence[Any]) -> int:
        """Make one change; how many rows it was."""
        with self._transaction("IMMEDIATE") as connection:
            return connection.execute(change, values).rowcount

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[sqlite3.Connection]:
        """All of it or nothing; an error of the file or the disk is a HateError."""
        try:
            # Closing a file takes the locks of all threads on it away, so it is made before anyone has it open.
            with _creating, suppress(FileExistsError):
                if not self.path.exists():
                    os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            address = f"{self.path.absolute().as_uri()}?mode=rw"
            with closing(sqlite3.connect(address, BUSY_SECONDS, isolation_level=None, uri=True)) as connection:
                # On disk means that the end of the journal is, too.
                connection.execute("PRAGMA synchronous = EXTRA")
                connection.execute(f"BEGIN {kind}")
                self._prepare(connection)
                yield connection
                connection.execute("COMMIT")
        except OSError as error:
            raise OutputError(f"{self.path}: {error.strerror}; name a file in a folder that you can write") from None
        except UnicodeDecodeError:  # in SQLite's own message
            raise self._not_ours("malformed database schema") from None
        except sqlite3.Error as error:
            remedy = _REMEDIES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
            raise (
                self._not_ours(error) if remedy is None else OutputError(f"{self.path}: {error}; {remedy}")
            ) from None

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make the tables in a new file; refuse one that somebody else has made."""
        (application,), (version,) = (
            connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
        )
        if (application, version) == (APPLICATION, VERSION):
            return
        if application == APPLICATION:
            raise DataError(
                f"{self.path}: its tables are of version {version}, this program knows {VERSION}; "
                "update it with `pip install --upgrade hate-harness`"
            )
        # Not by what is in it: SQLite takes a file of one byte for an empty one.
        if self.path.stat().st_size:
            raise self._not_ours("it belongs to another program")
        for change in (*_TABLES, f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {VERSION}"):
            connection.execute(change)

    def _not_ours(self, why: object) -> HateError:
        # A damaged table may be named with whatever is in it.
        return DataError(
            f"{self.path}: not a file of {self.content}, or a damaged one: {' '.join(str(why).split())[:200]}; "
            "put a copy of it back, or move it away to begin with an empty one"
        )


def _hashed(secret: str, salt: str) -> str:
    """One fast hash is enough: a token has 256 random bits and cannot be guessed."""
    return hashlib.sha256(f"{salt}:{secret}".encode()).hexdigest()


def _day(at: datetime) -> str:
    return at.strftime("%Y-%m-%d")
