"""Tables for papers: compiled in a two-column document, where nothing may stick out of its column."""

import shutil
import subprocess
from pathlib import Path

import pytest

from harness.report.blocks import Block, Cell, ExactNumber, Heading, Limits, Number, Paragraphs, Table
from harness.report.formats import Format, render, render_document
from harness.report.numbers import p_cell
from harness.report.tex import tex_cell
from tests.workshop import Workshop

WISARD, WITCH, WARLOCK = ("hdigits/wisard", "hdigits/witch", "hdigits/warlock")
PAGE = "\\documentclass[twocolumn]{article}\n\\usepackage{booktabs}\n\\begin{document}\n"
HOSTILE = "\x1b[31m$(x)_%&#{}^~\\input{x}|=1+1<b>\\end{table}"


def compiled(folder: Path, *bodies: str) -> str:
    """What pdflatex says about the tables, which it must set without an error."""
    if shutil.which("pdflatex") is None:
        pytest.skip("no pdflatex on this machine")
    (folder / "page.tex").write_text(PAGE + "\\clearpage\n".join(bodies) + "\\end{document}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    log = done.stdout.decode(errors="replace")
    assert done.returncode == 0, log[-2000:]
    assert (folder / "page.pdf").stat().st_size > 1000
    return log


@pytest.mark.slow
def test_tables_of_commands_fit_a_column(shop: Workshop) -> None:
    commands = (
        ("compare", WISARD, WARLOCK, WITCH),
        ("compare", WISARD, WITCH, "--all"),
        ("compare", WISARD, WITCH, "--by", "truth"),
        ("rate", WISARD, WITCH),
        ("roc", WISARD, WITCH, "--at", "fpr=0.05"),
        ("confusion", WISARD),
        ("list",),
        ("list", "--transcripts"),
        ("diff", WISARD, WITCH, "--limit", "5"),
        ("power", "--difference", "0.05", "--discordance", "0.2"),
    )
    log = compiled(shop.folder, *(shop.call(*words, "--format", "tex").out for words in commands))
    assert "Overfull" not in log, log


def test_any_table_fits_a_column(tmp_path: Path) -> None:
    words = "a long sentence that goes on for much longer than a column of a journal is wide " * 2
    tables = [
        Table(["name", "what"], [["x" * 60, words], ["M" * 40, "W" * 90]]),
        Table([f"column {i}" for i in range(14)], [[i * 1000.5 for i in range(14)], [-0.5] * 14]),
        Table(["test", *"abcdefgh"], [["same", *["mmmmmmmmmm"] * 8]] * 3),
        Table([HOSTILE, "n"], [[HOSTILE, 1], ["[1]", 2], ["*", 3]]),
    ]
    log = compiled(tmp_path, *(render(table, Format.TEX) for table in tables))
    assert "Overfull" not in log, log


def test_rows_of_a_split_table_can_be_told_apart() -> None:
    rows = [["hdigits", *["some words here"] * 6]] * 2
    text = render(Table(["test", *"abcdef"], rows), Format.TEX)
    assert text.count(r"\begin{tabular}") > 1
    for part in text.split(r"\begin{tabular}")[1:]:
        assert "\n1 &" in part
        assert "\n2 &" in part


def test_numbers_have_a_true_minus_and_intervals_brackets() -> None:
    assert tex_cell(-0.25) == "$-$0.2500"
    assert tex_cell(Limits(-0.1, 0.25)) == "[$-$0.1000, 0.2500]"
    assert tex_cell(p_cell(1e-7)) == "$<$0.0001"
    assert tex_cell("-") == tex_cell(Number(None)) == tex_cell(Limits(None, None)) == "--"
    assert tex_cell(Number(0.071, ".1%")) == r"7.1\,\%"
    assert tex_cell(Number(0.5, "+.2f")) == "+0.50"
    assert tex_cell("-a") == "-a"
    assert tex_cell(ExactNumber(1e-7)) == r"1$\cdot10^{-7}$"
    assert tex_cell(None) == ""


def test_an_interval_has_a_text_and_knows_those_of_its_limits() -> None:
    limits = Limits(0.25, 0.75, ".2f")
    assert str(limits) == "0.25 to 0.75"
    assert limits.texts == ("0.25", "0.75")


def test_a_heading_is_a_caption_and_sentences_are_comments() -> None:
    blocks: list[Block] = [Heading("50 % of it"), Paragraphs(["What is\nsaid."]), Table(["a"], [[1]])]
    text = render_document(blocks, Format.TEX)
    assert r"\caption{50\,\% of it}" in text
    assert r"% What is\textbackslash{}x0asaid." in text
    assert r"\usepackage{booktabs}" in text
    assert text.index(r"\usepackage{booktabs}") < text.index(r"\begin{table}")


def test_a_table_does_without_columns_that_are_spare(tmp_path: Path) -> None:
    counts = [f"count {i}" for i in range(8)]
    row: list[Cell] = ["somebody", *[1234] * 8, 0.5, Limits(0.4, 0.6)]
    table = Table(["name", *counts, "rate", "95 % interval"], [row, row], spare=frozenset(counts))
    text = render(table, Format.TEX)
    assert "count 3" not in text
    assert r"somebody & 0.5000 & [0.4000, 0.6000] \\" in text
    assert "count 3" in render(table, Format.MD)
