"""The binormal curve of every curve over a threshold: `--binormal` of `hate roc`, `det` and `pr`."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis.curves.curve import Curve
from harness.api.curve_result import CurveResult
from harness.api.extension import Extension
from harness.api.result import Addition
from harness.lab.binormal.statistics import binormal_of_scores
from harness.options.curves import CurveOptions
from harness.report.blocks import Block, Column, Heading, Paragraphs, table_of


@dataclass(frozen=True)
class FittedCurve:
    """The binormal curve of a run, with its area and its equal error rate; None and a reason if there is none."""

    name: str
    a: float | None = None
    b: float | None = None
    auc: float | None = None
    eer: float | None = None
    reason: str | None = None


class BinormalExtension(Extension[CurveOptions, CurveResult]):
    """`--binormal`."""

    def add(self, result: CurveResult, options: CurveOptions) -> Addition:
        fits = [_fitted(curve) for curve in result.curves]
        return Addition(fits, _blocks(fits))


def _fitted(curve: Curve) -> FittedCurve:
    if curve.cases is None:
        several = "its points are of several runs, not of the scores of one"
        reason = f"its scores are of {curve.elements}, not of cases" if curve.elements else several
        return FittedCurve(curve.name, reason=reason)
    try:
        fit = binormal_of_scores(curve.cases)
    except ValueError as error:
        return FittedCurve(curve.name, reason=str(error))
    return FittedCurve(curve.name, fit.a, fit.b, fit.area, fit.equal_error)


def _blocks(fits: Sequence[FittedCurve]) -> list[Block]:
    columns: list[Column[FittedCurve]] = [
        Column("name"),
        *(Column[FittedCurve](name, head=name, form=".3f") for name in ("a", "b")),
        Column("auc", head="AUC", form=".4f"),
        Column("eer", head="EER", form=".4f"),
    ]
    lines = [
        "The curve that fits best if some transformation makes the scores of both classes normal: a straight line with "
        "intercept a and slope b on normal axes (Dorfman and Alf 1969). hate rate --statistic auc_binormal has the "
        "error of its area.",
        *(f"{fit.name}: {fit.reason}." for fit in fits if fit.reason is not None),
    ]
    return [Heading("Binormal curves"), table_of(fits, columns), Paragraphs(lines)]
