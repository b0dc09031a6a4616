"""A comparison for people: figure 5 of the tutorial, and beneath it what the tutorial could not say."""

from dataclasses import dataclass
from math import isfinite, isinf

from harness.analysis.align import AlignedRuns
from harness.analysis.comparison import Comparison
from harness.analysis.pairs import Pair
from harness.report.blocks import Block, Cell, Heading, Paragraphs, Table
from harness.report.comparison_details import detail_blocks, margin_blocks, operating_blocks
from harness.report.numbers import correction_name, estimate_cells, interval_text, listed, p_is, p_text, percent
from harness.report.sampling import sampling_lines
from harness.report.verdicts import pair_verdict, tutorial_lines
from harness.stats.multiplicity import Multiplicity

# Beyond these, a table for each pair, or a line for each, is more than anyone reads.
MOST_TABLES = 6
MOST_PAIRS = 12


@dataclass(frozen=True)
class _Detail:
    """Which parts are short enough to be shown."""

    tables: bool
    pairs: bool


def comparison_blocks(found: Comparison) -> list[Block]:
    """The whole report."""
    alone = found.baseline is not None
    names = found.aligned.names
    shown = _Detail(len(names) <= MOST_TABLES, len(names) <= MOST_PAIRS or alone)
    test = found.aligned.headers[0].test
    answers = found.aligned.answers
    count = f"{found.aligned.n // answers:,} cases" + (f" of {answers} answers" if answers > 1 else "")
    title = f"{test.name} {test.version}: {len(names)} transcripts, {count}"
    blocks: list[Block] = [Heading(title)]
    if found.aligned.left_out:
        blocks.append(Paragraphs([f"Left out: {found.aligned.left_out:,} cases that not all runs have."]))
    blocks += operating_blocks(found)
    if shown.pairs and not alone:
        blocks.append(better_table(found))
    for pair in found.pairs if shown.tables else []:
        blocks += [pair_table(found, pair), Paragraphs(tutorial_lines(found, pair))]
    blocks += [Heading("Each by itself"), summary_table(found), *_joint(found)]
    blocks += [Paragraphs(_measure_lines(found))] if found.other_measure else []
    if shown.pairs:
        blocks += [Heading("Pairs"), pairs_table(found)]
        if found.values is not None:
            blocks.append(replication_table(found))
        blocks += [Paragraphs(lines)] if (lines := _multiplicity_lines(found)) else []
    blocks += detail_blocks(found, pairs=shown.pairs)
    example = next((pair.estimate for pair in found.pairs if pair.estimate is not None), None)
    blocks += [Heading("How the cases were sampled"), Paragraphs(sampling_lines(found.sampling, example))]
    if shown.pairs:
        blocks += [
            Heading("Verdicts"),
            Paragraphs([line for pair in found.pairs for line in pair_verdict(found, pair)]),
        ]
        blocks += margin_blocks(found)
    else:
        blocks.append(
            Paragraphs(
                [f"--baseline NAME shows one against the others; --format json has all {len(found.pairs):,} pairs."]
            )
        )
    return blocks


def better_table(found: Comparison) -> Table:
    """Which was better, and on how many cases."""
    names = found.aligned.names
    rows: list[list[Cell]] = [
        [f"{names[i]} better", *("x" if count is None else count for count in row)]
        for i, row in enumerate(found.better)
    ]
    return Table(["", *(f"{name} worse" for name in names)], rows)


def pair_table(found: Comparison, pair: Pair) -> Table:
    """The 2 x 2 table of a pair."""
    a, b = found.aligned.names[pair.a], found.aligned.names[pair.b]
    rows: list[list[Cell]] = [
        [f"{b} failed", pair.n_ff, pair.n_sf],
        [f"{b} succeeded", pair.n_fs, pair.n_ss],
    ]
    return Table(["", f"{a} failed", f"{a} succeeded"], rows)


def summary_table(found: Comparison) -> Table:
    """Each algorithm, the best first; those that share a letter cannot be told apart."""
    order = found.order
    level = percent(found.confidence)
    columns = ["name", "tests", "TP", "TN", "FP", "FN", "ER", "rate", f"Wilson {level}"]
    # The estimate by design is the rate itself, unless cases weigh differently.
    weighted = found.other_measure or (found.sampling.known and found.sampling.weights != "cases")
    columns += [found.measure.name if found.other_measure else "weighted"] if weighted else []
    columns += [f"by design {level}"] if found.values is not None else []
    rows: list[list[Cell]] = []
    for i in order:
        run, counts = found.runs[i], found.aligned.counts[i]
        row: list[Cell] = [run.name, counts.tests, counts.TP, counts.TN, counts.FP, counts.FN, counts.ER, run.rate]
        row.append(interval_text(run.interval))
        if found.values is not None:
            value, interval = estimate_cells(run.estimate)
            row += [value if run.estimate else "-"] if weighted else []
            row.append(interval)
        rows.append([*row, *([found.letters[i]] if found.baseline is None else [])])
    return Table([*columns, *(["letters"] if found.baseline is None else [])], rows)


def _joint(found: Comparison) -> list[Block]:
    if len(found.runs) < 3:
        return []
    q = found.cochran
    lines = [f"Cochran's Q = {q.statistic:.3f}, {q.df} degrees of freedom, {p_is(q.p_value)} (cases independent)."]
    if (wald := found.wald) is not None and isfinite(wald.f) and wald.df_error > 0:
        lines.append(
            f"With the design: F = {wald.f:.3f} on {wald.df} and {wald.df_error:.1f} degrees of freedom, "
            f"{p_is(wald.p_value)}."
        )
    if found.baseline is None:
        lines.append("Algorithms that share a letter cannot be told apart.")
    combined = f"Always picking an algorithm that is right would give {found.oracle:.4f}"
    lines.append(f"{combined}, a majority vote {found.majority:.4f}.")
    return [Paragraphs(lines)]


def pairs_table(found: Comparison) -> Table:
    """McNemar's test and the difference, as if cases were independent."""
    columns = ["pair", "difference", f"Newcombe {percent(found.confidence)}"]
    columns += ["z", "p exact", "p mid", "p one-sided", f"p {_correction(found, plain=True)}"]
    rows: list[list[Cell]] = [
        [
            _pair_name(found, pair),
            pair.difference,
            interval_text(pair.interval),
            f"{pair.z:.3f}",
            *(p_text(p) for p in (pair.p_exact, pair.p_mid, pair.p_one_sided, pair.p_adjusted)),
        ]
        for pair in found.pairs
    ]
    return Table(columns, rows)


def replication_table(found: Comparison) -> Table:
    """The difference, with its error by design."""
    columns = ["pair", "method", "difference", "se", "df", f"{percent(found.confidence)} interval"]
    columns += ["p", "p flip", f"p {_correction(found)}", "deff", "icc"]
    rows: list[list[Cell]] = []
    for pair in found.pairs:
        one = pair.estimate
        if one is None:
            continue
        rows.append([
            _pair_name(found, pair), one.method, one.value, one.se, "-" if isinf(one.df) else f"{one.df:.0f}",
            interval_text(one.interval), p_text(one.p_value), p_text(one.p_sign_flip), p_text(one.p_adjusted),
            _two(one.design_effect), _two(one.icc),
        ])  # fmt: skip
    return Table(columns, rows)


def _correction(found: Comparison, *, plain: bool = False) -> str:
    """The correction for many pairs; McNemar's p-values have no max-t."""
    method = found.multiplicity
    return correction_name(Multiplicity.HOLM if plain and method is Multiplicity.MAX_T else method)


def _pair_name(found: Comparison, pair: Pair) -> str:
    return f"{found.aligned.names[pair.a]} - {found.aligned.names[pair.b]}"


def _two(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def metric_remark(aligned: AlignedRuns) -> str:
    """Imported runs of one test may have been marked by different metrics, which is not part of its identity."""
    metrics = [header.params.get("metric") for header in aligned.headers]
    if len(set(map(str, metrics))) < 2:
        return ""
    how = ", ".join(f"{name} by {metric or 'another'}" for name, metric in zip(aligned.names, metrics, strict=True))
    return f"not marked by the same metric: {how}"


def _measure_lines(found: Comparison) -> list[str]:
    """What is compared, and what that leaves to McNemar's test."""
    which = "more is better" if found.larger_is_better else "less is better"
    lines = [f"Compared by {found.measure.words} ({which}). McNemar's test, and who was better, are about success."]
    lacking = [run.name for run in found.runs if run.value is None]
    if lacking:
        has = "has" if len(lacking) == 1 else "have"
        needs = f": it needs {found.measure.needs}" if found.measure.needs else ""
        lines.append(f"{listed(lacking)} {has} no {found.measure.name}{needs}.")
    return lines


def _multiplicity_lines(found: Comparison) -> list[str]:
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
