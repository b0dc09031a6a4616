"""`hate import`: results of other tools as transcripts; `hate convert`: transcripts in other forms."""

import textwrap
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import UNSET

from harness.api.storing import store_whole
from harness.cli.arguments import find_transcripts
from harness.cli.completion import complete_transcript
from harness.cli.options import PATH, FormatOptions, command_options
from harness.cli.output import emit, output_format, remark
from harness.engine.tallies import UnitTally, has_design
from harness.errors import OutputError, TranscriptError, UsageError
from harness.files.external_sort import in_batches
from harness.files.outputs import check_free, refuse_inputs
from harness.interface.interrupts import interruptible
from harness.model import Counts, Trial
from harness.options import DownloadOptions, OverwriteOptions, Writes, option
from harness.report.blocks import Table
from harness.report.counts import COUNTS, LIMITS, count_cells, count_row, design_remarks, limit_cells, rate_interval
from harness.report.formats import Format
from harness.report.numbers import interval_cell
from harness.site.judged import remember_copy
from harness.transcript.importing.contract import ImportOptions
from harness.transcript.importing.convert import ImportedTranscript, convert, fold_runs
from harness.transcript.importing.file import ForeignFile
from harness.transcript.importing.metrics import BLOCK, directions_note, values_note
from harness.transcript.importing.registry import formats, read
from harness.transcript.read import open_transcript, record_type
from harness.transcript.storage import check_form, store_as

if TYPE_CHECKING:
    from harness.analysis.rate_errors import DesignRate


class ImportCommandOptions(ImportOptions, FormatOptions):
    """The options of the command: where the transcript goes, and all about the import."""

    output: Path | None = option(
        "-o, --output FILE", "The transcript; with .gz it is compressed.", default=None, writes=Writes.TRANSCRIPT
    )
    fold: bool = option(
        "--fold",
        "The files are logs of one task with different seeds: make one transcript with an answer from each.",
        default=False,
    )
    force: bool = option("--force", "Overwrite an existing transcript.", default=False)


def _help() -> str:
    """What the command does, and the formats that it knows, from the registry."""
    known = formats()
    column = max(map(len, known)) + 2
    listed = "\n".join(
        textwrap.fill(what, 76, initial_indent=f"  {name:<{column}}", subsequent_indent=" " * (column + 2))
        for name, what in known.items()
    )
    return f"""Turn results of other tools into transcripts, so that they can be compared.

FILE is recognised by its content. --from takes one of these names, or that of a plug-in:

\b
{listed}

Columns of a table are known by their usual names (y_true, y_pred, y_score), or named by options; nested keys have dots.

\b
hate import predictions.csv --test toy --algorithm mine
hate import logs/*.eval -o mine.jsonl
"""


@click.command("import", help=_help())
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="FILE...")
@command_options(ImportCommandOptions)
def import_command(files: Sequence[Path], options: ImportCommandOptions) -> int:
    """Read and convert everything, then write it."""
    if options.fold and len(set(files)) < len(files):
        raise UsageError("--fold: a file is named twice; each log counts once")
    imports = [read(ForeignFile(file), options) for file in files]
    runs = fold_runs(imports, options) if options.fold else [run for several in imports for run in several]
    converted = [convert(imported, options) for imported in runs]
    if options.output is not None and len(converted) > 1:
        raise UsageError(f"-o {options.output}: {len(converted)} transcripts do not fit into one file; leave out -o")
    if len(converted) > 1:
        # All or none: mistakes in the last file are found before the first transcript is written.
        for item in converted:
            deque(item.trials, 0)
    tallies = [_Tally(item) for item in converted]
    paths: list[Path] = []
    with interruptible():
        for tally in tallies:
            paths.append(store_whole(tally.header, tally, options.output, force=options.force, spared=[*files, *paths]))
    notes = [note for item in converted for note in item.notes]
    _report(tallies, paths, notes, output_format(options.style))
    return 0


class _Tally:
    """The records of an import, counted on their way into the transcript."""

    def __init__(self, imported: ImportedTranscript) -> None:
        self.header = imported.header
        self._trials = imported.trials
        self._repeated = bool(imported.header.repeat)
        self._has_design = has_design(imported.header.design) or self._repeated
        self.counts = Counts()
        self.values: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Trial]:
        self._units = UnitTally(repeated=self._repeated)
        for block in in_batches(iter(self._trials), BLOCK):
            self.counts += Counts.of(block)
            for trial in block:
                if self._has_design:
                    self._units.add(trial)
                if trial.values is not UNSET:
                    self.values.update(trial.values.keys())
            yield from block

    def design_rate(self) -> "DesignRate | None":
        """The rate by the design that was named; None where none was."""
        if not self._has_design:
            return None
        from harness.analysis.rate_errors import rate_of_units

        return rate_of_units(self._units.sums, self.header)


def _report(tallies: Sequence[_Tally], paths: Sequence[Path], notes: Sequence[str], style: Format) -> None:
    rows, lines, designs = [], [], []
    for tally, path in zip(tallies, paths, strict=True):
        counts, design = tally.counts, tally.design_rate()
        row = count_row(tally.header.params, counts, design)
        names = {"test": tally.header.test.name, "algorithm": tally.header.algorithm.name}
        rows.append({**names, **row})
        designs.append(design)
        limits = limit_cells(counts, design) if style is Format.CSV else [interval_cell(rate_interval(counts, design))]
        lines.append([*names.values(), *count_cells(counts), *limits, str(path)])
    payload = {"rows": rows, "transcripts": [str(path) for path in paths]}
    columns = ["test", "algorithm", *COUNTS, *(LIMITS if style is Format.CSV else ["95 % interval"]), "transcript"]
    emit(style, Table(columns, lines, wide=frozenset({"95 % interval"})), payload)
    for text in design_remarks(style, designs):
        remark(text)
    values = sum((tally.values for tally in tallies), Counter[str]())
    kept = values_note(values, sum(tally.counts.tests for tally in tallies))
    unknown = [
        name
        for name in values
        if any(name in tally.values and tally.header.direction(name) is None for tally in tallies)
    ]
    for note in filter(None, dict.fromkeys([*notes, kept, directions_note(unknown)])):
        remark(note)


class ConvertOptions(DownloadOptions, OverwriteOptions):
    """Options of `hate convert`."""


@click.command("convert")
@click.argument("transcript", shell_complete=complete_transcript)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@command_options(ConvertOptions)
def convert_command(transcript: str, file: Path, options: ConvertOptions) -> None:
    """Store a transcript in another form, which the name of FILE tells: .jsonl, .jsonl.gz or .parquet.

    Nothing is lost: converted back, it has the very same bytes, with the same SHA-256 in its last line.

    \b
    hate convert run.jsonl run.parquet
    hate convert run.parquet run.jsonl.gz
    """
    [source] = find_transcripts([transcript], options).sources
    if str(file) == "-":
        raise UsageError("-: name a file; its name tells the form, .jsonl, .jsonl.gz or .parquet")
    refuse_inputs([("FILE", file)], [source.path])
    check_free([("FILE", file)], force=options.force)
    check_form(file)
    # Every record is checked, and the SHA-256 of all of them.
    with open_transcript(source.path, name=source.name) as reader:
        reader.take_records(record_type(reader.header))
        cases = sum(map(len, reader.blocks()))
    if reader.end is None:
        raise TranscriptError(f"{source.name}: incomplete; finish it with --resume first")
    try:
        store_as(source.path, file)
    except OSError as error:
        raise OutputError(f"{file}: {error.strerror}; choose another place") from None
    remember_copy(source.path, file)
    remark(f"{file}: {cases:,} cases, {file.stat().st_size:,} bytes")
