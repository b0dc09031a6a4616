"""Measures of masks: means over images, ratios of sums over images, and the mean over classes. Images are the units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from harness.errors import UsageError
from harness.measures.measure import Measure, Reads, Runs

if TYPE_CHECKING:
    from harness.measures.measure import Cell
    from harness.stats.arrays import FloatArray
    from harness.stats.replication.statistic import Statistic

__all__ = ["MEASURES"]

DETAIL = "pixels"
_COUNTS = ("TP", "FN", "FP", "TN")
_UNIT = (0.0, 1.0)
# Above and below the fraction, in the order of the counts.
_Part = Callable[["FloatArray"], "FloatArray"]


def _counts(runs: Runs) -> FloatArray:
    """TP, FN, FP and TN of every run and image, (m, n, 4); NaN without pixels."""
    import numpy as np

    none = dict.fromkeys(_COUNTS, np.nan)
    rows = [[[(pixels or none)[name] for name in _COUNTS] for pixels in of_run] for of_run in runs.detail(DETAIL)]
    return np.array(rows, dtype=np.float64)


def _fraction(above: _Part, below: _Part, *, means: bool) -> Callable[[Runs, Sequence[Cell]], Statistic]:
    """One sum of counts over another: of each image, and then their mean; or of all images together."""

    def statistic(runs: Runs, cells: Sequence[Cell]) -> Statistic:
        import numpy as np

        from harness.stats.replication.statistic import ratio

        counts = _counts(runs)
        known = [~np.isnan(counts[run, :, 0]) & (True if inside is None else inside) for run, inside in cells]
        parts = [np.where(of[:, None], counts[run], 0.0) for (run, _), of in zip(cells, known, strict=True)]
        counted = np.stack(known, axis=1).astype(np.float64)
        if means:
            numerators = np.stack([_overlap(above(cell), below(cell)) for cell in parts], axis=1) * counted
            denominators = counted
        else:
            numerators, denominators = (np.stack([part(cell) for cell in parts], axis=1) for part in (above, below))
        return ratio(numerators, denominators, bounds=_UNIT, counted=counted)

    return statistic


def _overlap(above: FloatArray, below: FloatArray) -> FloatArray:
    """Of an image: 1 if there is neither an object nor a marked pixel."""
    import numpy as np

    return np.where(below > 0, above / np.where(below > 0, below, 1.0), 1.0)


def _mean_of_classes(runs: Runs, cells: Sequence[Cell]) -> Statistic:
    """The IoU of each class, from the confusion matrix of all images, and their mean over the classes that occur."""
    import numpy as np

    from harness.stats.replication.statistic import SmoothFormula

    columns = _class_columns(runs, cells)
    parts = columns[0].shape[1]

    def formula(totals: Any) -> Any:
        common, union = totals[..., : parts // 2], totals[..., parts // 2 :]
        present = union.real > 0
        shares = np.where(present, common / np.where(present, union, 1.0), 0.0)
        return shares.sum(axis=-1) / present.sum(axis=-1)

    return SmoothFormula(np.hstack(columns), _UNIT, fragile=True, formula=formula, parts=parts)


def _class_columns(runs: Runs, cells: Sequence[Cell]) -> list[FloatArray]:
    """Of every cell and image: the pixels that have a class in truth and answer, then those that have it in either."""
    import numpy as np

    details = runs.detail(DETAIL)
    if not any(pixels and "confusion" in pixels for of_run in details for pixels in of_run):
        raise UsageError("--statistic miou: no classes are recorded; the test's [mask] needs labels")
    tables = [_class_counts(of_run) for of_run in details]
    values = sorted({value for of_run in tables for of_image in of_run for value in of_image})
    column_of = {value: number for number, value in enumerate(values)}
    whole = np.zeros((len(tables), len(tables[0]), 2 * len(values)))
    for run, of_run in enumerate(tables):
        for image, of_image in enumerate(of_run):
            for value, (common, union) in of_image.items():
                whole[run, image, column_of[value]] = common
                whole[run, image, len(values) + column_of[value]] = union
    return [whole[run] if inside is None else whole[run] * inside[:, None] for run, inside in cells]


def _class_counts(of_run: Sequence[Any]) -> list[dict[int, list[float]]]:
    """Of each image and class, the pixels in truth and answer, and those in either; an error has no class."""
    counts: list[dict[int, list[float]]] = []
    for pixels in of_run:
        of_class: dict[int, list[float]] = {}
        for truth, answer, weight in (pixels or {}).get("confusion", ()):
            for value in {truth, answer} - {None}:
                both = of_class.setdefault(value, [0.0, 0.0])
                both[0] += weight if truth == answer else 0.0
                both[1] += weight
        counts.append(of_class)
    return counts


def _measure(
    name: str, words: str, above: _Part, below: _Part, *, means: bool = False, larger: bool = True, needs: str = ""
) -> Measure:
    return Measure(name, words, _fraction(above, below, means=means), larger, _UNIT, Reads.PIXELS, needs=needs)


def _tp(t: FloatArray) -> FloatArray:
    return t[..., 0]


def _twice(t: FloatArray) -> FloatArray:
    return 2 * t[..., 0]


def _both_sizes(t: FloatArray) -> FloatArray:
    return 2 * t[..., 0] + t[..., 1] + t[..., 2]


MEASURES = (
    _measure("iou", "mean IoU of images", _tp, lambda t: t[..., 0] + t[..., 1] + t[..., 2], means=True),
    _measure("dice", "mean Dice coefficient of images", _twice, _both_sizes, means=True),
    _measure("pixel_tpr", "true positive rate of pixels", _tp, lambda t: t[..., 0] + t[..., 1], needs="object pixels"),
    _measure(
        "pixel_fpr",
        "false positive rate of pixels",
        lambda t: t[..., 2],
        lambda t: t[..., 2] + t[..., 3],
        larger=False,
        needs="background pixels",
    ),
    _measure("pixel_precision", "precision of pixels", _tp, lambda t: t[..., 0] + t[..., 2], needs="marked pixels"),
    _measure("pixel_f1", "F1 of pixels", _twice, _both_sizes, needs="object or marked pixels"),
    Measure("miou", "mean IoU of classes", _mean_of_classes, True, _UNIT, Reads.PIXELS, needs="labels in [mask]"),
)
