"""Confusion matrices from Python: `confusion`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.analysis.confusion import Confusion, confusions, matrix_difference
from harness.api.extension import extendable
from harness.api.result import PictureResult
from harness.api.transcripts import Transcripts, open_transcripts
from harness.errors import UsageError
from harness.options import PictureOptions
from harness.options.comparing import ConfusionOptions
from harness.report.blocks import Block, Table
from harness.report.confusion import confusion_blocks, tidy_table
from harness.report.plots.canvas import Picture
from harness.report.plots.heat_maps import plot_confusion, plot_difference

if TYPE_CHECKING:
    from harness.report.plots.canvas import Axes

# What JSON has of every matrix.
_KEYS = (
    "name",
    "matrix",
    "errors",
    "below_threshold",
    "left_out",
    "recall",
    "precision",
    "method",
    "target",
    "confused",
)


@dataclass(frozen=True, repr=False)
class ConfusionResult(PictureResult):
    """Confusion matrices: rows the truth, columns the answer."""

    matrices: Sequence[Confusion]
    options: ConfusionOptions
    remarks: Sequence[str] = ()

    def payload(self) -> Any:
        first = self.matrices[0]
        payload: dict[str, Any] = {
            "labels": first.labels,
            "matrix": first.matrix,
            "transcripts": [
                {name: getattr(confusion, name) for name in _KEYS}
                # What the counts, `cases` among them, are counts of.
                | ({} if confusion.words == "cases" else {"counted": confusion.words})
                | ({} if confusion.iou is None else {"iou": confusion.iou})
                for confusion in self.matrices
            ],
        }
        if len(self.matrices) == 2:
            other = self.matrices[1]
            payload["difference"] = {"a": first.name, "b": other.name, "matrix": matrix_difference(first, other)}
        return payload

    def blocks(self) -> Sequence[Block]:
        """Matrices, recall and precision, the most confused pairs."""
        return confusion_blocks(self.matrices, self.options.confidence, self.options.pairs)

    def table(self) -> Table:
        """A row for each cell."""
        return tidy_table(self.matrices)

    @property
    def has_picture(self) -> bool:
        return len(self.matrices) <= 2

    def make_picture(self, options: PictureOptions, ax: "Axes | None" = None) -> Picture:
        """The matrix, or the difference of two."""
        if not self.has_picture:
            raise UsageError(f"--plot: {len(self.matrices)} transcripts; one is drawn, or the difference of two")
        first, labels = self.matrices[0], self.matrices[0].labels
        if len(self.matrices) == 1:
            return plot_confusion(labels, first.matrix.tolist(), options, ax, name=first.name)
        other = self.matrices[1]
        name = f"{first.name} less {other.name}"
        return plot_difference(labels, matrix_difference(first, other).tolist(), options, ax, name=name)


@extendable
def confusion(transcripts: Transcripts, *, options: ConfusionOptions) -> ConfusionResult:
    """Confusion matrices of label tests, and of the pixels of mask tests: the true class against the answer.

    >>> harness.confusion("wisard", threshold=5)
    """
    opened = open_transcripts(transcripts, options)
    return ConfusionResult(confusions(opened.runs(), options), options, opened.notes)
