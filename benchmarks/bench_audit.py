"""What it costs to judge a transcript again, beyond reading it: `python -m benchmarks.bench_audit`.

Processor time, the best of three turns; and the memory of an audit, in processes of their own.
"""

import os
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import Timing, best, print_timings, program_usage
from harness.api.runs import load_test
from harness.model import Question, Reply
from harness.script.cases import CaseSet
from harness.script.load import load_script
from harness.site.audit import audit
from harness.site.header_facts import header_design, header_test
from harness.site.local_tests import cases_here
from harness.tasks.judge import Judge
from harness.transcript.format import AlgorithmInfo, InterfaceInfo, new_header
from harness.transcript.read import open_transcript
from harness.transcript.write import TranscriptWriter

CASES = 200_000
SCRIPT = """\
format = 1
[test]
name = "big"
version = "1"
synopsis = "many cases"
task = "label"
[cases]
table = "cases.csv"
[design]
stratum = "digit"
psu = "writer"
"""


def main() -> None:
    match sys.argv[1:]:
        case ["write", name, count]:
            write(name, int(count))
        case ["audit", name]:
            audit(Path(f"{name}.jsonl"), cases_here(load_script(Path(name, "big.hate.toml"))))
        case _:
            with tempfile.TemporaryDirectory() as folder:
                os.environ["PYTHONPATH"] = str(Path.cwd())
                os.chdir(folder)
                # First, since the figure of a process begins with that of its parent.
                memory()
                commands()
                times()


def write(name: str, count: int) -> tuple[CaseSet, Path]:
    """A test, and a transcript of it as the harness writes it: every third answer is wrong."""
    Path(name).mkdir()
    rows = (f"c{n:07d},x{n},{n % 10},{n % 7 > 0:d},{n % 10},w{n // 5}-{n % 10}\n" for n in range(count))
    with (Path(name) / "cases.csv").open("w") as file:
        file.write("id,input,expect,positive,digit,writer\n")
        file.writelines(rows)
    script = Path(name) / "big.hate.toml"
    script.write_text(SCRIPT)
    cases = load_test(script)
    return cases, _transcript(cases, Path(f"{name}.jsonl"))


def _transcript(cases: CaseSet, path: Path) -> Path:
    header = new_header(
        header_test(cases), AlgorithmInfo("a"), InterfaceInfo(), plugins=[],
        params={"threshold": 0.0}, design=header_design(cases),
    )  # fmt: skip
    judge: Judge = cases.judge({"threshold": 0.0})
    writer = TranscriptWriter.create(path, header)
    for number, case in enumerate(cases):
        label = case.expect if number % 3 else "other"
        question = Question(number, case.id, case.input)
        writer.append(number, judge.trial(case, Reply(question, [label, number / 7], None, "", 1e-6)))
    return writer.finish()


def read(path: Path) -> None:
    with open_transcript(path) as reader:
        for _ in reader.blocks():
            pass


def times() -> None:
    cases, path = write("many", CASES)
    reading, going, judging = best(
        lambda: read(path), lambda: sum(1 for _ in cases), lambda: audit(path, cases).raise_if_any()
    )
    rows = [
        Timing("records read", reading),
        Timing("cases read", going, reading, "reading"),
        Timing(
            "all records judged again", judging, reading, "reading", note=f"{judging / CASES * 1e6:.1f} us a record"
        ),
        Timing("... beyond reading records and cases", judging - reading - going, reading, "reading"),
    ]
    print_timings(rows, title=f"a transcript of {CASES:,} records")


def commands() -> None:
    """A command that reads a transcript judges it the first time; the small one is what starting the command costs."""
    os.environ["XDG_CACHE_HOME"] = str(Path.cwd() / "cache")

    def rate(name: str) -> float:
        return program_usage(["-m", "harness.cli.main", "rate", f"{name}.jsonl", "--format", "json"]).seconds

    # Tests beside a transcript, or below the working folder, are at hand.
    elsewhere = Path("elsewhere")
    elsewhere.mkdir()
    libraries = []
    for name, count in (("judged", CASES), ("small", 10)):
        cases, path = write(name, count)
        path.rename(elsewhere / path)
        libraries.append(str(cases.script.path.parent.resolve()))
    os.chdir(elsewhere)
    rate("judged")  # the columns are kept now, as for all that follow
    unjudged = rate("judged")
    os.environ["HATE_LIBRARY"] = " ".join(libraries)
    rows = [
        Timing("hate rate, the test not at hand", unjudged),
        Timing("... the test at hand: the first time", rate("judged"), unjudged, "that"),
        Timing("... and again", rate("judged"), unjudged, "that", goal="1"),
        Timing("a test of 10 cases: the first time", rate("small"), unjudged, "that"),
        Timing("... and again", rate("small"), unjudged, "that"),
    ]
    print_timings(rows, title=f"whole commands, processor time, {CASES:,} records")
    os.chdir("..")


def memory() -> None:
    print("# peak memory of an audit")
    for count in (CASES // 10, CASES, 5 * CASES):
        program_usage(["-m", "benchmarks.bench_audit", "write", f"memory{count}", str(count)])
        used = program_usage(["-m", "benchmarks.bench_audit", "audit", f"memory{count}"])
        print(f"{count:>9,} records {used.memory >> 20:>6,} MiB")


if __name__ == "__main__":
    main()
