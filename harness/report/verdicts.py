"""What a comparison means, in plain sentences that a statistician would sign."""

import math

from harness.analysis.comparison import Comparison
from harness.analysis.pairs import MarginTest, Pair
from harness.analysis.unpaired import UnpairedComparison, UnpairedPair
from harness.report.numbers import degrees_of_freedom, distance, method_name, method_words, p_is, percent
from harness.report.sampling import INDEPENDENT, target_words
from harness.stats.clustering import real_error
from harness.stats.estimate import Estimate
from harness.stats.multiplicity import Multiplicity
from harness.stats.power import PowerAnalysis, detectable, detectable_difference

# Both discordant counts above this share of the cases: it matters which of the two one takes.
MANY_APART = 0.05
# Design effects this near to 1 explain nothing.
NO_EFFECT = 0.05
IF_INDEPENDENT = "if cases were independent"


def tutorial_lines(found: Comparison, pair: Pair) -> list[str]:
    """The tutorial's three lines, which take cases as independent."""
    a, b = found.aligned.names[pair.a], found.aligned.names[pair.b]
    lines, condition = [f"Z score is {pair.z:.3f}"], f", {IF_INDEPENDENT}" if found.sampling.psu is not None else ""
    if pair.confidence_differ is None or pair.confidence_better is None or pair.better is None:
        return [*lines, f"less than 90% confident that {a} and {b} do not give equivalent results{condition}"]
    better = found.aligned.names[pair.better]
    worse = b if pair.better == pair.a else a
    return [
        *lines,
        f"{pair.confidence_differ * 100:g}% confident that {a} and {b} do not give equivalent results{condition}",
        f"{pair.confidence_better * 100:g}% confident that {better} was superior to {worse}{condition}",
    ]


def pair_verdict(found: Comparison, pair: Pair) -> list[str]:
    """Which is better, or that it cannot be told, and what to make of a disagreement."""
    if pair.other_measure and pair.estimate is None:
        return [_without_value(found, pair)]
    lines = [_better(found, pair) if pair.p_decisive <= found.alpha else _undecided(found, pair)]
    return lines if pair.other_measure else lines + _disagreement(found, pair) + _complementary(found, pair)


def _without_value(found: Comparison, pair: Pair) -> str:
    a, b = found.aligned.names[pair.a], found.aligned.names[pair.b]
    lacking = [found.aligned.names[i] for i in (pair.a, pair.b) if found.runs[i].value is None]
    who = "neither has a" if len(lacking) > 1 else f"{lacking[0]} has no"
    return f"{a} and {b} cannot be compared: {who} {found.measure.words}{_needs(found)}."


def _needs(found: Comparison) -> str:
    return f", which needs {found.measure.needs}" if found.measure.needs else ""


def _better(found: Comparison, pair: Pair) -> str:
    winner = found.leader(pair)
    better, worse = (found.aligned.names[i] for i in ((pair.a, pair.b) if winner == pair.a else (pair.b, pair.a)))
    one, level = pair.estimate, percent(found.confidence)
    interval = pair.interval if one is None else one.interval
    how = f"Newcombe {level} interval" if one is None else interval_words(one)
    how = f"simultaneous {how}" if found.multiplicity is Multiplicity.MAX_T and len(found.pairs) > 1 else how
    whom = INDEPENDENT if one is None else target_words(found.sampling)
    what = f" in {found.measure.words}" if pair.other_measure else ""
    if interval is None:
        return f"{better} is better than {worse}{what} ({p_is(pair.p_decisive)}, {whom})."
    if interval.low <= 0 <= interval.high:
        # The test is exact, or corrected otherwise than the interval: no lower limit of the lead is claimed.
        most = distance(max(abs(interval.low), abs(interval.high)), rate=not pair.other_measure)
        return f"{better} is better than {worse}{what} ({p_is(pair.p_decisive)}), by {most} at most ({how}, {whom})."
    low, high = sorted((abs(interval.low), abs(interval.high)))
    return (
        f"{better} is better than {worse}{what} by {distance(low, high, rate=not pair.other_measure)} ({how}, {whom})."
    )


def interval_words(one: Estimate) -> str:
    """How an interval was found: BRR 95 % interval; no method is named where nothing varies."""
    level = percent(one.confidence)
    if one.se == 0:
        return f"{level} interval of {one.units:,} units that do not vary"
    return f"{method_name(one.method)} {level} interval"


def _undecided(found: Comparison, pair: Pair) -> str:
    a, b = found.aligned.names[pair.a], found.aligned.names[pair.b]
    one = pair.estimate
    whom = "" if one is None else f" {target_words(found.sampling)}"
    what = f" in {found.measure.words}" if pair.other_measure else ""
    said = f"{a} and {b} cannot be told apart{what}{whom}"
    if not pair.other_measure and not pair.n_sf + pair.n_fs:
        return f"{said}: they succeed and fail on the same cases."
    if one is not None and (one.se == 0 or one.interval is None):
        return f"{said}: {one.units:,} units do not show how much the difference varies."
    missed, basis = _missed(found, pair)
    if not missed < _widest(found):
        return f"{said}: {basis} are too few to show any difference."
    many = f" (at the level of the strictest of {len(found.pairs)} tests)" if len(found.pairs) > 1 else ""
    return (
        f"{said}: with these {basis} a difference below {distance(missed, rate=not pair.other_measure)} would be "
        f"missed more than one time in five{many}."
    )


def _missed(found: Comparison, pair: Pair) -> tuple[float, str]:
    """The smallest difference that is found with 80 % power, and the evidence that it rests on."""
    one, comparisons = pair.estimate, max(len(found.pairs), 1)
    if one is not None:
        units = found.sampling.psu
        basis = f"{one.units:,} units ({units})" if units is not None else f"{one.units:,} cases"
        return detectable(one.se, one.df, alpha=found.alpha, comparisons=comparisons), basis
    n, discordant = found.aligned.n, pair.n_sf + pair.n_fs
    analysis = PowerAnalysis(alpha=found.alpha / comparisons)
    return detectable_difference(n, discordant / n, analysis=analysis), f"{n:,} cases"


def _widest(found: Comparison) -> float:
    low, high = found.measure.bounds
    return high - low


def _disagreement(found: Comparison, pair: Pair) -> list[str]:
    """Where McNemar and replication disagree: which to believe, and why."""
    one = pair.estimate
    if one is None or one.p_adjusted is None:
        return []
    by_cases, by_design = pair.p_adjusted <= found.alpha, one.p_adjusted <= found.alpha
    if by_cases == by_design:
        return []
    said = "tells them apart" if by_cases else "does not tell them apart"
    method = method_words(one.method)
    text = (
        f"McNemar's test {said} ({p_is(pair.p_adjusted)}), {method} disagrees ({p_is(one.p_adjusted)}). "
        f"Believe {method}: {_reasons(found, one)}"
    )
    if pair.effect is not None and abs(pair.effect - 1) > NO_EFFECT:
        text += f" McNemar adjusted by the design effect: z = {pair.z_design:.3f}, {p_is(pair.p_design)}."
    return [text]


def _reasons(found: Comparison, one: Estimate) -> str:
    sampling, nominal, effect = found.sampling, found.confidence, one.design_effect
    parts = ["McNemar treats cases as independent."]
    if sampling.psu is not None:
        parts.append(f"Here {sampling.psu} is a PSU: a repetition would have others{_alike(one.icc)}.")
    if sampling.stratum is not None:
        parts.append(f"{sampling.stratum} is a stratum: a repetition would have the same.")
    if effect and math.isfinite(effect) and abs(effect - 1) > NO_EFFECT:
        wrong = real_error(effect, confidence=nominal)
        parts.append(
            f"The variance is {effect:.2f} times that of independent cases: a {percent(nominal)} interval that ignores "
            f"this misses the truth {wrong * 100:.1f} % of the time."
        )
    elif one.se == 0:
        parts.append("The units do not vary, so that only their number counts.")
    elif effect is not None:
        parts.append(
            f"It allows for its {degrees_of_freedom(one.df)}; the variance itself is that of independent cases."
        )
    return " ".join(parts)


def _alike(icc: float | None) -> str:
    if icc is None:
        return ""
    if icc > 0:
        return f", and its cases are alike (intraclass correlation {icc:.2f})"
    return f", though its cases are no more alike than any others (intraclass correlation {icc:.2f})"


def _complementary(found: Comparison, pair: Pair) -> list[str]:
    """What always picking the right one would give, and what it would with two unrelated algorithms of these rates."""
    n = found.aligned.n
    if min(pair.n_sf, pair.n_fs) < MANY_APART * n:
        return []
    oracle, a, b = (n - pair.n_ff) / n, (pair.n_ss + pair.n_sf) / n, (pair.n_ss + pair.n_fs) / n
    unrelated = 1 - (1 - a) * (1 - b)
    # The standard error of the share that both fail, if they were unrelated (Agresti 2013, section 3.2).
    spread = math.sqrt(a * (1 - a) * b * (1 - b) / n) * math.sqrt(max(pair.effect or 1.0, 1.0))
    start = "They are complementary: each" if oracle - unrelated > 2 * spread else "Each"
    return [
        f"{start} succeeds on many cases on which the other fails ({pair.n_sf:,} and {pair.n_fs:,}); always picking "
        f"the right one would give {oracle:.4f}, and two unrelated algorithms with these rates {unrelated:.4f}."
    ]


def unpaired_verdict(found: UnpairedComparison, one: UnpairedPair) -> str:
    """The same for runs on different inputs."""
    a, b, words = found.runs[one.a].name, found.runs[one.b].name, found.measure.words
    if one.estimate is None:
        return f"{a} and {b} cannot be compared: one of them has no {words}."
    sampling = found.runs[one.a].sampling
    whom = target_words(sampling) if sampling.known else INDEPENDENT
    if found.p_decisive(one) > found.alpha:
        return f"{a} and {b} cannot be told apart in {words}, {whom}{_unpaired_missed(found, one, one.estimate)}."
    better, worse = (a, b) if found.ahead(one) > 0 else (b, a)
    interval, share = one.estimate.interval, found.measure.share
    if interval is None or interval.low <= 0 <= interval.high:
        return f"{better} is better than {worse} in {words} ({p_is(found.p_decisive(one))}, {whom})."
    low, high = sorted((abs(interval.low), abs(interval.high)))
    how = f"{percent(found.confidence)} interval, {whom}"
    return f"{better} is better than {worse} in {words} by {distance(low, high, rate=share)} ({how})."


def _unpaired_missed(found: UnpairedComparison, pair: UnpairedPair, one: Estimate) -> str:
    """The difference that would have been detected with 80 % power; unknown where a side does not vary."""
    sides = [found.runs[place].estimate for place in (pair.a, pair.b)]
    if one.interval is None or any(side is None or side.se == 0 for side in sides):
        return ""
    missed = detectable(one.se, one.df, alpha=found.alpha, comparisons=len(found.pairs))
    low, high = one.scale.bounds
    if not missed < max(-low, high):
        return f": {one.units:,} units are too few to show any difference"
    return (
        f": a difference below {distance(missed, rate=found.measure.share)} would be missed more than one time in five"
    )


def margin_verdict(found: Comparison, pair: Pair, one: MarginTest | None) -> str:
    """What was shown about the margin, and what was not."""
    return margin_sentence(found.aligned.names[pair.a], found.aligned.names[pair.b], one, found.alpha)


def margin_sentence(a: str, b: str, one: MarginTest | None, alpha: float) -> str:
    """The same for two names."""
    if one is None:
        return f"{a} and {b}: nothing can be said about the margin, since the difference has no standard error."
    far = f"{one.found.margin:g}"
    if one.p_equivalent <= alpha:
        return f"{a} and {b} are equivalent: they differ by less than {far} ({p_is(one.p_equivalent)})."
    sides = ((a, b, one.p_not_inferior), (b, a, one.p_not_superior))
    shown = [f"{x} is not worse than {y} by {far} or more ({p_is(p)})" for x, y, p in sides if p <= alpha]
    if shown:
        return f"{shown[0]}; that they are equivalent was not shown ({p_is(one.p_equivalent)})."
    return f"{a} and {b}: neither was shown to be within {far} of the other ({p_is(one.p_equivalent)})."
