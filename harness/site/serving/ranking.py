"""The transcripts of a test side by side: who can be told apart, and a comparison of those that were chosen."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.analysis.comparing.align import MOST_ANSWERS, Aligned, Run, align
from harness.analysis.comparing.compare import compare
from harness.analysis.comparing.comparison import Comparison, best_first
from harness.analysis.comparing.further import Asked, Further, compare_further
from harness.analysis.comparing.sampling import DesignOptions, Sampling, take_sample
from harness.errors import HateError, UsageError
from harness.report.numbers import method_words
from harness.site.layout import TranscriptEntry
from harness.site.serving.site import State
from harness.stats.replication.plan import Plan
from harness.transcript.columns import Columns, read_columns
from harness.transcript.format import PLAIN_WEIGHTS

# Beyond these, a page would take too long: the best are compared, the rest only listed.
MOST_RANKED = 40
MOST_CHOSEN = 12
MOST_RECORDS = 2_000_000


@dataclass(frozen=True)
class Ranked:
    """A transcript with the interval of its rate, and the letters of the groups that it belongs to."""

    entry: TranscriptEntry
    value: float
    low: float
    high: float
    letters: str


@dataclass(frozen=True)
class Ranking:
    """The best first; those that share a letter cannot be told apart."""

    rows: list[Ranked]
    # What the intervals speak of, and by which method.
    target: str
    method: str
    confidence: float
    left_out: list[str]


def rank(state: State, entries: Sequence[TranscriptEntry]) -> Ranking | None:
    """The transcripts, compared; None where there is nothing to compare them by."""
    chosen = _affordable(entries[:MOST_RANKED])
    if not chosen:
        return None
    try:
        known = _aligned(state, chosen)
        found = compare(known.aligned, known.sampling, Plan())
    except HateError:
        return None
    order = best_first(found.runs, larger_is_better=True)
    rows = [_ranked(known.entries[i], found, i) for i in order]
    design = found.runs[0].replication
    return Ranking(
        rows=rows,
        target=known.sampling.target_in_words if known.sampling.known else "for new cases, taken as independent",
        method="Wilson" if design is None else method_words(design.method),
        confidence=found.plan.confidence,
        left_out=known.left_out,
    )


def _ranked(entry: TranscriptEntry, found: Comparison, number: int) -> Ranked:
    run = found.runs[number]
    interval = run.interval if run.replication is None else run.replication.interval
    value = run.rate if run.value is None else run.value
    low, high = (0.0, 1.0) if interval is None else (interval.low, interval.high)
    return Ranked(entry, value, low, high, found.letters[number])


def chosen_comparison(state: State, entries: Sequence[TranscriptEntry]) -> tuple[Comparison, Further]:
    """Everything about a few; a HateError where they cannot be compared."""
    if len(_affordable(entries)) < len(entries):
        raise UsageError(f"more than {MOST_RECORDS:,} records together; compare them with `hate compare`")
    known = _aligned(state, entries, all_of_them=True)
    return compare_further(known.aligned, known.sampling, Plan(), Asked())


def _affordable(entries: Sequence[TranscriptEntry]) -> list[TranscriptEntry]:
    kept, records = [], 0
    for entry in entries:
        records += entry.tests
        if records <= MOST_RECORDS:
            kept.append(entry)
    return kept


@dataclass(frozen=True)
class _Known:
    entries: list[TranscriptEntry]
    aligned: Aligned
    sampling: Sampling
    left_out: list[str]


def _aligned(state: State, entries: Sequence[TranscriptEntry], *, all_of_them: bool = False) -> _Known:
    """The runs on the same cases; one that has others is left out, and cannot spoil the ranking of the rest.

    What is known of a case is taken from the first run, so those that the site's owner published come first.
    """
    trusted = sorted(entries, key=lambda entry: (entry.by != "", entry.published, entry.name))
    kept: list[TranscriptEntry] = []
    runs: list[Run] = []
    left_out: list[str] = []
    cases: set[str] = set()
    answers = 1
    for entry in trusted:
        try:
            run = _run(state, entry)
        except HateError:
            if all_of_them:
                raise
            left_out.append(entry.name)
            continue
        own, common = set(run.columns.ids), math.lcm(answers, _answers(run))
        # Each run is matched with as many answers a case as all of them together need.
        fits = common == answers or (common <= MOST_ANSWERS and len(trusted) * len(own) * common <= MOST_RECORDS)
        if all_of_them or not runs or (own == cases and _once(run.columns) and fits):
            cases, answers = cases or own, common
            kept.append(entry)
            runs.append(run)
        else:
            left_out.append(entry.name)
    aligned = replace(align(runs), names=[entry.name for entry in kept])
    return _Known(kept, aligned, take_sample(aligned, DesignOptions(weights=_weights(aligned))), left_out)


def _run(state: State, entry: TranscriptEntry) -> Run:
    path = state.catalogue.place.file(entry.file)
    found = read_columns(path, name=entry.name, lean=True)
    if found.header.weighs_cases:
        found = read_columns(path, name=entry.name)
    return Run(found, entry.name, entry.name)


def _once(columns: Columns) -> bool:
    """No answer is there twice."""
    return len(set(zip(columns.ids, columns.repeat.tolist(), strict=True))) == len(columns.ids)


def _answers(run: Run) -> int:
    """Answers to a case."""
    return int(run.columns.repeat.max(initial=1))


def _weights(aligned: Aligned) -> str | None:
    """The weights that the run declares, unless it names a file: a header of others must not name files of ours."""
    declared = aligned.headers[0].design.get("weights", "cases")
    if not isinstance(declared, str):
        return None
    return declared if declared in (*PLAIN_WEIGHTS, *aligned.cases.columns) else "cases"
