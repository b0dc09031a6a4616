"""What a comparison means, in plain sentences that a statistician would sign."""

import math

from harness.analysis.comparing.comparison import Comparison, Pair
from harness.analysis.comparing.statistic_verdicts import statistic_verdict
from harness.stats.clustering import real_error
from harness.stats.power import Plan as PowerPlan
from harness.stats.power import detectable_difference

# Both discordant counts above this share of the cases: the two algorithms are good at different things.
COMPLEMENTARY = 0.05


def classic(found: Comparison, pair: Pair) -> list[str]:
    """The tutorial's three lines."""
    a, b = found.aligned.names[pair.a], found.aligned.names[pair.b]
    lines = [f"Z score is {pair.z:.3f}"]
    if pair.confidence_differ is None or pair.confidence_better is None or pair.better is None:
        return [*lines, f"less than 90% confident that {a} and {b} do not give equivalent results"]
    better = found.aligned.names[pair.better]
    worse = b if pair.better == pair.a else a
    return [
        *lines,
        f"{_percent(pair.confidence_differ)} confident that {a} and {b} do not give equivalent results",
        f"{_percent(pair.confidence_better)} confident that {better} was superior to {worse}",
    ]


def _percent(confidence: float) -> str:
    return f"{confidence * 100:g}%"


def verdict(found: Comparison, pair: Pair) -> list[str]:
    """Which is better, or that it cannot be told, and what to make of a disagreement."""
    if pair.beyond:
        return [statistic_verdict(found, pair)]
    lines = [_better(found, pair) if pair.p_decisive <= found.alpha else _undecided(found, pair)]
    lines += _disagreement(found, pair)
    smaller = min(pair.n_sf, pair.n_fs)
    if smaller >= COMPLEMENTARY * found.aligned.n:
        n = found.aligned.n
        oracle = (n - pair.n_ff) / n
        lines.append(
            f"They are complementary: each succeeds on many cases on which the other fails ({pair.n_sf:,} and "
            f"{pair.n_fs:,}); whoever always picked the right one would reach {oracle:.4f}."
        )
    return lines


def _better(found: Comparison, pair: Pair) -> str:
    a, b = found.aligned.names[pair.a], found.aligned.names[pair.b]
    one = pair.replication
    estimate = pair.difference if one is None else one.estimate
    interval = pair.interval if one is None else one.interval
    winner, loser = (a, b) if estimate > 0 else (b, a)
    low, high = sorted((abs(interval.low), abs(interval.high)))
    how = "Newcombe" if one is None else one.method.upper()
    level = f"{found.plan.confidence * 100:g} %"
    whom = "for new cases, taken as independent" if one is None else found.sampling.target_in_words
    return (
        f"{winner} is better than {loser} by {_points(low)} to {_points(high)} points ({how} {level} interval, {whom})."
    )


def _points(share: float) -> str:
    return f"{share * 100:.1f}"


def _undecided(found: Comparison, pair: Pair) -> str:
    a, b = found.aligned.names[pair.a], found.aligned.names[pair.b]
    n, discordant = found.aligned.n, pair.n_sf + pair.n_fs
    whom = "" if pair.replication is None else f" {found.sampling.target_in_words}"
    if not discordant:
        return f"{a} and {b} cannot be told apart{whom}: they succeed and fail on the same cases."
    effect = pair.replication.design_effect if pair.replication is not None else None
    plan = PowerPlan(alpha=found.alpha, design_effect=effect if effect else 1.0)
    missed = detectable_difference(n, discordant / n, plan=plan)
    if not missed < 1:
        return f"{a} and {b} cannot be told apart{whom}: {n:,} cases are too few to show any difference."
    return (
        f"{a} and {b} cannot be told apart{whom}: with these {n:,} cases a difference below "
        f"{_points(missed)} points would be missed more than one time in five."
    )


def _disagreement(found: Comparison, pair: Pair) -> list[str]:
    """Where McNemar and replication disagree: which to believe, and why."""
    one = pair.replication
    if one is None or one.p_adjusted is None:
        return []
    by_cases, by_design = pair.p_adjusted <= found.alpha, one.p_adjusted <= found.alpha
    if by_cases == by_design:
        return []
    said = "tells them apart" if by_cases else "does not tell them apart"
    method = one.method.upper()
    reasons = _reasons(found, one.design_effect, one.icc)
    adjusted = f"McNemar adjusted by the design effect: z = {pair.z_design:.3f}, p = {_p(pair.p_design)}."
    return [
        f"McNemar's test {said} (p = {_p(pair.p_adjusted)}), {method} disagrees (p = {_p(one.p_adjusted)}). "
        f"Believe {method}: {reasons} {adjusted}"
    ]


def _reasons(found: Comparison, effect: float | None, icc: float | None) -> str:
    sampling, nominal = found.sampling, found.plan.confidence
    text = "McNemar takes the cases as independent. "
    if sampling.psu is not None:
        known = "" if icc is None else f" (intraclass correlation {icc:.2f})"
        text += f"Here {sampling.psu} is a PSU: a repetition would have others, and cases of one are alike{known}. "
    if sampling.stratum is not None:
        text += f"{sampling.stratum} is a stratum: a repetition would have the same, which makes the error smaller. "
    if effect and math.isfinite(effect):
        wrong = real_error(effect, confidence=nominal)
        text += (
            f"The variance is {effect:.2f} times that of independent cases, so that a nominal {nominal * 100:g} % "
            f"interval errs {wrong * 100:.1f} % of the time."
        )
    return text.strip()


def _p(value: float) -> str:
    return f"{value:.2g}" if value < 0.001 else f"{value:.4f}"


def sampling_lines(found: Comparison) -> list[str]:
    """How the cases were sampled, what was made of it, and how to say otherwise."""
    sampling, sample = found.sampling, found.sampling.sample
    if not sampling.known:
        return [
            "No stratum and no PSU is known: cases are taken as independent. If they come in groups, say so: "
            "--psu COLUMN (groups that were drawn), --stratum COLUMN (groups that a repetition would have again)."
        ]
    one = next((pair.replication for pair in found.pairs if pair.replication is not None), None)
    lines = [f"Replication speaks {sampling.target_in_words.removeprefix('for ')}."]
    if one is not None:
        lines[0] = f"{one.method.upper()} speaks of {sampling.target_in_words.removeprefix('for ')}."
        how = f"{one.replicates:,} replicates" if one.replicates else "all groupings of units at once"
        how = "no replicates needed" if not one.replicates and one.groupings is None else how
        strata = f"{sample.strata:,} strata, " if sampling.stratum else ""
        lines.append(
            f"{strata}{sample.units:,} units, {how}, {one.df:.0f} degrees of freedom, weights: {sampling.weights}."
        )
    joined = [f"Strata with a single unit were joined: {', '.join(names)}." for names in sample.collapsed]
    return lines + joined
