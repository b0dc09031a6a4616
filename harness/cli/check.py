"""`hate describe` and `hate check`: what a test is about, and whether scripts, interfaces and transcripts are valid."""

from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

import click

from harness.api.runs import load_test
from harness.cli.options import FormatOptions, command_options
from harness.cli.options import test_argument as test_arg
from harness.cli.output import output_format
from harness.errors import HateError, TranscriptError, UsageError
from harness.files.mistakes import Mistakes
from harness.interface.load import load_interface
from harness.options import LibraryOptions, option
from harness.report.description import facts_page, test_facts
from harness.report.formats import Format, render_data
from harness.report.text import safe
from harness.script.cases import CaseSet, load_cases, training
from harness.script.design import FIXED_COLUMNS
from harness.script.load import SUFFIX, load_script
from harness.site.fetch import fetch_data
from harness.transcript.read import open_transcript, summarise


class DescribeOptions(LibraryOptions, FormatOptions):
    """Options of `hate describe`."""

    style: str | None = option(
        "--format", default=None, choices=map(str, (Format.TABLE, Format.PLAIN, Format.JSON, Format.MD)),
        help="How to print; by default a page on a terminal and Markdown elsewhere.",
    )  # fmt: skip


@click.command("describe")
@test_arg
@command_options(DescribeOptions)
def describe_command(test: str, options: DescribeOptions) -> None:
    """Describe TEST: data and training material and where it is, parameters, design, case counts."""
    facts = test_facts(load_test(test, libraries=options.libraries))
    style = output_format(options.style)
    if style is Format.JSON:
        print(render_data(facts, style), end="")
    elif style is Format.TABLE:
        from rich.console import Console
        from rich.markdown import Markdown

        Console(highlight=False).print(Markdown(facts_page(facts)))
    else:
        print(facts_page(facts), end="")


@click.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
def check_command(paths: Sequence[str]) -> int:
    """Validate test scripts, interfaces and transcripts; exit status 1 when one is not valid.

    PATH is a file, or a folder, in which every script, interface and transcript is checked.
    """
    files = [file for path in paths for file in _files(Path(path))]
    bad = 0
    for file in files:
        try:
            for line in _kind(file)(file):
                print(safe(f"{file}: {line}"))
        except HateError as error:
            bad += 1
            print("\n".join(safe(line) for line in str(error).splitlines()))
    if len(files) > 1:
        print(f"{len(files):,} checked, {bad:,} invalid")
    return 1 if bad else 0


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UsageError(f"{path}: no such file or folder")
    names = (f"*{SUFFIX}", "interface.py", "interface.toml", "*.jsonl", "*.jsonl.gz")
    found = sorted({file for name in names for file in path.rglob(name) if "__pycache__" not in file.parts})
    tables = {table for script in found if script.name.endswith(SUFFIX) for table in _tables(script)}
    if not found:
        raise UsageError(f"{path}: no script (*{SUFFIX}), interface or transcript in there")
    return [file for file in found if file.resolve() not in tables]


def _tables(script: Path) -> Iterator[Path]:
    """Files in a script's folder that look like transcripts but are its tables."""
    try:
        loaded = load_script(script)
    except HateError:
        return
    yield from ((loaded.folder / name).resolve() for name in loaded.tables)


def _kind(file: Path) -> Callable[[Path], Iterator[str]]:
    if file.name.endswith(SUFFIX):
        return _check_script
    if file.suffix in (".py", ".toml"):
        return _check_script if file.suffix == ".toml" and _is_script(file) else _check_interface
    return _check_transcript


def _is_script(file: Path) -> bool:
    import tomllib

    try:
        return "test" in tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


def _check_script(file: Path) -> Iterator[str]:
    script = load_script(file)
    cases = load_cases(script, fetch_data(script))
    _check_truths(cases if script.variation is None else cases.originals())
    trained = {_key(question.input) for question in training(script, cases.places)}
    resolve = cases.references.resolve
    seen = sorted({case.id for case in cases if _key(resolve(case.input)) in trained}) if trained else []
    for column in sorted({name for case in cases for name in case.columns}):
        if near := get_close_matches(column, FIXED_COLUMNS, n=1, cutoff=0.75):
            yield f"warning: column '{column}' is not one that the harness knows; did you mean '{near[0]}'?"
    if seen:
        yield f"warning: {len(seen):,} test inputs are training material too, such as that of case '{seen[0]}'"
    if cases.gallery is not None:
        yield from _overlaps(cases, trained)
    yield f"a valid test: {script.name} {script.version}, {len(cases):,} cases, {script.digest}"


def _check_truths(cases: CaseSet) -> None:
    """Read every truth that is a file; a ScriptError lists what is wrong with them."""
    task = cases.script.task
    if not task.expect_is_file:
        return
    mistakes = Mistakes(str(cases.script.path))
    for case in cases:
        if text := task.truth_mistake(case, cases.rules):
            mistakes.add(f"case '{case.id}': {text}")
    mistakes.raise_if_any()


def _overlaps(cases: CaseSet, trained: set[str]) -> Iterator[str]:
    """Images of a rank test that serve two purposes."""
    if cases.gallery is None:
        return
    twins = [case.id for case in cases if cases.gallery.twin(case) >= 0]
    if twins:
        text = f"warning: {len(twins):,} probes are in the gallery too, such as '{twins[0]}'"
        yield f"{text}; none is compared with itself"
    resolve = cases.references.resolve
    learned = [entry.id for entry in cases.gallery.entries if _key(resolve(entry.input)) in trained]
    if learned:
        yield f"warning: {len(learned):,} gallery images are training material too, such as '{learned[0]}'"


def _key(value: object) -> str:
    return value if isinstance(value, str) else repr(value)


def _check_interface(file: Path) -> Iterator[str]:
    loaded = load_interface(str(file))
    yield f"a valid interface: {loaded.name} {loaded.version} ({loaded.kind})".replace("  ", " ")


def _check_transcript(file: Path) -> Iterator[str]:
    summary = summarise(file)
    _check_records(file)
    what = "a valid transcript" if summary.complete else "warning: an incomplete transcript"
    header = summary.header
    yield f"{what}: {header.test.name}, {header.algorithm.name}, {summary.counts.tests:,} records"


def _check_records(file: Path) -> None:
    """What each record by itself cannot show: a case that appears twice, an outcome that contradicts its case."""
    seen: set[tuple[str, int]] = set()
    with open_transcript(file) as reader:
        for number, trial in enumerate((trial for block in reader.blocks() for trial in block), 2):
            key = (trial.id, trial.repeat if isinstance(trial.repeat, int) else 1)
            if key in seen:
                raise TranscriptError(f"{file}:{number}: case '{trial.id}' appears twice")
            if isinstance(trial.positive, bool) and trial.positive != trial.outcome.positive:
                kind = "positive" if trial.positive else "negative"
                raise TranscriptError(
                    f"{file}:{number}: case '{trial.id}' is {kind}, its outcome cannot be {trial.outcome}"
                )
            seen.add(key)
