"""A `hate` that stands by: pages call it hundreds of times, and most of each call would be imports.

`python -m tools.documents.standby SOCKET` imports the commands once, and forks for each call. The program `hate` on the
PATH of a page hands over its words, folder, environment and streams, passes signals on, and ends as the fork ends. So a
command is a process of its own as ever; only what it imports is there already.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import select
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import harness.api
from harness.cli.commands import COMMANDS, PLUGINS
from harness.cli.main import main as hate_main

# What commands import when they first need it.
LATER = ("harness.transcript.kept_columns", "matplotlib.figure", "pydantic", "requests", "rich.table", "scipy.stats")
LENGTH = 8  # bytes of a number
CLIENT = """\
import json, os, signal, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    request = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [len(request).to_bytes({length}, "big")], [0, 1, 2])
    server.sendall(request)
    process = int.from_bytes(server.recv({length}), "big")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(process, number))
    status = int.from_bytes(server.recv({length}), "big", signed=True)
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)
"""


@functools.cache
def standby_folder(fonts: Path) -> Path:
    """A folder with a program `hate`, for as long as this process lives."""
    folder = Path(tempfile.mkdtemp(prefix="hate-"))  # not below a test's folder: the path of a socket must be short
    address = folder / "socket"
    server = subprocess.Popen(
        [sys.executable, "-P", "-m", "tools.documents.standby", str(address)],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "LC_ALL": "C.UTF-8", "MPLCONFIGDIR": str(fonts)},
    )
    atexit.register(server.communicate)
    if server.stdout is None or not server.stdout.readline():
        raise RuntimeError("the hate that should stand by has ended")
    (folder / "client.py").write_text(CLIENT.format(address=str(address), length=LENGTH), encoding="utf-8")
    program = folder / "hate"
    words = shlex.join([sys.executable, "-IS", str(folder / "client.py")])
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return folder


def serve(address: str) -> None:
    """Fork for each call, until the process that wants this closes the pipe, or ends."""
    commands = (f"harness.cli.{module}" for module, _ in COMMANDS.values())
    rooms = (entry.where.partition(":")[0] for entry in PLUGINS.here().values())
    functions = (module.name for module in pkgutil.iter_modules(harness.api.__path__, "harness.api."))
    for name in (*commands, *rooms, *functions, *LATER):
        importlib.import_module(name)
    gc.freeze()  # a fork would copy all that its garbage collector looks at
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        os.write(1, b"ready\n")
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            connection, _ = listener.accept()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            with connection:
                if os.fork() == 0:
                    listener.close()
                    _answer(connection)


def _answer(connection: socket.socket) -> None:
    """Run what is asked for in a process of its own, and say how it ended; or be that process."""
    length, streams, _, _ = socket.recv_fds(connection, LENGTH, 3)
    with connection.makefile("rb") as asked:
        words, folder, environ = json.loads(asked.read(int.from_bytes(length, "big")))
    process = os.fork()
    if process == 0:
        connection.close()
        _become(words, folder, environ, streams)
    for stream in streams:
        os.close(stream)
    with contextlib.suppress(BrokenPipeError):  # it was killed
        connection.sendall(process.to_bytes(LENGTH, "big"))
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        connection.sendall(status.to_bytes(LENGTH, "big", signed=True))
    os._exit(0)


def _become(words: Sequence[str], folder: str, environ: Mapping[str, str], streams: Sequence[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    sys.argv = ["hate", *words]
    try:
        hate_main()
    except SystemExit as ending:
        # Python would now take all modules apart, which takes longer than most commands.
        atexit._run_exitfuncs()
        sys.stderr.flush()
        os._exit(ending.code if isinstance(ending.code, int) else 0)


if __name__ == "__main__":
    serve(sys.argv[1])
    shutil.rmtree(Path(sys.argv[1]).parent)
