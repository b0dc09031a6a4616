"""What a report says of scores, ranks, classes and numbers: what suits the task of its runs."""

from collections.abc import Sequence
from dataclasses import replace

from harness.analysis.align import Run, names_of
from harness.analysis.cmc import match_curve, ranks_of_run
from harness.analysis.confusion import confusions
from harness.analysis.curve import find_crossings
from harness.analysis.curves import make_curves
from harness.analysis.identification import identification
from harness.analysis.rate import RunMeasures
from harness.analysis.run_curves import free_response_curves
from harness.analysis.run_rates import repeats_of
from harness.analysis.value_errors import errors_over_truth
from harness.api.curves import CMC, FROC, PR, ROC
from harness.api.report_material import ReportMaterial
from harness.api.runs import unit_words
from harness.errors import HateError
from harness.options.comparing import ConfusionOptions
from harness.options.curves import CmcOptions, CurveOptions, FrocOptions
from harness.report.page.curves import curve_parts, error_parts
from harness.report.page.data_sheet import confusion_parts
from harness.report.page.document import Part, ReportSection
from harness.report.run_sentences import identification_sentences, repeats_sentence
from harness.tasks import find_task

# Points of a curve: more cannot be seen, and all of them are in the page.
POINTS = 400
# Curves that can be told apart in one chart.
MAX_CURVES = 7


def curve_section(material: ReportMaterial) -> ReportSection | None:
    """The curve that the task has: over a threshold, or over ranks; None if there is none."""
    runs = material.runs[:MAX_CURVES]
    try:
        parts = _rank_parts(runs, material) if _uses_gallery(runs[0]) else _threshold_parts(runs, material)
    except HateError:  # no scores, or cases of one kind only
        return None
    return ReportSection("curve", "Curve" if len(runs) == 1 else "Curves", parts)


def _uses_gallery(run: Run) -> bool:
    task = find_task(run.columns.header.test.task)
    return task is not None and task.uses_gallery


def _rank_parts(runs: Sequence[Run], material: ReportMaterial) -> list[Part]:
    options = CmcOptions.taken_from(material.options)
    named = zip(runs, names_of(runs), strict=True)
    ranked = [ranks_of_run(run, name, options, partial=options.partial) for run, name in named]
    return curve_parts(CMC, [match_curve(one, options) for one in ranked], (), options.confidence)


def _threshold_parts(runs: Sequence[Run], material: ReportMaterial) -> list[Part]:
    options = replace(CurveOptions.taken_from(material.options), points=POINTS)
    curves = make_curves(runs, options)
    if all(curve.has_negatives for curve in curves):
        return curve_parts(ROC, curves, find_crossings(curves), options.confidence)
    precise, found = (
        make_curves(runs, options, precise=True),
        free_response_curves(runs, FrocOptions.taken_from(options)),
    )
    of_precision, of_recall = (
        curve_parts(view, own, (), options.confidence) for view, own in ((PR, precise), (FROC, found))
    )
    # Both charts side by side, and then what is said about them.
    return [of_precision[0], of_recall[0], *of_precision[1:], *of_recall[1:]]


def confusion_section(material: ReportMaterial) -> ReportSection | None:
    """The confusion matrix of a single run; None if its answers are not classes."""
    options = ConfusionOptions.taken_from(material.options)
    try:
        [found] = confusions(material.runs, options)
    except HateError:
        return None
    return ReportSection("confusion", "Which class is mistaken for which", confusion_parts(found, options.confidence))


def error_section(run: RunMeasures, material: ReportMaterial) -> ReportSection | None:
    """The errors of answers that are numbers; None if they are not."""
    if not run.aligned.has_numbers:
        return None
    found = errors_over_truth(run.aligned, run.sampling, material.replication)
    return ReportSection("errors", "Errors of the answers", error_parts(found, material.options.confidence))


def further_sentences(material: ReportMaterial) -> list[str]:
    """What `hate run` says beside the counts: of several answers to a case, and of an identification."""
    [run], lines = material.runs, list[str]()
    header, columns = material.header, run.columns
    if isinstance(header.repeat, int) and columns.complete and len(columns.ids) % header.repeat == 0:
        lines.append(f"{repeats_sentence(repeats_of(columns, header.repeat), unit_words(header))}.")
    if _uses_gallery(run):
        lines += [f"{line}." for line in identification_sentences(identification(material.opened.paths[0]))]
    return lines
