"""What every `--plot` has in common: its options, the line that names the file, the same bytes in every format."""

import re
import shutil
import subprocess
from pathlib import Path

import click
import numpy as np
import pytest

from harness.cli.commands import commands_here, hate
from tests.analysis.curves.transcripts import counts, random_scores, scores, write_transcript
from tests.matrices.virtual import people_matrix, write_matrix
from tests.workshop import Workshop

STARTS = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}
SHARED = ("--title", "--label", "--xlim", "--ylim")


def plotting_commands() -> list[str]:
    """The commands that have --plot."""
    context = click.Context(hate)
    names = []
    for name in commands_here():
        command = hate.get_command(context, name)
        if command is not None and "--plot" in {flag for param in command.params for flag in param.opts}:
            names.append(name)
    return names


def test_every_picture_takes_the_same_options() -> None:
    names = plotting_commands()
    assert {"tune", *(words[0] for words in KINDS.values())} <= set(names)
    for name in names:
        command = hate.get_command(click.Context(hate), name)
        assert command is not None
        flags = {flag for param in command.params for flag in param.opts}
        width = "--picture-width" if name == "power" else "--width"
        assert {*SHARED, width} <= flags, name


@pytest.fixture
def data(shop: Workshop) -> Workshop:
    """Transcripts of scores, of counts with a parameter, and matrices."""
    values, positive = random_scores(0, 60)
    for seed, name in enumerate(("wise $x_1$", "名前")):
        records = scores(values + seed * np.random.default_rng(5).normal(size=60), positive)
        for number, record in enumerate(records):
            record["columns"] = {"light": "dim" if number % 3 else "bright", "noise": number % 4}
        write_transcript(shop.folder / f"t{seed}.jsonl", records, algorithm=name)
    values, positive = random_scores(9, 60)
    for size in (0.0, 0.5, 1.0):
        write_transcript(shop.folder / f"s{size}.jsonl", counts(values > size, positive), params={"size": size})
    for number, noise in enumerate((0.6, 1.2)):
        write_matrix(people_matrix(20, 4, noise=noise, seed=4, name="ab"[number]), shop.folder)
    return shop


SWEPT = ("s0.0.jsonl", "s0.5.jsonl", "s1.0.jsonl")
BOTH = ("t0.jsonl", "t1.jsonl")
HDIGITS = ("hdigits", "--interface", "witch", "--limit", "20")
# Every kind of picture.
KINDS: dict[str, tuple[str, ...]] = {
    "roc": ("roc", *BOTH, "--label", "名前=Name"),
    "roc zoom": ("roc", *BOTH, "--zoom", "0.3"),
    "roc swept": ("roc", *SWEPT, "--swept", "size"),
    "det": ("det", *BOTH, "--xlim", "0.01,0.5"),
    "pr": ("pr", *BOTH, "--ylim", "0.4,"),
    "cmc": ("cmc", "a.npy", "b.npy", "--gallery", "day=1", "--label", "a=A"),
    "methods": ("methods", "a.npy", "--gallery", "day=1", "--probe", "day=2", "--stratum", "subject"),
    "galleries": ("galleries", "a.npy", "--by", "image", "--permutations", "19"),
    "confusion": ("confusion", "hdigits/wisard"),
    "difference": ("confusion", "hdigits/wisard", "hdigits/witch"),
    "groups": ("rate", *BOTH, "--by", "light", "--label", "dim=dark"),
    "scale": ("rate", *BOTH, "--by", "noise"),
    "pairs": ("compare", *BOTH, "--by", "light"),
    "sweep": ("sweep", *HDIGITS, "--param", "threshold=0,50,100", "--statistic", "precision"),
    "heat map": ("sweep", *HDIGITS, "--param", "threshold=0,50,100", "--param", "ridge=1,1000"),
    "power": ("power", "--difference", "0.05", "--discordance", "0.2"),
    "permute": ("permute", "a.npy", "b.npy", "--experiments", "200", "--sampling", "both"),
    "urn": ("urn", "hdigits/wisard", "--group", "truth", "--resample", "groups", "--groups", "2"),
    "froc": ("froc", "shapes/blobs"),
}
KINDS = {kind: words for kind, words in KINDS.items() if words[0] in commands_here()}
QUICK = ("groups", "pairs", "permute")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", [
    pytest.param(kind, marks=[] if kind in QUICK else [pytest.mark.slow]) for kind in KINDS
])  # fmt: skip
def test_every_picture_is_the_same_in_every_format(data: Workshop, kind: str) -> None:
    width = "--picture-width" if kind == "power" else "--width"
    # One of the formats twice, in turn: how they are written does not depend on the picture.
    twice = "svg" if kind in QUICK else list(STARTS)[list(KINDS).index(kind) % 3]
    for suffix in STARTS if kind not in QUICK else ("svg",):
        pages = []
        for name in ("one", "two") if suffix == twice else ("one",):
            done = data.call(*KINDS[kind], "--plot", f"{name}.{suffix}", "--title", "Title $1", width, "3.3")
            assert done.status == 0, done.err
            assert f"picture: {name}.{suffix}" in done.err.splitlines()
            pages.append((data.folder / f"{name}.{suffix}").read_bytes())
        assert pages[0] == pages[-1]
        assert pages[0].startswith(STARTS[suffix])
        assert b"CreationDate" not in pages[0]
        if suffix == "svg":
            assert b'width="237.6pt"' in pages[0]
            assert b"<!-- Title $1 -->" in pages[0]


def test_scores_are_drawn_beside_the_curve(data: Workshop) -> None:
    done = data.call("roc", *BOTH, "--scores", "scores.svg", "--plot", "roc.svg", "--title", "Both")
    assert done.status == 0, done.err
    assert [line for line in done.err.splitlines() if line.startswith("picture:")] == [
        "picture: roc.svg", "picture: scores.svg",
    ]  # fmt: skip
    texts = re.findall("<!-- (.*?) -->", (data.folder / "scores.svg").read_text(encoding="utf-8"))
    assert {"Both", "positives", "negatives", "score", "wise $x_1$"} <= set(texts)
    for words in (("--scores", "a.gif"), ("--scores", "no/folder/a.svg")):
        refused = data.call("roc", "none.jsonl", *words)
        assert (refused.status, refused.err.startswith("hate: --scores")) == (2, True)
    swept = data.call("roc", *SWEPT, "--swept", "size", "--scores", "a.svg")
    assert (swept.status, "has no scores of positive and negative cases" in swept.err) == (2, True)


def test_points_of_a_sweep_are_named(data: Workshop) -> None:
    for command in ("roc", "det", "pr"):
        assert data.call(command, *SWEPT, "--swept", "size", "--plot", "a.svg", "--force").status == 0
        texts = re.findall("<!-- (.*?) -->", (data.folder / "a.svg").read_text(encoding="utf-8"))
        assert {"0", "0.5", "1"} <= {text.removesuffix(".0") for text in texts}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--width", "1"), "1 inches: a picture is 2 to 40 inches wide"),
        (("--width", "wide"), "'wide' is not a width; write inches, such as 3.3, or 1column, or 2column"),
        (("--xlim", "1,0"), "an axis goes from a number to a larger one"),
        (("--xlim", "0"), "is not LOW,HIGH"),
        (("--label", "x=y"), "--label x=y: write NAME=TEXT, with a name in the picture: wise $x_1$"),
    ],
)
def test_a_mistake_is_one_line(data: Workshop, words: tuple[str, ...], problem: str) -> None:
    done = data.call("roc", *BOTH, "--plot", "a.svg", *words)
    assert done.status == 2
    assert problem in done.err
    assert not (data.folder / "a.svg").exists()


def test_a_sweep_computes_the_measure_that_it_draws(data: Workshop) -> None:
    """As the counts give it, with the interval of a transcript of that setting."""
    words = ("sweep", *HDIGITS[:3], "--param", "threshold=0,200", "--statistic", "precision", "--limit", "100")
    rows = data.call(*words, "--format", "json", "-o", "runs").json["rows"]
    for row in rows:
        assert row["measure"]["name"] == "precision"
        assert row["measure"]["value"] == pytest.approx(row["TP"] / (row["TP"] + row["FP"]), abs=1e-12)
        assert row["measure"]["interval"][0] <= row["measure"]["value"] <= row["measure"]["interval"][1]
    rated = data.call("rate", *sorted((data.folder / "runs").iterdir()), "--statistic", "precision", "--partial",
                      "--format", "json").json["transcripts"][0]  # fmt: skip
    assert rows[0]["measure"]["se"] == pytest.approx(rated["measures"]["precision"]["se"], rel=1e-6)
    table = data.call(*words, "--format", "csv").out.splitlines()
    assert table[0].endswith(",precision,precision_low,precision_high")
    wrong = data.call(*words[:-4], "--statistic", "rank1")
    assert (wrong.status, "runs of a label test do not record what it is computed from" in wrong.err) == (2, True)


@pytest.mark.slow
def test_tuning_is_drawn(shop: Workshop) -> None:
    words = ("tune", "hdigits", "--interface", "witch", "--folds", "2", "--param", "ridge=1,10,1000")
    done = shop.call(*words, "--plot", "tune.svg")
    assert done.status == 0, done.err
    assert "picture: tune.svg" in done.err
    texts = re.findall("<!-- (.*?) -->", (shop.folder / "tune.svg").read_text(encoding="utf-8"))
    assert "On 2 folds of the training part." in texts
    assert any(text.startswith("best: ridge") for text in texts)


@pytest.mark.skipif(shutil.which("gnuplot") is None, reason="gnuplot is not installed")
def test_gnuplot_takes_the_same_options(data: Workshop) -> None:
    for command, *limits in (("roc", "--xlim", "0,0.5"), ("det", "--xlim", "0.01,0.5"), ("pr", "--ylim", "0.5,")):
        more = ("--title", "It's $1 `id`", "--label", "名前=O'Name", "--width", "2column")
        assert data.call(command, *BOTH, "--gnuplot", "a.gp", "--force", *limits, *more).status == 0
        ran = subprocess.run(["gnuplot", "a.gp"], cwd=data.folder, capture_output=True, text=True)
        assert (ran.returncode, ran.stderr) == (0, "")
        picture = (data.folder / "a.svg").read_text(encoding="utf-8")
        assert "It's $1 `id`" in picture
        assert "O'Name, " in picture
        assert 'width="1064"' in picture
        assert "名前" not in picture
    assert data.call("roc", *BOTH, "--gnuplot", "a.gp", "--force", "--label", "nobody=x").status == 2
    assert Path(data.folder / "a.gp").exists()
