"""What the harness costs per case, against bare loops that do the same work: `python -m benchmarks.bench_run`.

Wall time, the best of three turns.
"""

import json
import os
import resource
import select
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import Timing, best, perf_counter, print_timings, seconds

SCRIPT = """
format = 1
[test]
name = "many"
version = "1.0.0"
synopsis = "many small cases"
task = "label"
[cases]
table = "cases.csv"
"""
IN_FLIGHT = 64
ECHO_C = r"""
#include <stdio.h>
#include <string.h>
int main(void) {
  static char line[1 << 20];
  if (!fgets(line, sizeof line, stdin)) return 1;
  puts("{\"ready\":true}"); fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    char *id = strstr(line, "\"id\":\"") + 6, *end = strchr(id, '"');
    printf("{\"id\":\"%.*s\",\"label\":\"3\"}\n", (int)(end - id), id); fflush(stdout);
  }
  return 0;
}
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        python_function(200_000)
        design_of_a_run(200_000)
        stream_program(200_000)
        command_program(1_000)
        million_cases()


def report(what: str, harness: float, bare: float, goal: str) -> None:
    against = f"{bare * 1e6:.2f} us by the bare loop"
    print_timings([Timing(what, harness, bare, against, goal)], unit="us")


def write_test(count: int, design: str = "") -> Path:
    folder = Path("many")
    folder.mkdir(exist_ok=True)
    rows = (f"c{i:07d},{i},{i % 10},true\n" for i in range(count))
    (folder / "cases.csv").write_text("id,input,expect,positive\n" + "".join(rows))
    path = folder / "many.hate.toml"
    path.write_text(SCRIPT + (f"[design]\n{design}" if design else ""))
    return path


def hate(*args: str) -> None:
    """Run it in a new process, as users do."""
    command = [sys.executable, "-m", "harness.cli.main", "run", "many", "-o", "out.jsonl", "--force", *args]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(args)}: {done.stderr}")


def python_function(count: int) -> None:
    write_test(count)
    Path("interface.py").write_text("def answer(case, params):\n    return '3'\n")
    whole, bare = best(hate, bare_python, clock=perf_counter)
    write_test(1)
    (start,) = best(hate, clock=perf_counter)
    report("python function, whole command", whole / count, bare / count, "at most 2")
    report("python function, without start-up", (whole - start) / count, bare / count, "at most 10 us")


def design_of_a_run(count: int) -> None:
    """The interval by design (sums by unit while recording, one estimate at the end) against a run without."""
    Path("interface.py").write_text("def answer(case, params):\n    return '3'\n")
    figures = []
    for design in ('psu = "expect"\n', ""):
        write_test(count, design)
        (whole,) = best(hate, clock=perf_counter)
        write_test(20, design)
        (start,) = best(hate, clock=perf_counter)
        figures.append(((whole - start) / count, start))
    (with_psu, start_with_psu), (plain, start_plain) = figures
    report("with a PSU, against a run without", with_psu, plain, "the same")
    print(f"  and {start_with_psu - start_plain:.2f} s once, at the end, for the estimate")


def bare_python() -> None:
    """Classify, and write a JSON line for each case."""
    with Path("bare.jsonl").open("w") as file:
        for row in Path("many/cases.csv").read_text().splitlines()[1:]:
            case, _, expect, _ = row.split(",")
            start = perf_counter()
            outcome = "TP" if expect == "3" else "FN"
            record = {"id": case, "outcome": outcome, "positive": True, "expect": expect, "actual": "3"}
            file.write(json.dumps(record | {"seconds": perf_counter() - start}) + "\n")
            file.flush()


def stream_program(count: int) -> None:
    if shutil.which("gcc") is None:
        print("stream program: no gcc here, left out")
        return
    Path("echo.c").write_text(ECHO_C)
    subprocess.run(["gcc", "-O2", "-o", "echo", "echo.c"], check=True)
    Path("interface.py").unlink()
    Path("interface.toml").write_text(f'[stream]\nargv = ["./echo"]\nin_flight = {IN_FLIGHT}\n')
    write_test(count)
    lines = [f'{{"id":"c{i:07d}","input":"{i}"}}'.encode() + b"\n" for i in range(count)]
    whole, bare = best(hate, lambda: bare_stream(lines), clock=perf_counter)
    write_test(1)
    (start,) = best(hate, clock=perf_counter)
    work = (whole - start) / count
    report(f"stream, {IN_FLIGHT} in flight, pipes only", work, bare / count, "")
    write_test(count)
    Path("interface.toml").unlink()
    Path("interface.py").write_text("def answer(case, params):\n    return '3'\n")
    (function,) = best(hate, clock=perf_counter)
    # The share of the pipes: what a stream costs beyond a function that does nothing.
    report("  beyond the python function", (whole - function) / count, bare / count, "at most 1.5")


def bare_stream(lines: list[bytes]) -> None:
    """Write and read the same lines with as many in flight, and decode the answers."""
    process = subprocess.Popen(["./echo"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert process.stdin is not None
    assert process.stdout is not None
    into, out = process.stdin.fileno(), process.stdout.fileno()
    os.write(into, b"{}\n")
    os.read(out, 100)
    sent = done = 0
    rest = b""
    poll = select.poll()
    poll.register(out, select.POLLIN)
    while done < len(lines):
        window = lines[sent : done + IN_FLIGHT]
        os.write(into, b"".join(window))
        sent += len(window)
        poll.poll()
        *answers, rest = (rest + os.read(out, 1 << 18)).split(b"\n")
        for answer in answers:
            json.loads(answer)
        done += len(answers)
    process.stdin.close()
    process.wait()
    process.stdout.close()


def command_program(count: int) -> None:
    program = Path("say")
    program.write_text("#!/bin/sh\necho 3\n")
    program.chmod(0o755)
    Path("interface.py").unlink()
    Path("interface.toml").write_text('[command]\nargv = ["./say", "{input}"]\n')
    write_test(count)
    argv = str(program.absolute())

    def bare() -> None:
        for number in range(count):
            subprocess.run([argv, str(number)], capture_output=True)

    whole, loop = best(hate, bare, clock=perf_counter)
    write_test(1)
    (start,) = best(hate, clock=perf_counter)
    report("command, a shell script", (whole - start) / count, loop / count, "at most 1.15")
    Path("interface.toml").unlink()


def million_cases() -> None:
    write_test(1_000_000)
    Path("interface.py").write_text("def answer(case, params):\n    return '3'\n")
    spent = seconds(hate, clock=perf_counter)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"1,000,000 cases: {spent:.1f} s, {peak:.0f} MB at most (goal: under 300 MB)")
    read = "from pathlib import Path; from harness.transcript.columns import read_columns as r; r(Path('out.jsonl'))"
    spent = seconds(lambda: subprocess.run([sys.executable, "-c", read], check=True), clock=perf_counter)
    print(f"1,000,000 records read into columns: {spent:.1f} s")


if __name__ == "__main__":
    main()
