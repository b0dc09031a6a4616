"""What the command lines of `lines` print, as data: `python -m tests.goldens.make` writes it to `printed/`.

Run it at the commit before a change that should change nothing, and after one that should, and look at the difference.
"""

import contextlib
import csv
import io
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from harness.cli.main import call
from tests.goldens.lines import LINES, SETUP, lines
from tests.products.subjects import resources, rewrite

ROOT = Path(__file__).parents[2]
PRINTED = Path(__file__).parent / "printed"
# What depends on the machine and the moment.
VOLATILE = {"seconds", "memory", "started", "cases_per_second", "recent_cases_per_second", "seconds_left"}
VOLATILE_COLUMNS = {"per_second", "recent_per_second", "seconds_left"}
# A description is no table; publishing and fetching do nothing the second time.
WITHOUT_CSV = ("describe", "publish", "fetch")
_PATH = re.compile(r"/[^\n\"]*/(?=test_scripts|interfaces|transcripts|examples|hate/)")
_DIGEST = re.compile(r"[0-9a-f]{64}(?=\.jsonl)")  # of a run that is kept for later


def printed(words: list[str]) -> dict[str, Any]:
    """The JSON and the CSV of a command line, with its exit status."""
    words = [word.format(examples=ROOT / "examples", scripts=ROOT / "test_scripts") for word in words]
    status, out = _called([*words, "--format", "jsonl" if words[0] == "cases" else "json"])
    if status > 1:
        raise RuntimeError(f"hate {' '.join(words)}: {out}")
    read = [json.loads(line) for line in out.splitlines()] if words[0] == "cases" else json.loads(out)
    golden: dict[str, Any] = {"status": status, "json": settled(read)}
    if words[0] not in WITHOUT_CSV:
        _status, out = _called([*words, "--format", "csv"])
        golden["csv"] = [_row(row) for row in csv.reader(io.StringIO(out))]
        for index, name in enumerate(golden["csv"][0]):
            if name in VOLATILE_COLUMNS or (words[0] == "status" and name == "seconds"):
                golden["csv"] = [[*row[:index], "...", *row[index + 1 :]] for row in golden["csv"]]
    return golden


def settled(value: Any) -> Any:
    """JSON without what is another thing on another machine or day."""
    if isinstance(value, dict):
        return {key: settled(one) for key, one in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [settled(one) for one in value]
    if isinstance(value, str):
        return _DIGEST.sub("...", _PATH.sub(".../", value))
    return float(f"{value:.12g}") if isinstance(value, float) else value


def _row(row: list[str]) -> list[str | float]:
    return [_cell(cell) for cell in row]


def _cell(cell: str) -> str | float:
    try:
        return float(f"{float(cell):.12g}")
    except ValueError:
        return str(settled(cell))


def _called(words: list[str]) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = call(words)
    return status, out.getvalue() if status < 2 else err.getvalue()


def prepare() -> None:
    """Make the runs that the lines read, in the working folder."""
    for line, words in lines(SETUP).items():
        status, out = _called(words)
        if status:
            raise RuntimeError(f"hate {line}: {out}")
    for path in Path().glob("*.jsonl"):
        rewrite(path, path, record=lambda record: record | resources(record, ""))


def main() -> None:
    """Write all goldens, a file for each command."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ |= {"HOME": folder, "XDG_CACHE_HOME": f"{folder}/cache"}
        prepare()
        made: dict[str, dict[str, Any]] = {}
        for line, words in lines(LINES).items():
            made.setdefault(words[0], {})[line] = printed(words)
    PRINTED.mkdir(exist_ok=True)
    for command, goldens in made.items():
        text = (
            "{\n"
            + ",\n".join(f"{json.dumps(line)}: {json.dumps(golden)}" for line, golden in goldens.items())
            + "\n}\n"
        )
        (PRINTED / f"{command}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
