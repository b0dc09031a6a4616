"""Pictures: drawing curves with bands, a legend that covers nothing and labels, against bare matplotlib.

Run as `python -m benchmarks.bench_pictures`. The floor is matplotlib alone: the same lines and bands in a figure of the
same size, with its own layout and a legend in a fixed corner, written in the same format. Processor time.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from matplotlib.figure import Figure

from benchmarks.timing import Timing, best, print_timings
from harness import roc
from harness.analysis.curves.curve import Curve
from harness.api.curve_result import CurveResult
from tests.analysis.curves.transcripts import scores, write_transcript

CASES = 2000


def make_curves(folder: Path, count: int) -> CurveResult:
    """ROC curves of normal scores, with bands."""
    rng = np.random.default_rng(0)
    positive = np.arange(CASES) < CASES // 2
    paths = [
        write_transcript(
            folder / f"{count}-{number}.jsonl",
            scores(rng.normal(size=CASES) + (1 + number / count) * positive, positive),
            algorithm=f"algorithm {number}",
        )
        for number in range(count)
    ]
    return roc(paths)


def bare(curves: Sequence[Curve], kind: str) -> bytes:
    """Lines, bands and a legend, by matplotlib alone."""
    # As high as ours, whose legend goes above the axes when there are many.
    figure = Figure(figsize=(3.5, 3.3 + 0.15 * max(0, len(curves) - 6)), layout="constrained")
    sheet = figure.add_subplot()
    for curve in curves:
        of = curve.columns
        sheet.fill_between(of["fpr"], of["low_at_fpr"], of["high_at_fpr"], alpha=0.14)
        sheet.plot(of["fpr"], of["tpr"], label=f"{curve.name}, AUC {curve.auc.value:.3f}")
    sheet.legend(loc="lower right", fontsize=7)
    page = io.BytesIO()
    figure.savefig(page, format=kind, dpi=300)
    return page.getvalue()


def main() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        rows = []
        for count in (1, 5, 20):
            found = make_curves(folder, count)
            for kind in ("svg", "pdf", "png"):
                path = folder / f"a.{kind}"
                ours, floor = best(
                    lambda: found.picture(zoom=0.0).save(path, force=True),  # noqa: B023
                    lambda: bare(found.curves, kind),  # noqa: B023
                )
                what = f"{count} ROC curves of {CASES:,} cases as {kind}"
                rows.append(Timing(what, ours, floor, "bare matplotlib", goal="below 3"))
        print_timings(rows, title="Pictures", unit="ms")


if __name__ == "__main__":
    main()
