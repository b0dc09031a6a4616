"""Runs a Python interface as a program that speaks the stream protocol on standard input and output."""

import os
import signal
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

import msgspec

from harness.errors import InterfaceError
from harness.files.durable import write_all
from harness.interface.contract import Setup
from harness.interface.python import load_python
from harness.interface.python_source import InterfaceFacts
from harness.interface.wire import from_line, spill
from harness.model import Reply

# Only say what the interface is.
DESCRIBE = "--describe"


def main() -> None:
    """Serve the interface file that the command line names."""
    # Ctrl-C at the terminal reaches the workers too, but the harness ends them itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what the interface prints must not get between the lines of the protocol
    try:
        if sys.argv[1] == DESCRIBE:
            out.write(msgspec.json.encode(describe(Path(sys.argv[2]), Path(sys.argv[3]))))
        else:
            serve(Path(sys.argv[1]), 0, out)
    except InterfaceError as error:
        out.write(msgspec.json.encode({"error": str(error)}) + b"\n")


def describe(path: Path, shown: Path) -> InterfaceFacts:
    """What an interface file is; messages call it `shown`, as the user did."""
    try:
        interface = load_python(path)
    except InterfaceError as error:
        return InterfaceFacts(error=str(error).replace(str(path), str(shown)))
    params = {name: param.default for name, param in interface.params.items()}
    return InterfaceFacts(
        name=interface.name,
        version=interface.version,
        params=params,
        batch=interface.batch,
        learns=interface.learns,
        enrols=interface.enrols,
        links=interface.links,
    )


def serve(path: Path, source: int, out: IO[bytes]) -> None:
    """Read the first message, learn, then answer until the input ends."""
    batches = _available_lines(source)
    hello = msgspec.json.decode(next(batches)[0])
    train, gallery, test, work = hello["train"], hello.get("gallery"), hello["test"], Path(hello["work"])
    interface = load_python(path)
    session = interface.open(
        Setup(
            test=test["name"],
            version=test["version"],
            task=test["task"],
            params=hello["params"],
            work=work,
            train=Path(train) if train else None,
            gallery=Path(gallery) if gallery else None,
        )
    )
    out.write(b'{"ready":true}\n')
    encode = msgspec.json.Encoder().encode
    for lines in batches:
        replies = session.replies(map(from_line, lines))
        # An answer is written at once, so that the harness knows which case we work on; a batch is answered at once.
        while batch := list(islice(replies, interface.batch)):
            write_all(out.fileno(), b"".join([encode(_message(reply, work)) + b"\n" for reply in batch]))
    session.close()


def _available_lines(source: int) -> Iterator[list[bytes]]:
    """Whole lines, as many as have arrived, without waiting for a batch to fill up."""
    rest = b""
    while block := os.read(source, 1 << 20):
        *lines, rest = (rest + block).split(b"\n")
        if lines:
            yield lines


def _message(reply: Reply, work: Path) -> dict[str, Any]:
    if reply.error is not None:
        return {"id": reply.question.id, "seconds": reply.seconds, "error": reply.message, "kind": reply.error}
    raw = spill(reply.raw, work) if type(reply.raw) is dict else reply.raw
    return {"id": reply.question.id, "seconds": reply.seconds, "answer": raw}


if __name__ == "__main__":
    main()
