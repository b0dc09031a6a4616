"""The paper's figures 1 to 4: the sample variance and what each design predicts."""

from collections.abc import Sequence

from harness.lab.urn.analysis import UrnExperiment, UrnRow
from harness.options import PictureOptions
from harness.report.plots.canvas import Picture
from harness.report.plots.style import COLOURS, GREY, logarithmic
from harness.report.text import safe

# As the paper draws them: cluster dotted, simple random dashed, stratified dots and dashes.
LOOKS = {
    "cl": ("cluster", COLOURS[2], (0, (1, 1))),
    "srs": ("simple random", GREY, (0, (5, 1.5))),
    "st": ("stratified", COLOURS[0], (0, (5, 1.5, 1, 1.5))),
}
SAMPLE = COLOURS[1]
MAX_TICKS = 8


def plot_urn(experiment: UrnExperiment, look: PictureOptions | None = None) -> Picture:
    """Over the runs if there are several, else over the thresholds."""
    by_run = experiment.options.runs > 1
    rows = (
        [row for row in experiment.rows if row.threshold == experiment.rows[0].threshold]
        if by_run
        else list(experiment.rows)
    )
    x = [float(row.run) if by_run else _place(row, number) for number, row in enumerate(rows)]
    with Picture(look, height=2.5) as page:
        sheet = page.sheet
        marker = "o" if len(rows) < 4 else None
        for design, (name, colour, dashes) in LOOKS.items():
            y = _above([row.mixing.predicted[design] for row in rows])
            sheet.plot(x, y, label=page.name(name), color=colour, linestyle=dashes, marker=marker, markersize=3)
        y = _above([row.mixing.sample_variance for row in rows])
        sheet.plot(x, y, label=page.name("sample variance"), color=SAMPLE, marker=marker, markersize=4, linewidth=1.5)
        logarithmic(sheet, "y", dense=True)
        if by_run or rows[0].threshold is None:
            sheet.set_xticks([] if not by_run else [one for one in x if len(x) <= MAX_TICKS or one % 5 == 0])
        sheet.set(xlabel=page.name(_what(experiment, by_run)), ylabel=page.name("variance of the rate"))
        page.legend(inside=False, title=safe(_title(experiment)))
    return page


def _place(row: UrnRow, number: int) -> float:
    return float(number) if row.threshold is None else row.threshold


def _above(values: Sequence[float]) -> list[float]:
    """Without 0, which a logarithmic axis cannot show."""
    return [value if value > 0 else float("nan") for value in values]


def _what(experiment: UrnExperiment, by_run: bool) -> str:
    if by_run:
        return "run"
    return "threshold" if experiment.rows[0].threshold is not None else ""


def _title(experiment: UrnExperiment) -> str:
    options = experiment.options
    parts = [f"groups by {options.group}"]
    if options.resample is not None:
        parts.append("different ones in every trial")
    if options.shuffle:
        parts.append(f"{', '.join(options.shuffle)} shuffled")
    return "; ".join(parts)
