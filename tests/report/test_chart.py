"""A chart as plain data: where values are placed, and what the drawers make of one that has everything."""

import math
import re
import shutil
import subprocess
from pathlib import Path
from statistics import NormalDist
from xml.dom.minidom import parseString

import pytest

from harness.options import PictureOptions
from harness.report.blocks import Table
from harness.report.chart import Band, Chart, ChartAxis, Mark, Series, stepped
from harness.report.gnuplot import chart_script
from harness.report.page.svg import line_chart
from harness.report.plots.chart import plot_chart

POINTS = [(0.0, 0.0), (0.2, 0.5), (1.0, 0.75)]


def test_steps_hold_a_value_up_to_a_point_or_from_it_on() -> None:
    assert stepped(POINTS, "") == POINTS
    assert stepped(POINTS, "post") == [(0, 0), (0.2, 0), (0.2, 0.5), (1, 0.5), (1, 0.75)]
    assert stepped(POINTS, "pre") == [(0, 0), (0, 0.5), (0.2, 0.5), (0.2, 0.75), (1, 0.75)]
    assert stepped([], "post") == []


def test_a_scale_places_values_and_shows_at_its_end_what_it_cannot() -> None:
    linear, log = ChartAxis("x", 2, 6), ChartAxis("x", 0.01, 1, "log", floor=0.01)
    assert [linear.share(value) for value in (2, 3, 6)] == [0, 0.25, 1]
    assert [log.share(value) for value in (0, 0.01, 0.1, 1)] == pytest.approx([0, 0, 0.5, 1])
    normal = ChartAxis("x", 0.01, 0.99, "normal", floor=0.01)
    of = NormalDist().inv_cdf
    assert normal.share(0.2) == pytest.approx((of(0.2) - of(0.01)) / (2 * of(0.99)))
    assert (normal.share(0), normal.share(0.5), normal.share(1)) == pytest.approx((0, 0.5, 1))


def test_a_scale_of_few_powers_is_marked_at_2_and_5() -> None:
    assert [tick for tick, _ in ChartAxis("rank", 1, 40, "log").marked] == [1, 2, 5, 10, 20]
    assert [label for _, label in ChartAxis("fpr", 1e-4, 1, "log").marked] == ["0.0001", "0.001", "0.01", "0.1", "1"]


def chart(scale: str = "linear", step: str = "") -> Chart:
    """A series with a band, a part that no threshold reaches, marks and an outline, and one with a line of its own."""
    columns = {
        "x": [0.0, 0.1, 0.4, 1.0],
        "y": [0.0, 0.5, 0.8, 1.0],
        "low": [0.0, 0.4, 0.7, 0.9],
        "high": [0.1, 0.6, 0.9, 1.0],
    }
    around = [(0.1 + 0.05 * math.cos(angle), 0.5 + 0.05 * math.sin(angle)) for angle in range(6)]
    path = {"x": [0.0, 0.2, 1.0], "y": [0.0, 0.6, 1.0]}
    first = Series(
        "one", columns, summary="AUC 0.9", band=Band(columns, "x", "low", "high"), part=(0, 3), step=step,
        marks=[Mark(0.1, 0.5, shape) for shape in ("diamond", "dot", "circle")], outlines=[around],
    )  # fmt: skip
    swept = Series("two", columns, summary="AUC 0.8", over="size", values=("1", "2", "3", "4"), path=path)
    low, floor = (0.0, 0.0) if scale == "linear" else (0.01, 0.01)
    x, y = (ChartAxis(name, low, 0.99, scale, floor=floor) for name in ("fpr", "tpr"))
    return Chart("Caption", "Words", x, y, [first, swept], Table(["x"], []), diagonal=True, levels=[0.5])


SCALES = ("linear", "log", "log2", "normal")


@pytest.mark.sampled(12)
@pytest.mark.parametrize("step", ["", "pre", "post"])
@pytest.mark.parametrize("scale", SCALES)
def test_every_drawer_takes_every_scale(tmp_path: Path, scale: str, step: str) -> None:
    whole = chart(scale, step)
    parseString(line_chart(whole))
    assert plot_chart(whole, height=3).svg().startswith("<svg")
    script = chart_script(whole, Path("a.gp"), PictureOptions())
    style = {"": "lines", "pre": "fsteps", "post": "steps"}[step]
    assert re.search(rf'using .*"x".*:.*"y".* with {style} .* title \'one, AUC 0.9\'', script)
    if shutil.which("gnuplot") is not None:
        (tmp_path / "a.gp").write_text(script, encoding="utf-8")
        ran = subprocess.run(["gnuplot", "a.gp"], cwd=tmp_path, capture_output=True, text=True)
        assert (ran.returncode, ran.stderr) == (0, "")


def test_a_band_and_a_line_end_where_no_threshold_reaches() -> None:
    first, swept = chart().series
    line, ends = first.lines
    assert [x for x, _ in line] == [x for x, _, _ in first.limits] == [0.0, 0.1, 0.4]
    assert ends == [[(0.4, 0.8), (1.0, 1.0)]]
    # The line of a sweep goes through the settings that none beats, and is closed at both ends.
    assert swept.lines == ([(0.2, 0.6)], [[(0.0, 0.0), (0.2, 0.6)], [(0.2, 0.6), (1.0, 1.0)]])
