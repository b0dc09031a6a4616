"""`hate fetch`: bring tests and transcripts here ahead of time."""

from collections.abc import Sequence
from pathlib import Path

import click

from harness.cli.finding import find_test
from harness.cli.options import TABULAR, complete_test, format_option, library_option
from harness.cli.output import chosen, emit, remark
from harness.report.table import Cell, Table
from harness.script.load import Script

# A test, which part of it, and where that is.
Part = tuple[str, str, Path]


@click.command("fetch")
@click.argument("words", nargs=-1, required=True, metavar="TEST...", shell_complete=complete_test)
@click.option("--transcripts", is_flag=True, help="Also every transcript of the test at the sites.")
@library_option
@format_option(*TABULAR)
def command(words: Sequence[str], transcripts: bool, libraries: Sequence[str], style: str | None) -> None:
    """Download all that TEST needs, so that it runs without a network; TEST/NAME is a transcript.

    What is here already is not downloaded again.
    """
    found: list[Part] = []
    for word in words:
        if _is_transcript(word):
            found.append(_transcript(word))
            continue
        script = find_test(word, libraries)
        found += _parts(script)
        found += _transcripts(script) if transcripts else []
    rows: list[list[Cell]] = [[test, part, str(path)] for test, part, path in found]
    payload = {"fetched": [dict(zip(("test", "part", "path"), row, strict=True)) for row in rows]}
    emit(chosen(style), Table(["test", "part", "path"], rows), payload)


def _is_transcript(word: str) -> bool:
    return "/" in word and "://" not in word and not Path(word).exists() and not word.endswith(".toml")


def _transcript(word: str) -> Part:
    from harness.site.published import find_published

    found = find_published(word)
    if found.note:
        remark(f"hate: {found.note}")
    return found.test, f"transcript {found.name}", found.path


def _parts(script: Script) -> list[Part]:
    from harness.script.cases import load_cases
    from harness.site.provide import provide

    places = provide(script)
    load_cases(script, places)
    label = f"{script.name}@{script.version}"
    return [(label, "script", script.path), *((label, f"data {name}", path) for name, path in places.items())]


def _transcripts(script: Script) -> list[Part]:
    from harness.site.shared import transcripts_of
    from harness.site.sites import sites

    among = sites()
    label = f"{script.name}@{script.version}"
    shared = transcripts_of(script.name, script.digest, among)
    found = [(label, f"transcript {one.entry.name}", one.path()) for one in shared]
    for note in among.notes:
        remark(f"hate: {note}")
    return found
