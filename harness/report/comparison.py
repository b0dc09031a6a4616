"""A comparison for people: the verdicts, what supports them, and figure 5 of the tutorial."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, isinf, isnan

from harness.analysis.comparison import Comparison
from harness.analysis.pairs import Pair
from harness.report.blocks import Block, Cell, Heading, Number, Paragraphs, Table
from harness.report.comparison_details import asked_blocks, detail_blocks, margin_blocks, operating_blocks
from harness.report.groups import tidy_group_table
from harness.report.numbers import (
    DIFFERENCE,
    correction_name,
    difference_cells,
    estimate_cells,
    independent_cells,
    interval_cell,
    left_out_line,
    p_cell,
    p_is,
    percent,
    shown_name,
    why_untested,
)
from harness.report.sampling import sampling_lines, target_words
from harness.report.tutorial import tutorial_blocks
from harness.report.verdicts import disagreement, error_lines, pair_verdict
from harness.stats.multiplicity import Multiplicity

# With more transcripts, a table for each pair, or a line for each, is more than anyone reads.
MOST_TABLES = 6
MOST_PAIRS = 12
# Then the best run is shown against so many that follow it, and so many are ranked in a summary.
TOLD = 10
MOST_RANKED = 30


@dataclass(frozen=True)
class _Detail:
    """Which parts are short enough to be shown."""

    tables: bool
    pairs: bool


def _detail(comparison: Comparison) -> _Detail:
    many = len(comparison.names)
    return _Detail(many <= MOST_TABLES, many <= MOST_PAIRS or comparison.baseline is not None)


def comparison_summary(comparison: Comparison) -> list[Block]:
    """The verdicts, the ranking, the differences, and whatever was asked for besides."""
    shown = _detail(comparison)
    blocks = _answer(comparison, shown, verdicts=1)
    if not shown.pairs:
        told = comparison.pairs_of_best(TOLD)
        blocks += [
            Heading(f"{first_words(comparison)} and the {len(told)} that follow"),
            difference_table(comparison, told),
        ]
    blocks += [Heading("Ranking"), ranking_table(comparison, MOST_RANKED), Paragraphs(_ranked_lines(comparison))]
    if shown.pairs:
        blocks += [Heading("Differences"), difference_table(comparison)]
        lines = [f"only A: {comparison.aligned.counted} on which A succeeded and B failed."]
        lines += [line for pair in comparison.pairs for line in disagreement(comparison, pair)]
        blocks.append(Paragraphs([*lines, *comparison.cautions]))
    blocks += [*operating_blocks(comparison), *asked_blocks(comparison)]
    return blocks


def comparison_blocks(comparison: Comparison) -> list[Block]:
    """Everything: the verdicts, what supports them, and the tables of the tutorial."""
    shown = _detail(comparison)
    blocks = _answer(comparison, shown) + operating_blocks(comparison)
    blocks += [Heading("Each by itself"), summary_table(comparison)]
    if len(comparison.runs) > 2:
        blocks.append(Paragraphs([*joint_lines(comparison), combined_line(comparison)]))
    blocks += [Paragraphs(measure_lines(comparison))] if comparison.other_measure else []
    if shown.pairs:
        blocks += _pair_blocks(comparison)
    blocks += detail_blocks(comparison, pairs=shown.pairs)
    example = next((pair.estimate for pair in comparison.pairs if pair.estimate is not None), None)
    blocks += [Heading("How the cases were sampled"), Paragraphs(sampling_lines(comparison.sampling, example))]
    return blocks + tutorial_blocks(comparison, better=shown.pairs, tables=shown.tables)


def _answer(comparison: Comparison, shown: _Detail, verdicts: int | None = None) -> list[Block]:
    """The title, and the verdicts below it: all that is said of a pair, or so many sentences."""
    test, answers = comparison.aligned.headers[0].test, comparison.aligned.answers
    count = f"{comparison.aligned.n // answers:,} cases" + (f" of {answers} answers" if answers > 1 else "")
    blocks: list[Block] = [Heading(f"{test.name} {test.version}: {len(comparison.names)} transcripts, {count}")]
    if comparison.aligned.left_out:
        blocks.append(Paragraphs([f"Left out: {comparison.aligned.left_out:,} cases that not all runs have."]))
    failed = [*error_lines([comparison.aligned]), *comparison.machine_cautions]
    if not shown.pairs:
        everything = f"--format json and --format csv have all {len(comparison.pairs):,} pairs"
        return [*blocks, Paragraphs([f"--baseline NAME shows one against the others; {everything}.", *failed])]
    lines = [line for pair in comparison.pairs for line in pair_verdict(comparison, pair)[:verdicts]]
    return [*blocks, Heading("Verdicts"), Paragraphs([*lines, *failed]), *margin_blocks(comparison)]


def _ranked_lines(comparison: Comparison) -> list[str]:
    many, lines = len(comparison.runs), ranking_lines(comparison)
    head = f"{first_words(comparison)} {MOST_RANKED} of {many:,}; --all shows them all."
    return lines if many <= MOST_RANKED else [head, *lines]


def first_words(comparison: Comparison) -> str:
    """What comes first in a ranking: if nobody has said what is better, that is an order and no judgement."""
    return "The best" if comparison.measure.directed else "The largest"


def _pair_blocks(comparison: Comparison) -> list[Block]:
    blocks: list[Block] = [Heading("Pairs")]
    blocks += [] if comparison.other_measure else [pairs_table(comparison)]
    if comparison.values is not None:
        blocks.append(replication_table(comparison))
        blocks += [Paragraphs(lines)] if (lines := _flip_lines(comparison)) else []
    blocks += [Paragraphs(lines)] if (lines := multiplicity_lines(comparison)) else []
    return [*blocks, Paragraphs(list(comparison.cautions))] if comparison.cautions else blocks


def ranking_table(comparison: Comparison, most: int | None = None) -> Table:
    """The best first, with the interval that the verdicts rest on: by design where one is known, else Wilson's."""
    known, lettered = comparison.values is not None, comparison.baseline is None
    columns = ["name", "tests", "TP", "TN", "FP", "FN", "ER", "rate"]
    measured = _measured_column(comparison)
    columns += [*measured, f"{percent(comparison.confidence)} interval", *(["letters"] * lettered)]
    rows: list[list[Cell]] = []
    for i in comparison.order[:most]:
        run, counts = comparison.runs[i], comparison.aligned.counts[i]
        value, interval = estimate_cells(run.estimate) if known else (run.rate, interval_cell(run.interval))
        name = shown_name(run.name, comparison.aligned.self_reported[i])
        row: list[Cell] = [name, counts.tests, counts.TP, counts.TN, counts.FP, counts.FN, counts.ER, run.rate]
        row += [value if run.estimate else Number(None)] if measured else []
        rows.append([*row, interval, *([comparison.letters[i]] * lettered)])
    return Table(columns, rows, spare=frozenset({"TP", "TN", "FP", "FN"}))


def _measured_column(comparison: Comparison) -> list[str]:
    """The name of the column with the estimate by design, where that is not the rate itself."""
    if comparison.other_measure:
        return [comparison.measure.name]
    return ["weighted"] if comparison.sampling.known and comparison.sampling.weights != "cases" else []


def ranking_lines(comparison: Comparison) -> list[str]:
    """What the letters mean, what is compared, and what the intervals are for."""
    lines = ["Algorithms that share a letter cannot be told apart."] if comparison.baseline is None else []
    lines += measure_lines(comparison) if comparison.other_measure else []
    if not comparison.sampling.known:
        return [*lines, *sampling_lines(comparison.sampling, None)]
    return [*lines, f"Intervals are {target_words(comparison.sampling)}."]


def difference_table(comparison: Comparison, pairs: Sequence[Pair] | None = None) -> Table:
    """What each verdict rests on: the difference and its p-value, and on how many cases only one succeeded."""
    columns = ["A - B", "difference", f"{percent(comparison.confidence)} interval"]
    columns += [f"p {_correction(comparison)}", "only A", "only B"]
    rows: list[list[Cell]] = []
    for pair in comparison.pairs if pairs is None else pairs:
        one = pair.estimate
        interval = pair.interval if comparison.values is None else None if one is None else one.interval
        value: Cell = pair.difference if comparison.values is None else None if one is None else one.value
        decisive = None if comparison.values is not None and one is None else pair.p_decisive
        figures = [value, interval_cell(interval), p_cell(decisive), pair.n_sf, pair.n_fs]
        rows.append([_pair_name(comparison, pair), *figures])
    return Table(columns, rows)


def tidy_table(comparison: Comparison) -> Table:
    """The pairs for programs: the counts of McNemar's test, and the difference by design, or else Newcombe's.

    With groups, a row for each pair in each group.
    """
    if comparison.breakdowns:
        return tidy_group_table(comparison.breakdowns, comparison.names, comparison.places, comparison.measure.name)
    names, rows = comparison.names, list[list[Cell]]()
    for pair in comparison.pairs:
        if comparison.values is None:
            cells = independent_cells(pair.difference, pair.interval, pair.p_exact, pair.p_adjusted)
        else:
            cells = difference_cells(pair.estimate)
        flip = None if pair.sign_flip is None else pair.sign_flip.p_value
        counts = [pair.n_ff, pair.n_sf, pair.n_fs, pair.n_ss]
        p_values = [pair.p_exact, pair.p_mid, pair.p_one_sided, flip]
        rows.append([names[pair.a], names[pair.b], *counts, *cells, *p_values, comparison.measure.name])
    columns = ["a", "b", "n_ff", "n_sf", "n_fs", "n_ss", *DIFFERENCE]
    return Table([*columns, "p_exact", "p_mid", "p_one_sided", "p_flip", "measure"], rows)


def summary_table(comparison: Comparison) -> Table:
    """Each algorithm, the best first; those that share a letter cannot be told apart."""
    order = comparison.order
    level = percent(comparison.confidence)
    columns = ["name", "tests", "TP", "TN", "FP", "FN", "ER", "rate", f"Wilson {level}"]
    weighted = _measured_column(comparison)
    columns += weighted
    columns += [f"by design {level}"] if comparison.values is not None else []
    rows: list[list[Cell]] = []
    for i in order:
        run, counts = comparison.runs[i], comparison.aligned.counts[i]
        name = shown_name(run.name, comparison.aligned.self_reported[i])
        row: list[Cell] = [name, counts.tests, counts.TP, counts.TN, counts.FP, counts.FN, counts.ER, run.rate]
        row.append(interval_cell(run.interval))
        if comparison.values is not None:
            value, interval = estimate_cells(run.estimate)
            row += [value if run.estimate else Number(None)] if weighted else []
            row.append(interval)
        rows.append([*row, *([comparison.letters[i]] if comparison.baseline is None else [])])
    return Table([*columns, *(["letters"] if comparison.baseline is None else [])], rows)


def joint_lines(comparison: Comparison) -> list[str]:
    """Tests of three runs or more together, and what the letters mean."""
    if len(comparison.runs) < 3:
        return []
    q = comparison.cochran
    independent = f"Cochran's Q = {q.statistic:.3f}, {q.df} degrees of freedom, {p_is(q.p_value)}"
    # It is a test of success, and says nothing about another measure.
    lines = [] if comparison.other_measure else [f"{independent} (if cases were independent)."]
    if (wald := comparison.wald) is not None and isfinite(wald.f) and wald.df_error > 0:
        lines.append(
            f"With the design: F = {wald.f:.3f} on {wald.df} and {wald.df_error:.1f} degrees of freedom, "
            f"{p_is(wald.p_value)}."
        )
    elif wald is not None and isnan(wald.p_value):
        lines.append(f"With the design there is no test of all together: {why_untested(wald, 'algorithms')}.")
    elif wald is not None:
        lines.append(f"With the design: two of them differ by the same in every unit, {p_is(wald.p_value)}.")
    if comparison.baseline is None:
        lines.append("Algorithms that share a letter cannot be told apart.")
    return lines


def combined_line(comparison: Comparison) -> str:
    """What all runs together could reach."""
    combined = f"Always picking an algorithm that is right would give {comparison.oracle:.4f}"
    return f"{combined}." if comparison.majority is None else f"{combined}, a majority vote {comparison.majority:.4f}."


def pairs_table(comparison: Comparison) -> Table:
    """McNemar's test and the difference, as if cases were independent."""
    columns = ["pair", "difference", f"Newcombe {percent(comparison.confidence)}"]
    columns += ["z", "p exact", "p mid", "p one-sided", f"p {_correction(comparison, plain=True)}"]
    rows: list[list[Cell]] = [
        [
            _pair_name(comparison, pair),
            pair.difference,
            interval_cell(pair.interval),
            Number(pair.z, ".3f"),
            *(p_cell(p) for p in (pair.p_exact, pair.p_mid, pair.p_one_sided, pair.p_adjusted)),
        ]
        for pair in comparison.pairs
    ]
    return Table(columns, rows)


def replication_table(comparison: Comparison) -> Table:
    """The difference, with its error by design."""
    columns = ["pair", "method", "difference", "se", "df", f"{percent(comparison.confidence)} interval"]
    columns += ["p", "p flip", f"p {_correction(comparison)}", "deff", "icc"]
    rows: list[list[Cell]] = []
    for pair in comparison.pairs:
        one, flip = pair.estimate, pair.sign_flip
        if one is None:
            continue
        rows.append([
            _pair_name(comparison, pair), one.method, one.value, one.se,
            Number(None if isinf(one.df) else one.df, ".0f"), interval_cell(one.interval), p_cell(one.p_value),
            p_cell(None if flip is None else flip.p_value),
            p_cell(one.p_adjusted), Number(one.design_effect, ".2f"), Number(one.icc, ".2f"),
        ])  # fmt: skip
    return Table(columns, rows)


def _flip_lines(comparison: Comparison) -> list[str]:
    """What p flip is if it was not counted exactly."""
    drawn = {pair.sign_flip.flips for pair in comparison.pairs if pair.sign_flip and pair.sign_flip.flips}
    if not drawn:
        return []
    return [
        f"p flip is from {max(drawn):,} random draws (seed {comparison.replication.seed}) in which the two algorithms "
        "change places in some of the units."
    ]


def _correction(comparison: Comparison, *, plain: bool = False) -> str:
    """The correction for several pairs; McNemar's p-values have no max-t."""
    method = comparison.multiplicity
    return correction_name(Multiplicity.HOLM if plain and method is Multiplicity.MAX_T else method)


def _pair_name(comparison: Comparison, pair: Pair) -> str:
    return f"{comparison.aligned.names[pair.a]} - {comparison.aligned.names[pair.b]}"


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
