"""`hate import`: results of other tools as transcripts."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import PATH, TABULAR, F, format_option
from harness.cli.output import chosen, emit, remark, tell_design
from harness.engine.signals import interruptible
from harness.engine.target import create, has_begun
from harness.engine.units import UnitTally, has_design
from harness.errors import OutputError, UsageError
from harness.model import Counts
from harness.report.counts import count_row, interval_cell
from harness.report.table import Table
from harness.transcript.importing.content import Source
from harness.transcript.importing.convert import Converted, convert
from harness.transcript.importing.recognise import read
from harness.transcript.importing.results import Fields, Wishes
from harness.transcript.importing.store import store
from harness.transcript.importing.values import values_note
from harness.transcript.write import Writer

if TYPE_CHECKING:
    from harness.analysis.rates import DesignRate

COUNTS = ("tests", "TP", "TN", "FP", "FN", "ER", "rate")


def _column(name: str, text: str) -> Callable[[F], F]:
    return click.option(f"--{name}", metavar="COLUMN", help=text)


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="FILE...")
@click.option("-o", "--output", type=PATH, metavar="FILE", help="The transcript; .gz packs it.")
@click.option("--force", is_flag=True, help="Overwrite an existing transcript.")
@click.option("--metric", metavar="NAME", help="Which of several metrics decides.")
@click.option("--success-at", type=float, metavar="X", help="Partial credit: an answer is right from X on.")
@_column("id", "The case; also for other tools, whose own ids are positions.")
@_column("expect", "Tables: the right answer.")
@_column("actual", "Tables: the answer given.")
@_column("score", "Tables: its score.")
@_column("success", "Tables: whether it was right.")
@_column("positive", "Tables: whether the claim is true and should be accepted (true where not named).")
@_column("repeat", "Tables: which of several answers to the same case.")
@click.option(
    "--value",
    "values",
    multiple=True,
    metavar="NAME",
    help="Tables: a column of numbers to keep; other tools: a metric (all, unless told). Several with commas.",
)
@click.option("--positive-label", metavar="LABEL", help="Predictions: the class to detect, the others are negative.")
@_column("stratum", "Groups that are fixed; several with commas between them.")
@_column("psu", "Groups that were drawn: subjects, documents, repositories.")
@click.option("--test", metavar="NAME", help="Name of the test; that of the task, unless told.")
@click.option("--test-version", "version", metavar="TEXT", help="Its version.")
@click.option("--algorithm", metavar="NAME", help="Name of the algorithm; that of the model, unless told.")
@click.option("--partial", is_flag=True, help="Import a log that is incomplete.")
@format_option(*TABULAR)
def command(files: Sequence[Path], **given: Any) -> int:
    """Turn results of other tools into transcripts, so that they can be compared.

    FILE is recognised by its content: samples_*.jsonl of lm-evaluation-harness, a log of inspect_ai (.eval, .json),
    output of promptfoo (.json, .jsonl), a CSV of predictions (y_true, y_pred, y_score), any CSV or JSON lines (name
    the columns; nested keys with dots), or a JSON mapping of ids to results.
    """
    wishes = _wishes(given)
    converted = [convert(imported, wishes) for file in files for imported in read(Source(file), wishes)]
    if given["output"] is not None and len(converted) > 1:
        raise UsageError(f"-o {given['output']}: {len(converted)} transcripts do not fit into one file; leave out -o")
    with interruptible():
        paths = [_write(item, given["output"], force=given["force"]) for item in converted]
    _report(converted, paths, given["style"])
    return 0


def _wishes(given: dict[str, Any]) -> Wishes:
    fields = Fields(**{name: given.pop(name) for name in vars(Fields())})
    at = given["success_at"]
    if at is not None and not -1e300 < at < 1e300:
        raise UsageError(f"--success-at {at}: not a finite number")
    return Wishes(fields, **{name: given[name] for name in vars(Wishes()) if name in given})


def _write(item: Converted, path: Path | None, *, force: bool) -> Path:
    if path is None or not has_begun(path):
        return store(create(path, item.header, force=False).writer, item.trials)
    if not force:
        raise OutputError(f"{path}: exists; --force overwrites it")
    # The old one stays until the new one is whole.
    scratch = path.with_name(f"{path.name.partition('.')[0]}.import{''.join(path.suffixes)}")
    writer = Writer.create(scratch, item.header, force=True)
    writer.replaces = path
    return store(writer, item.trials)


def _report(converted: Sequence[Converted], paths: Sequence[Path], style: str | None) -> None:
    rows, lines, designs = [], [], []
    for item, path in zip(converted, paths, strict=True):
        counts, design = Counts.of(item.trials), _design_rate(item)
        row = count_row(item.header.params, counts, design)
        names = {"test": item.header.test.name, "algorithm": item.header.algorithm.name}
        rows.append({**names, **row})
        designs.append(design)
        lines.append([*names.values(), *(row[name] for name in COUNTS), interval_cell(counts, design), str(path)])
    payload = {"rows": rows, "transcripts": [str(path) for path in paths]}
    columns = ["test", "algorithm", *COUNTS, "95 % interval", "transcript"]
    emit(chosen(style), Table(columns, lines, wide=frozenset({"95 % interval"})), payload)
    tell_design(chosen(style), designs)
    notes = [note for item in converted for note in item.notes]
    notes.append(values_note(trial for item in converted for trial in item.trials))
    for note in filter(None, dict.fromkeys(notes)):
        remark(note)


def _design_rate(item: Converted) -> "DesignRate | None":
    """The rate by the design that was named; None where none was."""
    repeated = bool(item.header.repeat)
    if not has_design(item.header.design) and not repeated:
        return None
    from harness.analysis.rates import rate_of_units

    return rate_of_units(UnitTally.of(item.trials, repeated=repeated).sums, item.header)
