"""A comparison for people and for programs: the verdicts, what supports them, and the tutorial's figure 5."""

from dataclasses import replace
from math import isfinite, isnan
from typing import Any

from harness.analysis.comparison import Comparison
from harness.analysis.run_identity import identity_json
from harness.analysis.sampling import estimate_json
from harness.report.blocks import Block, Heading, Paragraphs
from harness.report.comparison_details import (
    detail_blocks,
    margin_blocks,
    operating_blocks,
    requested_blocks,
    tutorial_blocks,
)
from harness.report.comparison_pairs import PairOutput, design_table, pair_records, pair_table_of
from harness.report.comparison_runs import ranking_table, run_records, summary_table
from harness.report.groups import breakdown_json
from harness.report.numbers import left_out_line, p_text, sampling_lines, target_words, why_untested
from harness.report.verdicts import disagreement, error_lines, pair_verdict
from harness.stats.multiplicity import Multiplicity

# With more transcripts, a table for each pair, or a line for each, is more than anyone reads.
MAX_RUNS_FOR_TABLES = 6
MAX_RUNS_FOR_PAIRS = 12
# Then the best run is shown against so many that follow it, and so many are ranked in a summary.
MAX_FOLLOWING = 10
MAX_RANKED = 30


def comparison_summary(comparison: Comparison) -> list[Block]:
    """The verdicts, the ranking, the differences, and whatever was asked for besides."""
    if not comparison.paired:
        return comparison_blocks(comparison)
    blocks = _answer(comparison, verdicts=1)
    if not _shows_pairs(comparison):
        pairs = comparison.pairs_of_best(MAX_FOLLOWING)
        blocks += [
            Heading(f"{first_words(comparison)} and the {len(pairs)} that follow"),
            pair_table_of(comparison, PairOutput.SHORT, pairs),
        ]
    many, lines = len(comparison.runs), ranking_lines(comparison)
    head = f"{first_words(comparison)} {MAX_RANKED} of {many:,}; --all shows them all."
    ranked = Paragraphs(lines if many <= MAX_RANKED else [head, *lines])
    blocks += [Heading("Ranking"), ranking_table(comparison, MAX_RANKED), ranked]
    if _shows_pairs(comparison):
        blocks += [Heading("Differences"), pair_table_of(comparison, PairOutput.SHORT)]
        lines = [f"only A: {comparison.aligned.counted} on which A succeeded and B failed."]
        lines += [line for pair in comparison.pairs for line in disagreement(comparison, pair)]
        blocks.append(Paragraphs([*lines, *comparison.cautions]))
    return [*blocks, *operating_blocks(comparison), *requested_blocks(comparison)]


def comparison_blocks(comparison: Comparison) -> list[Block]:
    """Everything: the verdicts, what supports them, and the tables of the tutorial."""
    if not comparison.paired:
        return _unpaired_blocks(comparison)
    pairs = _shows_pairs(comparison)
    blocks = _answer(comparison) + operating_blocks(comparison)
    blocks += [Heading("Each by itself"), summary_table(comparison)]
    if len(comparison.runs) > 2:
        blocks.append(Paragraphs([*joint_lines(comparison), combined_line(comparison)]))
    blocks += [Paragraphs(measure_lines(comparison))] if comparison.other_measure else []
    if pairs:
        blocks.append(Heading("Pairs"))
        blocks += [] if comparison.other_measure else [pair_table_of(comparison, PairOutput.INDEPENDENT)]
        blocks += [design_table(comparison)] if comparison.by_design else []
        flips = _flip_lines(comparison) if comparison.by_design else []
        for lines in (flips, multiplicity_lines(comparison), comparison.cautions):
            blocks += [Paragraphs(list(lines))] if lines else []
    blocks += detail_blocks(comparison, pairs=pairs)
    example = next((pair.estimate for pair in comparison.pairs if pair.estimate is not None), None)
    blocks += [Heading("How the cases were sampled"), Paragraphs(sampling_lines(comparison.sampling, example))]
    return [*blocks, *tutorial_blocks(comparison, better=pairs, tables=len(comparison.names) <= MAX_RUNS_FOR_TABLES)]


def _shows_pairs(comparison: Comparison) -> bool:
    return len(comparison.names) <= MAX_RUNS_FOR_PAIRS or comparison.baseline is not None


def _unpaired_blocks(comparison: Comparison) -> list[Block]:
    """Runs on different inputs: every run, every pair, and what it means."""
    test, sampling, words = comparison.aligned.headers[0].test, comparison.sampling, comparison.measure.words
    whom = target_words(sampling) if sampling.known else "all cases taken as independent"
    lines = [
        f"Nothing is matched: each run has its own cases, and variances add. {words[0].upper()}{words[1:]}, {whom}.",
        *comparison.cautions,
    ]
    table = PairOutput.DESIGN if comparison.by_design else PairOutput.INDEPENDENT
    verdicts = [line for pair in comparison.pairs for line in pair_verdict(comparison, pair)]
    failed = error_lines([run.aligned for run in comparison.runs])
    return [
        Heading(f"{test.name} {test.version}: {len(comparison.runs)} transcripts of different inputs"),
        Paragraphs(lines),
        summary_table(comparison),
        pair_table_of(comparison, table),
        *requested_blocks(comparison),
        Heading("Verdicts"),
        Paragraphs([*verdicts, *failed, *comparison.machine_cautions]),
        *margin_blocks(comparison),
    ]


def _answer(comparison: Comparison, verdicts: int | None = None) -> list[Block]:
    """The title, and the verdicts below it: all that is said of a pair, or so many sentences."""
    test, (fewest, most) = comparison.aligned.headers[0].test, comparison.aligned.answer_range
    answers = f"{fewest} answers" if fewest == most else f"{fewest} to {most} answers"
    count = f"{comparison.aligned.case_count():,} cases" + (f" of {answers}" if most > 1 else "")
    blocks: list[Block] = [Heading(f"{test.name} {test.version}: {len(comparison.names)} transcripts, {count}")]
    if comparison.aligned.left_out:
        left_out = f"{comparison.aligned.left_out:,} {comparison.aligned.counted}"
        blocks.append(Paragraphs([f"Left out: {left_out} that not all runs have."]))
    failed = [*error_lines([comparison.aligned]), *comparison.machine_cautions]
    if not _shows_pairs(comparison):
        everything = f"--format json and --format csv have all {len(comparison.pairs):,} pairs"
        return [*blocks, Paragraphs([f"--baseline NAME shows one against the others; {everything}.", *failed])]
    lines = [line for pair in comparison.pairs for line in pair_verdict(comparison, pair)[:verdicts]]
    return [*blocks, Heading("Verdicts"), Paragraphs([*lines, *failed]), *margin_blocks(comparison)]


def first_words(comparison: Comparison) -> str:
    """What comes first in a ranking: if nobody has said what is better, that is an order and no judgement."""
    return "The best" if comparison.measure.directed else "The largest"


def ranking_lines(comparison: Comparison) -> list[str]:
    """What the letters mean, what is compared, and what the intervals are for."""
    lines = ["Algorithms that share a letter cannot be told apart."] if comparison.baseline is None else []
    lines += measure_lines(comparison) if comparison.other_measure else []
    if not comparison.sampling.known:
        return [*lines, *sampling_lines(comparison.sampling, None)]
    return [*lines, f"Intervals are {target_words(comparison.sampling)}."]


def joint_lines(comparison: Comparison) -> list[str]:
    """Tests of three runs or more together, and what the letters mean."""
    if len(comparison.runs) < 3:
        return []
    lines, q = [], comparison.cochran
    # It is a test of success, and says nothing about another measure.
    if q is not None and not comparison.other_measure:
        independent = f"Cochran's Q = {q.statistic:.3f}, {q.df} degrees of freedom, {p_text(q.p_value)}"
        lines.append(f"{independent} (if cases were independent).")
    if (wald := comparison.wald) is not None and isfinite(wald.f) and wald.df_error > 0:
        lines.append(
            f"With the design: F = {wald.f:.3f} on {wald.df} and {wald.df_error:.1f} degrees of freedom, "
            f"{p_text(wald.p_value)}."
        )
    elif wald is not None and isnan(wald.p_value):
        lines.append(f"With the design there is no test of all together: {why_untested(wald, 'algorithms')}.")
    elif wald is not None:
        lines.append(f"With the design: two of them differ by the same in every unit, {p_text(wald.p_value)}.")
    if comparison.baseline is None:
        lines.append("Algorithms that share a letter cannot be told apart.")
    return lines


def combined_line(comparison: Comparison) -> str:
    """What all runs together could reach."""
    combined = f"Always picking an algorithm that is right would give {comparison.oracle:.4f}"
    return f"{combined}." if comparison.majority is None else f"{combined}, a majority vote {comparison.majority:.4f}."


def _flip_lines(comparison: Comparison) -> list[str]:
    """What p flip is if it was not counted exactly."""
    flips = {pair.sign_flip.flips for pair in comparison.pairs if pair.sign_flip and pair.sign_flip.flips}
    if not flips:
        return []
    return [
        f"p flip is from {max(flips):,} random draws (seed {comparison.replication.seed}) in which the two algorithms "
        "change places in some of the units."
    ]


def measure_lines(comparison: Comparison) -> list[str]:
    """Which measure is compared, which runs have none, and how many cases of a run have none."""
    which = "larger is better" if comparison.measure.larger_is_better else "smaller is better"
    if comparison.measure.ideal is not None:
        which = f"the nearest to {comparison.measure.ideal:g} is best"
    elif not comparison.measure.directed:
        which = "nobody has said whether more or less is better; hate run and hate import take --lower and --higher"
    lines = [f"Compared by {comparison.measure.words} ({which})."]
    lacking = [run.name for run in comparison.runs if run.value is None]
    if lacking:
        lines.append(comparison.measure.absence(lacking))
    short = [run for run in comparison.runs if run.left_out]
    cases = comparison.aligned.n
    lines += [left_out_line(run.name, [comparison.measure.name], run.left_out, cases) for run in short]
    return lines


def multiplicity_lines(comparison: Comparison) -> list[str]:
    """What the correction for several pairs does, and what it leaves alone."""
    if len(comparison.pairs) < 2:
        return []
    if comparison.multiplicity is Multiplicity.MAX_T:
        name = "Dunnett's test" if comparison.baseline is not None else "max-t"
        every = "both pairs" if len(comparison.pairs) == 2 else f"all {len(comparison.pairs)} pairs"
        return [f"p max-t and the intervals of differences by design hold for {every} at once ({name})."]
    how = {Multiplicity.HOLM: "Holm", Multiplicity.HOCHBERG: "Hochberg", Multiplicity.BH: "Benjamini and Hochberg"}
    return [
        f"Verdicts are corrected for {len(comparison.pairs)} pairs ({how[comparison.multiplicity]}); intervals are "
        "not: each holds for its own pair. --multiplicity max-t gives intervals that hold for all pairs at once."
    ]


def comparison_json(comparison: Comparison, *, pairs: bool = True) -> dict[str, Any]:
    """The JSON that the documentation promises; without `pairs` their list is empty, see `pair_records`."""
    identity = identity_json(comparison.aligned.headers[0].test)
    cautions = [*comparison.cautions, *comparison.machine_cautions]
    payload: dict[str, Any] = {
        "test": identity if comparison.paired else {**identity, "digest": None},
        "statistic": comparison.measure.name,
        **({} if comparison.operating is None else {"at": str(comparison.operating.criterion)}),
        **_groups_json(comparison),
        "transcripts": list(run_records(comparison)),
        "pairs": list(pair_records(comparison)) if pairs else [],
        "confidence": comparison.confidence,
        "multiplicity": comparison.multiplicity,
    }
    if not comparison.paired:
        return {**payload, "unpaired": True, "notes": cautions}
    wald, agreement = comparison.wald, {}
    if (answers := comparison.agreement) is not None:
        limits = {
            name: estimate_json(getattr(answers, name), "se", "df", "interval") for name in ("bias", "low", "high")
        }
        agreement = {"agreement": {"cases": int(answers.differences.size), "sd": answers.sd, **limits}}
    return {
        **payload,
        **({} if comparison.items is None else {"items": comparison.items}),
        "better": comparison.better,
        "cochran_q": comparison.cochran,
        # With more runs than units there are no degrees of freedom left.
        "wald": None if wald is None else replace(wald, df_error=max(wald.df_error, 0.0)),
        "groups": comparison.groups,
        **agreement,
        "combined": {"oracle": comparison.oracle, "majority": comparison.majority},
        "left_out": comparison.aligned.left_out,
        **({"cautions": cautions} if cautions else {}),
    }


def _groups_json(comparison: Comparison) -> dict[str, Any]:
    """`by` the first column, and `breakdowns` by all of them if there are several."""
    names, pairs = comparison.names, comparison.run_pairs
    breakdowns = [
        breakdown_json(by, names, pairs, comparison.measure, comparison.confidence) for by in comparison.breakdowns
    ]
    several = {"breakdowns": breakdowns} if len(breakdowns) > 1 else {}
    return {"by": breakdowns[0], **several} if breakdowns else {}
