"""Numbers, intervals, estimates and what they are for as text: the one place where each is formatted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.errors import quoting
from harness.model import join_names
from harness.report.blocks import Limits, Number, P
from harness.stats.rates import Interval

if TYPE_CHECKING:
    # Not at run time: a run prints what its interval is about without importing numpy.
    from harness.analysis.sampling import Sampling
    from harness.stats.cochran import WaldTest
    from harness.stats.estimate import Estimate

# More names than anyone reads in a line.
MAX_NAMES = 10
INDEPENDENT = "for new cases, taken as independent"
# Seconds of each unit of time, largest first; units of sizes, each a thousand of the one before.
_TIMES = ((86_400, "d"), (3600, "h"), (60, "min"))
_SIZES = ("bytes", "kB", "MB", "GB", "TB")
_METHODS = {"brr": "BRR", "wilson": "Wilson", "group-jackknife": "group jackknife"}


def interval_cell(interval: Interval | None, form: str = ".4f", scale: float = 1.0) -> Limits:
    """An interval in a table."""
    if interval is None:
        return Limits(None, None, form)
    return Limits(interval.low / scale, interval.high / scale, form)


def interval_text(interval: Interval | None, form: str = ".4f") -> str:
    """An interval in a sentence; a dash if there is none, or if it is infinite."""
    return str(interval_cell(interval, form))


def limits_of(estimate: Estimate) -> tuple[float, float]:
    """The limits of an estimate, to be drawn: both are its value if there is no interval."""
    interval = estimate.interval
    return (estimate.value, estimate.value) if interval is None else (interval.low, interval.high)


def estimate_cells(estimate: Estimate | None) -> tuple[float | None, Limits]:
    """An estimate in two cells of a table: the value, and its interval."""
    return (None, Limits(None, None)) if estimate is None else (estimate.value, interval_cell(estimate.interval))


def p_cell(value: float | None) -> Number:
    """A p-value in a table."""
    return Number(value, P)


def p_text(value: float | None) -> str:
    """A p-value in a sentence: p = 0.0123, p < 0.0001."""
    text = str(p_cell(value))
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


def why_untested(test: WaldTest, what: str) -> str:
    """Why a sample cannot carry the test that so many groups, or algorithms, are equal."""
    if test.too_few_units:
        short = f"{test.df + 1} {what} need {test.least_df} more units than strata"
        has = " in each, and one has" if what == "groups" else ", and there are"
        return f"{short}{has} {max(test.eta, 0):.0f} more"
    return f"some mixture of the {what} is the same in every unit, and its error is not known"


def percent(share: float) -> str:
    """A confidence: 95 %."""
    return f"{share * 100:g} %"


def share_text(share: float, digits: int = 1) -> str:
    """A share of something: 7.1 %."""
    return str(Number(share, f".{digits}%"))


def distance(low: float, high: float | None = None, *, rate: bool = True) -> str:
    """How far apart two values are: in points for rates, else as a number, with as many digits as it takes."""
    if not rate:
        return f"{low:.4f}" if high is None else f"{low:.4f} to {high:.4f}"
    digits = 1 if low >= 0.0005 else 2 if low >= 0.00005 else 3
    text = f"{low * 100:.{digits}f}" if high is None else f"{low * 100:.{digits}f} to {high * 100:.{digits}f}"
    return f"{text} points"


def method_name(method: str) -> str:
    """A method before a noun: BRR interval, jackknife interval."""
    return _METHODS.get(method, method)


def method_words(method: str) -> str:
    """A method by itself: by BRR, by the jackknife."""
    nouns = {"linearised": "the linear form", "jackknife": "the jackknife", "bootstrap": "the bootstrap"}
    return nouns.get(method, method_name(method))


def degrees_of_freedom(df: float) -> str:
    return f"{df:.0f} degree{'' if round(df) == 1 else 's'} of freedom"


def shown_name(name: str, self_reported: str | None) -> str:
    """The name of a run as people are shown it: with a mark if its outcomes were not judged again by its test."""
    return f"{name} (self-reported)" if self_reported else name


def self_reported_notes(names: Sequence[str], judged: Sequence[str | None]) -> list[str]:
    """A line for each reason why runs are self-reported."""
    notes = []
    for why in dict.fromkeys(why for why in judged if why):
        alike = [name for name, reason in zip(names, judged, strict=True) if reason == why]
        notes.append(f"{join_names(alike, MAX_NAMES)} {'is' if len(alike) == 1 else 'are'} self-reported: {why}")
    return notes


def left_out_line(run: str, measures: Sequence[str], count: int, cases: int) -> str:
    """Cases that a mean leaves out."""
    have = "has" if count == 1 else "have"
    return (
        f"{run}: {count:,} of {cases:,} answers {have} no number for {join_names(measures)} (an error, a refusal or an "
        "unknown truth): left out there, but counted in the rate."
    )


def correction_name(method: str) -> str:
    """A correction for several tests, as it is named in a table's heading."""
    return {"holm": "Holm", "hochberg": "Hochberg", "bh": "BH", "max-t": "max-t"}[method]


def target_text(target: str, stratum: str | None) -> str:
    """The target in the JSON output, reworded for a sentence: these strata (truth) and new images."""
    return target if stratum is None else target.replace("these strata, ", f"these strata ({stratum}) and ", 1)


def target_words(sampling: Sampling) -> str:
    """What an interval by design is for: for these strata (truth) and new images."""
    return f"for {target_text(sampling.target, sampling.stratum)}"


def sampling_lines(sampling: Sampling, estimate: Estimate | None) -> list[str]:
    """How the cases were sampled, what follows for the intervals, and how to change it."""
    lines, (fewest, most) = _sampling_lines(sampling, estimate), sampling.answer_range
    if fewest < most:
        lines.append(
            f"Cases have {fewest:,} to {most:,} answers, and every answer counts once: a case with more of them counts "
            "more."
        )
    if sampling.identities is None or sampling.psu is not None:
        return lines
    a, b = sampling.identities
    warning = (
        f"Each case compares two identities, {a} and {b}. Comparisons that share one are alike, but are taken as "
        f"independent here, so intervals are too narrow: --psu {a} or --psu {b} allows for new ones on one side; hate "
        f"roc, det and pr have --subjects {a},{b} for both sides."
    )
    return [*(lines if sampling.known else []), quoting(warning, a, b)]


def _sampling_lines(sampling: Sampling, estimate: Estimate | None) -> list[str]:
    if not sampling.known:
        return [
            "No stratum and no PSU: cases are taken as independent. If they come in groups, say so: "
            "--psu COLUMN (groups that were drawn), --stratum COLUMN (groups that a repetition would have again)."
        ]
    if estimate is None:
        return [f"Results by design are {target_words(sampling)}."]
    sample = sampling.sample
    how = f"{estimate.replicates:,} replicates" if estimate.replicates else "all groupings of units at once"
    how = "no replicates needed" if not estimate.replicates and estimate.groupings is None else how
    strata = f"{sample.strata:,} {'stratum' if sample.strata == 1 else 'strata'}, " if sampling.stratum else ""
    known = "" if math.isinf(estimate.df) else f"{degrees_of_freedom(estimate.df)}, "
    joined = [f"Strata with a single unit were joined: {', '.join(names)}." for names in sample.collapsed]
    return [
        f"Intervals by design use {method_words(estimate.method)}, {target_words(sampling)}.",
        f"{strata}{sample.units:,} units, {how}, {known}weights: {sampling.weights}.",
        *joined,
    ]


def duration(seconds: float) -> str:
    """A time in two units at most: 45 s, 3 min 20 s, 2 h 5 min."""
    rest = round(seconds)
    for index, (size, name) in enumerate(_TIMES):
        if rest >= size:
            smaller, unit = _TIMES[index + 1] if index + 1 < len(_TIMES) else (1, "s")
            return f"{rest // size} {name} {rest % size // smaller} {unit}"
    return f"{rest} s"


def size_text(size: int) -> str:
    """A size in bytes, or in the largest unit that it reaches: 512 bytes, 3.4 MB."""
    value, unit = float(size), 0
    while value >= 1000 and unit < len(_SIZES) - 1:
        value, unit = value / 1000, unit + 1
    return f"{size:,} bytes" if unit == 0 else f"{value:.1f} {_SIZES[unit]}"
