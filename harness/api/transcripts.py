"""Transcripts by name, path or URL, or as results: `read`, `show`, and what the other functions work on."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from harness.analysis.cases import CaseSelection, select_cases
from harness.analysis.run_identity import run_names
from harness.api.cases import CasesResult, show_cases
from harness.api.held import HeldFile
from harness.api.result import Result
from harness.api.wording import spelled_in_python
from harness.errors import HateError, TranscriptError, UsageError
from harness.files.outputs import refuse_inputs
from harness.model import Counts, Trial
from harness.options import DownloadOptions
from harness.options.cases import CaseOptions, ShowOptions
from harness.options.comparing import CompareOptions, RateOptions
from harness.options.cores import usable_cores
from harness.report.blocks import Block, Paragraphs, Table
from harness.report.brief import brief_text
from harness.report.cases import run_line, view_table
from harness.report.numbers import self_reported_notes
from harness.site.download_request import DownloadLimits
from harness.site.find_transcripts import KnownTranscripts, Source
from harness.site.judged import judge_sources
from harness.transcript.format import Header, TestInfo, differing_params, params_text
from harness.transcript.read import glance, open_transcript

if TYPE_CHECKING:
    from harness.analysis.align import Run
    from harness.transcript.columns import Columns

# More runs of one algorithm than anyone reads about in a line.
MAX_TOLD = 10
# Cases of a transcript that a notebook shows.
MAX_ROWS = 20


class HasTranscript(Protocol):
    """What has a transcript, such as the result of `harness.run`."""

    @property
    def path(self) -> Path | None:
        """Its file."""


Given = str | Path | HasTranscript


@dataclass(frozen=True)
class OpenedTranscripts:
    """Transcripts that were found, and notes: where they came from, and, once read, which are self-reported."""

    sources: Sequence[Source]
    notes: list[str] = field(default_factory=list)

    @property
    def paths(self) -> list[Path]:
        return [source.path for source in self.sources]

    @property
    def only(self) -> Source:
        """The one that there is; a UsageError if there are several."""
        if len(self.sources) > 1:
            names = ", ".join(source.name for source in self.sources)
            raise UsageError(f"{names}: {len(self.sources)} transcripts; give one of them")
        return self.sources[0]

    def runs(self, *, lean: bool = False) -> "list[Run]":
        """All of them, read and judged again; `lean` leaves out what only some analyses need.

        A TranscriptError if the records of one contradict its test.
        """
        from harness.analysis.align import Run
        from harness.transcript.parallel import read_each

        files = [(source.path, source.name) for source in self.sources]
        tables = read_each(files, lean=lean, cores=usable_cores())
        judged = judge_sources(self.sources, [columns.header for columns in tables])
        names = run_names(
            [columns.header.algorithm.name for columns in tables], [source.stem for source in self.sources]
        )
        told = self_reported_notes(names, judged)
        self.notes.extend(note for note in told if note not in self.notes)
        return [
            Run(columns, source.name, source.stem, why)
            for columns, source, why in zip(tables, self.sources, judged, strict=True)
        ]

    def shown_name(self, text: str | None, runs: "Sequence[Run]") -> str | None:
        """The name under which one of them is shown, that somebody calls by this name or as it was typed."""
        names = run_names([run.columns.header.algorithm.name for run in runs], [run.stem for run in runs])
        typed = {source.typed: name for source, name in zip(self.sources, names, strict=True) if source.typed}
        return text if text is None or text in names else typed.get(text, text)


Transcripts = Given | Iterable[Given | Sequence[Given]] | OpenedTranscripts


def open_transcripts(
    given: Transcripts, options: DownloadOptions | None = None, *, told_apart: bool = True
) -> OpenedTranscripts:
    """Find one or several transcripts: names, paths, URLs, `-`, or results that have one.

    The notes say where the transcripts came from, and how runs of one algorithm differ, unless told otherwise.
    """
    if isinstance(given, OpenedTranscripts):
        return given
    several = listed(given)
    if not several:
        raise UsageError("no transcript; name at least one")
    if all(isinstance(item, Source) for item in several):
        return OpenedTranscripts([item for item in several if isinstance(item, Source)])
    options = options or DownloadOptions()
    limits = DownloadLimits(seconds=options.http_timeout, size=options.http_limit)
    located = KnownTranscripts().open([given_text(item) for item in several], limits)
    sources = [
        replace(item.source, path=source.path) if isinstance(item, Transcript) else source
        for item, source in zip(several, located, strict=True)
    ]
    refuse_inputs(options.outputs(), [source.path for source in sources])
    notes = list(dict.fromkeys(source.note for source in sources if source.note))
    return OpenedTranscripts(sources, [*notes, *(tell_apart(sources) if told_apart else [])])


def development_runs(options: CompareOptions | RateOptions) -> "Sequence[Run]":
    """Those that `--development` names, opened; none if thresholds are set on the cases themselves, or not at all."""
    from harness.analysis.operating_point import criterion_of

    if criterion_of(options) is None or not options.development:
        return []
    return open_transcripts(options.development, options, told_apart=False).runs()


def listed(given: Any) -> list[Any]:
    """One or several as a list; what `load` returned may be among them, which is several itself."""
    if isinstance(given, str) or not isinstance(given, (Sequence, Iterator)):
        return [given]
    return [item for part in given for item in listed(part)]


def given_text(given: Given) -> str:
    """How a transcript is named to the site."""
    if isinstance(given, (str, Path)):
        return str(given)
    if isinstance(held := getattr(given, "held", None), HeldFile):
        return str(held.check())
    path = getattr(given, "path", None)
    if not isinstance(path, Path):
        shown = f"{' '.join(repr(given).split()):.60}"
        raise UsageError(f"{shown}: not a transcript; give a name, a path, a URL, or what harness.read or .run gave")
    return str(path.absolute())


@dataclass(frozen=True, eq=False, repr=False)
class Transcript(Result):
    """A transcript: its header, its counts, and its records, which are read when they are asked for."""

    source: Source
    header: Header
    remarks: Sequence[str] = ()
    held: HeldFile = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "held", HeldFile.of(self.source.path))

    @property
    def path(self) -> Path:
        """Its file; of a URL, the copy in the cache."""
        return self.source.path

    @property
    def name(self) -> str:
        return self.header.algorithm.name

    @cached_property
    def _summary(self) -> CaseSelection:
        return select_cases(self.held.path, self.source.name, CaseOptions())

    @property
    def _view(self) -> CaseSelection:
        """Its records are read whenever they are gone through."""
        self.held.check()
        return self._summary

    @property
    def counts(self) -> Counts:
        """How many of each outcome."""
        return self._view.run.counts

    @property
    def complete(self) -> bool:
        """Whether the run was finished."""
        return self._view.run.complete

    @property
    def records(self) -> Sequence[Trial]:
        """All records, in the order of the file."""
        return self._view.trials

    @cached_property
    def columns(self) -> "Columns":
        """All records as numpy arrays."""
        from harness.transcript.columns import read_columns

        return read_columns(self.held.check(), name=self.source.name)

    def cases(
        self,
        *,
        outcome: str | Sequence[str] = (),
        where: str | Sequence[str] = (),
        sort: str | Sequence[str] = (),
        limit: int | None = None,
    ) -> CasesResult:
        """Some of the cases: `outcome="FP"`, `where="truth=4"`, `sort="-score"`, `limit=10`."""
        with spelled_in_python(CaseOptions, [outcome, where, sort]) as words:
            options = CaseOptions.of({"outcome": outcome, "where": where, "sort": sort, "limit": limit})
            return words.hand_over(show_cases(self.source, options))

    def payload(self) -> Any:
        """As `hate show` gives it."""
        return CasesResult(self._view).payload()

    def blocks(self) -> list[Block]:
        """A line about the run, and its first cases."""
        view = self._view
        return [Paragraphs([run_line(view.run)]), view_table(replace(view, trials=view.trials[:MAX_ROWS]))]

    def table(self) -> Table:
        """A row for each record."""
        return view_table(self._view)

    def plain(self) -> str:
        """As `hate show` prints it."""
        return CasesResult(self._view).plain()

    def __repr__(self) -> str:
        # It counts the rows that it leaves out, and makes none of them.
        return brief_text(type(self).__name__, [Paragraphs([run_line(self._view.run)]), self.table()], self.further)

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.records)


def read(name: Given, *, options: DownloadOptions) -> Transcript:
    """A transcript: its header, its counts, its records.

    >>> harness.read("wisard").counts

    Args:
        name: A name, path or URL, or what `run` or `load` returned.
    """
    opened = open_transcripts(name, options)
    source = opened.only
    with open_transcript(source.path, name=source.name) as reader:
        return Transcript(source, reader.header, tuple(opened.notes))


def show(transcript: Given, *, options: ShowOptions) -> CasesResult:
    """The cases of a transcript that are asked for.

    >>> print(harness.show("wisard", outcome="FP", where="truth=4", sort="-score"))

    Args:
        transcript: A name, path or URL, or what `read`, `load` or `run` returned.
    """
    opened = open_transcripts(transcript, options)
    return show_cases(opened.only, options, opened.notes)


def tell_apart(sources: Sequence[Source]) -> list[str]:
    """For every algorithm with several runs that have one base name or other parameters: which is which."""
    if len(sources) < 2:
        return []
    headers = []
    for source in sources:
        try:
            with open_transcript(source.path) as reader:
                headers.append(reader.header)
        except TranscriptError:  # reading it reports what is wrong
            return []
    algorithms = [header.algorithm.name for header in headers]
    names = run_names(algorithms, [source.stem for source in sources])
    texts = []
    for algorithm in dict.fromkeys(algorithms):
        runs = [number for number, name in enumerate(algorithms) if name == algorithm]
        params = differing_params([headers[run].params for run in runs])
        if len(runs) > 1 and (any(params) or any(names[run] != sources[run].stem for run in runs)):
            parts = [
                f"{names[run]} is {sources[run].known_as}{words and f' ({words})'}"
                for run, words in zip(runs[:MAX_TOLD], map(params_text, params), strict=False)
            ]
            more = f", and {len(runs) - MAX_TOLD:,} more" if len(runs) > MAX_TOLD else ""
            texts.append(f"runs of {algorithm}: {', '.join(parts)}{more}")
    return texts


def metric_remark(names: Sequence[str], headers: Sequence[Header]) -> str:
    """A warning if another tool judged some of the runs, and the harness the others."""
    metrics = {header.metric for header in headers}
    if len(metrics) < 2:
        return ""
    judged = zip(names, headers, strict=True)
    how = ", ".join(f"{name} by {header.metric or 'the harness'}" for name, header in judged)
    return f"not judged by the same rule: {how}"


def baseline_remark(test: TestInfo, names: Sequence[str]) -> str:
    """How the baseline did, by the measure and the weights of the test; empty if it is compared already, or unknown."""
    from harness.script.library import find_all

    try:
        name = next(entry.baseline for entry in find_all() if entry.name == test.name)
        if not name or name in names:
            return ""
        path = KnownTranscripts().published(f"{test.name}/{name}").path
        summary = glance(path)
        if summary.header.test.digest != test.digest or summary.header.is_blind or not summary.counts.tests:
            return ""
        if summary.header.test.main_measure == "rate" and not summary.header.is_weighted:
            # The share of successes, for which no record is read.
            value = f"a rate of {summary.counts.rate:.4f}"
        else:
            from harness.analysis.standing import standing_of

            standing = standing_of(path)
            if standing is None:
                return ""
            value = f"{'a rate of' if standing.measure == 'rate' else standing.measure} {standing.value:.4f}"
    except (HateError, StopIteration):
        return ""
    return f"the test's baseline, {name}, has {value}; add {test.name}/{name} to compare"
