"""What a sweep of a decision parameter costs, against one run: `python -m benchmarks.bench_sweep`.

Wall time, the best of three turns.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import Timing, best, perf_counter, print_timings

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
# The time of an answer, in loops of some 20 ns: nothing, or a tenth of a millisecond.
PROGRAM = "def answer(case, params):\n    for _ in range({loops}):\n        pass\n    return float(case.input)\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder
        write_test(CASES)
        print(f"{CASES:,} cases, {THRESHOLDS:,} thresholds")
        for words, loops in (("a program that takes no time", 0), ("a program that takes 0.1 ms per case", 5000)):
            Path("interface.py").write_text(PROGRAM.format(loops=loops))
            many, one = best(sweep, run, clock=perf_counter)
            print_timings([Timing(f"sweep, {words}", many, one, "one run", "1.1")])
        deciding()


def deciding() -> None:
    """Reading the answers, and the decisions alone."""
    from harness.analysis.decisions import read_answers

    path = next(Path("hate/runs").glob("*.jsonl"))
    values = [number / THRESHOLDS for number in range(THRESHOLDS)]
    answers = read_answers(path)
    read, decide = best(lambda: read_answers(path), lambda: answers.counts(values))
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
    """Run it in a new process, as users do."""
    done = subprocess.run([sys.executable, "-m", "harness.cli.main", *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")


if __name__ == "__main__":
    main()
