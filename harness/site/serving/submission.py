"""The door: a transcript comes in by PUT, from someone with a token, and is published if it is what it says."""

import errno
import math
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio import CapacityLimiter, to_thread
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from harness.errors import HateError, OutputError
from harness.site.layout import file_path
from harness.site.publishing.decide import Fate
from harness.site.publishing.offers import TranscriptOffer
from harness.site.publishing.publish import publish
from harness.site.serving.allowance import Allowance
from harness.site.serving.binding import Binder
from harness.site.serving.inspection import check_records, inspected
from harness.site.serving.site import Site, find_test
from harness.site.serving.tokens import Keeper
from harness.site.signing import Signer

# Work in progress; no server serves what begins with a dot.
INCOMING = ".incoming"
MINUTE = 60.0
OLD = 86_400.0


@dataclass(frozen=True)
class Rules:
    """What a submission may cost."""

    # Bytes, both as sent and unpacked.
    largest: int = 100 << 20
    an_hour: int = 60
    silent_seconds: float = 30.0
    seconds: float = 15 * MINUTE


@dataclass
class Door:
    """Takes transcripts for a site's folder."""

    root: Path
    keeper: Keeper
    rules: Rules = field(default_factory=Rules)
    signer: Signer | None = None

    def __post_init__(self) -> None:
        self._site = Site(self.root)
        self._allowed = Allowance(self.rules.an_hour, 60 * MINUTE)
        # Wrong tokens, by the address that they come from.
        self._guesses = Allowance(20, MINUTE)
        self._binder = Binder()
        self._checkers = CapacityLimiter(2)
        clear_old(self.root / INCOMING)

    async def submit(self, request: Request) -> Response:
        """PUT /transcripts/TEST@VERSION/NAME."""
        who = await self._who(request)
        if wait := self._allowed.take(who):
            raise _later(wait, f"{self.rules.an_hour} submissions an hour are allowed")
        self._check_length(request)
        test, name = request.path_params["test"], request.path_params["name"]
        async with self._scratch() as folder:
            path = folder / "submitted.jsonl"
            await self._receive(request, path)
            return await to_thread.run_sync(self._publish, path, test, name, who, limiter=self._checkers)

    async def _who(self, request: Request) -> str:
        address = request.client.host if request.client is not None else ""
        if wait := self._guesses.wait(address):
            raise _later(wait, "too many wrong tokens from your address")
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        who = await to_thread.run_sync(self.keeper.who, token.strip()) if scheme.lower() == "bearer" else None
        if who is None:
            self._guesses.take(address)
            raise HTTPException(401, "A token is needed: Authorization: Bearer TOKEN.", {"www-authenticate": "Bearer"})
        return who

    def _check_length(self, request: Request) -> None:
        length = request.headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or len(length) > 15 or int(length) > self.rules.largest:
            raise self._too_large()

    def _too_large(self) -> HTTPException:
        return HTTPException(413, f"More than {self.rules.largest:,} bytes; gzip it, or ask the site's owner.")

    @asynccontextmanager
    async def _scratch(self) -> AsyncIterator[Path]:
        try:
            incoming = self.root / INCOMING
            incoming.mkdir(exist_ok=True)
            folder = Path(tempfile.mkdtemp(dir=incoming))
        except OSError as error:
            raise _full(error) from error
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    async def _receive(self, request: Request, path: Path) -> None:
        """The body into a file; whoever falls silent or never ends is hung up on."""
        size, stream = 0, request.stream()
        try:
            with anyio.fail_after(self.rules.seconds):
                async with await anyio.open_file(path, "xb") as file:
                    while True:
                        with anyio.fail_after(self.rules.silent_seconds):
                            block = await anext(stream, None)
                        if block is None:
                            return
                        size += len(block)
                        if size > self.rules.largest:
                            raise self._too_large()
                        await file.write(block)
        except TimeoutError:
            raise HTTPException(408, "Nothing came for too long.", {"connection": "close"}) from None
        except ClientDisconnect:
            raise HTTPException(400, "The connection was cut.") from None
        except OSError as error:
            raise _full(error) from error

    def _publish(self, path: Path, test: str, name: str, who: str) -> Response:
        try:
            offer = inspected(path, name=name, by=who, largest=self.rules.largest)
            self._check_test(offer, test)
            own = offer.header.test
            check_records(path, offer.repeat, self._binder.cases(self._site.state().catalogue, own.name, own.version))
            decision = publish(self.root, [offer], signer=self.signer)
        except OutputError as error:
            raise HTTPException(507, "The server cannot keep it; nothing was published.") from error
        except HateError as error:
            # Where the files are is nobody's business.
            text = str(error).splitlines()[0].replace(f"{path}: ", "").replace(str(path), name)
            text = text.replace(str(self.root), "this site")
            raise HTTPException(409 if self._taken(test, name) else 422, text) from None
        return _answer(offer, decision.verdicts[0].fate)

    def _check_test(self, offer: TranscriptOffer, test: str) -> None:
        """The address names the test, so that nobody publishes to another than they think."""
        own = offer.header.test
        if test not in (own.name, f"{own.name}@{own.version}"):
            raise HTTPException(422, f"a transcript of {own.name[:100]}@{own.version[:100]}, sent to {test[:100]}")

    def _taken(self, test: str, name: str) -> bool:
        state = self._site.state()
        found = find_test(state, test)
        return found is not None and bool(state.catalogue.transcript(found.index, name, found.version.version))


def _answer(offer: TranscriptOffer, fate: Fate) -> Response:
    test = offer.header.test
    page = f"/transcripts/{test.name}@{test.version}/{offer.name}"
    said = {
        "test": test.name, "version": test.version, "name": offer.name, "result": fate.value,
        "sha256": offer.ref.sha256, "bytes": offer.ref.bytes, "page": page, "file": f"/{file_path(offer.ref.sha256)}",
    }  # fmt: skip
    return JSONResponse(said, 201 if fate is Fate.NEW else 200, {"location": page, "cache-control": "no-store"})


def _later(seconds: float, text: str) -> HTTPException:
    return HTTPException(429, f"Try again in {math.ceil(seconds)} s: {text}.", {"retry-after": str(math.ceil(seconds))})


def _full(error: OSError) -> HTTPException:
    status = 507 if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS) else 500
    return HTTPException(status, "The server cannot keep it; nothing was published.")


def clear_old(folder: Path) -> None:
    """What a killed server left behind; another server may be at work on what is young."""
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        try:
            if path.stat().st_mtime < time.time() - OLD:
                shutil.rmtree(path)
        except OSError:
            continue
