"""Data for gnuplot, spreadsheets, R, TeX and people; gnuplot and R are run on it."""

import csv
import io
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.analysis.curves.transcripts import random_scores, scores, write_transcript
from tests.workshop import Workshop

HOSTILE = 'it\'s `id` "q" \\n $x$ {a_b^c} \x1b[31m % #'
COLUMNS = ["threshold", "tpr", "fpr", "fnr", "precision", "low", "high", "low_at_fpr", "high_at_fpr"]
needs_gnuplot = pytest.mark.skipif(shutil.which("gnuplot") is None, reason="gnuplot is not installed")
needs_r = pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")


@pytest.fixture
def transcripts(shop: Workshop) -> list[Path]:
    """Three algorithms, one with a hostile name, and one with refusals."""
    found = []
    for seed, name in ((1, "first"), (2, HOSTILE), (3, "refusing")):
        values, positive = random_scores(seed, 80)
        answers = [None if name == "refusing" and i % 5 == 0 else value for i, value in enumerate(values.tolist())]
        found.append(write_transcript(shop.folder / f"t{seed}.jsonl", scores(answers, positive), algorithm=name))
    return found


def test_plain_has_a_block_for_each_curve(shop: Workshop, transcripts: list[Path]) -> None:
    done = shop.call("roc", *transcripts)
    blocks = done.out.split("\n\n\n")
    assert len(blocks) == 3
    assert "\x1b" not in done.out
    for block, path in zip(blocks, transcripts, strict=True):
        points = shop.call("roc", path, "--format", "json").json["curves"][0]["points"]
        lines = block.splitlines()
        header = next(line for line in lines if line.startswith("# threshold") or "threshold  " in line)
        assert header.split()[1:] == COLUMNS
        rows = [line.split() for line in lines if not line.startswith("#")]
        for number, name in enumerate(COLUMNS[1:], start=1):
            assert [float(row[number]) for row in rows] == pytest.approx(points[name], abs=1e-8), name
        assert rows[0][0] == "Inf"
        remarks = [line for line in lines if line.startswith("#")]
        assert "# low and high: of the tpr at that threshold, 95 %, wilson, for new independent cases" in remarks
        assert "# low_at_fpr and high_at_fpr: of the tpr at that fpr, 95 %" in remarks


def test_columns_without_numbers_are_left_out(shop: Workshop, transcripts: list[Path]) -> None:
    """Bands at a false positive rate, if none were requested."""
    done = shop.call("roc", transcripts[0], "--bands", "none", "--format", "csv")
    assert list(next(csv.DictReader(io.StringIO(done.out)))) == ["curve", *COLUMNS[:7]]


def test_a_script_draws_the_band_at_each_false_positive_rate(shop: Workshop, transcripts: list[Path]) -> None:
    """Columns are chosen by name; without such a band, those at thresholds."""
    for words, band in (
        (("roc",), 'using "fpr":"low_at_fpr":"high_at_fpr"'),
        (("det", "--axes", "linear"), 'using "fpr":"fnr_low":"fnr_high"'),
        (("det",), 'using (x_at(column("fpr"))):(y_at(column("fnr_low"))):(y_at(column("fnr_high")))'),
        (("roc", "--axes", "log"), 'using (x_at(column("fpr"))):"low_at_fpr":"high_at_fpr"'),
    ):
        assert shop.call(*words, *transcripts, "--gnuplot", "curve.gp", "--force").status == 0
        script = (shop.folder / "curve.gp").read_text(encoding="utf-8")
        assert script.count(f"{band} with filledcurves") == 3
    assert shop.call("roc", *transcripts, "--bands", "none", "--gnuplot", "curve.gp", "--force").status == 0
    assert "filledcurves" not in (shop.folder / "curve.gp").read_text(encoding="utf-8")


def test_csv_is_one_table(shop: Workshop, transcripts: list[Path]) -> None:
    done = shop.call("det", *transcripts, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert list(rows[0]) == ["curve", *COLUMNS]
    assert len({row["curve"] for row in rows}) == 3
    points = shop.call("det", transcripts[0], "--format", "json").json["curves"][0]["points"]
    assert [float(row["fnr"]) for row in rows if row["curve"] == "first"] == points["fnr"]


@pytest.mark.parametrize(("style", "mark"), [("tex", r"\toprule"), ("md", "| ---"), ("table", "Intervals for")])
def test_summaries_for_people(shop: Workshop, transcripts: list[Path], style: str, mark: str) -> None:
    done = shop.call("pr", *transcripts, "--format", style, "--cost", "fp=2", "--at", "fpr=0.1")
    assert done.status == 0
    assert mark in done.out
    assert "AP" in done.out
    assert "\x1b" not in done.out


@needs_r
def test_r_reads_plain_columns_as_they_are(shop: Workshop, transcripts: list[Path]) -> None:
    shop.write("one.txt", shop.call("roc", transcripts[0]).out)
    program = 'x <- read.table("one.txt"); cat(nrow(x), ncol(x), is.numeric(x$V1), max(x$V2))'
    ran = subprocess.run(["Rscript", "-e", program], cwd=shop.folder, capture_output=True, text=True, check=True)
    points = shop.call("roc", transcripts[0], "--format", "json").json["curves"][0]["points"]
    assert ran.stdout.split() == [str(len(points["tpr"])), str(len(COLUMNS)), "TRUE", "1"]


SKETCHES = [("roc", "linear"), ("roc", "log"), ("det", "normal"), ("det", "log"), ("det", "linear"), ("pr", "")]


@needs_gnuplot
@pytest.mark.parametrize(("command", "axes"), SKETCHES, ids=[" ".join(one) for one in SKETCHES])
def test_gnuplot_draws_the_script(shop: Workshop, transcripts: list[Path], command: str, axes: str) -> None:
    words = ["--axes", axes] if axes else []
    assert shop.call(command, *transcripts, *words, "--gnuplot", "curve.gp").status == 0
    ran = subprocess.run(["gnuplot", "curve.gp"], cwd=shop.folder, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    picture = (shop.folder / "curve.svg").read_text(encoding="utf-8")
    assert "first, " in picture
    assert "`id`" in picture, "a name is drawn as it is, and not run"


@needs_gnuplot
def test_gnuplot_reads_the_plain_blocks(shop: Workshop, transcripts: list[Path]) -> None:
    shop.write("all.txt", shop.call("roc", *transcripts).out)
    program = 'stats "all.txt" index 1 using 3:2 nooutput; print STATS_records, " ", STATS_max_y'
    ran = subprocess.run(["gnuplot", "-e", program], cwd=shop.folder, capture_output=True, text=True, check=True)
    points = shop.call("roc", transcripts[1], "--format", "json").json["curves"][0]["points"]
    assert [float(word) for word in ran.stderr.split()] == [len(points["tpr"]), 1.0]


def test_a_script_that_cannot_be_written_fails_before_the_work(shop: Workshop, transcripts: list[Path]) -> None:
    done = shop.call("roc", *transcripts, "--gnuplot", "no/such/folder.gp")
    assert (done.status, done.out) == (2, "")
    assert "create it first" in done.err


def test_untrusted_text_never_reaches_a_terminal_raw(shop: Workshop, transcripts: list[Path]) -> None:
    for style in ("table", "plain", "csv", "json", "tex", "md"):
        assert "\x1b" not in shop.call("roc", *transcripts, "--format", style).out
