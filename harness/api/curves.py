"""Curves from Python, and everything that distinguishes them: a view and a function for each.

The commands are made of the views. What takes long to import is imported when a function is called.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.options.curves import CmcOptions, CurveOptions, FrocOptions, PrOptions
from harness.report.curve_view import (
    AxisPair,
    CurveView,
    ViewAxis,
    band_over,
    false_positive_axis,
    fnr_band,
    precision_band,
    rank_axis,
    tpr_band,
    unit_axis,
    upper_rate_axis,
)

if TYPE_CHECKING:
    from harness.api.curve_result import CurveResult
    from harness.api.transcripts import Given, Transcripts

_FPR = ViewAxis("fpr", "false-positive rate", unit_axis)
_PRECISION = ViewAxis("precision", "precision", unit_axis)

ROC = CurveView(
    name="roc",
    help="""ROC curves of transcripts, or of a test, which is run first.

    A transcript is a file, a URL, NAME of a run, TEST/NAME of a published one, or -; as many as you like.
    On a terminal a summary is printed, elsewhere the points.

    \b
    hate roc wisard witch --plot roc.svg
    hate roc wisard witch --at fpr=0.01 --format table
    """,
    options=CurveOptions,
    title="ROC curve",
    description="The true-positive rate over the false-positive rate. Guessing would give the dashed diagonal.",
    summary="Areas and equal error rates",
    x=_FPR,
    y=ViewAxis("tpr", "true-positive rate", unit_axis),
    axes={"linear": AxisPair(diagonal=True), "log": AxisPair(x="log", legend_at="top left")},
    band=tpr_band,
    square=True,
    corner=True,
)


def roc(transcripts: "Transcripts", *, options: CurveOptions) -> "CurveResult":
    """ROC curves of one or several transcripts, with areas, bands and operating points.

    >>> harness.roc(["wisard", "witch"], at="fpr=0.01")
    """
    from harness.api.curve_result import threshold_curves

    return threshold_curves(ROC, transcripts, options=options)


DET = CurveView(
    name="det",
    help="""DET curves of transcripts, or of a test, which is run first: both errors on normal deviate axes.

    A transcript is a file, a URL, NAME of a run, TEST/NAME of a published one, or -; as many as you like.
    On a terminal a summary is printed, elsewhere the points.

    \b
    hate det wisard witch --plot det.svg
    hate det wisard witch --axes log --gnuplot det.gp
    """,
    options=CurveOptions,
    title="DET curve",
    description="The false-negative rate over the false-positive rate: the nearer to the lower left, the better.",
    summary="Areas and equal error rates",
    x=_FPR,
    y=ViewAxis("fnr", "false-negative rate", unit_axis),
    axes={
        "normal": AxisPair("normal", "normal", diagonal=True),
        "log": AxisPair("log", "log", diagonal=True),
        "linear": AxisPair(diagonal=True),
    },
    band=fnr_band,
    legend="eer",
    square=True,
    equal=True,
)


def det(transcripts: "Transcripts", *, options: CurveOptions) -> "CurveResult":
    """DET curves: both error rates against each other.

    >>> harness.det(["wisard", "witch"])
    """
    from harness.api.curve_result import threshold_curves

    return threshold_curves(DET, transcripts, options=options)


PR = CurveView(
    name="pr",
    help="""Precision and recall of transcripts, or of a test, which is run first.

    A transcript is a file, a URL, NAME of a run, TEST/NAME of a published one, or -; as many as you like.
    On a terminal a summary is printed, elsewhere the points.

    \b
    hate pr wisard witch --plot pr.svg
    hate pr wisard witch --format csv > points.csv
    """,
    options=PrOptions,
    title="Precision over recall",
    description="The precision over the recall: the higher and the further to the right, the better.",
    summary="Precision and recall",
    x=ViewAxis("tpr", "recall", unit_axis),
    y=_PRECISION,
    axes={"linear": AxisPair(legend_at="bottom left")},
    band=precision_band,
    step="pre",
    summaries=("average_precision", "auc"),
    legend="average_precision",
)


def pr(transcripts: "Transcripts", *, options: PrOptions) -> "CurveResult":
    """Curves of precision over recall.

    >>> harness.pr(["wisard", "witch"])
    """
    from harness.api.curve_result import threshold_curves

    return threshold_curves(PR, transcripts, options=options)


FROC = CurveView(
    name="froc",
    help="""Free-response curves: the share of objects found over the false positives per image.

    T is a test of task boxes, which is run first, or its transcript: a file, a URL, NAME of a run, TEST/NAME of a
    published one, or -; as many as you like. On a terminal a summary is printed, elsewhere the points.

    \b
    hate froc blobs relief --plot froc.svg
    hate froc blobs --psu scene --format json
    """,
    options=FrocOptions,
    title="Free-response curve",
    description="The share of objects found over the false positives per image.",
    summary="Recall at so many false positives per image",
    x=ViewAxis("fppi", "false positives per image", false_positive_axis),
    y=ViewAxis("recall", "recall", unit_axis),
    axes={"log": AxisPair(x="log2")},
    band=band_over("fppi"),
    step="post",
    legend="mean_recall",
    height=2.9,
)


def froc(transcripts: "Transcripts", *, options: FrocOptions) -> "CurveResult":
    """Free-response curves of one or several transcripts of tests of task boxes.

    >>> harness.froc(["blobs", "relief"], psu="scene")
    """
    from harness.api.curve_result import object_curves

    return object_curves(FROC, transcripts, options=options)


CMC = CurveView(
    name="cmc",
    help="""Cumulative match curves: the share of probes found at each rank or better.

    T is a rank test, which is run first, its transcript, or a similarity matrix: .npy with a table of labels beside it,
    or CSV or Parquet with the gallery in its first row and the probes in its first column.

    \b
    hate cmc faces --interface matrix:eigenfaces_l1.npy --probe 'image>1'
    hate cmc faces.npy --gallery session=1 --probe session=2 --plot cmc.svg
    hate cmc faces.csv --identity '^[^_]+'
    """,
    options=CmcOptions,
    title="Cumulative match curve",
    description="The share of probes whose right identity is found at this rank or better.",
    summary="Recognition rates",
    x=ViewAxis("rank", "rank", rank_axis),
    y=ViewAxis("rate", "identification rate", upper_rate_axis),
    axes={"log": AxisPair(x="log")},
    band=band_over("rank"),
    step="post",
    legend="rank_one",
    height=2.7,
)


def cmc(given: "Given | Sequence[Given]", *, options: CmcOptions) -> "CurveResult":
    """Cumulative match curves of transcripts of rank tests, and of similarity matrices.

    >>> harness.cmc("faces.npy", gallery="session=1")

    Args:
        given: Transcripts, or files of matrices (.npy, .csv, .tsv, .parquet); one or several.
    """
    from harness.api.identification import rank_curves

    return rank_curves(CMC, given, options=options)


# The views by the names of their commands.
VIEWS = {view.name: view for view in list(globals().values()) if isinstance(view, CurveView)}
