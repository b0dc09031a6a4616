"""A real browser, headless Chromium, controlled through pipes with the protocol of its developer tools."""

import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

WAIT = 60
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
]  # fmt: skip


class Browser:
    """A page in the browser."""

    def __init__(self, writing: int, reading: int) -> None:
        self._writing = writing
        self._reading = reading
        self._numbers = itertools.count(1)
        self._rest = b""
        self._session = ""
        # Complaints of the page: blocked scripts and styles, missing files, exceptions, dialogs.
        self.complaints: list[Any] = []
        # The addresses of everything that pages asked for.
        self.requests: list[str] = []
        # What was reported lately: it may come before the answer to what caused it.
        self._reports: deque[dict[str, Any]] = deque(maxlen=1000)
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command, and return its answer."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        message |= {"sessionId": self._session} if self._session else {}
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        reply = self._wait(lambda said: said.get("id") == number)
        assert "error" not in reply, reply
        result: dict[str, Any] = reply["result"]
        return result

    def _wait(self, is_it: Any) -> dict[str, Any]:
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            while b"\0" in self._rest:
                line, _, self._rest = self._rest.partition(b"\0")
                said: dict[str, Any] = json.loads(line)
                self._note(said)
                if is_it(said):
                    return said
            if select.select([self._reading], [], [], 1)[0]:
                block = os.read(self._reading, 1 << 20)
                assert block, "the browser has gone"
                self._rest += block
        pytest.fail("the browser does not answer")

    def _note(self, said: dict[str, Any]) -> None:
        method, params = said.get("method"), said.get("params", {})
        if method is not None:
            self._reports.append(said)
        if method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.complaints.append(params["entry"]["text"])
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        if method in ("Runtime.exceptionThrown", "Page.javascriptDialogOpening"):
            self.complaints.append(params)

    def size(self, width: int, height: int, *, phone: bool) -> None:
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def open(self, url: str) -> None:
        self._reports.clear()
        self.ask("Page.navigate", url=url)
        self.arrive()

    def arrive(self) -> None:
        """Wait until the page has loaded."""
        self.wait_for("Page.loadEventFired", lambda params: True)

    def wait_for(self, method: str, is_it: Callable[[Any], bool]) -> None:
        """Wait until something is reported, unless it was since the last page was opened or something clicked on."""

        def is_meant(said: dict[str, Any]) -> bool:
            return said.get("method") == method and is_it(said["params"])

        if not any(map(is_meant, self._reports)):
            self._wait(is_meant)

    def find(self, expression: str) -> Any:
        """The value of an expression in the page; the page's own scripts may be off."""
        reply = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in reply, reply
        return reply["result"].get("value")

    def click(self, selector: str) -> None:
        """Click on an element."""
        self._reports.clear()
        position = self.find(
            f"(e => {{ e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect(); "
            f"return [b.x + b.width / 2, b.y + b.height / 2]; }})(document.querySelector({json.dumps(selector)}))"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=position[0], y=position[1], button="left", clickCount=1)


@contextmanager
def browsing() -> Iterator[Browser]:
    """A browser with a new profile."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed")
    to_it, writing = os.pipe()
    reading, from_it = os.pipe()
    # Far from 3 and 4, which are to become these.
    ends = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100) for fd in (to_it, from_it)]

    def wire() -> None:
        os.dup2(ends[0], 3)
        os.dup2(ends[1], 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={profile}"], close_fds=False, preexec_fn=wire, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=os.environ | {"HOME": profile},
        )  # fmt: skip
        for fd in (to_it, from_it, *ends):
            os.close(fd)
        try:
            yield Browser(writing, reading)
        finally:
            process.terminate()
            process.wait(WAIT)
            os.close(writing)
            os.close(reading)
