"""What is drawn, measured: legends cover nothing, letters are readable, hostile names stay text, data may be odd."""

import json
import re
import struct
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.dom.minidom import parseString

import numpy as np
import pytest
from matplotlib.legend import Legend
from matplotlib.text import Text

from harness import roc
from harness.analysis.curves.curve import Curve
from harness.api.curve_result import CurveResult
from harness.api.curves import VIEWS
from harness.errors import UsageError
from harness.options import PictureOptions
from harness.params import Value
from harness.report.plots.canvas import Picture
from harness.report.plots.heat_maps import plot_confusion
from harness.report.plots.labels import touches
from harness.report.plots.scores import plot_scores
from harness.report.plots.settings import SettingsChart, SettingValue, plot_settings
from harness.report.plots.style import BACKGROUND, COLOURS, DASHES, DIM, GREY, GRID, GUIDE, INK, SMALL, THIN
from harness.stats.curves.scores import counts_of, make_scored_cases, score_histogram
from harness.stats.rates import Interval
from tests.analysis.curves.transcripts import random_scores, scores, write_transcript

# Measuring a finished picture warns again of letters that no font has.
pytestmark = pytest.mark.filterwarnings("ignore:Glyph")
HOSTILE = ("$x_1$ \\frac", "<b>&\"'</b>", "名前 🎉 Ω", "a" * 200, "line\nbreak\x1b[31m", "%s {} \\", "_under_score_")


def picture_of(view: str, curves: Sequence[Curve], options: PictureOptions | None = None) -> Picture:
    """Curves as `hate roc`, `det` or `pr` draws them."""
    return CurveResult(VIEWS[view], curves, 0.95).make_picture(options or PictureOptions())


def curves_of(folder: Path, names: tuple[str, ...], *, apart: float = 1.0, kind: str = "roc") -> CurveResult:
    """Curves of random scores, by name."""
    paths = []
    for seed, name in enumerate(names):
        values, positive = random_scores(seed, 60)
        values = values + apart * seed / len(names) * positive
        paths.append(write_transcript(folder / f"t{seed}.jsonl", scores(values, positive), algorithm=name))
    return replace(roc(paths), view=VIEWS[kind])


def legend_covers(picture: Picture) -> list[str]:
    """What the legend lies on, by asking every artist for its own pixels."""
    picture.figure.draw_without_rendering()
    artists = [
        artist for axes in picture.panels for artist in (*axes.lines, *axes.collections, *axes.texts, *axes.child_axes)
    ]
    boxes = [legend.get_window_extent() for legend in legends(picture)]
    artists += [axes.title for axes in picture.panels if axes.get_title()]
    assert all(picture.figure.bbox.padded(1).count_contains(box.corners()) == 4 for box in boxes), "a legend is cut off"
    return [str(artist) for box in boxes for artist in artists if artist.get_gid() != GUIDE and touches(artist, box)]


def legends(picture: Picture) -> list[Legend]:
    """Those inside and above the axes, and those of the whole picture."""
    return [*picture.figure.legends, *(legend for axes in picture.panels if (legend := axes.get_legend()) is not None)]


KINDS = ("roc", "det", "pr")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("count", "width"),
    [(1, 3.3), (7, 3.5), *(pytest.param(20, width, marks=pytest.mark.slow) for width in (3.3, 7.16))],
)
def test_a_legend_covers_no_curve(tmp_path: Path, kind: str, count: int, width: float) -> None:
    names = tuple(f"{HOSTILE[seed % len(HOSTILE)]} {seed}" for seed in range(count))
    result = curves_of(tmp_path, names, apart=2.0)
    picture = picture_of(kind, result.curves, PictureOptions(width=width, title="A title"))
    assert legend_covers(picture) == []
    assert picture.figure.get_size_inches()[0] == width


def test_a_legend_moves_where_a_curve_is_in_its_place() -> None:
    """A line along every spot in turn: it goes elsewhere, and above the axes when all of them are taken."""
    spots = {"lower right": (0.8, 0.1), "upper right": (0.8, 0.9), "lower left": (0.2, 0.1), "upper left": (0.2, 0.9)}
    for taken in (["lower right"], ["lower right", "lower left"], list(spots)):
        with Picture(height=2.5) as picture:
            picture.axes.set(xlim=(0, 1), ylim=(0, 1))
            for spot in taken:
                x, y = spots[spot]
                picture.axes.plot([x - 0.15, x + 0.15], [y, y], label=f"curve {spot}")
            if len(taken) == len(spots):
                picture.axes.plot([0, 1], [0.5, 0.5])
            picture.legend()
        assert legend_covers(picture) == []
        [legend], axes = legends(picture), picture.axes.get_window_extent()
        outside = legend.get_window_extent().y0 >= axes.y1
        assert outside == (len(taken) == len(spots))


def test_letters_are_readable_at_column_width(tmp_path: Path) -> None:
    """No text of a picture is smaller than 7 points, in the legend, on the axes and in cells."""
    result = curves_of(tmp_path, ("one", "two"))
    settings = [SettingValue({"a": a, "b": b}, a + b / 10) for a in range(4) for b in range(4)]
    pictures = [
        result.picture(), plot_scores(result.curves), plot_confusion(list("abc"), [[1, 2, 3, 4]] * 3),
        plot_settings(SettingsChart(settings, ["a", "b"], "rate", note="a note")),
    ]  # fmt: skip
    for picture in pictures:
        texts = [text for text in picture.figure.findobj(Text) if isinstance(text, Text) and text.get_text()]
        assert len(texts) > 10
        assert min(float(text.get_fontsize()) for text in texts) >= SMALL >= 7


def test_no_curve_is_dashed_like_the_line_that_no_threshold_reaches() -> None:
    """Marks of a curve are longer than dots, in units of its own width, and no two dashes are alike."""
    marks = [pattern[1][0::2] for pattern in DASHES if pattern != "-"]
    assert min(min(dashes) for dashes in marks) > 1.2
    assert THIN["linestyle"] == (0, (1, 2))
    assert len({str(dashes) for dashes in DASHES}) == len(DASHES)
    # So many curves differ in colour or dashes.
    assert len({(n % len(COLOURS), n % len(DASHES)) for n in range(20)}) == 20


@pytest.mark.slow
@pytest.mark.parametrize("width", [3.5, pytest.param(7.16, marks=pytest.mark.slow)])
def test_hostile_names_are_drawn_as_text(tmp_path: Path, width: float) -> None:
    found = curves_of(tmp_path, HOSTILE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture = found.picture(width=width, title=HOSTILE[0] * 8)
        svg = picture.svg(prefix="a-", alt=HOSTILE[1])
        picture.save(tmp_path / "a.pdf")
    assert b"/FontFile2" in (tmp_path / "a.pdf").read_bytes()
    texts = [one.get_text() for one in legends(picture)[0].get_texts()]
    assert len(texts) == len(HOSTILE)
    assert any("$x_1$ \\frac" in text.replace("\n", " ") for text in texts)
    assert not any("\x1b" in text for text in texts)
    # Of a name of 200 letters, both ends stay.
    assert any("aaa…aaa" in text for text in texts)
    element = parseString(svg).documentElement
    assert element is not None
    assert element.getAttribute("aria-label") == HOSTILE[1]


def test_svg_for_a_page_reaches_nothing_else(tmp_path: Path) -> None:
    """Its ids have the prefix and are used, it has no styles, comments or scripts, and only colours that are named."""
    result = curves_of(tmp_path, ("wise <i>", "other"), apart=0)
    svg = result.picture(width=6.0).svg(prefix="roc-")
    assert svg.startswith("<svg ")
    assert svg.rstrip().endswith("</svg>")
    assert 'width="432pt"' in svg
    ids = re.findall(r' id="([^"]+)"', svg)
    assert len(set(ids)) == len(ids) > 0
    assert all(name.startswith("roc-") for name in ids)
    assert set(re.findall(r'(?:href="|url\()#([^")]+)', svg)) == set(ids)
    assert not re.search(r"style|<!--|<script|<metadata|wise", svg)
    colours = set(re.findall(r"#[0-9a-fA-F]{6}\b", svg))
    assert colours <= {*COLOURS, BACKGROUND, INK, GRID, GREY, DIM}
    assert {BACKGROUND, INK, COLOURS[0], COLOURS[1]} <= colours
    assert svg == result.picture(width=6.0).svg(prefix="roc-")


def one_curve(folder: Path, values: list[float | None], positive: list[bool]) -> list[Curve]:
    records = scores(np.array([0.0 if value is None else value for value in values]), np.array(positive))
    for record, value in zip(records, values, strict=True):
        if value is None:
            del record["score"], record["actual"]
            record["error"] = "crash"
    return list(roc([write_transcript(folder / "odd.jsonl", records)]).curves)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "positive"),
    [
        ([1.0, 0.0], [True, False]),
        ([0.5, 0.5, 0.5], [True, False, False]),
        ([None, None, None, 1.0], [True, False, False, True]),
        ([1e300, -1e300, 1.0, 2.0], [True, False, True, False]),
        ([3.0, 3.0, 3.0, 3.0, 2.0], [True, True, True, True, False]),
    ],
    ids=["two cases", "one score", "errors", "huge", "perfect"],
)
def test_odd_scores_are_drawn(tmp_path: Path, values: list[float | None], positive: list[bool]) -> None:
    curves = one_curve(tmp_path, values, positive)
    for kind in (*KINDS, "scores"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            picture = plot_scores(curves) if kind == "scores" else picture_of(kind, curves)
            assert legend_covers(picture) == []
            assert picture.svg().startswith("<svg")


def test_shares_of_scores_are_those_of_the_cases() -> None:
    """All shares of a class, those further out and those without a finite score add up to 1."""
    rng = np.random.default_rng(0)
    positive = rng.random(500) < 0.5
    values = rng.normal(size=500) + positive
    values[:10], values[10:15], values[15] = -np.inf, np.inf, 1e6
    histogram = score_histogram(counts_of(make_scored_cases(values, positive)))
    for class_, of in ((histogram.positive, positive), (histogram.negative, ~positive)):
        assert class_.shares.sum() + class_.further + class_.infinite == pytest.approx(1, abs=1e-12)
        assert class_.infinite == pytest.approx(np.mean(~np.isfinite(values[of])), abs=1e-12)
        expected = np.histogram(values[of], histogram.edges)[0] / of.sum()
        assert class_.shares == pytest.approx(expected, abs=1e-12)
    assert histogram.edges[-1] < 1e5


def test_a_sweep_over_one_parameter_has_its_values_and_band() -> None:
    settings = [SettingValue({"k": 10.0**k}, 0.5 + k / 10, Interval(0.4 + k / 10, 0.6 + k / 10)) for k in (2, 0, 1)]
    picture = plot_settings(SettingsChart(settings, ["k"], "rate", note="note"))
    points = np.asarray(picture.axes.lines[0].get_xydata(), dtype=np.float64)
    assert points.tolist() == [[1, 0.5], [10, 0.6], [100, 0.7]]
    assert picture.axes.get_xscale() == "log"
    [band] = picture.axes.collections
    box = band.get_datalim(picture.axes.transData)
    assert (box.y0, box.y1) == pytest.approx((0.4, 0.8))
    texts = plot_settings(SettingsChart([SettingValue({"m": name}, 0.5) for name in ("x", "y")], ["m"], "rate"))
    assert [label.get_text() for label in texts.axes.get_xticklabels()] == ["x", "y"]
    for bad in ([], [SettingValue({"k": 1}, float("nan"))]):
        with pytest.raises(UsageError, match="no setting has a value"):
            plot_settings(SettingsChart(bad, ["k"], "rate"))


def settings_of(*values: Value) -> list[SettingValue]:
    return [SettingValue({"k": value, "m": "x"}, index / 10) for index, value in enumerate(values)]


@pytest.mark.slow
def test_numbers_are_in_their_order_however_they_are_kept() -> None:
    """Texts that are numbers stand on a numeric axis; among words, numbers come first; 1 and 1.0 are two values."""
    for values in (("0.1", "0.5", "10", "2.0"), (0.1, 0.5, 10, 2.0)):
        picture = plot_settings(SettingsChart(settings_of(*values), ["k"], "rate"))
        points = np.asarray(picture.axes.lines[0].get_xydata(), dtype=np.float64)
        assert points[:, 0].tolist() == [0.1, 0.5, 2, 10]
        assert points[:, 1].tolist() == [0, 0.1, 0.3, 0.2]
    for given, shown in (
        ([10, None, 2, "sqrt"], ["2", "10", "None", "sqrt"]),
        (["scale", "10", "0.5"], ["0.5", "10", "scale"]),
        ([1.0, 0.5, 1], ["0.5", "1", "1.0"]),
    ):
        line = plot_settings(SettingsChart(settings_of(*given), ["k"], "rate"))
        assert [label.get_text() for label in line.axes.get_xticklabels()] == shown
        grid = plot_settings(SettingsChart(settings_of(*given), ["k", "m"], "rate"))
        assert [label.get_text() for label in grid.axes.get_xticklabels()] == shown


def test_settings_of_a_look_are_drawn_and_checked(tmp_path: Path) -> None:
    result = curves_of(tmp_path, ("wisard", "a=b"))
    picture = result.picture(
        title="Digits", label={"wisard": "WiSARD, ours", "a=b": "B", "false-positive rate": "FPR"}, xlim=(0, 0.5),
        ylim=(0.5, None), width=4,
    )  # fmt: skip
    assert picture.axes.get_title() == "Digits"
    assert picture.axes.get_xlim() == (0, 0.5)
    assert picture.axes.get_ylim()[0] == 0.5
    assert picture.axes.get_xlabel() == "FPR"
    labels = [text.get_text() for text in legends(picture)[0].get_texts()]
    assert [label.split(", AUC")[0] for label in labels] == ["WiSARD, ours", "B"]
    with pytest.raises(UsageError, match="label='nobody=x': write NAME=TEXT, with a name in the picture: wisard, a=b"):
        result.picture(label={"nobody": "x"})
    for settings, problem in (
        ({"xlim": "1,0"}, "from a number to a larger one"),
        ({"xlim": "a,b"}, "not LOW,HIGH"),
        ({"ylim": "0,inf"}, "from a number to a larger one"),
        ({"width": 1000}, "not in the range"),
        ({"width": "wide"}, "width=.wide.: not a width"),
    ):
        with pytest.raises(UsageError, match=problem):
            result.picture(**settings)


def test_limits_of_deviate_axes_are_rates(tmp_path: Path) -> None:
    result = curves_of(tmp_path, ("one",), kind="det")
    picture = result.picture(xlim=(0.05, 0.5))
    assert picture.axes.get_xlim() == pytest.approx((-1.6449, 0.0), abs=1e-4)
    with pytest.raises(UsageError, match=r"^xlim: this axis has rates above 0 and below 1"):
        result.picture(xlim=(0, 0.5))
    with pytest.raises(UsageError, match="--xlim: the x axis of this picture has no scale"):
        plot_confusion(["a"], [[1, 0]], PictureOptions.of({"xlim": "0,1"}))


@pytest.mark.slow
def test_the_corner_is_larger_where_all_curves_are_close_to_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    positive = np.arange(400) < 200
    close = write_transcript(tmp_path / "close.jsonl", scores(rng.normal(size=400) + 4 * positive, positive))
    far = write_transcript(tmp_path / "far.jsonl", scores(rng.normal(size=400) + positive, positive), algorithm="far")
    picture = roc([close]).picture()
    [inset] = picture.axes.child_axes
    assert inset.get_xlim()[1] <= 0.2
    assert legend_covers(picture) == []
    picture.figure.draw_without_rendering()
    box = inset.get_tightbbox()
    assert box is not None
    assert not [line for line in picture.axes.lines if line.get_gid() != GUIDE and touches(line, box)]
    assert roc([close, far]).picture().axes.child_axes == []
    assert roc([close]).picture(zoom=0.0).axes.child_axes == []
    panels = roc([far]).picture(zoom=0.3).panels
    assert [panel.get_xlim()[1] for panel in panels] == [1.0, 0.3]


@pytest.mark.slow
def test_png_is_as_wide_as_asked(tmp_path: Path) -> None:
    result = curves_of(tmp_path, ("one",))
    for width, inches in ((3.3, 3.3), ("1column", 3.5), ("2column", 7.16)):
        result.plot(tmp_path / "a.png", width=width, force=True)
        pixels, _ = struct.unpack(">II", (tmp_path / "a.png").read_bytes()[16:24])
        assert pixels == pytest.approx(inches * 300, abs=1)
    assert json.loads(result.render("json"))["curves"][0]["name"] == "one"
