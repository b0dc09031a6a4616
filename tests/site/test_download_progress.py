"""The progress bar of a download, on a real terminal."""

import os
import pty
import subprocess
import threading
from pathlib import Path

from harness.cli.progress import PATIENCE, DownloadBar
from tests.site.published_site import make_site, served
from tests.site.serving import Handler
from tests.workshop import WAIT, Workshop, command


def test_a_long_download_is_shown_on_a_terminal_by_the_name_of_its_file(shop: Workshop, tmp_path: Path) -> None:
    root = make_site(shop, tmp_path / "site")
    data = next(path for path in (root / "files").rglob("*") if path.is_file() and path.read_bytes() == b"x3")

    def slow(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "2")
        handler.end_headers()
        threading.Event().wait(PATIENCE + 0.5)
        handler.wfile.write(b"x3")

    with served(root) as server:
        server.pages[f"/files/{data.name[:2]}/{data.name}"] = slow
        screen = on_terminal(shop, "fetch", server.url("/tests/tiny"))
    assert "3.txt" in screen
    assert "2/2 bytes" in screen


def on_terminal(shop: Workshop, *words: str) -> str:
    ours, theirs = pty.openpty()
    env = {**shop.env, "TERM": "xterm", "COLUMNS": "100", "XDG_CACHE_HOME": str(shop.folder / "cache")}
    process = subprocess.Popen(command(words), cwd=shop.folder, env=env, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while block := os.read(ours, 4096):
            shown += block
    except OSError:  # how a terminal ends on Linux
        pass
    os.close(ours)
    assert process.wait(WAIT) == 0, shown
    return shown.decode()


def test_no_bar_for_quick_or_abandoned_downloads() -> None:
    bar = DownloadBar()
    bar.begin("a", 10, 0)
    bar.advance("a", 10)
    bar.end("a")
    assert bar._bar is None
    bar.close()
    bar.begin("b", None, 0)
    bar._begun["b"] -= 2 * PATIENCE
    bar.advance("b", 1)
    assert bar._bar is None
