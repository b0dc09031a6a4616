"""What demanding evaluators compute, against plain loops and other libraries, in one run.

    python -m benchmarks.bench_evaluators

Minimum Cllr against scikit-learn's isotonic regression, logistic weights against its logistic regression, pass@k
against a loop over the formula, steps of a confidence sequence against their arithmetic alone, and the power of
McNemar's exact test against a sum over all tables.
"""

from collections.abc import Callable
from math import comb

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from benchmarks.timing import Timing, best, print_timings
from harness.stats.attempts import Attempts, pass_at
from harness.stats.curves.costs import minimum_log_cost
from harness.stats.curves.scores import make_scored_cases
from harness.stats.fusion import fit_logistic
from harness.stats.power import mcnemar_power
from harness.stats.sequential import BettingSequence

Work = Callable[[], object]


def minimum_cost() -> tuple[Work, Work]:
    rng = np.random.default_rng(1)
    positive = np.arange(200_000) % 2 == 0
    cases = make_scored_cases(rng.normal(positive, 1.0), positive)
    statistic, weights = minimum_log_cost([(cases, None)]), np.ones(positive.size)
    return (
        lambda: statistic.members(weights),
        lambda: IsotonicRegression().fit_transform(cases.better, positive.astype(float)),
    )


def logistic() -> tuple[Work, Work]:
    rng = np.random.default_rng(2)
    numbers = rng.normal(size=(100_000, 3))
    event = rng.random(100_000) < 1 / (1 + np.exp(-numbers @ [1.0, 0.5, -0.5]))
    peer = LogisticRegression(C=np.inf)
    return lambda: fit_logistic(numbers, event), lambda: peer.fit(numbers, event)


def several_answers() -> tuple[Work, Work]:
    rng = np.random.default_rng(3)
    case, success = np.repeat(np.arange(20_000), 10), rng.random(200_000) < 0.4
    attempts = Attempts(case, success, np.zeros(case.size, dtype=np.intp), 20_000)

    def loop() -> float:
        right = success.reshape(-1, 10).sum(axis=1).tolist()
        return sum(1 - comb(10 - c, 5) / comb(10, 5) for c in right) / len(right)

    return lambda: pass_at(attempts, 5).mean(), loop


def sequence() -> tuple[Work, Work]:
    values = (np.random.default_rng(4).random(2000) < 0.8).astype(float).tolist()
    grid = np.linspace(0, 1, 2001)

    def looked_at() -> None:
        betting = BettingSequence(population=4000)
        for value in values:
            betting.add(value)

    def arithmetic() -> None:
        more, less = np.zeros(2001), np.zeros(2001)
        for value in values:
            more += np.log1p(0.5 * (value - grid))
            less += np.log1p(-0.5 * (value - grid))
            np.logaddexp(more, less)

    return looked_at, arithmetic


def power() -> tuple[Work, Work]:
    """A sum over all tables of 60 cases takes as long as 100,000 cases by the sum over the discordant ones."""
    from scipy.stats import binom

    def tables() -> float:
        total = 0.0
        for a in range(61):
            for b in range(61 - a):
                if a + b and 2 * binom.cdf(min(a, b), a + b, 0.5) <= 0.05:
                    total += comb(60, a) * comb(60 - a, b) * 0.2**a * 0.1**b * 0.7 ** (60 - a - b)
        return total

    return lambda: mcnemar_power(100_000, 0.002, 0.02), tables


TASKS: dict[str, tuple[str, Callable[[], tuple[Work, Work]]]] = {
    "minimum Cllr of 200,000 scores": ("isotonic regression of scikit-learn", minimum_cost),
    "logistic weights from 100,000 cases": ("logistic regression of scikit-learn", logistic),
    "pass@5 of 20,000 cases with 10 answers": ("a loop", several_answers),
    "2,000 steps of a confidence sequence": ("its arithmetic alone", sequence),
    "power of McNemar's exact test, 100,000 cases": ("all tables of 60 cases", power),
}


def main() -> None:
    timings = []
    for what, (against, make) in TASKS.items():
        ours, other = best(*make())
        timings.append(Timing(what, ours, other, against))
    print_timings(timings, unit="ms")


if __name__ == "__main__":
    main()
