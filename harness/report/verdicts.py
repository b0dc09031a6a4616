"""What a comparison means, in plain sentences that a statistician would sign."""

import math

from harness.analysis.comparing.comparison import Comparison, Pair
from harness.analysis.comparing.margins import Margin
from harness.analysis.comparing.sampling import Sampling
from harness.report.numbers import distance, freedom, listed, method_name, method_words, p_is, percent
from harness.stats.clustering import real_error
from harness.stats.estimate import Estimate
from harness.stats.multiplicity import Multiplicity
from harness.stats.power import Plan as PowerPlan
from harness.stats.power import detectable, detectable_difference

# Both discordant counts above this share of the cases: it matters which of the two one takes.
MANY_APART = 0.05
# Design effects this near to 1 explain nothing.
NO_EFFECT = 0.05
IF_INDEPENDENT = "if cases were independent"


def classic(found: Comparison, pair: Pair) -> list[str]:
    """The tutorial's three lines, which take cases for independent."""
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


def verdict(found: Comparison, pair: Pair) -> list[str]:
    """Which is better, or that it cannot be told, and what to make of a disagreement."""
    if pair.beyond and pair.replication is None:
        return [_without_value(found, pair)]
    lines = [_better(found, pair) if pair.p_decisive <= found.alpha else _undecided(found, pair)]
    return lines if pair.beyond else lines + _disagreement(found, pair) + _complementary(found, pair)


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
    one, level = pair.replication, percent(found.plan.confidence)
    interval = pair.interval if one is None else one.interval
    how = f"Newcombe {level} interval" if one is None else interval_words(one)
    how = f"simultaneous {how}" if found.multiplicity is Multiplicity.MAX_T and len(found.pairs) > 1 else how
    whom = "for new cases, taken as independent" if one is None else found.sampling.target_in_words
    what = f" in {found.measure.words}" if pair.beyond else ""
    if interval is None:
        return f"{better} is better than {worse}{what} ({p_is(pair.p_decisive)}, {whom})."
    if interval.low <= 0 <= interval.high:
        # The test is exact, or corrected otherwise than the interval: no lower limit of the lead is claimed.
        most = distance(max(abs(interval.low), abs(interval.high)), rate=not pair.beyond)
        return f"{better} is better than {worse}{what} ({p_is(pair.p_decisive)}), by {most} at most ({how}, {whom})."
    low, high = sorted((abs(interval.low), abs(interval.high)))
    return f"{better} is better than {worse}{what} by {distance(low, high, rate=not pair.beyond)} ({how}, {whom})."


def interval_words(one: Estimate) -> str:
    """How an interval was found: BRR 95 % interval; without variance no method had a part in it."""
    level = percent(one.confidence)
    if one.se == 0:
        return f"{level} interval of {one.units:,} units that do not vary"
    return f"{method_name(one.method)} {level} interval"


def _undecided(found: Comparison, pair: Pair) -> str:
    a, b = found.aligned.names[pair.a], found.aligned.names[pair.b]
    one = pair.replication
    whom = "" if one is None else f" {found.sampling.target_in_words}"
    what = f" in {found.measure.words}" if pair.beyond else ""
    said = f"{a} and {b} cannot be told apart{what}{whom}"
    if not pair.beyond and not pair.n_sf + pair.n_fs:
        return f"{said}: they succeed and fail on the same cases."
    if one is not None and (one.se == 0 or one.interval is None):
        return f"{said}: {one.units:,} units do not show how much the difference varies."
    missed, basis = _missed(found, pair)
    if not missed < _widest(found):
        return f"{said}: {basis} are too few to show any difference."
    many = f" (at the level of the strictest of {len(found.pairs)} tests)" if len(found.pairs) > 1 else ""
    return (
        f"{said}: with these {basis} a difference below {distance(missed, rate=not pair.beyond)} would be missed more "
        f"than one time in five{many}."
    )


def _missed(found: Comparison, pair: Pair) -> tuple[float, str]:
    """The smallest difference that is found with 80 % power, and the evidence that it rests on."""
    one, comparisons = pair.replication, max(len(found.pairs), 1)
    if one is not None:
        units = found.sampling.psu
        basis = f"{one.units:,} units ({units})" if units is not None else f"{one.units:,} cases"
        return detectable(one.se, one.df, alpha=found.alpha, comparisons=comparisons), basis
    n, discordant = found.aligned.n, pair.n_sf + pair.n_fs
    plan = PowerPlan(alpha=found.alpha / comparisons)
    return detectable_difference(n, discordant / n, plan=plan), f"{n:,} cases"


def _widest(found: Comparison) -> float:
    low, high = found.measure.bounds
    return high - low


def _disagreement(found: Comparison, pair: Pair) -> list[str]:
    """Where McNemar and replication disagree: which to believe, and why."""
    one = pair.replication
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
    sampling, nominal, effect = found.sampling, found.plan.confidence, one.design_effect
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
        parts.append(f"It knows its {freedom(one.df)}; the variance itself is that of independent cases.")
    return " ".join(parts)


def _alike(icc: float | None) -> str:
    if icc is None:
        return ""
    if icc > 0:
        return f", and its cases are alike (intraclass correlation {icc:.2f})"
    return f", though its cases are no more alike than any others (intraclass correlation {icc:.2f})"


def _complementary(found: Comparison, pair: Pair) -> list[str]:
    """What always picking the right one would give, beside what two unrelated algorithms of these rates would."""
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


def measure_lines(found: Comparison) -> list[str]:
    """What is compared, and what that leaves to McNemar's test."""
    which = "more is better" if found.larger_is_better else "less is better"
    lines = [f"Compared by {found.measure.words} ({which}). McNemar's test, and who was better, are about success."]
    lacking = [run.name for run in found.runs if run.value is None]
    if lacking:
        has = "has" if len(lacking) == 1 else "have"
        needs = f": it needs {found.measure.needs}" if found.measure.needs else ""
        lines.append(f"{listed(lacking)} {has} no {found.measure.name}{needs}.")
    return lines


def correction_name(method: Multiplicity) -> str:
    """A correction for many tests, as a table's heading has it."""
    return {"holm": "Holm", "hochberg": "Hochberg", "bh": "BH", "max-t": "max-t"}[method]


def multiplicity_lines(found: Comparison) -> list[str]:
    """What the correction for several pairs does, and what it leaves alone."""
    if len(found.pairs) < 2:
        return []
    if found.multiplicity is Multiplicity.MAX_T:
        name = "Dunnett's test" if found.baseline is not None else "max-t"
        every = "both pairs" if len(found.pairs) == 2 else f"all {len(found.pairs)} pairs"
        return [f"p max-t and the intervals of differences by design hold for {every} at once ({name})."]
    how = {Multiplicity.HOLM: "Holm", Multiplicity.HOCHBERG: "Hochberg", Multiplicity.BH: "Benjamini and Hochberg"}
    return [
        f"Verdicts are corrected for {len(found.pairs)} pairs ({how[found.multiplicity]}); intervals are not, each "
        "holds for its own pair. --multiplicity max-t gives intervals that hold for all pairs at once."
    ]


def margin_verdict(found: Comparison, pair: Pair, one: Margin | None) -> str:
    """What was shown of a margin, and what was not."""
    return margin_sentence(found.aligned.names[pair.a], found.aligned.names[pair.b], one, found.alpha)


def margin_sentence(a: str, b: str, one: Margin | None, alpha: float) -> str:
    """The same for two names."""
    if one is None:
        return f"{a} and {b}: nothing can be said of a margin, since the difference has no error."
    far = f"{one.found.margin:g}"
    if one.p_equivalent <= alpha:
        return f"{a} and {b} are equivalent: they differ by less than {far} ({p_is(one.p_equivalent)})."
    sides = ((a, b, one.p_not_inferior), (b, a, one.p_not_superior))
    shown = [f"{x} is not worse than {y} by {far} or more ({p_is(p)})" for x, y, p in sides if p <= alpha]
    if shown:
        return f"{shown[0]}; that they are equivalent was not shown ({p_is(one.p_equivalent)})."
    return f"{a} and {b}: neither was shown to be within {far} of the other ({p_is(one.p_equivalent)})."


def sampling_lines(sampling: Sampling, one: Estimate | None) -> list[str]:
    """How the cases were sampled, what was made of it, and how to say otherwise."""
    if not sampling.known:
        return [
            "No stratum and no PSU: cases are taken as independent. If they come in groups, say so: "
            "--psu COLUMN (groups that were drawn), --stratum COLUMN (groups that a repetition would have again)."
        ]
    sample, whom = sampling.sample, sampling.target_in_words.removeprefix("for ")
    if one is None:
        return [f"Results by design are for {whom}."]
    how = f"{one.replicates:,} replicates" if one.replicates else "all groupings of units at once"
    how = "no replicates needed" if not one.replicates and one.groupings is None else how
    strata = f"{sample.strata:,} strata, " if sampling.stratum else ""
    known = "" if math.isinf(one.df) else f"{freedom(one.df)}, "
    joined = [f"Strata with a single unit were joined: {', '.join(names)}." for names in sample.collapsed]
    return [
        f"Intervals by design are by {method_words(one.method)}, for {whom}.",
        f"{strata}{sample.units:,} units, {how}, {known}weights: {sampling.weights}.",
        *joined,
    ]
