"""What a comparison means, in plain sentences that a statistician would sign."""

import math
from collections.abc import Sequence

from harness.analysis.align import AlignedRuns
from harness.analysis.comparison import Comparison
from harness.analysis.pairs import Pair
from harness.measures import Measure
from harness.report.numbers import (
    INDEPENDENT,
    degrees_of_freedom,
    distance,
    method_name,
    method_words,
    p_text,
    percent,
    target_words,
)
from harness.stats.designs import real_error
from harness.stats.estimate import Estimate
from harness.stats.multiplicity import Multiplicity
from harness.stats.power import PowerAnalysis, detectable, detectable_difference
from harness.stats.rates import Interval

# If both discordant counts exceed this share of the cases, say what always picking the right algorithm would give.
MANY_DISCORDANT = 0.05
# Design effects this close to 1 explain nothing.
NO_EFFECT = 0.05
# Values this close to an end of their measure are there.
EQUAL = 1e-12
# Runs whose errors are told, and kinds of errors.
MAX_RUNS = 10
MAX_KINDS = 4
IF_INDEPENDENT = "if cases were independent"


def error_lines(runs: Sequence[AlignedRuns]) -> list[str]:
    """How many cases of each run were errors, the most first: a verdict without them would hide why one is worse."""
    failures = [
        (sum(kinds.values()), counts.tests, name, kinds, aligned.counted)
        for aligned in runs
        for name, counts, kinds in zip(aligned.names, aligned.counts, aligned.error_kinds, strict=True)
        if kinds
    ]
    failures.sort(key=lambda failure: -failure[0])
    lines = []
    for errors, tests, name, kinds, what in failures[:MAX_RUNS]:
        shown = [kind if len(kinds) == 1 else f"{count:,} {kind}" for kind, count in kinds.items()]
        words = ", ".join([*shown[:MAX_KINDS], *(["..."] if len(shown) > MAX_KINDS else [])])
        were = "was an error" if errors == 1 else "were errors"
        lines.append(f"{errors:,} of {tests:,} {what} of {name} {were} ({words}).")
    return lines if len(failures) <= MAX_RUNS else [*lines, f"{len(failures) - MAX_RUNS:,} more runs have errors."]


def pair_verdict(comparison: Comparison, pair: Pair) -> list[str]:
    """Which is better, or that no difference was shown; and which test to believe if two disagree."""
    if not comparison.paired:
        return [_unpaired_verdict(comparison, pair)]
    if pair.other_measure and pair.estimate is None:
        return [_without_value(comparison, pair)]
    lines = [_better(comparison, pair) if pair.p_decisive <= comparison.alpha else _undecided(comparison, pair)]
    return lines if pair.other_measure else lines + disagreement(comparison, pair) + _complementary(comparison, pair)


def _without_value(comparison: Comparison, pair: Pair) -> str:
    a, b = comparison.aligned.names[pair.a], comparison.aligned.names[pair.b]
    lacking = [comparison.aligned.names[i] for i in (pair.a, pair.b) if comparison.runs[i].value is None]
    needs = f", which needs {comparison.measure.needs}" if comparison.measure.needs else ""
    who = "neither has a" if len(lacking) > 1 else f"{lacking[0]} has no"
    return f"{a} and {b} cannot be compared: {who} {comparison.measure.words}{needs}."


def _better(comparison: Comparison, pair: Pair) -> str:
    winner = comparison.leader(pair)
    better, worse = (comparison.aligned.names[i] for i in ((pair.a, pair.b) if winner == pair.a else (pair.b, pair.a)))
    estimate, level = pair.estimate, percent(comparison.confidence)
    interval = pair.interval if estimate is None else estimate.interval
    how = f"Newcombe {level} interval" if estimate is None else interval_words(estimate)
    how = f"simultaneous {how}" if comparison.multiplicity is Multiplicity.MAX_T and len(comparison.pairs) > 1 else how
    whom = INDEPENDENT if estimate is None else target_words(comparison.sampling)
    what = f" in {comparison.measure.words}" if pair.other_measure else ""
    if not comparison.measure.directed and estimate is not None:
        names = comparison.names[pair.a], comparison.names[pair.b]
        return more_or_less(names, comparison.measure, estimate, how=how, whom=whom, p_value=pair.p_decisive)
    if winner is None:
        return _opposite(comparison, pair, f"{how}, {whom}")
    if interval is None or math.isinf(interval.low) or math.isinf(interval.high):
        return f"{better} is better than {worse}{what} ({p_text(pair.p_decisive)}, {whom})."
    if interval.low <= 0 <= interval.high:
        # The test is exact, or corrected differently from the interval: claim no lower limit for the lead.
        most = distance(max(abs(interval.low), abs(interval.high)), rate=not pair.other_measure)
        return f"{better} is better than {worse}{what} ({p_text(pair.p_decisive)}), by at most {most} ({how}, {whom})."
    lead = _lead(interval, rate=not pair.other_measure)
    return f"{better} is better than {worse}{what} by {lead} ({how}, {whom})."


def _lead(interval: Interval, *, rate: bool) -> str:
    """How far ahead the better one is, or the one that has more."""
    return distance(*sorted((abs(interval.low), abs(interval.high))), rate=rate)


def more_or_less(
    names: tuple[str, str], measure: Measure, estimate: Estimate, *, how: str, whom: str, p_value: float
) -> str:
    """Two that differ in what nobody has called better or worse: which has more of it."""
    more = "more" if estimate.value > 0 else "less"
    text = f"The {measure.words} of {names[0]} is {more} than that of {names[1]}"
    interval = estimate.interval
    if interval is None or interval.low <= 0 <= interval.high:
        return f"{text} ({p_text(p_value)}, {whom})."
    return f"{text} by {_lead(interval, rate=measure.share)} ({how}, {whom})."


def _opposite(comparison: Comparison, pair: Pair, how: str) -> str:
    """Two that differ, but on either side of the ideal, so that none is the better one."""
    (a, of_a), (b, of_b) = ((run.name, run.value) for run in (comparison.runs[i] for i in (pair.a, pair.b)))
    text = f"{a} and {b} differ in {comparison.measure.words} ({p_text(pair.p_decisive)}, {how})"
    if of_a is None or of_b is None or comparison.measure.ideal is None:
        return f"{text}."
    return f"{text}, on either side of {comparison.measure.ideal:g}: {of_a:.4g} and {of_b:.4g}. Neither is better."


def interval_words(estimate: Estimate) -> str:
    """How an interval was computed: BRR 95 % interval. No method is named if nothing varies."""
    level = percent(estimate.confidence)
    if estimate.se == 0:
        return f"{level} interval of {estimate.units:,} units that do not vary"
    return f"{method_name(estimate.method)} {level} interval"


def _undecided(comparison: Comparison, pair: Pair) -> str:
    a, b = comparison.aligned.names[pair.a], comparison.aligned.names[pair.b]
    estimate = pair.estimate
    if ends := _at_one_end(comparison.measure, comparison.runs[pair.a].value, comparison.runs[pair.b].value):
        return _no_verdict(a, b, ends)
    whom = "" if estimate is None else f" {target_words(comparison.sampling)}"
    what = f" in {comparison.measure.words}" if pair.other_measure else ""
    verdict = f"{a} and {b} cannot be told apart{what}{whom}"
    if not pair.other_measure and not pair.n_sf + pair.n_fs:
        return f"{verdict}: they succeed and fail on the same {comparison.aligned.counted}."
    if estimate is not None and (estimate.se == 0 or estimate.interval is None):
        return f"{verdict}: {estimate.units:,} units do not show how much the difference varies."
    missed, basis = _detectable(comparison, pair)
    low, high = comparison.measure.bounds
    if not missed < high - low:
        return f"{verdict}: {basis} are too few to show any difference."
    many = f" (at the level of the strictest of {len(comparison.pairs)} tests)" if len(comparison.pairs) > 1 else ""
    return (
        f"{verdict}: with these {basis} a difference below {distance(missed, rate=not pair.other_measure)} would be "
        f"missed more than one time in five{many}."
    )


def _at_one_end(measure: Measure, a: float | None, b: float | None) -> str:
    """What two runs have in common that are both as good, or both as bad, as can be; empty for any others."""
    if a is None or b is None:
        return ""
    # Weights need not add up to 1 exactly.
    end = next((end for end in measure.bounds if abs(a - end) < EQUAL and abs(b - end) < EQUAL), None)
    if end is None:
        return ""
    if measure.name == "rate":
        return f"both {'succeeded' if end else 'failed'} on every case"
    return f"the {measure.words} of both is {end:g}"


def _no_verdict(a: str, b: str, ends: str) -> str:
    """Cases that are too hard, or too easy, for both show neither a difference nor that there is none."""
    return (
        f"No verdict on {a} and {b}: {ends}, so nothing can be said about which is better. Other cases, or another "
        "measure (--statistic), may tell."
    )


def _detectable(comparison: Comparison, pair: Pair) -> tuple[float, str]:
    """The smallest difference that is detected with 80 % power, and the sample it is computed from."""
    estimate, comparisons = pair.estimate, max(len(comparison.pairs), 1)
    if estimate is not None:
        units = comparison.sampling.psu
        basis = f"{estimate.units:,} units ({units})" if units is not None else f"{estimate.units:,} cases"
        return detectable(estimate.se, estimate.df, alpha=comparison.alpha, comparisons=comparisons), basis
    n, discordant = comparison.aligned.n, pair.n_sf + pair.n_fs
    analysis = PowerAnalysis(alpha=comparison.alpha / comparisons)
    return detectable_difference(n, discordant / n, analysis=analysis), f"{n:,} cases"


def disagreement(comparison: Comparison, pair: Pair) -> list[str]:
    """If McNemar and replication disagree: which to believe, and why."""
    estimate = pair.estimate
    # McNemar's test is of success, and cannot disagree about another measure.
    if pair.other_measure or estimate is None or estimate.p_adjusted is None:
        return []
    by_cases, by_design = pair.p_adjusted <= comparison.alpha, estimate.p_adjusted <= comparison.alpha
    # Weights may turn the difference around.
    opposite = pair.better is not None and comparison.leader(pair) not in (None, pair.better)
    if by_cases == by_design and not (by_cases and opposite):
        return []
    mcnemar, design = ("a", "does not") if by_cases else ("no", "does")
    if by_cases and by_design:
        design = "one in the opposite direction"
    method = method_words(estimate.method)
    text = (
        f"McNemar's test finds {mcnemar} difference ({p_text(pair.p_adjusted)}), {method} {design} "
        f"({p_text(estimate.p_adjusted)}). Believe {method}: {_reasons(comparison, estimate)}"
    )
    if pair.design_effect is not None and abs(pair.design_effect - 1) > NO_EFFECT:
        text += f" McNemar's test adjusted for the design effect: z = {pair.z_design:.3f}, {p_text(pair.p_design)}."
    return [text]


def _reasons(comparison: Comparison, estimate: Estimate) -> str:
    sampling, nominal, effect = comparison.sampling, comparison.confidence, estimate.design_effect
    parts = ["McNemar treats cases as independent."]
    if sampling.is_weighted:
        parts.append(f"It counts each of them once, and leaves the weights ({sampling.weights}) out.")
    if sampling.psu is not None:
        parts.append(f"Here {sampling.psu} is a PSU: a repetition would have other ones{_icc_words(estimate.icc)}.")
    if sampling.stratum is not None:
        parts.append(f"{sampling.stratum} is a stratum: a repetition would have the same ones.")
    if effect and math.isfinite(effect) and abs(effect - 1) > NO_EFFECT:
        wrong = real_error(effect, confidence=nominal)
        parts.append(
            f"The variance is {effect:.2f} times that of independent cases: a {percent(nominal)} interval that ignores "
            f"this misses the truth {wrong * 100:.1f} % of the time."
        )
    elif estimate.se == 0:
        parts.append("The units do not vary, so only their number counts.")
    elif effect is not None:
        parts.append(
            f"The test by design allows for its {degrees_of_freedom(estimate.df)}; the variance itself is that of "
            "independent cases."
        )
    return " ".join(parts)


def _icc_words(icc: float | None) -> str:
    if icc is None:
        return ""
    if icc > 0:
        return f", and the cases of one are alike (intraclass correlation {icc:.2f})"
    return f", though the cases of one are no more alike than any others (intraclass correlation {icc:.2f})"


def _complementary(comparison: Comparison, pair: Pair) -> list[str]:
    """The rate of always picking the right one, and the same for two unrelated algorithms with these rates."""
    n = comparison.aligned.n
    if min(pair.n_sf, pair.n_fs) < MANY_DISCORDANT * n:
        return []
    both, only_a, only_b, neither = comparison.shares(pair)
    oracle, a, b = 1 - neither, both + only_a, both + only_b
    unrelated = 1 - (1 - a) * (1 - b)
    # The standard error of the share that both fail, if they were unrelated (Agresti 2013, section 3.2).
    spread = math.sqrt(a * (1 - a) * b * (1 - b) / n) * math.sqrt(max(pair.design_effect or 1.0, 1.0))
    start = "They are complementary: each" if oracle - unrelated > 2 * spread else "Each"
    return [
        f"{start} succeeds on many {comparison.aligned.counted} where the other fails ({pair.n_sf:,} and "
        f"{pair.n_fs:,}). Always picking the right one would give {oracle:.4f}; with two unrelated algorithms of "
        f"these rates, {unrelated:.4f}."
    ]


def _unpaired_verdict(comparison: Comparison, pair: Pair) -> str:
    """The verdict on two runs with different inputs."""
    a, b, words = comparison.runs[pair.a].name, comparison.runs[pair.b].name, comparison.measure.words
    if pair.estimate is None:
        return f"{a} and {b} cannot be compared: one of them has no {words}."
    sampling = comparison.runs[pair.a].measurement.sampling
    whom = target_words(sampling) if sampling.known else INDEPENDENT
    if pair.p_decisive > comparison.alpha:
        if ends := _at_one_end(comparison.measure, comparison.runs[pair.a].value, comparison.runs[pair.b].value):
            return _no_verdict(a, b, ends)
        return f"{a} and {b} cannot be told apart in {words}, {whom}{_missed_words(comparison, pair, pair.estimate)}."
    if not comparison.measure.directed:
        how = f"{percent(comparison.confidence)} interval"
        return more_or_less((a, b), comparison.measure, pair.estimate, how=how, whom=whom, p_value=pair.p_decisive)
    leader = comparison.leader(pair)
    if leader is None and comparison.measure.ideal is not None:
        how = f"{p_text(pair.p_decisive)}, {whom}"
        return f"{a} and {b} differ in {words} ({how}), on either side of {comparison.measure.ideal:g}."
    better, worse = (a, b) if leader == pair.a else (b, a)
    interval, share = pair.estimate.interval, comparison.measure.share
    if interval is None or interval.low <= 0 <= interval.high:
        return f"{better} is better than {worse} in {words} ({p_text(pair.p_decisive)}, {whom})."
    how = f"{percent(comparison.confidence)} interval, {whom}"
    return f"{better} is better than {worse} in {words} by {_lead(interval, rate=share)} ({how})."


def _missed_words(comparison: Comparison, pair: Pair, estimate: Estimate) -> str:
    """The difference that would have been detected with 80 % power; unknown if a side does not vary."""
    sides = [comparison.runs[index].estimate for index in (pair.a, pair.b)]
    if estimate.interval is None or any(side is None or side.se == 0 for side in sides):
        return ""
    missed = detectable(estimate.se, estimate.df, alpha=comparison.alpha, comparisons=len(comparison.pairs))
    low, high = estimate.scale.bounds
    if not missed < max(-low, high):
        return f": {estimate.units:,} units are too few to show any difference"
    smallest = distance(missed, rate=comparison.measure.share)
    return f": a difference below {smallest} would be missed more than one time in five"


def margin_verdict(comparison: Comparison, pair: Pair) -> str:
    """What was shown about the margin, and what was not."""
    a, b, test, alpha = comparison.names[pair.a], comparison.names[pair.b], pair.equivalence, comparison.alpha
    if test is None:
        return f"{a} and {b}: nothing can be said about the margin, since the difference has no standard error."
    far = f"{test.equivalence.margin:g}"
    if test.p_equivalent <= alpha:
        return f"{a} and {b} are equivalent: they differ by less than {far} ({p_text(test.p_equivalent)})."
    sides = ((a, b, test.p_not_inferior), (b, a, test.p_not_superior))
    shown = [f"{x} is not worse than {y} by {far} or more ({p_text(p)})" for x, y, p in sides if p <= alpha]
    if shown:
        return f"{shown[0]}; equivalence was not shown ({p_text(test.p_equivalent)})."
    return f"{a} and {b}: neither was shown to be within {far} of the other ({p_text(test.p_equivalent)})."
