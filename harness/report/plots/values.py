"""Numbers: the error of each answer over its truth, and the agreement of two runs as Bland and Altman draw it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.analysis.rate import RunMeasures
from harness.analysis.value_errors import Agreement, ErrorsOverTruth, errors_over_truth
from harness.errors import UsageError
from harness.options import PictureOptions
from harness.report.numbers import limits_of, percent
from harness.report.plots.canvas import Picture
from harness.report.plots.style import COLOURS, DASHES, GREY, GUIDE_DASHES, error_bars, guide
from harness.stats.arrays import FloatArray
from harness.stats.estimate import Estimate
from harness.stats.replication.method import Replication

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More runs than this would not fit on a page.
MAX_RUNS = 4
# More points than this are drawn as an image, even in a file of lines: it would be huge.
MAX_SHAPES = 2000
# Letters of a name beside an axis.
MAX_NAME_LENGTH = 18
POINT, LINE, BLACK = COLOURS[0], COLOURS[1], COLOURS[6]


def plot_errors(
    runs: Sequence[RunMeasures],
    replication: Replication,
    options: PictureOptions | None = None,
    ax: "Axes | None" = None,
) -> Picture:
    """The error of every answer over the truth, a panel for each run, with the mean error in bins of the truth."""
    if not runs[0].aligned.has_numbers:
        raise UsageError("plot: there are no groups to draw; rate with by=COLUMN")
    if len(runs) > MAX_RUNS:
        raise UsageError(f"--plot: {len(runs)} transcripts; the errors of up to {MAX_RUNS} are drawn")
    panels = [errors_over_truth(run.aligned, run.sampling, replication) for run in runs]
    height = 0.7 + 1.7 * len(panels)
    with Picture(options, ax, height=height, panels=len(panels), sharex=True, sharey=True) as picture:
        for axes, run in zip(picture.panels, panels, strict=True):
            # All points first: the panels share their axes.
            _points(axes, run.truth, run.errors)
        for axes, run in zip(picture.panels, panels, strict=True):
            axes.axhline(0, **guide(linewidth=0.8))
            if run.tolerance and run.truth.size:
                _tolerance(axes, run)
            if run.bias is not None:
                _level(axes, run.bias, LINE, "-", f"bias {_text(run.bias)}")
            if run.bins:
                points = [(bin_.truth, bin_.bias.value, bin_.bias.interval) for bin_ in run.bins]
                label = f"mean error, {percent(replication.confidence)} interval"
                error_bars(axes, points, label=label, color=BLACK, marker="s", markersize=2.8, linestyle="none")
            who = "" if len(panels) == 1 else f"{picture.name(run.name, MAX_NAME_LENGTH)}\n"
            axes.set_ylabel(f"{who}{picture.name('answer − truth')}")
            picture.legend(axes, inside=False)
            axes.grid(visible=False, axis="x")
        picture.panels[-1].set_xlabel(picture.name("truth"))
    return picture


def _tolerance(axes: "Axes", run: ErrorsOverTruth) -> None:
    """How far off an answer may be: the same everywhere, or a share of the truth."""
    ends = sorted({float(run.truth.min()), float(run.truth.max()), 0.0} if run.relative else {0.0})
    ends = [end for end in ends if run.truth.min() <= end <= run.truth.max()]
    shown = axes.get_ylim()
    for sign in (1, -1):
        label = f"tolerance {run.tolerance:g}" if sign > 0 else None
        if run.relative:
            reach = [sign * (run.tolerance or 0.0) * abs(end) for end in ends]
            axes.plot(ends, reach, color=GREY, linestyle=GUIDE_DASHES, linewidth=0.8, label=label)
        else:
            level = sign * (run.tolerance or 0.0)
            axes.axhline(level, color=GREY, linestyle=GUIDE_DASHES, linewidth=0.8, label=label)
    if run.relative:
        # Far from 0 it would leave little room for the errors.
        axes.set_ylim(shown)


def plot_agreement(
    agreement: Agreement, confidence: float, options: PictureOptions | None = None, ax: "Axes | None" = None
) -> Picture:
    """The difference of two answers over their mean, with the mean difference and the limits of agreement."""
    with Picture(options, ax, height=2.6) as picture:
        axes, (a, b) = picture.axes, (picture.name(name, MAX_NAME_LENGTH) for name in agreement.names)
        _points(axes, agreement.means, agreement.differences)
        axes.axhline(0, **guide(linewidth=0.8))
        _level(axes, agreement.bias, LINE, "-", f"mean difference {_text(agreement.bias)}")
        limits = f"limits of agreement {_text(agreement.low)} and {_text(agreement.high)}"
        _level(axes, agreement.low, BLACK, DASHES[1], limits)
        _level(axes, agreement.high, BLACK, DASHES[1], None)
        axes.set_xlabel(picture.name("mean of both answers"))
        axes.set_ylabel(f"{a}\n− {b}" if len(a + b) > MAX_NAME_LENGTH else f"{a} − {b}")
        picture.legend(axes, inside=False, title=f"shaded: {percent(confidence)} intervals")
        axes.grid(visible=False, axis="x")
    return picture


def _points(axes: "Axes", x: FloatArray, y: FloatArray) -> None:
    many = x.size > MAX_SHAPES
    alpha = 0.6 if x.size <= 200 else 0.35 if not many else max(0.12, 700 / x.size)
    axes.scatter(x, y, s=5 if many else 8, color=POINT, alpha=alpha, linewidths=0, rasterized=many)


def _level(axes: "Axes", estimate: Estimate, colour: str, dashes: Any, label: str | None) -> None:
    """A line at an estimate, with its interval shaded."""
    low, high = limits_of(estimate)
    axes.axhspan(low, high, color=colour, alpha=0.15, linewidth=0)
    axes.axhline(estimate.value, color=colour, linestyle=dashes, linewidth=1.1, label=label)


def _text(estimate: Estimate) -> str:
    return f"{estimate.value:.3g}".replace("-", "−")
