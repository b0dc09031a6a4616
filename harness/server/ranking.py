"""What pages compute from transcripts: a ranking, and the measures of a run."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.analysis.align import AlignedRuns, Run, align
from harness.analysis.compare import CompareRequest, compare_aligned
from harness.analysis.comparison import Comparison
from harness.analysis.matching import MOST_ANSWERS
from harness.analysis.rate import RateRequest, rate_runs
from harness.analysis.sampling import Sampling, take_sample
from harness.errors import HateError
from harness.options import DesignOptions
from harness.report.blocks import Block
from harness.report.numbers import method_words
from harness.report.rate import measure_table
from harness.report.sampling import INDEPENDENT, target_words
from harness.server.board import shown_path
from harness.server.state import SiteState
from harness.site.layout import TranscriptEntry
from harness.stats.replication.method import Replication
from harness.transcript.columns import read_columns
from harness.transcript.format import PLAIN_WEIGHTS, Header
from harness.transcript.read import open_transcript

# Limits on the time that a page takes: the best are compared, the rest only listed.
MOST_RANKED = 40
MOST_CHOSEN = 12
MOST_RECORDS = 2_000_000


@dataclass(frozen=True)
class RankingRow:
    """A transcript with the interval of its rate, and the letters of the groups that it belongs to."""

    entry: TranscriptEntry
    value: float
    low: float
    high: float
    letters: str


@dataclass(frozen=True)
class Ranking:
    """The best first; those that share a letter do not differ significantly."""

    rows: list[RankingRow]
    # What the intervals are about, and by which method.
    target: str
    method: str
    confidence: float
    left_out: list[str]


def rank(state: SiteState, entries: Sequence[TranscriptEntry]) -> Ranking | None:
    """The transcripts, compared; None if they cannot be."""
    chosen = affordable(entries[:MOST_RANKED])
    if not chosen:
        return None
    try:
        known = _aligned(state, chosen)
        comparison = compare_aligned(known.aligned, known.sampling, CompareRequest(statistic="rate", resources=False))
    except HateError:
        return None
    rows = [_ranking_row(known.entries[i], comparison, i) for i in comparison.order]
    design = comparison.runs[0].estimate
    return Ranking(
        rows=rows,
        target=target_words(known.sampling) if known.sampling.known else INDEPENDENT,
        method="Wilson" if design is None else method_words(design.method),
        confidence=comparison.confidence,
        left_out=known.left_out,
    )


def _ranking_row(entry: TranscriptEntry, comparison: Comparison, number: int) -> RankingRow:
    run = comparison.runs[number]
    interval = run.interval if run.estimate is None else run.estimate.interval
    value = run.rate if run.value is None else run.value
    low, high = (0.0, 1.0) if interval is None else (interval.low, interval.high)
    return RankingRow(entry, value, low, high, comparison.letters[number])


def affordable(entries: Sequence[TranscriptEntry]) -> list[TranscriptEntry]:
    """The first of them that are not too large together."""
    affordable, records = [], 0
    for entry in entries:
        records += entry.tests
        if records <= MOST_RECORDS:
            affordable.append(entry)
    return affordable


def trusted_first(entries: Sequence[TranscriptEntry]) -> list[TranscriptEntry]:
    """Facts about a case come from the first run, so those of the site's owner go first, then the oldest."""
    return sorted(entries, key=lambda entry: (entry.by != "", entry.published, entry.name))


@dataclass(frozen=True)
class _AlignedEntries:
    entries: list[TranscriptEntry]
    aligned: AlignedRuns
    sampling: Sampling
    left_out: list[str]


def _aligned(state: SiteState, entries: Sequence[TranscriptEntry]) -> _AlignedEntries:
    """The runs on the same cases; a run on other cases is left out, so that it cannot spoil the ranking of the rest."""
    trusted = trusted_first(entries)
    used: list[TranscriptEntry] = []
    runs: list[Run] = []
    left_out: list[str] = []
    cases: set[str] = set()
    answers = 1
    for entry in trusted:
        try:
            run = _read_run(state, entry)
        except HateError:
            left_out.append(entry.name)
            continue
        own, common = set(run.columns.ids), math.lcm(answers, _answers(run))
        # Runs are aligned on the least common multiple of their answers per case.
        fits = common == answers or (common <= MOST_ANSWERS and len(trusted) * len(own) * common <= MOST_RECORDS)
        if not runs or (own == cases and fits and _agree(runs[0], run)):
            cases, answers = cases or own, common
            used.append(entry)
            runs.append(run)
        else:
            left_out.append(entry.name)
    aligned = replace(align(runs), names=[entry.name for entry in used])
    return _AlignedEntries(
        used,
        aligned,
        take_sample(aligned, DesignOptions(weights=design_weights(aligned.headers[0], aligned.cases.columns))),
        left_out,
    )


def _agree(first: Run, other: Run) -> bool:
    """Whether two runs have each answer once, and say the same about their cases; one that was not judged may not."""
    try:
        align([first, other])
    except HateError:
        return False
    return True


def run_path(state: SiteState, entry: TranscriptEntry) -> Path:
    """The file with the outcomes; of a blind run it is not the one that is published."""
    judged = None if state.private is None else shown_path(state.private, entry.file.sha256)
    return judged if judged is not None and judged.is_file() else state.catalogue.store.file(entry.file)


def _read_run(state: SiteState, entry: TranscriptEntry) -> Run:
    path = run_path(state, entry)
    columns = read_columns(path, name=entry.name, lean=True)
    if columns.header.weighs_cases:
        columns = read_columns(path, name=entry.name)
    return Run(columns, entry.name, entry.name)


def _answers(run: Run) -> int:
    """The number of answers per case."""
    return int(run.columns.repeat.max(initial=1))


def design_weights(header: Header, columns: Collection[str]) -> str | None:
    """The weights that a run declares, unless it names a file: a submitted header must not name local files."""
    declared = header.design.get("weights", "cases")
    if not isinstance(declared, str):
        return None
    return declared if declared in (*PLAIN_WEIGHTS, *columns) else "cases"


def header_of(state: SiteState, entry: TranscriptEntry) -> Header:
    """The header of a transcript."""
    with open_transcript(state.catalogue.store.file(entry.file), name=entry.name) as reader:
        return reader.header


def measures_of(state: SiteState, entry: TranscriptEntry) -> list[Block]:
    """The measures of a run with their errors by design; empty if it cannot be measured."""
    try:
        run = Run(read_columns(run_path(state, entry), name=entry.name), entry.name, entry.name)
        return [measure_table(rate_runs([run], RateRequest()), Replication())]
    except HateError:
        return []
