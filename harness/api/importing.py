"""Results of other tools as transcripts: `load`, `hate import`; transcripts in other forms: `convert`."""

import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from msgspec import UNSET

from harness.api.result import Result
from harness.api.storing import no_folder_left, store_whole
from harness.api.transcripts import Given, Transcript, listed, open_transcripts
from harness.engine.tallies import UnitTally, has_design
from harness.errors import OutputError, TranscriptError, UsageError
from harness.files.external_sort import in_batches
from harness.files.outputs import check_free, refuse_inputs
from harness.files.temporary import temporary_folder
from harness.interface.interrupts import interruptible
from harness.model import Counts, Trial
from harness.options import DownloadOptions, OverwriteOptions, Writes, option
from harness.report.blocks import Block, Cell, Table
from harness.report.counts import COUNTS, LIMITS, count_cells, count_row, design_remarks, limit_cells, rate_interval
from harness.report.formats import Format
from harness.report.numbers import interval_cell
from harness.site.find_transcripts import Source
from harness.site.judged import remember_copy
from harness.transcript.format import Header
from harness.transcript.importing.contract import ImportedRun, ImportOptions
from harness.transcript.importing.convert import ImportedTranscript, fold_runs
from harness.transcript.importing.convert import convert as converted_run
from harness.transcript.importing.file import ForeignFile
from harness.transcript.importing.metrics import BLOCK, directions_note, values_note
from harness.transcript.importing.registry import read
from harness.transcript.read import open_transcript, record_type
from harness.transcript.storage import check_form, store_as

if TYPE_CHECKING:
    from harness.analysis.rate_errors import DesignRate

INTERVAL = "95 % interval"


class LoadOptions(ImportOptions):
    """What is said about an import, and where the transcript goes."""

    output: Path | None = option(
        "-o, --output FILE", "The transcript; with .gz it is compressed.", default=None, writes=Writes.TRANSCRIPT
    )
    fold: bool = option(
        "--fold",
        "The files are logs of one task with different seeds: make one transcript with an answer from each.",
        default=False,
    )
    force: bool = option("--force", "Overwrite an existing transcript.", default=False)


@dataclass(frozen=True)
class LoadedRun:
    """A run that another tool made: its transcript, its counts, and its rate by the design that was named."""

    transcript: Transcript
    counts: Counts
    # None where no design was named.
    design: "DesignRate | None"

    @property
    def header(self) -> Header:
        return self.transcript.header

    @property
    def names(self) -> dict[str, Cell]:
        """What it is a run of."""
        return {"test": self.header.test.name, "algorithm": self.header.algorithm.name}


@dataclass(frozen=True, eq=False, repr=False)
class LoadResult(Result, Sequence[Transcript]):
    """Transcripts of what other tools wrote, as a sequence; it can be given to `compare` and the others as it is."""

    runs: Sequence[LoadedRun]
    remarks: Sequence[str] = ()

    @overload
    def __getitem__(self, index: int) -> Transcript: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Transcript]: ...

    def __getitem__(self, index: int | slice) -> Transcript | Sequence[Transcript]:
        return [run.transcript for run in self.runs][index]

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def path(self) -> Path:
        """The file of the transcript, where there is only one."""
        if len(self) > 1:
            raise UsageError(f"{len(self)} transcripts; take one of them, such as [0]")
        return self[0].path

    def payload(self) -> Any:
        rows = [{**run.names, **count_row(run.header.params, run.counts, run.design)} for run in self.runs]
        return {"rows": rows, "transcripts": [str(transcript.path) for transcript in self]}

    def blocks(self) -> Sequence[Block]:
        rows = [_row(run, interval_cell(rate_interval(run.counts, run.design))) for run in self.runs]
        columns = ["test", "algorithm", *COUNTS, INTERVAL, "transcript"]
        return [Table(columns, rows, wide=frozenset({INTERVAL}))]

    def table(self) -> Table:
        """A row for each run, the rate with its limits."""
        rows = [_row(run, *limit_cells(run.counts, run.design)) for run in self.runs]
        return Table(["test", "algorithm", *COUNTS, *LIMITS, "transcript"], rows)

    def remarks_in(self, style: Format) -> Sequence[str]:
        """The remarks beside a format; most of them need to be told what the intervals are."""
        return [*design_remarks(style, [run.design for run in self.runs]), *self.remarks]


def _row(run: LoadedRun, *limits: Cell) -> list[Cell]:
    return [*run.names.values(), *count_cells(run.counts), *limits, str(run.transcript.path)]


def load(files: str | Path | Iterable[str | Path], *, options: LoadOptions) -> LoadResult:
    """Results of another tool as transcripts, one for each run in them.

    >>> mine = harness.load("predictions.csv", test="toy", algorithm="mine")
    >>> print(harness.compare([mine, harness.load("logs/other.eval")]))

    A file is recognised by its content: logs of inspect_ai, lm-evaluation-harness and promptfoo, COCO and TREC files,
    lists of scores, tables of predictions. Columns of a table are known by their usual names (y_true, y_pred,
    y_score), or named by options; nested keys have dots.

    Without `output`, nothing is written into the working folder: the transcripts are in a temporary folder until the
    program ends, and `convert` keeps one of them.

    Args:
        files: One or several.
    """
    several = listed(files)
    if not several:
        raise UsageError("no file; name at least one")
    for item in several:
        if not isinstance(item, (str, os.PathLike)):
            kind = type(item).__name__
            raise UsageError(f"{kind}: not the name of a file; write what is to be loaded into one, such as FILE.csv")
    paths = [Path(item) for item in several]
    return import_files(paths, options, temporary_folder() if options.output is None else None)


def import_files(files: Sequence[Path], options: LoadOptions, folder: Path | None = None) -> LoadResult:
    """Read and convert everything, then write it.

    Where no option names the file, transcripts go into this folder; without one, to where those of runs go.
    """
    if options.fold and len(set(files)) < len(files):
        raise UsageError("--fold: a file is named twice; each log counts once")
    refuse_inputs(options.outputs(), [*files, *filter(None, [options.truth, options.key])])
    imports = [read(ForeignFile(file), options) for file in files]
    runs = fold_runs(imports, options) if options.fold else [run for several in imports for run in several]
    converted = [converted_run(imported, options) for imported in runs]
    if options.output is not None and len(converted) > 1:
        raise UsageError(f"-o {options.output}: {len(converted)} transcripts do not fit into one file; leave out -o")
    if len(converted) > 1:
        # All or none: mistakes in the last file are found before the first transcript is written.
        for item in converted:
            deque(item.trials, 0)
    tallies = [_Tally(item) for item in converted]
    paths: list[Path] = []
    with interruptible():
        for number, tally in enumerate(tallies, 1):
            path = options.output if folder is None else folder / f"{number}.jsonl"
            paths.append(store_whole(tally.header, tally, path, force=options.force, spared=[*files, *paths]))
    notes = [note for item in converted for note in item.notes]
    loaded = [
        LoadedRun(_transcript(path, tally.header, run, named=folder is None), tally.counts, tally.design_rate())
        for path, tally, run in zip(paths, tallies, runs, strict=True)
    ]
    return LoadResult(loaded, _remarks(tallies, notes))


def _transcript(path: Path, header: Header, run: ImportedRun, *, named: bool) -> Transcript:
    """A transcript that is called like its file or, where nobody knows that, like the file that it was made of."""
    foreign = ForeignFile(Path(run.source))
    name, stem = (str(path), ForeignFile(path).stem) if named else (foreign.name, foreign.stem)
    return Transcript(Source(path, name, stem), header)


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


def _remarks(tallies: Sequence[_Tally], notes: Sequence[str]) -> list[str]:
    """What decided, which values were kept, and of which nobody knows what is better; each once."""
    values = sum((tally.values for tally in tallies), Counter[str]())
    kept = values_note(values, sum(tally.counts.tests for tally in tallies))
    unknown = [
        name
        for name in values
        if any(name in tally.values and tally.header.direction(name) is None for tally in tallies)
    ]
    return list(filter(None, dict.fromkeys([*notes, kept, directions_note(unknown)])))


class ConvertOptions(DownloadOptions, OverwriteOptions):
    """Options of `hate convert`."""


def convert(transcript: Given, file: str | Path, *, options: ConvertOptions) -> Transcript:
    """Store a transcript in another form, which the name of the file tells: .parquet, .gz, or else JSON Lines.

    >>> harness.convert("run.jsonl", "run.parquet")

    Nothing is lost: converted back, it has the very same bytes, with the same SHA-256 in its last line. The new
    transcript is returned.

    Args:
        transcript: A name, path or URL, or what `read`, `load` or `run` returned.
        file: What is written; its folder is made if there is none.
    """
    opened, file = open_transcripts(transcript, options), Path(file)
    source = opened.only
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
        with no_folder_left(file.parent):
            file.parent.mkdir(parents=True, exist_ok=True)
            store_as(source.path, file)
    except OSError as error:
        raise OutputError(f"{file}: {error.strerror}; choose another place") from None
    remember_copy(source.path, file)
    [stored] = open_transcripts(file, options).sources
    remarks = [*opened.notes, f"{file}: {cases:,} cases, {file.stat().st_size:,} bytes"]
    return Transcript(stored, reader.header, remarks)
