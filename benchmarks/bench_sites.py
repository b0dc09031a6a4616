"""What sites cost: `python benchmarks/bench_sites.py`.

Ten clients at once that fetch one test from a plain static server, with a cache each (ten machines) and with one cache
(ten runs on one machine), against ten that only download the same files. Then publishing, and finding one of 100,000
tests. Wall time, best of three turns; the sides take turns.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from harness.site import layout
from harness.site.folder import open_folder
from harness.site.publishing.deposit import locked
from harness.site.publishing.offers import offers
from harness.site.publishing.publish import publish
from harness.site.publishing.shelf import Shelf
from harness.site.tree import planted

CLIENTS = 10
DATA = 32 << 20
# What a client does at the least: open a session, get the files, hash them.
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
        publish(site, offers([write_test(folder / "big", "big")]))
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

    def bare() -> float:
        return at_once([[sys.executable, "-c", BARE, *files]] * CLIENTS, [dict(os.environ)] * CLIENTS)

    def fetching(caches: int) -> Callable[[], float]:
        def run() -> float:
            base = folder / f"turn-{next(turn)}"
            environments = [environment(base, url, number % caches) for number in range(CLIENTS)]
            return at_once([[sys.executable, "-m", "harness.cli.main", "fetch", "big"]] * CLIENTS, environments)

        return run

    def help_only() -> float:
        return at_once(
            [[sys.executable, "-m", "harness.cli.main", "list", "--help"]] * CLIENTS, [dict(os.environ)] * 10
        )

    sides = {
        "bare downloads": bare,
        "hate fetch, a cache each": fetching(CLIENTS),
        "hate fetch, one cache": fetching(1),
        "hate list --help": help_only,
    }
    times = best(3, *sides.values())
    print(f"ten clients at once, one test of {DATA >> 20} MiB, a plain static server on this machine")
    for what, seconds in zip(sides, times, strict=True):
        print(f"  {what:28} {seconds:7.2f} s   {seconds / times[0]:5.2f} x bare")


def environment(base: Path, url: str, number: int) -> dict[str, str]:
    home = base / str(number)
    home.mkdir(parents=True, exist_ok=True)
    return {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "HATE_SITES": url}


def at_once(commands: list[list[str]], environments: list[dict[str, str]]) -> float:
    start = time.perf_counter()
    started = [
        subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
        for command, env in zip(commands, environments, strict=True)
    ]
    if any(process.wait() for process in started):
        raise RuntimeError("a client failed")
    return time.perf_counter() - start


def best(turns: int, *actions: Callable[[], float]) -> list[float]:
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(turns):
        for action, found in zip(actions, times, strict=True):
            found.append(action())
    return [min(found) for found in times]


def publishing(folder: Path) -> None:
    tests = [offers([write_test(folder / f"t{n}", f"t{n}", data=1024)]) for n in range(50)]
    start = time.perf_counter()
    for offered in tests:
        publish(folder / "other", offered)
    each = (time.perf_counter() - start) / len(tests)
    print(f"publishing a small test: {1000 * each:.1f} ms, on disk when it returns")


def full_size(folder: Path) -> None:
    """100,000 tests: the files, their sizes, and what it takes to find one."""
    site = folder / "full"
    shelf = Shelf(open_folder(folder / "site").place)  # type: ignore[arg-type]
    zeros = "0" * 64
    entries = (
        layout.TestEntry(f"test-{n:06d}", "1.0.0", "s" * 80, "label", 1434, f"1:{zeros}", 3, 100, layout.Ref(zeros, 5))
        for n in range(100_000)
    )
    root = planted(entries, layout.TestEntry, shelf.write).root
    with locked(site) as deposit:
        deposit.put(shelf)
        deposit.put_top(layout.encode(layout.Top("site", 1, 1, tests=root)), None)
    sizes = sorted(len(data) for data in shelf.indexes.values())
    print(f"100,000 tests: {len(sizes)} nodes, the largest {sizes[-1]:,} bytes, all {sum(sizes):,};", end=" ")
    start = time.perf_counter()
    found = open_folder(site).entry("test-054321")
    print(f"one found in {1000 * (time.perf_counter() - start):.1f} ms:", found is not None, end=", ")
    start = time.perf_counter()
    count = sum(1 for _ in open_folder(site).tests())
    print(f"{count:,} listed in {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
