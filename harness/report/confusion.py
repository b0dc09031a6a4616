"""Confusion matrices for people: the matrix, each class, and which is mistaken for which."""

from collections.abc import Sequence

from harness.analysis.confusion import ClassRate, Confusion, matrix_difference
from harness.report.blocks import Block, Cell, ExactNumber, Heading, Paragraphs, Table
from harness.report.numbers import interval_cell, method_words, percent, target_text

# A wider matrix is unreadable on a terminal or a page.
MAX_COLUMNS = 20
REFUSED = "refused"


def confusion_blocks(
    confusions: Sequence[Confusion], confidence: float, pairs: int, *, whole: bool = False
) -> list[Block]:
    """All transcripts, one after the other, and the difference of two; `whole` shows a matrix of any size."""
    blocks: list[Block] = []
    for confusion in confusions:
        blocks += [
            Heading(confusion.name),
            *_matrix(confusion.labels, confusion.matrix.tolist(), whole),
            class_table(confusion, confidence),
        ]
        rows: list[list[Cell]] = [
            [pair.truth, pair.answer, count_cell(pair.count), pair.share] for pair in confusion.confused[:pairs]
        ]
        confused = Table(["truth", "mistaken for", "times", "share of truth"], rows)
        blocks.append(confused if rows else Paragraphs(["No class was mistaken for another."]))
        blocks.append(Paragraphs(confusion_notes(confusion)))
    if len(confusions) == 2:
        a, b = confusions
        blocks += [Heading(f"{a.name} less {b.name}"), *_matrix(a.labels, matrix_difference(a, b).tolist(), whole)]
        blocks.append(Paragraphs([f"A positive number: {a.name} gave that answer more often."]))
    return blocks


def _matrix(labels: Sequence[str], matrix: Sequence[Sequence[float]], whole: bool) -> list[Block]:
    if len(labels) > MAX_COLUMNS and not whole:
        where = "--format csv and --format json have the whole matrix, --plot draws it."
        return [Paragraphs([f"{len(labels)} classes: {where}"])]
    return [matrix_table(labels, matrix)]


def matrix_table(labels: Sequence[str], matrix: Sequence[Sequence[float]]) -> Table:
    """Rows truth, columns the answer, refusals last."""
    rows: list[list[Cell]] = [[label, *map(count_cell, row)] for label, row in zip(labels, matrix, strict=True)]
    return Table(["truth", *labels, REFUSED], rows)


def count_cell(number: float) -> Cell:
    """A number of cases or pixels; weighted ones need not be whole."""
    return number if isinstance(number, int) else ExactNumber(round(number, 4))


def tidy_table(confusions: Sequence[Confusion]) -> Table:
    """All matrices in one table for spreadsheets: the transcript's name first."""
    matrices = [(confusion.name, confusion.matrix) for confusion in confusions]
    if len(confusions) == 2:
        a, b = confusions
        matrices.append((f"{a.name} less {b.name}", matrix_difference(a, b)))
    tables = [(name, matrix_table(confusions[0].labels, matrix.tolist())) for name, matrix in matrices]
    rows: list[list[Cell]] = [[name, *row] for name, table in tables for row in table.rows]
    return Table(["transcript", *tables[0][1].columns], rows)


def class_table(confusion: Confusion, confidence: float) -> Table:
    """Recall and precision of each class, with intervals."""
    level = percent(confidence)
    columns = ["class", confusion.words, "recall", f"recall {level}", "answered", "precision", f"precision {level}"]
    rows: list[list[Cell]] = [
        [recall.label, count_cell(recall.cases), *_rate(recall), count_cell(precision.cases), *_rate(precision)]
        for recall, precision in zip(confusion.recall, confusion.precision, strict=True)
    ]
    if confusion.iou is not None:
        columns += ["IoU", f"IoU {level}"]
        rows = [[*row, *_rate(iou)] for row, iou in zip(rows, confusion.iou, strict=True)]
    return Table(columns, rows)


def _rate(rate: ClassRate) -> tuple[Cell, Cell]:
    return rate.rate, interval_cell(rate.interval)


def confusion_notes(confusion: Confusion) -> list[str]:
    """How the intervals were computed, and what counts as a refusal."""
    how = f"Intervals by {method_words(confusion.method)}, for {target_text(confusion.target, confusion.stratum)}."
    if confusion.method == "none":
        few = confusion.iou is not None or int(confusion.matrix.sum()) + confusion.left_out == 1
        how = "A single case has no interval." if few else "Too many classes and cases for intervals."
    lines = [f"{how} Every record counts once."]
    if confusion.iou is not None:
        lines = [f"{how} Each of the {confusion.words} counts, but the cases are the sample."]
        if confusion.errors:
            lines.append(f"The last column has the {confusion.words} of {confusion.errors:,} errors.")
    elif confusion.errors:
        lines.append(f"Refusals include {confusion.errors:,} errors.")
    if confusion.weights != "cases":
        lines.append(
            f"The rates of classes follow the weights ({confusion.weights}); counts, and shares of them, do not."
        )
    if confusion.below_threshold:
        lines.append(f"Refusals include {confusion.below_threshold:,} answers below the threshold.")
    if confusion.left_out:
        left_out = f"{confusion.left_out:,} {confusion.words}"
        lines.append(f"{left_out} do not count: their class is not known, or they were not asked for.")
    return lines
