"""What sites cost: `python -m benchmarks.bench_sites`.

Ten clients fetch one test at once from a static server, with a cache each (ten machines) and with a common cache (ten
runs on one machine), against ten that only download the same files. Then publishing, and finding one of 100,000 tests.
Wall time, the best of three turns.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.timing import Timing, best, perf_counter, print_timings, seconds
from harness.site import layout
from harness.site.changes import SiteDraft
from harness.site.publish import lock_site, publish
from harness.site.publish_candidates import read_candidates
from harness.site.sites import open_folder
from harness.site.tree import build_tree

CLIENTS = 10
DATA = 32 << 20
# The least that a client must do: open a session, get the files, hash them.
BARE = """
import hashlib, sys, requests
with requests.Session() as session:
    for url in sys.argv[1:]:
        digest = hashlib.sha256()
        for block in session.get(url, stream=True).iter_content(1 << 16):
            digest.update(block)
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        site = folder / "site"
        publish(site, read_candidates([write_test(folder / "big", "big")]))
        with_server(site, lambda url: clients(folder, site, url))
        publishing(folder)
        full_size(folder)


def write_test(folder: Path, name: str, *, data: int = DATA) -> Path:
    folder.mkdir()
    (folder / "data.bin").write_bytes(hashlib.sha256(name.encode()).digest() * (data // 32))
    (folder / "cases.csv").write_text("id,input,expect\n" + "".join(f"{n},{n},{n}\n" for n in range(1000)))
    (folder / f"{name}.hate.toml").write_text(
        f'format = 1\n[test]\nname = "{name}"\nversion = "1"\nsynopsis = "s"\ntask = "label"\n'
        '[cases]\ntable = "cases.csv"\n[data.d]\npath = "data.bin"\n'
    )
    return folder


def with_server(site: Path, work: Callable[[str], None]) -> None:
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(site)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        if server.stdout is None:
            raise RuntimeError("no output")
        port = server.stdout.readline().split(" port ")[1].split()[0]
        try:
            work(f"http://127.0.0.1:{port}")
        finally:
            server.terminate()


def clients(folder: Path, site: Path, url: str) -> None:
    files = [f"{url}/{path.relative_to(site).as_posix()}" for path in site.rglob("*") if path.is_file()]
    turn = iter(range(1000))

    def bare() -> None:
        at_once([[sys.executable, "-c", BARE, *files]] * CLIENTS, [dict(os.environ)] * CLIENTS)

    def fetch(caches: int) -> Callable[[], None]:
        def run() -> None:
            base = folder / f"turn-{next(turn)}"
            environments = [environment(base, url, number % caches) for number in range(CLIENTS)]
            at_once([[sys.executable, "-m", "harness.cli.main", "fetch", "big"]] * CLIENTS, environments)

        return run

    def help_only() -> None:
        at_once([[sys.executable, "-m", "harness.cli.main", "list", "--help"]] * CLIENTS, [dict(os.environ)] * CLIENTS)

    sides = {
        "bare downloads": bare,
        "hate fetch, a cache each": fetch(CLIENTS),
        "hate fetch, one cache": fetch(1),
        "hate list --help": help_only,
    }
    times = best(*sides.values(), clock=perf_counter)
    rows = [Timing(what, spent, times[0], "bare downloads") for what, spent in zip(sides, times, strict=True)]
    title = f"ten clients at once, one test of {DATA >> 20} MiB, a static server on this machine"
    print_timings(rows, title=title)


def environment(base: Path, url: str, number: int) -> dict[str, str]:
    home = base / str(number)
    home.mkdir(parents=True, exist_ok=True)
    return {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "HATE_SITES": url}


def at_once(commands: list[list[str]], environments: list[dict[str, str]]) -> None:
    started = [
        subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
        for command, env in zip(commands, environments, strict=True)
    ]
    if any(process.wait() for process in started):
        raise RuntimeError("a client failed")


def publishing(folder: Path) -> None:
    tests = [read_candidates([write_test(folder / f"t{n}", f"t{n}", data=1024)]) for n in range(50)]
    spent = seconds(lambda: [publish(folder / "other", candidates) for candidates in tests], clock=perf_counter)
    each = spent / len(tests)
    print(f"publishing a small test: {1000 * each:.1f} ms, on disk when it returns")


def full_size(folder: Path) -> None:
    """100,000 tests: the files, their sizes, and the time to find one."""
    site = folder / "full"
    draft = SiteDraft(open_folder(folder / "site").store)
    zeros = "0" * 64
    entries = (
        layout.TestEntry(f"test-{n:06d}", "1.0.0", "s" * 80, "label", 1434, f"1:{zeros}", 3, 100, layout.Ref(zeros, 5))
        for n in range(100_000)
    )
    root = build_tree(entries, layout.TestEntry, draft.write).root
    with lock_site(site) as writer:
        writer.put(draft)
        writer.put_top(layout.encode(layout.Top("site", 1, 1, tests=root)), None)
    sizes = sorted(len(data) for data in draft.indexes.values())
    rows = [
        Timing("one found", seconds(lambda: find_one(site), clock=perf_counter)),
        Timing("all listed", seconds(lambda: sum(1 for _ in open_folder(site).tests()), clock=perf_counter)),
    ]
    title = f"100,000 tests: {len(sizes)} nodes, the largest {sizes[-1]:,} bytes, all {sum(sizes):,}"
    print_timings(rows, title=title, unit="ms")


def find_one(site: Path) -> None:
    if open_folder(site).entry("test-054321") is None:
        raise RuntimeError("a test is missing")


if __name__ == "__main__":
    main()
