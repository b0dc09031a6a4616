"""Ranking a mapped 10,000 x 10,000 matrix, against one pass of comparing it.

Run as `python benchmarks/bench_ranks.py [SIZE]`. The pass compares every score of the same file with that of the right
image and counts for each probe, `np.count_nonzero(scores >= right, axis=1)`, block by block: ranks of images, not of
people, without best wrong scores or a look at what is no number. Seconds are of processor time, the best of several
runs in turn, so that a busy machine does not change the ratios much. The file is in the page cache for both.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from harness.analysis.matrices.generate import Effect, Recipe, write_matrix
from harness.analysis.matrices.matrix import BLOCK, Matrix
from harness.analysis.matrices.read import read_matrix

GOAL = 2.0


def best(*runs: Callable[[], object], repeats: int = 5) -> list[float]:
    times = [float("inf")] * len(runs)
    for _ in range(repeats):
        for i, run in enumerate(runs):
            start = time.process_time()
            run()
            times[i] = min(times[i], time.process_time() - start)
    return times


def compare_once(matrix: Matrix, right: np.typing.NDArray[np.intp]) -> list[np.typing.NDArray[np.intp]]:
    """Count the scores that are at least that of the right image."""
    size = max(1, BLOCK // matrix.shape[1])
    counts = []
    for start in range(0, matrix.shape[0], size):
        part = matrix.stored[start : start + size]
        own = part[np.arange(len(part)), right[start : start + size]]
        counts.append(np.count_nonzero(part >= own[:, None], axis=1))
    return counts


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print(f"# {size:,} x {size:,}, 32-bit, mapped; processor seconds\n# images  compare   rank  ratio  goal")
    with tempfile.TemporaryDirectory() as folder:
        for images in (1, 4):
            path = Path(folder) / f"m{images}.npy"
            write_matrix(Recipe(size // images, images, [Effect("subject", 0.5)]), path)
            matrix = read_matrix(path)
            right = np.arange(size) // images * images
            one, other = best(
                lambda matrix=matrix, right=right: compare_once(matrix, right),  # type: ignore[misc]
                lambda matrix=matrix: matrix.ranks(exclude_same=False),  # type: ignore[misc]
            )
            print(f"{images:8}  {one:7.2f} {other:6.2f}  {other / one:5.2f}  {GOAL:4.1f}")
            path.unlink()


if __name__ == "__main__":
    main()
