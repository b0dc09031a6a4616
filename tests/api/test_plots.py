"""Pictures from Python: `plot` returns the axes, into which it has drawn."""

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, get_type_hints

import numpy as np
import pytest

import harness
from harness.api.curve_result import CurveResult
from harness.api.keywords import keyword_parameter
from harness.api.result import PictureResult
from harness.errors import HateError, OutputError, UsageError
from harness.options import CurvePictureOptions, OptionSet, PictureKeywords, PictureOptions, declared_options
from tests.analysis.curves.transcripts import random_scores, scores, write_transcript
from tests.analysis.numbers import numbers
from tests.workshop import Workshop

pyplot = pytest.importorskip("matplotlib.pyplot", reason="pictures are drawn by matplotlib")
Axes = pytest.importorskip("matplotlib.axes").Axes

NAMES = ("wise", "witty")
# How far the answers of two scales are off.
OFF = {"light": np.sin(np.arange(20)), "heavy": np.cos(np.arange(20))}


@pytest.fixture(autouse=True)
def no_figures() -> Iterator[None]:
    """A backend without windows, and no figure that is left open."""
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


@pytest.fixture
def data(shop: Workshop) -> Workshop:
    """Two transcripts of scores in the working folder."""
    values, positive = random_scores(0, 60)
    for seed, name in enumerate(NAMES):
        records = scores(values + seed * np.random.default_rng(5).normal(size=60), positive)
        for number, record in enumerate(records):
            record["columns"] = {"light": "dim" if number % 3 else "bright"}
        write_transcript(shop.folder / f"{name}.jsonl", records, algorithm=name)
    return shop


def curves(data: Workshop, *names: str) -> CurveResult:
    result = harness.roc([data.folder / f"{name}.jsonl" for name in names or NAMES])
    assert isinstance(result, CurveResult)
    return result


def labels(axes: Any) -> list[str]:
    """The names in a legend."""
    return [text.get_text().split(",")[0] for text in axes.get_legend().get_texts()]


# Keywords

KEYWORDS = [
    (PictureResult.plot, PictureOptions, {"self", "path", "ax", "force"}),
    (PictureResult.picture, PictureOptions, {"self"}),
    (CurveResult.plot, CurvePictureOptions, {"self", "path", "ax", "force"}),
    (CurveResult.picture, CurvePictureOptions, {"self"}),
    (CurveResult.plot_scores, PictureOptions, {"self", "path", "ax", "force"}),
    (CurveResult.scores_picture, PictureOptions, {"self"}),
    (CurveResult.gnuplot, CurvePictureOptions, {"self", "path"}),
]


@pytest.mark.parametrize(("method", "kind", "own"), KEYWORDS, ids=lambda one: getattr(one, "__qualname__", None))
def test_keywords_are_the_declared_options(method: Callable[..., Any], kind: type[OptionSet], own: set[str]) -> None:
    parameters = inspect.signature(method).parameters
    keywords = {name: parameter.default for name, parameter in parameters.items() if name not in own}
    declared = {one.name: one.default for one in declared_options(kind)}
    if method is CurveResult.gnuplot:  # It has no inset.
        del declared["zoom"]
    assert keywords == declared
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in keywords)


def test_every_keyword_has_a_sentence() -> None:
    for method in (PictureResult.plot, CurveResult.plot):
        text = inspect.getdoc(method) or ""
        for name in list(inspect.signature(method).parameters)[1:]:
            assert re.search(rf"\n    {name}(?: \([^\n]+\))?: ", text), name


def test_type_checkers_read_of_every_option_what_it_takes() -> None:
    taken = {declared.name: keyword_parameter(declared).annotation for declared in declared_options(PictureOptions)}
    assert get_type_hints(PictureKeywords) == taken


def test_what_is_given_reaches_the_picture(data: Workshop) -> None:
    given: dict[str, Any] = {"title": "Both", "label": {"wise": "W"}, "xlim": (0, 0.5), "ylim": (0.2, None)}
    result = curves(data)
    for axes in (result.plot(**given, width=5), result.picture(**given, width="2column").axes):
        assert (axes.get_title(), labels(axes)) == ("Both", ["W", "witty"])
        assert (axes.get_xlim(), axes.get_ylim()[0]) == ((0, 0.5), 0.2)
    result.plot(width=5)
    assert pyplot.gcf().get_size_inches()[0] == 5
    assert result.plot(axes="log").get_xscale() == "log"
    assert result.picture(zoom=0.3).panels[0].child_axes or len(result.picture(zoom=0.3).panels) == 2
    with pytest.raises(harness.HateError, match=r"zoom=0.3: a logarithmic axis shows the corner anyway"):
        result.plot(zoom=0.3, axes="log")
    script = result.gnuplot("a.gp", title="Both", axes="log")
    assert "Both" in script
    assert script != result.gnuplot("a.gp", title="Both")
    assert result.scores_picture(title="Scores").figure.get_suptitle() == "Scores"


def test_options_that_do_not_exist_are_refused(data: Workshop) -> None:
    with pytest.raises(TypeError, match="colour"):
        curves(data).plot(colour="red")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="zoom"):  # A script has no inset.
        curves(data).gnuplot("a.gp", zoom=0.3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("keywords", "problem"),
    [
        ({"label": {"nobody": "x"}}, "label='nobody=x': write NAME=TEXT"),
        ({"label": "nobody=x"}, "label='nobody=x': write NAME=TEXT"),
        ({"xlim": (1, 0)}, "xlim=(1, 0): an axis goes from a number to a larger one"),
        ({"xlim": (0, 1, 2)}, "xlim=(0, 1, 2): not LOW,HIGH"),
        ({"width": 1}, "width=1: not in the range"),
        ({"axes": "cubic"}, "axes='cubic': not one of linear, log"),
        ({"path": "a.gif"}, "a.gif: the name of a picture must end in .svg, .png or .pdf"),
    ],
)
def test_mistakes_name_keywords(data: Workshop, keywords: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError) as error:
        curves(data).plot(**keywords)
    assert problem in str(error.value)
    assert "--" not in str(error.value)
    assert pyplot.get_fignums() == []


# Where it is drawn


def test_a_figure_of_its_own_is_known_to_pyplot_once(data: Workshop) -> None:
    axes = curves(data).plot()
    assert isinstance(axes, Axes)
    assert labels(axes) == list(NAMES)
    assert [pyplot.figure(number) for number in pyplot.get_fignums()] == [axes.figure]
    assert pyplot.gcf() is axes.figure
    assert sorted(path.name for path in data.folder.iterdir() if path.suffix != ".jsonl") == []


@pytest.mark.slow
def test_a_file_is_what_the_command_writes(data: Workshop) -> None:
    done = data.call("roc", "wise.jsonl", "witty.jsonl", "--plot", "command.svg", "--scores", "scores.svg",
                     "--gnuplot", "command.gp", "--title", "Both", "--label", "wise=W", "--xlim", ",0.5")  # fmt: skip
    assert done.status == 0, done.err
    look: dict[str, Any] = {"title": "Both", "label": {"wise": "W"}, "xlim": (None, 0.5)}
    result = curves(data)
    axes = result.plot(data.folder / "python.svg", **look)
    assert isinstance(axes, Axes)
    result.plot_scores(data.folder / "python-scores.svg", **look)
    for ours, theirs in (("python.svg", "command.svg"), ("python-scores.svg", "scores.svg")):
        assert (data.folder / ours).read_bytes() == (data.folder / theirs).read_bytes()
    assert result.gnuplot("command.gp", **look) == (data.folder / "command.gp").read_text(encoding="utf-8")
    # A notebook would show it a second time.
    assert pyplot.get_fignums() == []


def test_a_file_that_is_there_is_kept_unless_forced(data: Workshop) -> None:
    path = data.folder / "a.svg"
    curves(data, "wise").plot(path)
    before = path.read_bytes()
    with pytest.raises(OutputError, match="force=True") as error:
        curves(data).plot(path)
    assert "--force" not in str(error.value)
    assert path.read_bytes() == before
    curves(data).plot(path, force=True)
    assert path.read_bytes() != before


def test_two_results_share_axes(data: Workshop) -> None:
    _, ax = pyplot.subplots()
    assert curves(data, "wise").plot(ax=ax) is ax
    assert curves(data, "witty").plot(ax=ax) is ax
    assert labels(ax) == list(NAMES)
    named: list[Any] = ax.get_legend_handles_labels()[0]
    together: list[Any] = [*curves(data).picture().axes.get_legend_handles_labels()[0]]
    assert [line.get_color() for line in named] == [line.get_color() for line in together]
    assert len({line.get_color() for line in named}) == 2
    for line, other in zip(named, together, strict=True):
        assert np.array_equal(line.get_xydata(), other.get_xydata())


def test_subplots_are_drawn_one_by_one(data: Workshop) -> None:
    figure, axes = pyplot.subplots(1, 3, figsize=(12, 4), layout="constrained")
    before = [ax.get_position().bounds for ax in axes]
    curves(data).plot(ax=axes[0], title="Curves")
    paths = [data.folder / f"{name}.jsonl" for name in NAMES]
    rated = harness.rate(paths, by="light")
    assert isinstance(rated, PictureResult)
    rated.plot(ax=axes[1])
    assert [ax.get_title() for ax in axes] == ["Curves", "", ""]
    assert not axes[2].has_data()
    assert [ax.get_position().bounds for ax in axes[2:]] == before[2:]
    assert figure.axes == list(axes)
    assert pyplot.get_fignums() == [figure.number]
    figure.canvas.draw()
    for ax in axes[:2]:
        legend, inside = ax.get_legend().get_window_extent(), ax.get_window_extent()
        assert inside.x0 <= legend.x0 < legend.x1 <= inside.x1
        assert inside.y0 <= legend.y0 < legend.y1 <= inside.y1


def test_a_file_of_given_axes_has_the_whole_figure(data: Workshop) -> None:
    figure, axes = pyplot.subplots(1, 2)
    axes[1].set_title("beside")
    curves(data).plot(data.folder / "whole.svg", ax=axes[0], title="Curves")
    text = (data.folder / "whole.svg").read_text(encoding="utf-8")
    assert "<!-- beside -->" in text
    assert "<!-- Curves -->" in text
    assert figure.get_size_inches().tolist() == pyplot.rcParams["figure.figsize"]


def test_a_part_of_a_figure_takes_a_picture(data: Workshop) -> None:
    figure = pyplot.figure()
    left, _ = figure.subfigures(1, 2)
    ax = left.subplots()
    assert curves(data).plot(data.folder / "part.png", ax=ax) is ax
    assert (data.folder / "part.png").read_bytes().startswith(b"\x89PNG")


def test_the_style_of_given_axes_stays(data: Workshop) -> None:
    before = dict(pyplot.rcParams)
    with pyplot.style.context("dark_background"):
        _, ax = pyplot.subplots()
        curves(data).plot(ax=ax)
        assert ax.get_facecolor() == (0.0, 0.0, 0.0, 1.0)
    curves(data).plot()
    assert dict(pyplot.rcParams) == before


def test_axes_refuse_what_has_no_room_there(data: Workshop) -> None:
    _, both = pyplot.subplots(2)
    with pytest.raises(UsageError, match="ax: ndarray is not an Axes of matplotlib"):
        curves(data).plot(ax=both)
    with pytest.raises(UsageError, match=r"^width: axes that are given have a width of their own"):
        curves(data).plot(ax=both[0], width=3)
    with pytest.raises(UsageError, match="ax: this picture has 2 panels"):
        curves(data).plot_scores(ax=both[0])
    assert not both[0].has_data()
    assert labels(curves(data, "wise").plot_scores(ax=both[1])) == ["positives", "negatives", "equal error"]


@pytest.mark.parametrize("weights", ["cases", "equal", "w"])
def test_settings_are_drawn_with_their_rates_by_design(shop: Workshop, weights: str) -> None:
    rows = [f"c{n},{n},x,{'st'[n < 5]},{1 + 9 * (n % 4 == 0)}" for n in range(20)]
    design = f'[design]\nstratum = "s"\nweights = "{weights}"\n'
    shop.script(rows="\n".join(["id,input,expect,s,w", *rows, ""]), sections=design)
    shop.interface("def answer(case, params):\n    return 'x', float(case.input)\n")
    result = harness.sweep("toy", params={"threshold": [0, 3, 8, 14]})
    expected = [row["replication"]["estimate"] for row in result.to_dict()["rows"]]
    assert len(set(expected)) == 4
    line, *_ = result.plot().lines
    assert np.asarray(line.get_ydata()) == pytest.approx(expected)


@pytest.mark.slow
def test_every_kind_of_picture_goes_into_axes(data: Workshop) -> None:
    runs = [data.folder / f"{name}.jsonl" for name in NAMES]
    truth = np.arange(20.0)
    weights = [numbers(data.folder / f"{name}.jsonl", truth, truth + by) for name, by in OFF.items()]
    results: list[Any] = [
        harness.roc(runs), harness.det(runs), harness.pr(runs), harness.rate(runs, by="light"),
        harness.confusion("hdigits/wisard"), harness.confusion(["hdigits/wisard", "hdigits/witch"]),
        harness.sweep("hdigits", "witch", params={"threshold": [0, 50]}, limit=20),
        harness.sweep("hdigits", "witch", params={"threshold": [0, 50], "ridge": [1, 1000]}, limit=20),
        harness.power(difference=0.05, discordance=0.2), harness.rate(weights[0]), harness.compare(weights),
    ]  # fmt: skip
    for result in results:
        figure, ax = pyplot.subplots(layout="constrained")
        assert result.plot(ax=ax) is ax
        assert ax.has_data()
        figure.canvas.draw()


def test_results_that_have_no_picture_say_so(data: Workshop) -> None:
    with pytest.raises(HateError, match="by"):
        harness.compare([data.folder / f"{name}.jsonl" for name in NAMES]).plot()
    assert pyplot.get_fignums() == []


def test_a_console_names_plot_where_it_works(data: Workshop) -> None:
    runs = [data.folder / f"{name}.jsonl" for name in NAMES]
    truth = np.arange(20.0)
    weights = [numbers(data.folder / f"{name}.jsonl", truth, truth + by) for name, by in OFF.items()]
    likely = data.folder / "likely.jsonl"
    write_transcript(likely, scores(np.linspace(0, 1, 60), random_scores(0, 60)[1]), algorithm="likely")
    results: list[Any] = [
        harness.rate(runs), harness.rate(runs, by="light"), harness.rate(runs, by=["light", "positive"]),
        harness.rate(weights), harness.rate(likely, statistic="ece"), harness.rate(weights * 4),
        harness.compare(runs), harness.compare(runs, by="light"), harness.compare(weights),
        harness.confusion(["hdigits/wisard", "hdigits/witch"]), harness.confusion(["wisard", "witch", "warlock"]),
        harness.sweep("hdigits", "witch", params={"threshold": [0, 50]}, limit=20),
        harness.sweep("hdigits", "witch", params={"threshold": [0]}, limit=20),
    ]  # fmt: skip
    drawn = []
    for result in results:
        try:
            drawn.append(bool(result.picture()))
        except UsageError:
            drawn.append(False)
    assert drawn == [repr(result).endswith(", .plot()") for result in results]
    assert drawn.count(True) == 7
