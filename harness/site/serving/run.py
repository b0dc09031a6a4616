"""Run the server until it is told to end."""

import logging
import socket
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn

from harness.errors import UsageError
from harness.site.folder import open_folder
from harness.site.serving.app import make_app
from harness.site.serving.submission import Door, Rules
from harness.site.serving.tokens import Keeper, read_tokens
from harness.site.signing import read_key

IDLE_SECONDS = 15
# Those who download still get so long when the server is told to end.
GRACE_SECONDS = 10
MOST_CONNECTIONS = 1000


@dataclass(frozen=True)
class Wish:
    """What to serve, and to whom."""

    root: Path
    host: str = "127.0.0.1"
    port: int = 8000
    tokens: Path | None = None
    key: Path | None = None
    rules: Rules = field(default_factory=Rules)
    access_log: bool = False

    def check(self) -> None:
        """A HateError for what is wrong, before anything is served."""
        self.door()

    def door(self) -> Door | None:
        """How transcripts come in, where they may."""
        top = open_folder(self.root).top
        if self.tokens is None:
            return None
        read_tokens(self.tokens)
        signer = None if self.key is None else read_key(self.key)
        if top.key != ("" if signer is None else signer.key):
            said = f"is signed by {top.key}" if top.key else "is not signed"
            raise UsageError(f"{self.root}: the site {said}; to take transcripts, --key must fit")
        return Door(self.root, Keeper(self.tokens), self.rules, signer)


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens; a UsageError where it cannot be had."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise UsageError(f"--host {host} --port {port}: {error.strerror or error}; choose others") from None


def serve(wish: Wish, listening: socket.socket) -> None:
    """Serve until a signal."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    config = uvicorn.Config(
        make_app(wish.root, wish.door()),
        log_config=None,
        log_level="info" if wish.access_log else "warning",
        access_log=wish.access_log,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        limit_concurrency=MOST_CONNECTIONS,
    )
    uvicorn.Server(config).run(sockets=[listening])
