"""What the harness costs per case, against bare loops of the same work: `python -m benchmarks.bench_run [WHAT...]`.

Whole commands, wall time, the best of three turns. WHAT is one or more of function, workers, design, stream, http,
command, million, resume; all by default.
"""

import json
import os
import resource
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from http.client import HTTPConnection
from pathlib import Path

from benchmarks.timing import Timing, best, perf_counter, print_timings, program_usage, seconds

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


SERVICE = r"""
import asyncio
ANSWER = b'{"label":"3"}'
async def serve(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(ANSWER), ANSWER))
    except asyncio.IncompleteReadError:
        writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""
FUNCTION = "def answer(case, params):\n    return '3'\n"


def main() -> None:
    parts: dict[str, Callable[[], object]] = {
        "function": lambda: python_function(200_000),
        "workers": lambda: workers(200_000),
        "design": lambda: design_of_a_run(200_000),
        "stream": lambda: stream_program(200_000),
        "http": lambda: http_service(5_000),
        "command": lambda: command_program(1_000),
        "million": million_cases,
        "resume": lambda: one_case_left(1_000_000),
    }
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in sys.argv[1:] or parts:
            parts[name]()


def write_interface(python: str = "", toml: str = "") -> None:
    """One of the two, and not the other."""
    for name, text in (("interface.py", python), ("interface.toml", toml)):
        Path(name).unlink(missing_ok=True)
        if text:
            Path(name).write_text(text)


def report(what: str, harness: float, bare: float, goal: str) -> None:
    against = f"{bare * 1e6:.2f} us by the bare loop"
    print_timings([Timing(what, harness, bare, against, goal)], unit="us")


def write_test(count: int, design: str = "") -> Path:
    folder = Path("many")
    folder.mkdir(exist_ok=True)
    with (folder / "cases.csv").open("w") as file:  # in little memory: that of a child is at least as much
        file.write("id,input,expect,positive\n")
        file.writelines(f"c{i:07d},{i},{i % 10},true\n" for i in range(count))
    path = folder / "many.hate.toml"
    path.write_text(SCRIPT + (f"[design]\n{design}" if design else ""))
    return path


def hate(*args: str) -> None:
    """Run it in a new process, as users do."""
    command = [sys.executable, "-m", "harness.cli.main", "run", "many", "-o", "out.jsonl", "--force", *args]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(args)}: {done.stderr}")


def per_case(count: int, *ways: Sequence[str], bare: Callable[[], object]) -> list[float]:
    """The time of a case for each way to run, without the time to start; last, that of the bare loop."""
    commands = [partial(hate, *words) for words in ways]
    starts = [partial(hate, *words, "--limit", "1") for words in ways]
    *times, loop = best(*commands, *starts, bare, clock=perf_counter)
    return [*((whole - start) / count for whole, start in zip(times, times[len(ways) :], strict=False)), loop / count]


def python_function(count: int) -> None:
    write_test(count)
    write_interface(FUNCTION)
    whole, bare = best(hate, bare_python, clock=perf_counter)
    report("python function, whole command", whole / count, bare / count, "at most 2")


def workers(count: int) -> None:
    """The same function in workers, which can be killed."""
    write_test(count)
    write_interface(FUNCTION)
    ways = ((), ("--isolate",), ("--timeout", "60"), ("-j", "2"), ("-j", "2", "--timeout", "60"))
    *times, bare = per_case(count, *ways, bare=bare_python)
    for words, spent in zip(ways, times, strict=True):
        goal = "at most 20 us" if words else "at most 10 us"
        report(f"python function {' '.join(words)}".strip() + ", without start-up", spent, bare, goal)


def design_of_a_run(count: int) -> None:
    """The interval by design (sums by unit while recording, one estimate at the end) against a run without."""
    write_interface(FUNCTION)
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
    write_test(count)
    lines = [f'{{"id":"c{i:07d}","input":"{i}"}}'.encode() + b"\n" for i in range(count)]
    write_interface(FUNCTION)
    (function,) = best(hate, clock=perf_counter)
    write_interface(toml=f'[stream]\nargv = ["./echo"]\nin_flight = {IN_FLIGHT}\n')
    whole, bare = best(hate, lambda: bare_stream(lines), clock=perf_counter)
    report(f"stream, {IN_FLIGHT} in flight, whole command", whole / count, bare / count, "")
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


def http_service(count: int) -> None:
    write_test(count)
    with subprocess.Popen([sys.executable, "-c", SERVICE], stdout=subprocess.PIPE, text=True) as service:
        port = int(service.stdout.readline()) if service.stdout is not None else 0
        write_interface(toml=f'[http]\nurl = "http://127.0.0.1:{port}/answer"\n')
        ways = ((), ("--timeout", "60"), ("-j", "16"))
        *times, bare = per_case(count, *ways, bare=lambda: bare_http(port, count))
        service.kill()
    for words, spent in zip(ways, times, strict=True):
        report(f"http {' '.join(words)}".strip() + ", without start-up", spent, bare, "at most 250 us")


def bare_http(port: int, count: int) -> None:
    """The same requests with Python's own client, on one connection."""
    connection = HTTPConnection("127.0.0.1", port)
    for number in range(count):
        body = json.dumps({"id": f"c{number:07d}", "input": str(number), "params": {}})
        connection.request("POST", "/answer", body, {"Content-Type": "application/json"})
        json.loads(connection.getresponse().read())
    connection.close()


def command_program(count: int) -> None:
    program = Path("say")
    program.write_text("#!/bin/sh\necho 3\n")
    program.chmod(0o755)
    write_interface(toml='[command]\nargv = ["./say", "{input}"]\n')
    write_test(count)
    argv = str(program.absolute())

    def bare() -> None:
        for number in range(count):
            subprocess.run([argv, str(number)], capture_output=True)

    work, loop = per_case(count, (), bare=bare)
    report("command, a shell script, without start-up", work, loop, "at most 1.15")
    if shutil.which("hyperfine") is None:
        print("hyperfine: not here, left out")
        return
    timed = ["hyperfine", "-N", "--warmup", "0", "--runs", str(count), "--style", "none", f"{argv} 3"]
    whole, peer = best(hate, partial(subprocess.run, timed, capture_output=True, check=True), clock=perf_counter)
    line = Timing("  the whole command", whole / count, peer / count, f"{peer / count * 1e6:.2f} us by hyperfine", "1")
    print_timings([line], unit="us")


def million_cases() -> None:
    write_test(1_000_000)
    write_interface(FUNCTION)
    spent = seconds(hate, clock=perf_counter)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"1,000,000 cases: {spent:.1f} s, {peak:.0f} MB at most (goal: as for 1,000, about 45 MB)")
    read = "from pathlib import Path; from harness.transcript.columns import read_columns as r; r(Path('out.jsonl'))"
    spent = seconds(lambda: subprocess.run([sys.executable, "-c", read], check=True), clock=perf_counter)
    print(f"1,000,000 records read into columns: {spent:.1f} s")


def one_case_left(count: int) -> None:
    """A run that was stopped before its last case, or without one in the middle, against the whole run."""
    write_test(count)
    write_interface(FUNCTION)
    command = ["-m", "harness.cli.main", "run", "many", "-o", "out.jsonl"]
    whole = program_usage([*command, "--force"])
    Path("out.jsonl").rename("whole.jsonl")
    print(f"a run of {count:,} cases: {whole.seconds:.1f} s of processor time, {whole.memory >> 20} MiB")
    for what, left in (("the last", count), ("one in the middle", count // 2)):
        with Path("whole.jsonl").open("rb") as lines, Path("out.jsonl").open("wb") as part:
            part.writelines(line for number, line in enumerate(lines) if number not in (left, count + 1))
        resumed = program_usage([*command, "--resume"])
        ratio = resumed.seconds / whole.seconds
        print(f"  resumed, {what} is left: {resumed.seconds:.1f} s, {ratio:.2f} of it, {resumed.memory >> 20} MiB")


if __name__ == "__main__":
    main()
