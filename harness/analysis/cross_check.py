"""Second opinions on every pair: a mixed-effects logistic model, and Bayesian probabilities of a practical difference.

They rest on other assumptions than McNemar's test and replication, so agreement means something.
"""

from dataclasses import replace

import numpy as np

from harness.analysis.comparison import Comparison
from harness.analysis.pairs import MixedEffect, Pair, SecondOpinion
from harness.errors import UsageError
from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.mixed import MixedLogit, MixedRows, fit_mixed
from harness.stats.posterior import discordant_posterior


def with_opinions(comparison: Comparison, rope: float) -> Comparison:
    """Both opinions on every pair."""
    if comparison.other_measure:
        raise UsageError("--cross-check is about success; leave out --statistic")
    pairs = [replace(pair, cross_check=_opinion(comparison, pair, rope)) for pair in comparison.pairs]
    return replace(comparison, pairs=pairs, further=[*comparison.further, "cross_check"])


def _opinion(comparison: Comparison, pair: Pair, rope: float) -> SecondOpinion:
    effect = pair.effect if pair.effect else 1.0
    posterior = discordant_posterior(
        pair.n_sf, pair.n_fs, pair.n_ff + pair.n_sf + pair.n_fs + pair.n_ss, rope=rope, design_effect=max(effect, 1.0)
    )
    mixed = _mixed(comparison, pair)
    return SecondOpinion(mixed, posterior, _agree(comparison, pair, mixed))


def _agree(comparison: Comparison, pair: Pair, mixed: MixedEffect | None) -> bool | None:
    if mixed is None:
        return None
    ours, theirs = pair.p_decisive <= comparison.alpha, mixed.p_value <= comparison.alpha
    leader = comparison.leader(pair)
    same = leader is None or (mixed.log_odds > 0) == (leader == pair.a)
    return ours == theirs and (same or not ours)


def _mixed(comparison: Comparison, pair: Pair) -> MixedEffect | None:
    """Two rows for each answer, of A and of B; cases are random, and so are the units that were drawn."""
    aligned, sample = comparison.aligned, comparison.sampling.sample
    case = np.unique(aligned.ids, return_inverse=True)[1].astype(np.intp)
    cases = int(case.max()) + 1
    unit = np.full(cases, -1, dtype=np.intp)
    has_units = comparison.sampling.psu is not None and sample.units < cases
    if has_units:
        unit[case] = np.unique(sample.unit_of_case, return_inverse=True)[1]
    rows = _rows(*_tallies(aligned.success[[pair.a, pair.b]], case, unit))
    try:
        found = fit_mixed(rows, units=has_units)
    except (ValueError, np.linalg.LinAlgError):
        return None
    return _effect(found, has_units=has_units)


def _tallies(success: BoolArray, case: IntArray, unit: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Cases as (right under A, right under B, answers), their units, and how often each unit of this kind occurs.

    Units whose cases have the same tallies are alike to the model; there are few different ones, whatever the number of
    cases. Without units, this holds for the cases themselves.
    """
    cases = unit.size
    hits = [np.bincount(case, weights=own, minlength=cases).astype(np.intp) for own in success]
    tally = np.column_stack([*hits, np.bincount(case, minlength=cases)])
    kinds, kind = np.unique(tally, axis=0, return_inverse=True)
    own = np.where(unit >= 0, unit, np.arange(cases))
    order = np.lexsort((kind, own))
    starts = np.flatnonzero(np.diff(own[order], prepend=-1))
    members = np.split(kind[order], starts[1:])
    seen: dict[bytes, int] = {}
    counts: list[int] = []
    chosen: list[IntArray] = []
    for one in members:
        place = seen.setdefault(one.tobytes(), len(chosen))
        if place == len(chosen):
            chosen.append(one)
            counts.append(0)
        counts[place] += 1
    sizes = [one.size for one in chosen]
    units = np.repeat(np.arange(len(chosen)), sizes)
    times = np.repeat(np.array(counts, dtype=np.float64), sizes)
    return kinds[np.concatenate(chosen)], units if (unit >= 0).all() else np.full(units.size, -1), times


def _rows(tally: IntArray, unit: IntArray, times: FloatArray) -> MixedRows:
    """A row for each case under A and one under B; the second column is half for A, minus half for B."""
    cases = unit.size
    trials = tally[:, 2].astype(np.float64)
    return MixedRows(
        successes=np.concatenate([tally[:, 0], tally[:, 1]]).astype(np.float64),
        trials=np.concatenate([trials, trials]),
        columns=np.column_stack([np.ones(2 * cases), np.repeat([0.5, -0.5], cases)]),
        case=np.concatenate([np.arange(cases), np.arange(cases)]),
        unit_of_case=unit,
        times=times,
    )


def _effect(found: MixedLogit, *, has_units: bool) -> MixedEffect | None:
    log_odds, se = float(found.coefficients[1]), float(found.se[1])
    if not (np.isfinite(se) and se > 0):
        return None
    return MixedEffect(log_odds, se, found.p_value(1), found.case_sd, found.unit_sd if has_units else None)
