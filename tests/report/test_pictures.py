"""Pictures: written, the same every time, as wide as a column, and refused with a reason."""

import re
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from _pytest.mark import ParameterSet

from harness.report.plots.settings import SettingsChart, SettingValue, plot_settings
from tests.analysis.curves.transcripts import counts, random_scores, scores, write_transcript
from tests.workshop import Workshop

NAMES = ("wise $x_1$", "<b>&</b>", "名前")


@pytest.fixture
def transcripts(shop: Workshop) -> list[Path]:
    paths = []
    for seed, name in enumerate(NAMES):
        values, positive = random_scores(seed, 60)
        paths.append(write_transcript(shop.folder / f"t{seed}.jsonl", scores(values, positive), algorithm=name))
    return paths


COMMANDS = [
    ("roc", "linear"), ("roc", "log"), ("det", "normal"), ("det", "log"), ("det", "linear"), ("pr", ""),
]  # fmt: skip


STARTS = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}


def picture(command: str, axes: str, suffix: str) -> ParameterSet:
    """Every curve in every format, but most of them only in the slow tests."""
    marks = [] if (command, axes) == ("roc", "linear") else [pytest.mark.slow]
    return pytest.param(command, axes, suffix, marks=marks, id=f"{command} {axes} {suffix}")


PICTURES = [picture(command, axes, suffix) for command, axes in COMMANDS for suffix in STARTS]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("command", "axes", "suffix"), PICTURES)
def test_curves_are_drawn_the_same_every_time(
    shop: Workshop, transcripts: list[Path], command: str, axes: str, suffix: str
) -> None:
    words = [command, *map(str, transcripts), *(["--axes", axes] if axes else []), "--at", "fpr=0.2"]
    pages = []
    for name in ("one", "two"):
        done = shop.call(*words, "--plot", f"{name}{suffix}")
        assert done.status == 0, done.err
        pages.append((shop.folder / f"{name}{suffix}").read_bytes())
    assert pages[0] == pages[1]
    assert pages[0].startswith(STARTS[suffix])
    assert b"CreationDate" not in pages[0]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("command", "axes"), [("roc", "linear"), ("roc", "log"), ("det", "normal"), ("det", "linear")])
def test_the_band_drawn_is_the_one_at_each_false_positive_rate(
    shop: Workshop, transcripts: list[Path], monkeypatch: pytest.MonkeyPatch, command: str, axes: str
) -> None:
    """It has no holes, contains the line, and has one width wherever the line goes straight up."""
    drawn_bands: list[tuple[list[float], ...]] = []

    def record(_: object, *columns: list[float], **__: object) -> None:
        drawn_bands.append(columns)

    monkeypatch.setattr("matplotlib.axes.Axes.fill_between", record)
    assert shop.call(command, *transcripts, "--axes", axes, "--plot", "a.svg").status == 0
    curves = shop.call(command, *transcripts, "--format", "json").json["curves"]
    for (x, low, high), curve in zip(drawn_bands, curves, strict=True):
        points = curve["points"]
        assert np.isfinite([x, low, high]).all()
        assert (np.diff(x) >= 0).all()
        assert (np.array(low) <= np.array(high)).all()
        for column in (low, high):
            assert len(set(zip(x, column, strict=True))) == len(set(x))
        if command == "roc":
            assert (low, high) == (points["low_at_fpr"], points["high_at_fpr"])
            assert ((np.array(low) <= points["tpr"]) & (np.array(points["tpr"]) <= high)).all()
        elif axes == "linear":
            assert low == pytest.approx([1 - rate for rate in points["high_at_fpr"]])
            assert high == pytest.approx([1 - rate for rate in points["low_at_fpr"]])


def test_a_picture_is_as_wide_as_a_column(shop: Workshop, transcripts: list[Path]) -> None:
    shop.call("roc", *transcripts, "--plot", "a.png")
    shop.call("roc", *transcripts, "--plot", "a.svg")
    width, _ = struct.unpack(">II", (shop.folder / "a.png").read_bytes()[16:24])
    assert width == 3.5 * 300
    svg = (shop.folder / "a.svg").read_text(encoding="utf-8")
    assert re.search(r'width="252pt"', svg)
    assert "<dc:date>" not in svg


@pytest.mark.slow
def test_repeated_and_swept_curves_are_drawn(shop: Workshop) -> None:
    repeats = []
    for seed in range(4):
        values, positive = random_scores(seed, 60)
        repeats.append(write_transcript(shop.folder / f"r{seed}.jsonl", scores(values, positive), digest=f"1:{seed}"))
    values, positive = random_scores(9, 60)
    sweep = [
        write_transcript(shop.folder / f"s{size}.jsonl", counts(values > size, positive), params={"size": size})
        for size in (0.0, 0.5, 1.0)
    ]
    for command in ("roc", "det", "pr"):
        assert shop.call(command, *repeats, "--repeated", "--plot", f"r{command}.svg").status == 0
        assert shop.call(command, *sweep, "--swept", "size", "--plot", f"s{command}.svg").status == 0
        assert (shop.folder / f"s{command}.svg").stat().st_size > 1000


@pytest.mark.slow
def test_errors_at_both_ends_are_drawn(shop: Workshop) -> None:
    values, positive = random_scores(1, 40)
    records = scores(values, positive)
    for record in records[::7]:
        del record["score"], record["actual"]
        record["error"] = "crash"
    path = write_transcript(shop.folder / "t.jsonl", records)
    for command in ("roc", "det", "pr"):
        assert shop.call(command, path, "--plot", f"{command}.png").status == 0
        assert (shop.folder / f"{command}.png").exists()


@pytest.mark.parametrize("command", ["roc", "det", "pr", "confusion"])
def test_mistakes_come_before_the_work(shop: Workshop, command: str) -> None:
    """Nothing is read or run: the transcript does not even exist."""
    wrong = shop.call(command, "none.jsonl", "--plot", "a.gif")
    assert (wrong.status, ".svg, .png or .pdf" in wrong.err) == (2, True)
    nowhere = shop.call(command, "none.jsonl", "--plot", "no/folder/a.svg")
    assert (nowhere.status, "create it first" in nowhere.err) == (2, True)


def test_without_matplotlib_a_line_says_how_to_get_it(
    shop: Workshop, transcripts: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = shop.call("roc", *transcripts, "--plot", "a.svg")
    assert done.status == 2
    assert done.err.splitlines() == ["hate: pictures need matplotlib: pip install 'hate-harness[plots]'"]
    assert shop.call("roc", *transcripts).status == 0


@pytest.mark.slow
def test_a_sweep_over_two_parameters(shop: Workshop) -> None:
    settings = [
        SettingValue({"a": a, "b": b, "c": c}, 0.5 + a / 10 + b / 100)
        for a in (1, 2, 3) for b in (0.5, 1.5) for c in ("x", "y")
    ]  # fmt: skip
    pages = []
    for name in ("one.svg", "two.svg"):
        plot_settings(SettingsChart(settings, ["a", "b"], "rate")).save(shop.folder / name)
        pages.append((shop.folder / name).read_bytes())
    assert pages[0] == pages[1]
    plot_settings(SettingsChart(settings, ["a", "c"], "rate")).save(shop.folder / "texts.png")
    assert (shop.folder / "texts.png").stat().st_size > 1000


QUICK = """
import sys
from harness.cli.main import call
status = call({words!r})
print(status, sorted({{"numpy", "scipy", "matplotlib"}} & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("words", "loaded"),
    [(["--help"], []), (["roc", "--help"], []), (["confusion", "--help"], []), (["cmc", "--help"], [])],
    ids=["help", "roc", "confusion", "cmc"],
)
def test_help_loads_no_heavy_library(shop: Workshop, words: list[str], loaded: list[str]) -> None:
    import subprocess

    program = QUICK.format(words=words)
    ran = subprocess.run(
        [sys.executable, "-P", "-c", program], cwd=shop.folder, env=shop.env, capture_output=True, text=True
    )
    assert ran.stderr.strip() == f"0 {loaded}"


def test_curves_without_a_picture_load_no_matplotlib(shop: Workshop, transcripts: list[Path]) -> None:
    import subprocess

    program = QUICK.format(words=["roc", str(transcripts[0])])
    ran = subprocess.run(
        [sys.executable, "-P", "-c", program], cwd=shop.folder, env=shop.env, capture_output=True, text=True
    )
    assert "matplotlib" not in ran.stderr
    assert ran.stderr.splitlines()[-1].startswith("0 ")


@pytest.mark.slow
def test_sweep_draws_one_or_two_parameters_and_no_other_number(shop: Workshop) -> None:
    words = ("sweep", "hdigits", "--interface", "witch", "--limit", "20", "--param", "threshold=0,50,100")
    for more, name in (((), "line.svg"), (("--param", "ridge=1,1000"), "heat.svg")):
        done = shop.call(*words, *more, "--plot", name)
        assert done.status == 0, done.err
        assert f"picture: {name}" in done.err
        svg = (shop.folder / name).read_text(encoding="utf-8")
        # The comments of an SVG have its texts.
        assert "is tuned on the test's own cases" in " ".join(re.findall("<!-- (.*?) -->", svg, re.DOTALL)).replace(
            "\n", " "
        )
    none = shop.call(*words[:-1], "threshold=0", "--plot", "none.svg")
    assert (none.status, "one or two parameters with several values; none has" in none.err) == (2, True)
