"""Submissions: a transcript arrives by PUT, from someone with a token, and is published if it is valid."""

import errno
import logging
import math
import shutil
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import anyio
from anyio import CapacityLimiter, to_thread
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from harness.errors import DataError, HateError, OutputError, TranscriptError
from harness.files.caches import MemoryCache
from harness.report.text import safe
from harness.server.blind_board import BlindSubmission, Board
from harness.server.connections import address_key
from harness.server.database import Database, Token
from harness.server.state import ServedSite, find_test
from harness.server.submission_checks import check_size, inspect_transcript, judge_submission
from harness.site.blind import private_folder
from harness.site.catalogue import SiteTest
from harness.site.changes import NameTaken, PublishStatus
from harness.site.layout import file_path
from harness.site.publish import publish
from harness.site.publish_candidates import check_name
from harness.site.signing import Signer
from harness.transcript.format import Header

_log = logging.getLogger("hate")
# For unfinished work; servers do not serve names that begin with a dot.
INCOMING = ".incoming"
MINUTE = 60.0
OLD = 86_400.0
# Of rate limits; the least recently used are dropped first.
MAX_KEYS = 10_000
CANNOT_STORE = "The server cannot store it; nothing was published."
# What failed may have come after the change of the site.
MAY_BE_PUBLISHED = "The server cannot store all of it; hand in the same again later, nothing is published twice."


@dataclass(frozen=True)
class SubmissionLimits:
    """How large, frequent and slow submissions may be."""

    # In bytes, as sent and also as unpacked.
    max_bytes: int = 100 << 20
    # For each token.
    per_hour: int = 60
    per_day: int = 1000
    # For each token and blind test.
    blind_per_day: int = 5
    # Whether the code of an algorithm must have been kept out of the harness's own process.
    isolated: bool = False
    silent_seconds: float = 30.0
    seconds: float = 15 * MINUTE


@dataclass
class Submissions:
    """Accepts transcripts for the site in a folder."""

    root: Path
    database: Database
    limits: SubmissionLimits = field(default_factory=SubmissionLimits)
    signer: Signer | None = None
    private: Path | None = None

    def __post_init__(self) -> None:
        self._site = ServedSite(self.root)
        self._board = Board(self.root, self.private or private_folder(self.root), self.signer)
        self._allowed = RateLimiter(self.limits.per_hour, 60 * MINUTE)
        # Wrong tokens, by the client's address.
        self._guesses = RateLimiter(20, MINUTE)
        self._checkers = CapacityLimiter(2)
        clear_old(self.root / INCOMING)

    async def submit(self, request: Request) -> Response:
        """PUT /transcripts/TEST@VERSION/NAME."""
        token = await self._find_token(request)
        if wait := self._allowed.take(token.name):
            raise _try_later(wait, f"{self.limits.per_hour} submissions per hour are allowed")
        length = request.headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or len(length) > 15 or int(length) > self.limits.max_bytes:
            raise self._too_large()
        test, name = request.path_params["test"], request.path_params["name"]
        async with self._scratch() as folder:
            path = folder / "submitted.jsonl"
            await self._receive(request, path)
            await to_thread.run_sync(self._charge, token)
            return await to_thread.run_sync(self._publish, path, test, name, token.name, limiter=self._checkers)

    async def _find_token(self, request: Request) -> Token:
        """The token of a request. A valid one counts whatever others at the same address, or proxy, have tried."""
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        token = await to_thread.run_sync(self.database.find_token, text.strip()) if scheme.lower() == "bearer" else None
        if token is not None:
            return token
        if wait := self._guesses.take(address_key(request.client.host if request.client is not None else "")):
            raise _try_later(wait, "too many wrong tokens from your address")
        raise HTTPException(401, "A token is needed: Authorization: Bearer TOKEN.", {"www-authenticate": "Bearer"})

    def _charge(self, token: Token) -> None:
        """Count a submission that has arrived in full, valid or not."""
        try:
            self._take(token.name, token.per_day or self.limits.per_day, token.name)
        except OutputError as error:
            raise _not_stored(error, CANNOT_STORE) from error

    def _take(self, name: str, limit: int, whose: str) -> None:
        """Use one of the `limit` submissions that a name has on a day."""
        # Several servers may serve one folder, and one file of tokens several.
        if wait := self.database.take(str(self.root.resolve()), name, limit, datetime.now(UTC)):
            raise _try_later(wait, f"{limit:,} submissions a day are allowed for {whose}")

    def _too_large(self) -> HTTPException:
        return HTTPException(413, f"More than {self.limits.max_bytes:,} bytes; gzip it, or ask the site's owner.")

    @asynccontextmanager
    async def _scratch(self) -> AsyncIterator[Path]:
        try:
            incoming = self.root / INCOMING
            incoming.mkdir(exist_ok=True)
            folder = Path(tempfile.mkdtemp(dir=incoming))
        except OSError as error:
            raise _cannot_store(error) from error
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    async def _receive(self, request: Request, path: Path) -> None:
        """Write the body to a file; disconnect clients that go silent or never finish."""
        size, stream = 0, request.stream()
        try:
            with anyio.fail_after(self.limits.seconds):
                async with await anyio.open_file(path, "xb") as file:
                    while True:
                        with anyio.fail_after(self.limits.silent_seconds):
                            block = await anext(stream, None)
                        if block is None:
                            return
                        size += len(block)
                        if size > self.limits.max_bytes:
                            raise self._too_large()
                        await file.write(block)
        except TimeoutError:
            raise HTTPException(408, "The transcript took too long to arrive.", {"connection": "close"}) from None
        except ClientDisconnect:
            raise HTTPException(400, "The connection was closed.") from None
        except OSError as error:
            raise _cannot_store(error) from error

    def _publish(self, path: Path, test: str, name: str, submitter: str) -> Response:
        try:
            blind = find_test(self._site.state(), test)
            if blind is not None and blind.version.blind:
                return self._judge(blind, BlindSubmission(path, name, submitter))
            candidate = inspect_transcript(path, name=name, by=submitter, max_bytes=self.limits.max_bytes)
            run = candidate.header.test
            if test not in (run.name, f"{run.name}@{run.version}"):
                raise HTTPException(422, f"a transcript of {run.name[:100]}@{run.version[:100]}, sent to {test[:100]}")
            self._check_isolation(path, candidate.header)
            judged = judge_submission(self._site.state(), candidate)
            change = publish(self.root, [judged], signer=self.signer)
        except OutputError as error:
            raise _not_stored(error, MAY_BE_PUBLISHED) from error
        except HateError as error:
            # Clients must not learn where the files are.
            text = str(error).splitlines()[0].replace(f"{path}: ", "").replace(str(path), name)
            text = text.replace(str(self.root), "this site")
            raise HTTPException(409 if isinstance(error, NameTaken) else 422, text) from None
        ref, status = candidate.ref, change.items[0].status
        file = f"/{file_path(ref.sha256)}"
        return _receipt(run.name, run.version, name, status, sha256=ref.sha256, bytes=ref.bytes, file=file)

    def _check_isolation(self, path: Path, header: Header) -> None:
        if self.limits.isolated and header.isolation != "process":
            raise TranscriptError(f"{path}: {header.isolation_note}")

    def _judge(self, test: SiteTest, submission: BlindSubmission) -> Response:
        """Judge the answers of a blind run; the reply never says more than the board."""
        header = check_size(submission.path, self.limits.max_bytes)
        check_name(submission.name, submission.path)
        self._check_isolation(submission.path, header)

        def charge() -> None:
            name = f"{submission.by} {test.full_name}"
            self._take(name, self.limits.blind_per_day, f"{submission.by} and {test.name}")

        try:
            reply = self._board.submit(test, submission, charge)
        except DataError as error:
            # Where the truth is, is for the owner alone.
            _log.error("%s: %s", test.full_name, safe(str(error)))
            raise HTTPException(500, "The site is damaged. Its owner can find the details in the log.") from None
        return _receipt(test.name, test.version.version, submission.name, reply.status, message=reply.text)


def _receipt(test: str, version: str, name: str, status: PublishStatus | None, **more: str | int) -> Response:
    """What was done, and the page on which it can be seen; without a status, what was handed in is not shown."""
    page = f"/transcripts/{test}@{version}/{name}" if status else f"/tests/{test}@{version}"
    result = status.value if status else "not shown"
    content = {"test": test, "version": version, "name": name, "result": result, "page": page, **more}
    headers = {"location": page, "cache-control": "no-store"}
    return JSONResponse(content, 201 if status is PublishStatus.NEW else 200, headers)


def _try_later(seconds: float, text: str) -> HTTPException:
    return HTTPException(429, f"Try again in {math.ceil(seconds)} s: {text}.", {"retry-after": str(math.ceil(seconds))})


def _not_stored(error: OutputError, text: str) -> HTTPException:
    _log.error("%s", safe(str(error)))
    return HTTPException(507, text)


def _cannot_store(error: OSError) -> HTTPException:
    status = 507 if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS) else 500
    return HTTPException(status, CANNOT_STORE)


def clear_old(folder: Path) -> None:
    """Remove what a killed server left behind; recent files may belong to another server."""
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        try:
            if path.stat().st_mtime < time.time() - OLD:
                shutil.rmtree(path)
        except OSError:
            continue


@dataclass
class RateLimiter:
    """Token buckets: each key may use `limit` tokens at once, and gets as many again in `seconds`."""

    limit: int
    seconds: float
    clock: Callable[[], float] = time.monotonic
    # How many tokens a key had left, and when.
    _left: MemoryCache[tuple[float, float]] = field(default_factory=lambda: MemoryCache(MAX_KEYS))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, key: str) -> float:
        """Take a token: 0 if there was one, otherwise the seconds until there will be."""
        with self._lock:
            left, since = self._left.get(key) or (float(self.limit), self.clock())
            left = min(float(self.limit), left + (self.clock() - since) * self.limit / self.seconds)
            if left < 1:
                return (1 - left) * self.seconds / self.limit
            self._left.put(key, (left - 1, self.clock()))
            return 0.0
