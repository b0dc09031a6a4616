"""What a sweep of a decision parameter costs beside one run: `python benchmarks/bench_sweep.py`.

Each figure is the best of several turns, the two sides taking turns in one run, so that a noisy machine hits both.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

CASES = 100_000
THRESHOLDS = 1_000
SCRIPT = """\
format = 1
[test]
name = "many"
version = "1.0.0"
synopsis = "many small cases"
task = "score"
[cases]
table = "cases.csv"
[params.threshold]
type = "float"
default = 0.5
decision = true
"""
# What an answer costs, in loops of some 20 ns: nothing, and a tenth of a millisecond.
PROGRAM = "def answer(case, params):\n    for _ in range({loops}):\n        pass\n    return float(case.input)\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder
        write_test(CASES)
        print(f"{CASES:,} cases, {THRESHOLDS:,} thresholds")
        print(f"{'what':<44}{'sweep':>10}{'one run':>10}{'ratio':>8}   mark")
        for words, loops in (("a program that takes no time", 0), ("a program that takes 0.1 ms a case", 5000)):
            Path("interface.py").write_text(PROGRAM.format(loops=loops))
            many, one = best(3, sweep, run)
            print(f"{words:<44}{many:>8.2f} s{one:>8.2f} s{many / one:>8.2f}   1.1")
        deciding()


def deciding() -> None:
    """The decisions alone, and with the transcript read."""
    from harness.analysis.deciding import read_answers

    path = next(Path("hate/runs").glob("*.jsonl"))
    values = [number / THRESHOLDS for number in range(THRESHOLDS)]
    answers = read_answers(path)
    read, decide = best(3, lambda: read_answers(path), lambda: answers.counts(values))
    print(f"reading the answers {read * 1e3:.0f} ms, deciding at all thresholds {decide * 1e3:.1f} ms")


def write_test(count: int) -> None:
    Path("many").mkdir()
    rows = (f"c{i:07d},{i * 7919 % count / count},yes,{'true' if i % 2 else 'false'}\n" for i in range(count))
    Path("many/cases.csv").write_text("id,input,expect,positive\n" + "".join(rows))
    Path("many/many.hate.toml").write_text(SCRIPT)


def run() -> None:
    hate("run", "many", "-o", "out.jsonl", "--force")


def sweep() -> None:
    hate("sweep", "many", "--fresh", "--param", f"threshold=0:{1 - 1 / THRESHOLDS}:{1 / THRESHOLDS}")


def hate(*words: str) -> None:
    """In a process of its own, as users run it."""
    done = subprocess.run([sys.executable, "-m", "harness.cli.main", *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")


def best(turns: int, *actions: Callable[[], object]) -> list[float]:
    """The shortest time of each action, the actions taking turns."""
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(turns):
        for action, taken in zip(actions, times, strict=True):
            start = perf_counter()
            action()
            taken.append(perf_counter() - start)
    return [min(taken) for taken in times]


if __name__ == "__main__":
    main()
