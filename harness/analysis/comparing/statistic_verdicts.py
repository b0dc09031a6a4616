"""What a comparison by another statistic than the rate of success means, in plain sentences."""

from harness.analysis.comparing.comparison import Comparison, Pair
from harness.analysis.comparing.replicated import Replicated

# Normal quantiles of 97.5 % and 80 %, for "missed more than one time in five".
_DETECTABLE = 1.96 + 0.84


def statistic_verdict(found: Comparison, pair: Pair) -> str:
    """Which is better, or that it cannot be told."""
    a, b = found.aligned.names[pair.a], found.aligned.names[pair.b]
    one = pair.replication
    if one is None:
        lacking = [found.aligned.names[i] for i in (pair.a, pair.b) if found.runs[i].value is None]
        who = "neither has a" if len(lacking) > 1 else f"{lacking[0]} has no"
        return f"{a} and {b} cannot be compared: {who} {_words(found)}{_needs(found)}."
    if pair.p_decisive > found.alpha:
        return _undecided(found, a, b, one)
    winner = found.leader(pair)
    better, worse = (a, b) if winner == pair.a else (b, a)
    low, high = sorted((abs(one.interval.low), abs(one.interval.high)))
    level = f"{found.plan.confidence * 100:g} %"
    return (
        f"{better} is better than {worse} in {_words(found)}, by {low:.4f} to {high:.4f} "
        f"({one.method.upper()} {level} interval, {found.sampling.target_in_words})."
    )


def _undecided(found: Comparison, a: str, b: str, one: Replicated) -> str:
    whom = found.sampling.target_in_words
    if one.se == 0:
        return f"{a} and {b} cannot be told apart {whom}: the difference in {_words(found)} does not vary."
    return (
        f"{a} and {b} cannot be told apart {whom}: a difference in {_words(found)} below {_DETECTABLE * one.se:.4f} "
        "would be missed more than one time in five."
    )


def _words(found: Comparison) -> str:
    return found.statistic if found.form is None else found.form.words


def _needs(found: Comparison) -> str:
    needs = "" if found.form is None else found.form.needs
    return f", which needs {needs}" if needs else ""


def statistic_lines(found: Comparison) -> list[str]:
    """What is compared, and what that leaves to McNemar's test."""
    form = found.form
    if form is None:
        return []
    which = "more is better" if form.larger_is_better else "less is better"
    lines = [f"Compared by {form.words} ({which}). McNemar's test and the tables above are about success."]
    lacking = [run.name for run in found.runs if run.value is None]
    if lacking:
        lines.append(f"Without a value: {', '.join(lacking)}{_needs(found)}.")
    return lines
