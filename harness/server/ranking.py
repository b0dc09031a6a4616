"""What pages compute from transcripts: a ranking, and the measures of a run."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from harness.analysis.align import AlignedRuns, Run, align
from harness.analysis.compare import compare_aligned
from harness.analysis.matching import MAX_ANSWERS
from harness.analysis.rate import rate_runs
from harness.analysis.standing import RunStanding, ranking_options, read_ranked, run_standing
from harness.errors import DataError, HateError, TranscriptError
from harness.options.comparing import RateOptions
from harness.report.blocks import Block
from harness.report.numbers import INDEPENDENT, method_words, target_text
from harness.report.rate import measure_table
from harness.server.blind_board import shown_path
from harness.server.state import SiteState, find_test, transcripts_of
from harness.site.layout import BestEntry, TestEntry, TranscriptEntry
from harness.stats.replication.method import Replication
from harness.transcript.columns import read_columns
from harness.transcript.format import Header
from harness.transcript.read import open_transcript

# Limits on the time that a page takes: all are ranked, but only the best are compared pair by pair.
MAX_COMPARED = 40
MAX_CHOSEN = 12
MAX_RECORDS = 2_000_000
# Standings that are remembered, and runs that others are held against.
MAX_KNOWN = 20_000
MAX_REFERENCES = 2


@dataclass(frozen=True)
class RankedTranscript:
    """A transcript with its value and interval, and the letters of its groups if it was compared with others."""

    entry: TranscriptEntry
    value: float
    low: float
    high: float
    letters: str = ""


@dataclass(frozen=True)
class Ranking:
    """The best first; those that share a letter do not differ significantly."""

    rows: list[RankedTranscript]
    measure: str
    # What the intervals are about, and by which method.
    target: str
    method: str
    confidence: float
    # Runs of other cases, or that cannot be read, and runs that cannot be matched with the others.
    left_out: list[str]


def rank(state: SiteState, entries: Sequence[TranscriptEntry]) -> Ranking | None:
    """All transcripts by the measure, the design and the weights of their test; None if none can be measured."""
    measured, left_out = _measured(state, entries)
    if not measured:
        return None
    compared, unmatched = _compared(state, [entry for entry, _ in measured][:MAX_COMPARED])
    first = measured[0][1]
    return Ranking(
        rows=[
            compared.get(entry.name) or RankedTranscript(entry, run.standing.value, run.interval.low, run.interval.high)
            for entry, run in measured
        ],
        measure=first.standing.measure,
        target=INDEPENDENT if first.target is None else f"for {target_text(first.target, first.stratum)}",
        method="Wilson" if first.method is None else method_words(first.method),
        confidence=first.confidence,
        left_out=[*left_out, *unmatched],
    )


def best_first(state: SiteState, entries: Sequence[TranscriptEntry]) -> list[TranscriptEntry]:
    """The transcripts in the order of their ranking; those that cannot be measured come last."""
    measured = [entry for entry, _ in _measured(state, entries)[0]]
    names = {entry.name for entry in measured}
    return [*measured, *(entry for entry in entries if entry.name not in names)]


def leader(state: SiteState, entry: TestEntry) -> BestEntry | None:
    """The transcript that leads a test.

    The index of an older version names the one with the highest share of successes; where cases have weights, that may
    be another one.
    """
    best = entry.best
    if best is None or best.standing is not None:
        return best
    try:
        test = find_test(state, entry.name)
        entries = [] if test is None else transcripts_of(state, test)
        known = next((transcript for transcript in entries if transcript.name == best.name), None)
        if known is None:
            return best
        header = header_of(state, known)
        if header.test.main_measure == "rate" and not header.is_weighted:
            # The share of successes decides.
            return best
        measured, _ = _measured(state, entries)
    except DataError:
        return best
    if not measured:
        return best
    first, run = measured[0]
    return BestEntry(first.name, first.rate, run.standing)


def _measured(
    state: SiteState, entries: Sequence[TranscriptEntry]
) -> tuple[list[tuple[TranscriptEntry, RunStanding]], list[str]]:
    """Each with its standing, the best first, and the names of the others.

    A run of other cases is left out, so that it cannot spoil the ranking of the rest. The older of two equals is first.
    """
    measured: list[tuple[TranscriptEntry, RunStanding]] = []
    left_out: list[str] = []
    reference: Path | None = None
    for entry in trusted_first(entries):
        try:
            path = run_path(state, entry)
            measured.append((entry, _standing(path, reference or path)))
        except HateError:
            left_out.append(entry.name)
            continue
        reference = reference or path
    measured.sort(key=lambda pair: (-pair[1].standing.merit, pair[0].published, pair[0].name))
    return measured, left_out


@lru_cache(maxsize=MAX_KNOWN)
def _standing(path: Path, reference: Path) -> RunStanding:
    """Of a file that is named by its content; a HateError unless it has the cases and weights of the reference."""
    run = first = _reference(reference)
    if path != reference:
        run = read_ranked(path, path.name)
        align([first, run])
        if run.columns.header.design.get("weights") != first.columns.header.design.get("weights"):
            raise TranscriptError(f"{path}: its cases have other weights")
    return run_standing(run)


@lru_cache(maxsize=MAX_REFERENCES)
def _reference(path: Path) -> Run:
    return read_ranked(path, path.name)


def _compared(state: SiteState, entries: Sequence[TranscriptEntry]) -> tuple[dict[str, RankedTranscript], list[str]]:
    """The runs that can be compared, by name, and the names of those that cannot be matched with them."""
    chosen = affordable(entries)
    if not chosen:
        return {}, []
    try:
        aligned, unmatched = _aligned(state, chosen)
        options = ranking_options(aligned.headers[0], aligned.cases.columns)
        comparison = compare_aligned(aligned, options, resources=False)
    except HateError:
        return {}, []
    by_name = {entry.name: entry for entry in chosen}
    rows = {}
    for run in comparison.runs:
        interval = run.interval if run.estimate is None else run.estimate.interval
        if run.value is not None and interval is not None:
            rows[run.name] = RankedTranscript(by_name[run.name], run.value, interval.low, interval.high, run.letters)
    return rows, unmatched


def affordable(entries: Sequence[TranscriptEntry]) -> list[TranscriptEntry]:
    """The first of them that are not too large together."""
    affordable, records = [], 0
    for entry in entries:
        records += entry.tests
        if records <= MAX_RECORDS:
            affordable.append(entry)
    return affordable


def trusted_first(entries: Sequence[TranscriptEntry]) -> list[TranscriptEntry]:
    """Facts about a case come from the first run, so those of the site's owner go first, then the oldest."""
    return sorted(entries, key=lambda entry: (entry.by != "", entry.published, entry.name))


def _aligned(state: SiteState, entries: Sequence[TranscriptEntry]) -> tuple[AlignedRuns, list[str]]:
    """The runs on the same cases, and the names of those that cannot be matched with the first."""
    trusted = trusted_first(entries)
    names: list[str] = []
    runs: list[Run] = []
    left_out: list[str] = []
    answers = 1
    for entry in trusted:
        run = read_ranked(run_path(state, entry), entry.name)
        # Runs are aligned on the least common multiple of their answers per case.
        common = math.lcm(answers, int(run.columns.repeat.max(initial=1)))
        fits = common == answers or (
            common <= MAX_ANSWERS and len(trusted) * len(set(run.columns.ids)) * common <= MAX_RECORDS
        )
        if not runs or (fits and _agree(runs[0], run)):
            answers = common
            names.append(entry.name)
            runs.append(run)
        else:
            left_out.append(entry.name)
    return replace(align(runs), names=names), left_out


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


def header_of(state: SiteState, entry: TranscriptEntry) -> Header:
    with open_transcript(state.catalogue.store.file(entry.file), name=entry.name) as reader:
        return reader.header


def measures_of(state: SiteState, entry: TranscriptEntry) -> list[Block]:
    """The measures of a run with their errors by design; empty if it cannot be measured."""
    try:
        run = Run(read_columns(run_path(state, entry), name=entry.name), entry.name, entry.name)
        return [measure_table(rate_runs([run], RateOptions()), Replication())]
    except HateError:
        return []
