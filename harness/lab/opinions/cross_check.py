"""Second opinions on every pair: a mixed-effects logistic model, and Bayesian probabilities of a practical difference.

They rest on other assumptions than McNemar's test and replication, so agreement means something.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

import numpy as np

from harness.analysis.comparison import Comparison
from harness.analysis.pairs import Pair
from harness.api.comparisons import CompareResult
from harness.api.result import Addition
from harness.lab.opinions import CrossCheckOptions
from harness.lab.opinions.mixed import MixedRows, fit_mixed
from harness.lab.opinions.posterior import PracticalDifference, discordant_posterior
from harness.lab.opinions.success import SuccessExtension, chance_columns
from harness.options.comparing import CompareOptions
from harness.report.blocks import Block, Column, Heading, P, Paragraphs, table_of
from harness.report.numbers import distance, p_text
from harness.stats.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class MixedEffect:
    """The logarithm of the odds ratio of A over B, with its error, and how much cases and units vary."""

    log_odds: float
    se: float
    p_value: float
    case_sd: float
    unit_sd: float | None


@dataclass(frozen=True)
class SecondOpinion:
    """What other methods say of two runs; None for a model without a finite estimate."""

    a: str
    b: str
    mixed: MixedEffect | None
    bayes: PracticalDifference
    # Whether the model and the verdict agree on significance and direction.
    agree: bool | None


class CrossCheckExtension(SuccessExtension):
    """`compare --cross-check`."""

    flag = "--cross-check"

    def add(self, result: CompareResult, options: CompareOptions) -> Addition:
        rope = CrossCheckOptions.taken_from(options).rope
        opinions = [_opinion(result.comparison, pair, rope) for pair in result.pairs]
        return Addition(opinions, _blocks(result.comparison, opinions), self.remarks(result, options))


def _opinion(comparison: Comparison, pair: Pair, rope: float) -> SecondOpinion:
    effect = pair.design_effect if pair.design_effect else 1.0
    both, only_a, only_b, neither = (share * comparison.aligned.n for share in comparison.shares(pair))
    posterior = discordant_posterior(
        only_a, only_b, only_a + only_b + both + neither, rope=rope, design_effect=max(effect, 1.0)
    )
    mixed = _mixed(comparison, pair)
    a, b = (comparison.names[run] for run in (pair.a, pair.b))
    return SecondOpinion(a, b, mixed, posterior, _agree(comparison, pair, mixed))


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
        model = fit_mixed(rows, units=has_units)
    except (ValueError, np.linalg.LinAlgError):
        return None
    log_odds, se = float(model.coefficients[1]), float(model.se[1])
    if not (np.isfinite(se) and se > 0):
        return None
    return MixedEffect(log_odds, se, model.p_value(1), model.case_sd, model.unit_sd if has_units else None)


def _tallies(success: BoolArray, case: IntArray, unit: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Cases as (right under A, right under B, answers), their units, and how often each unit of this kind occurs.

    Units whose cases have the same tallies are alike to the model; there are few different ones, whatever the number of
    cases. Without units, this holds for the cases themselves.
    """
    cases = unit.size
    hits = [np.bincount(case, weights=run, minlength=cases).astype(np.intp) for run in success]
    tally = np.column_stack([*hits, np.bincount(case, minlength=cases)])
    kinds, kind = np.unique(tally, axis=0, return_inverse=True)
    unit_or_case = np.where(unit >= 0, unit, np.arange(cases))
    order = np.lexsort((kind, unit_or_case))
    starts = np.flatnonzero(np.diff(unit_or_case[order], prepend=-1))
    members = np.split(kind[order], starts[1:])
    seen: dict[bytes, int] = {}
    counts: list[int] = []
    chosen: list[IntArray] = []
    for member in members:
        index = seen.setdefault(member.tobytes(), len(chosen))
        if index == len(chosen):
            chosen.append(member)
            counts.append(0)
        counts[index] += 1
    sizes = [member.size for member in chosen]
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


def _blocks(comparison: Comparison, opinions: Sequence[SecondOpinion]) -> list[Block]:
    """What other methods say, and where they disagree with the verdict."""
    columns: list[Column[SecondOpinion]] = [
        Column("pair", lambda opinion: f"{opinion.a} - {opinion.b}"),
        Column("odds_ratio", _odds_ratio, head="odds ratio", form=".3f"),
        Column("se", "mixed.se", head="se of its log", form=".3f"),
        Column("p_value", "mixed.p_value", head="p mixed", form=P),
        *chance_columns("bayes"),
    ]
    units = any(opinion.mixed is not None and opinion.mixed.unit_sd is not None for opinion in opinions)
    effects = "cases and the units that they come from" if units else "cases"
    basis = [
        f"Mixed: a logistic model in which {effects} differ at random (Laplace); the odds ratio is of the first over "
        "the second, for a given case.",
        f"P: posterior probabilities that the first is better by more than {distance(opinions[0].bayes.rope)}, that "
        "the two are within that, and that the second is better by more (Dirichlet prior, counts divided by the design "
        "effect).",
    ]
    if comparison.sampling.is_weighted:
        basis.append("The model counts every case once; the verdict and P follow the weights.")
    lines = _disagreements(comparison, opinions) or ["The model and the verdicts agree."]
    return [Heading("Second opinions"), table_of(opinions, columns), Paragraphs([*basis, *lines])]


def _odds_ratio(opinion: SecondOpinion) -> float | None:
    return None if opinion.mixed is None else exp(opinion.mixed.log_odds)


def _disagreements(comparison: Comparison, opinions: Sequence[SecondOpinion]) -> list[str]:
    lines = []
    for pair, opinion in zip(comparison.pairs, opinions, strict=True):
        both = f"{opinion.a} and {opinion.b}"
        if opinion.mixed is None:
            lines.append(
                f"{both}: the model has no finite estimate, because one side wins all discordant cases, or none."
            )
        elif opinion.agree is False:
            p, leader = opinion.mixed.p_value, comparison.leader(pair)
            ahead = opinion.a if opinion.mixed.log_odds > 0 else opinion.b
            shown = f"{ahead} ahead" if p <= comparison.alpha else "no difference"
            other = "none" if leader is None or pair.p_decisive > comparison.alpha else comparison.names[leader]
            lines.append(
                f"{both}: the opinions disagree; the model shows {shown} ({p_text(p)}), the verdict "
                f"{other} ({p_text(pair.p_decisive)}). The verdict rests on fewer assumptions: the model takes "
                "difficulty to be normally distributed, and speaks of odds for a given case, not of rates."
            )
    return lines
