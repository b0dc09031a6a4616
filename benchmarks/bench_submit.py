"""What it costs a server to accept a transcript, beyond reading it: `python -m benchmarks.bench_submit`.

Processor time of the whole process, with the server in a thread of it; the best of three turns.
"""

import gzip
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.bench_audit import read, write
from benchmarks.timing import Timing, best, print_timings
from harness.site.audit import audit
from harness.site.publish import publish
from harness.site.publish_candidates import read_test_candidate
from tests.server.served import Served, serve_here

CASES = 100_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"XDG_CACHE_HOME": f"{folder}/cache", "HATE_COLUMNS": "off"}
        os.environ["PYTHONPATH"] = str(Path.cwd())
        os.chdir(folder)
        cases, path = write("many", CASES)
        root, tokens = Path("site"), Path("tokens.db")
        publish(root, [read_test_candidate(Path("many"))])
        command = [sys.executable, "-m", "harness.cli.main", "token", "add", "anna", "--tokens", str(tokens)]
        token = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        plain, packed = path.read_bytes(), gzip.compress(path.read_bytes())
        with serve_here(root, tokens=tokens) as server:
            names = iter(range(1000))

            def submit(data: bytes) -> None:
                _put(server, f"/transcripts/big@1/n{next(names)}", data, token)

            reading, judging, accepting, unpacking = best(
                lambda: read(path),
                lambda: audit(path, cases).raise_if_any(),
                lambda: submit(plain),
                lambda: submit(packed),
            )
        rows = [
            Timing("records read", reading),
            Timing("all records judged again", judging, reading, "reading"),
            Timing("a submission accepted", accepting, reading, "reading"),
            Timing("... that is gzipped", unpacking, reading, "reading"),
        ]
        print_timings(rows, title=f"a transcript of {CASES:,} records, {len(plain):,} bytes")


def _put(server: Served, path: str, data: bytes, token: str) -> None:
    answer = server.put(path, data, token)
    if answer.status_code != 201:
        raise SystemExit(f"{answer.status_code}: {answer.text}")


if __name__ == "__main__":
    main()
