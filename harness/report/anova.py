"""Analysis of variance, for people."""

from math import isfinite

from harness.analysis.anova import VarianceAnalysis
from harness.report.blocks import Block, Cell, Heading, Number, Paragraphs, Table
from harness.report.numbers import p_cell, p_is, share_text
from harness.report.sampling import sampling_lines
from harness.stats.variance_analysis import VarianceTerm

# A share that would be printed as nothing.
_LITTLE = 0.001


def anova_blocks(found: VarianceAnalysis, level: float = 0.05) -> list[Block]:
    """A row for each term, what was shown, and how the cases were sampled."""
    test = found.aligned.headers[0].test
    return [
        Heading(f"{test.name} {test.version}: analysis of variance, {', '.join(found.aligned.names)}"),
        anova_table(found),
        Paragraphs(_lines(found, level)),
        Heading("How the cases were sampled"),
        Paragraphs(sampling_lines(found.sampling, None)),
    ]


def anova_table(found: VarianceAnalysis) -> Table:
    """Main effects, then interactions."""
    rows: list[list[Cell]] = [
        [_name(term), term.df, Number(term.share, ".1%"), *_test_cells(term), p_cell(p_adjusted)]
        for term, p_adjusted in zip(found.terms, found.p_adjusted, strict=True)
    ]
    return Table(["term", "df", "share of variance", "F", "df error", "p", "p Holm"], rows)


def tidy_table(found: VarianceAnalysis) -> Table:
    """For spreadsheets: numbers only."""
    rows: list[list[Cell]] = []
    for term, p_adjusted in zip(found.terms, found.p_adjusted, strict=True):
        test = term.test
        numbers = (None, None, None) if test is None else (test.f, test.df_error, test.p_value)
        rows.append([_name(term), term.df, term.share, *map(_known, numbers), p_adjusted])
    return Table(["term", "df", "share", "f", "df_error", "p", "p_adjusted"], rows)


def _known(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None


def _name(term: VarianceTerm) -> str:
    return " x ".join(term.factors)


def _test_cells(term: VarianceTerm) -> list[Cell]:
    test = term.test
    if test is None:
        return [Number(None)] * 3
    return [Number(_known(test.f), ".2f"), Number(_known(test.df_error), ".0f"), p_cell(_known(test.p_value))]


def _lines(found: VarianceAnalysis, level: float) -> list[str]:
    shown = [(term, p) for term, p in zip(found.terms, found.p_adjusted, strict=True) if p is not None and p <= level]
    lines = [_sentence(term, p) for term, p in shown]
    if not shown:
        lines.append("No column and no pair of columns was shown to matter.")
    aliased = [_name(term) for term in found.terms if not term.df]
    if aliased:
        lines.append(f"Cannot be told from the other terms, as one column follows from another: {', '.join(aliased)}.")
    lone = [_name(term) for term in found.terms if term.df and (term.test is None or not isfinite(term.test.p_value))]
    if lone:
        lines.append(f"Too few units for a test in some groups: {', '.join(lone)}.")
    return lines


def _sentence(term: VarianceTerm, p: float) -> str:
    much = share_text(term.share) if term.share >= _LITTLE else f"less than {share_text(_LITTLE)}"
    if len(term.factors) == 1:
        return f"{term.factors[0]} matters: {much} of the variance ({p_is(p)})."
    first, second = term.factors
    return f"What {second} does depends on {first}: {much} of the variance ({p_is(p)})."
