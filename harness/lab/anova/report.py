"""Analysis of variance as a result: JSON and a table for programs, a table and sentences for people."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.analysis.run_identity import identity_json
from harness.api.result import Result
from harness.lab.anova.analysis import TestedTerm, VarianceAnalysis
from harness.report.blocks import Block, Column, Heading, P, Paragraphs, Table, table_of, tidy_table_of
from harness.report.numbers import p_text, sampling_lines, share_text

# A share that would be printed as nothing.
_LITTLE = 0.001
LEVEL = 0.05


@dataclass(frozen=True, repr=False)
class AnovaResult(Result):
    """Main effects and two-way interactions of columns, and of the algorithm if there are several."""

    analysis: VarianceAnalysis
    remarks: Sequence[str] = ()

    def payload(self) -> Any:
        analysis, sample = self.analysis, self.analysis.sampling.sample
        return {
            "test": identity_json(analysis.aligned.headers[0].test),
            "transcripts": [{"name": name} for name in analysis.aligned.names],
            "anova": {
                "factors": [{"name": factor.name, "levels": factor.levels} for factor in analysis.factors],
                "cases": analysis.aligned.n,
                "units": sample.units,
                "strata": sample.strata,
                "target": analysis.sampling.target,
                "terms": analysis.terms,
            },
        }

    def blocks(self) -> Sequence[Block]:
        """A row for each term, what was shown, and how the cases were sampled."""
        analysis, test = self.analysis, self.analysis.aligned.headers[0].test
        return [
            Heading(f"{test.name} {test.version}: analysis of variance, {', '.join(analysis.aligned.names)}"),
            table_of(analysis.terms, _COLUMNS),
            Paragraphs(_lines(analysis)),
            Heading("How the cases were sampled"),
            Paragraphs(sampling_lines(analysis.sampling, None)),
        ]

    def table(self) -> Table:
        return tidy_table_of(self.analysis.terms, _COLUMNS)


_COLUMNS = [
    Column[TestedTerm]("term", lambda term: _name(term)),
    Column[TestedTerm]("df"),
    Column[TestedTerm]("share", head="share of variance", form=".1%"),
    Column[TestedTerm]("f", head="F", form=".2f"),
    Column[TestedTerm]("df_error", head="df error", form=".0f"),
    Column[TestedTerm]("p", "p_value", form=P),
    Column[TestedTerm]("p_adjusted", head="p Holm", form=P),
]


def _name(term: TestedTerm) -> str:
    return " x ".join(term.factors)


def _lines(analysis: VarianceAnalysis) -> list[str]:
    shown = [(term, p) for term in analysis.terms if (p := term.p_adjusted) is not None and p <= LEVEL]
    lines = [_sentence(term, p) for term, p in shown]
    if not lines:
        lines.append("No column and no pair of columns was shown to matter.")
    aliased = [_name(term) for term in analysis.terms if not term.df]
    if aliased:
        lines.append(f"Cannot be told from the other terms, as one column follows from another: {', '.join(aliased)}.")
    lone = [_name(term) for term in analysis.terms if term.df and term.p_value is None]
    if lone:
        lines.append(f"Too few units for a test in some groups: {', '.join(lone)}.")
    return lines


def _sentence(term: TestedTerm, p: float) -> str:
    much = share_text(term.share) if term.share >= _LITTLE else f"less than {share_text(_LITTLE)}"
    if len(term.factors) == 1:
        return f"{term.factors[0]} matters: {much} of the variance ({p_text(p)})."
    first, second = term.factors
    return f"What {second} does depends on {first}: {much} of the variance ({p_text(p)})."
