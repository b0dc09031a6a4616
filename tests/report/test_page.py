"""`hate report`: one page with the numbers and sentences of `rate`, `compare` and the curves, for every task."""

import csv
import io
import re
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import harness
from harness.api.comparisons import CompareResult
from harness.api.reports import Report
from harness.bundled import bundled
from harness.errors import MissingExtra
from harness.report import palette
from harness.report.blocks import Table, cell_text
from harness.report.page.html import STYLE
from harness.report.page.pdf import pdf_library
from tests.analysis.numbers import Scales
from tests.analysis.transcripts import transcript
from tests.report.parsed import ParsedReport
from tests.report.runs import HOSTILE, hostile_run, scored_run
from tests.workshop import Workshop

WISARD, WARLOCK, WITCH = "hdigits/wisard", "hdigits/warlock", "hdigits/witch"


def page_of(shop: Workshop, *words: str | Path) -> ParsedReport:
    done = shop.call("report", *words, "-o", "report.html")
    assert done.status == 0, done.err
    assert done.err.splitlines()[-1] == "report: report.html"
    return ParsedReport((shop.folder / "report.html").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def sheet() -> ParsedReport:
    return ParsedReport(harness.make_report(WISARD).html())


@pytest.fixture(scope="module")
def comparison() -> Report:
    return harness.make_report([WISARD, WARLOCK, WITCH])


def csv_rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def named(rows: list[list[str]]) -> list[dict[str, str]]:
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


def test_a_data_sheet_has_the_numbers_of_rate(sheet: ParsedReport) -> None:
    page, rate = sheet, harness.rate(WISARD)
    shown = next(block for block in rate.blocks() if isinstance(block, Table) and block.columns[0] == "measure")
    for row in shown.rows:
        cells = list(map(cell_text, row))
        assert any([line[0], *line[-4:]] == cells for line in page.rows), cells
    assert "rate of success 0.9114 95 % interval 0.8899 to 0.9291 by BRR, for these strata (truth) and" in page.words
    groups = named(csv_rows(harness.rate(WISARD, by="truth").render("csv")))
    for mine, group in zip(named(page.downloads["by-truth-rate-of-success.csv"]), groups, strict=True):
        assert {key: group[key] for key in mine} == mine


def test_a_data_sheet_has_every_part(sheet: ParsedReport) -> None:
    page, header = sheet, harness.read(WISARD).header
    assert [title for level, title in page.headings if level == 2] == [
        "What was tested", "Measures", "Curve", "Which class is mistaken for which",
        "Behaviour by property of the inputs", "What explains success", "Cases to look at", "Time and memory",
        "Where this comes from",
    ]  # fmt: skip
    texts = ("tuples=128", header.test.digest, header.interface.sha256, header.python, header.started)
    for text in (*texts, "hate run hdigits@1.0.0 --interface wisard", "hate report hdigits/wisard -o report.html"):
        assert text in page.words


def test_a_comparison_has_the_sentences_of_compare(comparison: Report) -> None:
    page, result = ParsedReport(comparison.html()), harness.compare([WISARD, WARLOCK, WITCH])
    assert isinstance(result, CompareResult)
    first = page.words.split("The best first")[0]
    assert all(sentence in first for sentence in result.verdicts)
    [warlock] = [row for row in page.rows if row[:3] == ["warlock", "", "a"]]
    assert warlock[3:5] == ["0.9693", "0.9549 to 0.9792"]
    pairs = page.downloads["differences-with-errors-by-design.csv"]
    assert [row[0] for row in pairs[1:]] == ["wisard - warlock", "wisard - witch", "warlock - witch"]


def test_a_curve_is_the_one_of_roc(comparison: Report) -> None:
    page, roc = ParsedReport(comparison.html()), harness.roc([WISARD, WARLOCK, WITCH], points=400)
    assert page.downloads["roc-curve-with-95-bands.csv"] == csv_rows(roc.render("csv"))
    for curve in roc.curves:
        assert any(row[:1] == [curve.name] and f"{curve.auc.value:.4f}" in row for row in page.rows)


def test_the_band_of_a_curve_ends_where_no_threshold_reaches(shop: Workshop) -> None:
    """As in the picture of `hate roc`: the line that closes the curve is dotted, and has no band."""
    page_of(shop, WITCH)
    chart = (shop.folder / "report.html").read_text(encoding="utf-8").partition('<svg class="chart"')[2]
    before, _, line = chart.partition("<g>")
    band = re.search(r'<path d="M([^"]+)Z" class="f0"', before)
    assert band is not None
    [closed] = re.findall(r'<path d="M([^"]+)" class="s0"[^>]* stroke-dasharray="1 2"', line.partition("</g>")[0])
    right = max(float(point.split()[0]) for point in band[1].split("L"))
    assert right == float(closed.split()[0]) < float(closed.split("L")[-1].split()[0])


def test_what_is_downloaded_is_data(sheet: ParsedReport, comparison: Report) -> None:
    """CSV by the rule of the commands: an interval is two columns of numbers, and the numbers are all there."""
    for page in (sheet, ParsedReport(comparison.html())):
        assert page.downloads
        for name, rows in page.downloads.items():
            assert not [cell for row in rows for cell in row if re.fullmatch(r"-?[\d.]+ to -?[\d.]+", cell)], name
            assert all(len(row) == len(rows[0]) for row in rows), name
    areas = named(ParsedReport(comparison.html()).downloads["areas-and-equal-error-rates.csv"])
    assert [0 < float(row["AUC 95 % low"]) < float(row["AUC 95 % high"]) < 1 for row in areas] == [True] * 3
    measures = {row["measure"]: row for row in named(sheet.downloads["measures-with-errors-by-design.csv"])}
    rate = harness.rate(WISARD).to_dict()["transcripts"][0]["replication"]
    assert [float(measures["rate"][key]) for key in ("low", "high")] == rate["interval"]


def test_a_picture_of_each_case_comes_from_the_data_that_is_here(shop: Workshop) -> None:
    from PIL import Image

    page = page_of(shop, WISARD, WARLOCK, "--cases", "5")
    assert len(page.pictures) == 10
    sizes = {Image.open(io.BytesIO(picture)).size for picture in page.pictures}
    assert sizes == {(8, 8)}
    assert "5 of 117 cases on which they differ" in page.words


def test_inputs_that_are_texts_are_shown_and_files_elsewhere_are_not_opened(shop: Workshop) -> None:
    secret = shop.write("secret.txt", "the secret")
    rows = f"id,input,expect,positive\na,{secret},x,true\nb,a question,y,true\n"
    shop.script(rows=rows)
    shop.interface()
    shop.run()
    page = page_of(shop, "out.jsonl")
    assert "a question" in page.words
    assert "the secret" not in page.words
    assert "2 cases that failed" in page.words


KINDS: dict[str, Callable[[Path], Sequence[str | Path]]] = {
    "boxes": lambda folder: ["shapes/blobs", "shapes/relief"],
    "one of boxes": lambda folder: ["shapes/relief"],
    "numbers": lambda folder: Scales().runs(folder),
    "one of numbers": lambda folder: Scales().runs(folder)[:1],
    "scores": lambda folder: [scored_run(folder / "a.jsonl", 400), scored_run(folder / "b.jsonl", 400, shift=0.5)],
    "all right": lambda folder: [transcript(folder / "good.jsonl", [True] * 8)],
    "one case": lambda folder: [transcript(folder / "one.jsonl", [False])],
    "no design": lambda folder: [transcript(folder / f"{n}.jsonl", [n, True, True, False] * 3) for n in (False, True)],
    "repeated": lambda folder: [
        transcript(
            folder / "dice.jsonl",
            [bool(n % 4) for n in range(30)],
            ids=[f"q{n // 3}" for n in range(30)],
            repeat=[n % 3 + 1 for n in range(30)],
        )
    ],
    "hostile": lambda folder: [hostile_run(folder / "h1.jsonl", 1)],
    "hostiles": lambda folder: [hostile_run(folder / f"h{n}.jsonl", n) for n in (1, 2, 3)],
}  # fmt: skip


@pytest.mark.sampled(7)
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_of_every_kind_is_well_made(shop: Workshop, kind: str) -> None:
    page = page_of(shop, *KINDS[kind](shop.folder))
    assert page.text.count("Where this comes from") == 2
    assert page.links == len(page.captions) + len(page.charts)
    assert all(page.captions)
    assert len(set(page.captions)) == len(page.captions)


def test_ranks_have_a_match_curve(shop: Workshop) -> None:
    matrix = Path(__file__).parents[2] / "test_scripts/faces/eigenfaces_l1.npy"
    assert shop.call("run", "faces", "--interface", f"matrix:{matrix}", "-o", "f.jsonl").status == 0
    page = page_of(shop, "f.jsonl")
    assert "cumulative-match-curve-with-95-bands.csv" in page.downloads
    assert "FNIR" in page.words


def test_hostile_names_stay_text(shop: Workshop) -> None:
    page = page_of(shop, *KINDS["hostiles"](shop.folder))
    assert page.headings[0][1].startswith(HOSTILE)
    assert "<script>alert" not in (shop.folder / "report.html").read_text(encoding="utf-8")


def test_markdown_for_a_pull_request(shop: Workshop) -> None:
    runs = [str(path) for path in KINDS["hostiles"](shop.folder)]
    assert shop.call("report", *runs, "-o", "report.md").status == 0
    text = (shop.folder / "report.md").read_text(encoding="utf-8")
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    made = re.findall(r"<(?!!--)/?([a-zA-Z0-9]+)", parser.render(text))
    assert set(made) <= {
        "h1", "h2", "h3", "p", "ul", "li", "strong", "table", "thead", "tbody", "tr", "th", "td", "details", "summary",
        "hr", "pre", "code",
    }  # fmt: skip
    assert made.count("details") % 2 == 0
    assert "@you" not in text.split("```sh")[0]


def test_markdown_has_the_verdict_first(comparison: Report) -> None:
    text, result = comparison.markdown(), harness.compare([WISARD, WARLOCK, WITCH])
    assert isinstance(result, CompareResult)
    assert result.verdicts[0] in text.split("## Ranking")[0]
    assert "| warlock | a |" in text


@pytest.mark.slow
def test_the_same_input_gives_the_same_page(shop: Workshop, comparison: Report) -> None:
    """In another process, with other hashes; only the time differs."""
    assert shop.hate("report", WISARD, WARLOCK, WITCH, "-o", "report.html").status == 0
    made = re.compile(r"on \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
    text = (shop.folder / "report.html").read_text(encoding="utf-8")
    assert made.sub("", text) == made.sub("", comparison.html())


def test_named_columns_and_a_baseline(shop: Workshop) -> None:
    page = page_of(shop, WISARD, WARLOCK, WITCH, "--by", "positive", "--baseline", "witch", "--title", "Digits & more")
    assert page.headings[0] == (1, "Digits & more")
    assert [title for level, title in page.headings if level == 3] == ["By positive: rate of success"]
    assert "--by positive" in page.words
    assert "letters" not in page.words


@pytest.mark.slow
def test_the_command_names_a_baseline_that_was_typed_otherwise(shop: Workshop) -> None:
    page = page_of(shop, "witch.out", WISARD, "--baseline", "witch.out")
    assert "hate report hdigits/witch hdigits/wisard --baseline witch -o report.html" in page.words


@pytest.mark.slow
@pytest.mark.parametrize("others", [(), (WITCH,)])
def test_no_command_names_what_was_piped(shop: Workshop, others: tuple[str, ...]) -> None:
    """Nobody could run it; the report says where the transcript came from, and how to run its test again."""
    with (bundled("transcripts") / f"{WISARD}.jsonl").open("rb") as given:
        done = shop.hate("report", "-", *others, "-o", "report.html", stdin=given)
    assert done.status == 0, done.err
    page = ParsedReport((shop.folder / "report.html").read_text(encoding="utf-8"))
    assert "standard input" in page.words
    assert "hate run hdigits@1.0.0 --interface wisard" in page.words
    for command in ("hate report", "hate show", "hate diff", "looks into all cases"):
        assert command not in page.words


@pytest.mark.slow
def test_results_of_another_tool_that_are_piped_have_no_command(shop: Workshop) -> None:
    shop.write("log.csv", "id,y_true,y_pred\n1,a,a\n2,a,b\n3,b,b\n")
    assert shop.call("import", "log.csv", "-o", "log.jsonl").status == 0
    with (shop.folder / "log.jsonl").open("rb") as given:
        assert shop.hate("report", "-", "-o", "report.md", stdin=given).status == 0
    text = (shop.folder / "report.md").read_text(encoding="utf-8")
    assert "- transcript: standard input" in text
    assert "hate report" not in text
    assert "```" not in text.partition("Where this comes from")[2]


def test_another_measure_in_groups_and_measures(shop: Workshop) -> None:
    page = page_of(shop, WISARD, "--statistic", "kappa", "--by", "positive", "--by", "truth", "--cases", "0")
    kappa = harness.rate(WISARD, statistic="kappa").estimates["wisard"]["kappa"]
    assert kappa is not None
    assert any(row[0].endswith("(kappa)") and row[2] == f"{kappa.value:.4f}" for row in page.rows)
    assert "By truth: Cohen's kappa" in [title for _, title in page.headings]
    assert "hate report hdigits/wisard --by positive --by truth --cases 0 --statistic kappa -o" in page.words


def test_what_cannot_be_reported_is_refused(shop: Workshop) -> None:
    transcript(shop.folder / "half.jsonl", [True, False] * 4, complete=False)
    for words, status, message in (
        (["half.jsonl", "-o", "r.html"], 2, "half.jsonl: incomplete"),
        ([WISARD, "-o", "r.txt"], 2, "-o r.txt: the name of a report must end in .html, .md or .pdf"),
        ([WISARD, "-o", "none/r.md"], 2, "-o none/r.md: no folder none"),
        ([WISARD, "--by", "wriiter", "-o", "r.md"], 2, "--by wriiter: no such column"),
        ([WISARD, "shapes/blobs", "-o", "r.md"], 2, "shapes"),
        ([WISARD, "--baseline", "witch", "-o", "r.md"], 2, "--baseline witch: one transcript has nothing"),
        ([WISARD], 2, "--output"),
    ):
        done = shop.call("report", *words)
        assert done.status == status
        assert message in done.err
        assert len(done.err.strip().splitlines()) == 1
        assert not list(shop.folder.glob("r.*"))
    assert shop.call("report", "half.jsonl", "--partial", "-o", "r.html").status == 0


@pytest.mark.slow
def test_a_pdf_on_a4(shop: Workshop) -> None:
    try:
        pdf_library()
    except MissingExtra as error:
        pytest.skip(str(error))
    hostile_run(shop.folder / "h.jsonl", 1)
    assert shop.call("report", "h.jsonl", "-o", "report.pdf").status == 0
    data = (shop.folder / "report.pdf").read_bytes()
    assert data.startswith(b"%PDF")
    text = b"".join(map(unpacked, re.findall(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL)))
    boxes = {tuple(map(float, box.split())) for box in re.findall(rb"/MediaBox\s*\[([^\]]+)\]", text + data)}
    assert boxes
    assert all(abs(box[2] - 595.28) < 1 and abs(box[3] - 841.89) < 1 for box in boxes)


def unpacked(stream: bytes) -> bytes:
    try:
        return zlib.decompress(stream)
    except zlib.error:
        return b""


def test_a_pdf_without_the_extra(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    done = shop.call("report", WISARD, "-o", "report.pdf")
    assert done.status == 2
    assert done.err == (
        "hate: a PDF needs WeasyPrint: pip install 'hate-harness[pdf]', or print the .html from a browser\n"
    )


def test_results_of_another_tool_without_a_script(shop: Workshop) -> None:
    log = Path(__file__).parents[1] / "data/import/promptfoo/capitals.json"
    assert shop.call("import", log).status == 0
    page = page_of(shop, *sorted(shop.folder.glob("transcripts/capitals/*.jsonl")))
    assert page.headings[0][1] == "polite clerk and terse clerk on capitals 0"
    assert "hate run" not in page.words


def test_the_style_sheet_has_the_colours_of_the_palette() -> None:
    """On white and on paper; a dark page has others."""
    sheet = STYLE.read_text(encoding="utf-8").replace("#555;", "#555555;").replace("#fff;", "#ffffff;")
    for number, (light, dark) in enumerate(zip(palette.COLOURS, palette.DARK_COLOURS, strict=True)):
        assert sheet.count(f"--c{number}: {light};") == 2
        assert sheet.count(f"--c{number}: {dark};") == 1
    for name, colour in (("ink", palette.INK), ("quiet", palette.QUIET), ("rule", palette.RULE)):
        assert f"--{name}: {colour};" in sheet
    for paper in (palette.PAPER, palette.DARK_PAPER):
        assert f"--paper: {paper};" in sheet


def luminance(colour: str) -> float:
    parts = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return sum(
        weight * (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4)
        for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True)
    )


@pytest.mark.parametrize(
    ("paper", "colours"), [(palette.PAPER, palette.COLOURS), (palette.DARK_PAPER, palette.DARK_COLOURS)]
)
def test_every_run_stands_out_on_its_paper(paper: str, colours: tuple[str, ...]) -> None:
    """WCAG 2.1, 1.4.3: as much as text must, which is more than the 3:1 for lines of 1.4.11."""
    for colour in colours:
        dark, light = sorted(map(luminance, (paper, colour)))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, colour


@pytest.mark.slow
def test_a_run_has_one_colour_everywhere(shop: Workshop) -> None:
    """In the picture of a command, in its gnuplot script, and in a report."""
    names = ("hdigits/wisard", "hdigits/witch")
    assert shop.call("roc", *names, "--plot", "roc.svg", "--gnuplot", "roc.gp").status == 0
    page_of(shop, *names)
    for path in ("roc.svg", "roc.gp", "report.html"):
        text = (shop.folder / path).read_text(encoding="utf-8")
        assert text.index(palette.COLOURS[0]) < text.index(palette.COLOURS[1])
