"""What several workers gain, and what a cluster costs: `python -m benchmarks.bench_cluster [CASES]`.

Wall time of whole commands, and of a bare `client.map` of the same batches on the same workers. Cases wait; they do not
compute, so that a busy machine does not decide. CASES is the size of the run whose memory is measured, 1,000,000 by
default: a tenth of it is run beside it, and the peaks should be alike.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import harness
from benchmarks.bench_sweep import SCRIPT, hate
from benchmarks.timing import Timing, best, perf_counter, print_timings, program_usage

PROGRAM = "import time\ndef answer(case, params):\n    {wait}\n    return 1.0\n"
# Cases of the two runs whose difference is free of the time to start.
FEW, MANY = 200, 2_200
PLACES = {"in this process": [], "-j 2": ["-j", "2"], "--cluster local:2": ["--cluster", "local:2"]}
BATCH = 0.1


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder
        memory(size)  # first: a child's peak is never below that of the process that starts it
        speed_up()
        overhead()


def write_test(count: int, *, wait: float) -> None:
    Path("many").mkdir(exist_ok=True)
    with Path("many/cases.csv").open("w") as file:
        file.write("id,input,expect,positive\n")
        file.writelines(f"c{n:07d},{n},yes,{'true' if n % 2 else 'false'}\n" for n in range(count))
    Path("many/many.hate.toml").write_text(SCRIPT)
    Path("interface.py").write_text(PROGRAM.format(wait=f"time.sleep({wait})" if wait else "pass"))


def speed_up() -> None:
    """Cases of 10 ms, with the time to start and without."""
    write_test(MANY, wait=0.01)
    whole, marginal = [], []
    for words in PLACES.values():
        few, many = (once(lambda: run("--limit", str(n), *words)) for n in (FEW, MANY))  # noqa: B023 (called at once)
        whole.append(many)
        marginal.append((many - few) / (MANY - FEW))
    print(f"# {MANY:,} cases of 10 ms: the whole command, and a case without the time to start")
    for name, every, case in zip(PLACES, whole, marginal, strict=True):
        gain = f"{whole[0] / every:.2f} and {marginal[0] / case:.2f} times as fast (goal: 1.9)"
        print(f"{name:<24}{every:8.2f} s {case * 1e3:8.2f} ms   {gain}", flush=True)


def overhead() -> None:
    """A case, without the time to start, against the same batches mapped over the same workers without the harness."""
    from distributed import Client, LocalCluster

    local = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0)
    with local, Client(local) as client:
        for wait, many in ((0.0, 200_000), (0.001, 12_000), (0.01, 2_000)):
            write_test(many, wait=wait)
            works = [partial(work, client, count, wait) for work in (ours, bare) for count in (many // 5, many)]
            few_ours, many_ours, few_bare, many_bare = best(*works, clock=perf_counter)
            cases = many - many // 5
            what = f"a case of {wait * 1e3:g} ms on a cluster of 2 workers"
            timing = Timing(what, (many_ours - few_ours) / cases, (many_bare - few_bare) / cases, "client.map", "1.2")
            print_timings([timing], unit="us")


def ours(client: Any, count: int, wait: float) -> None:
    test, address = "many/many.hate.toml", client.scheduler.address
    harness.run(test, "interface.py", output="out.jsonl", force=True, limit=count, cluster=address)


def bare(client: Any, count: int, wait: float) -> None:
    size = min(5_000, int(BATCH / max(wait, 1e-6)))
    batches = [[str(n) for n in range(at, min(at + size, count))] for at in range(0, count, size)]
    client.gather(client.map(answer_all, batches, [wait] * len(batches), pure=False))


def answer_all(inputs: list[str], wait: float) -> list[tuple[str, float]]:
    """What a worker would do by itself."""
    found = []
    for one in inputs:
        if wait:
            time.sleep(wait)
        found.append((one, 1.0))
    return found


def memory(size: int) -> None:
    """The peak of the largest process, of a run and of one ten times as large."""
    print(f"# memory of {size // 10:,} and {size:,} cases")
    for name, words in PLACES.items():
        peaks = []
        for count in (size // 10, size):
            write_test(count, wait=0)
            peaks.append(program_usage(["-m", "harness.cli.main", *COMMAND, *words]).memory / 2**20)
        print(f"{name:<24}{peaks[0]:8.0f} MiB {peaks[1]:8.0f} MiB   {peaks[1] / peaks[0]:.2f} (goal: flat)", flush=True)


COMMAND = ("run", "many", "-o", "out.jsonl", "--force")


def run(*words: str) -> None:
    hate(*COMMAND, *words)


def once(function: Callable[[], None]) -> float:
    start = perf_counter()
    function()
    return perf_counter() - start


if __name__ == "__main__":
    main()
