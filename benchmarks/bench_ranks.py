"""Ranking a memory-mapped 10,000 x 10,000 matrix, against comparing its scores once.

Run as `python -m benchmarks.bench_ranks [SIZE]`. The comparison counts, block by block, how many scores of each probe
are at least that of the right image, `np.count_nonzero(scores >= right, axis=1)`: ranks of images, not of people,
without best wrong scores or a check for NaN. Processor time, the best of several turns. The file is in the page cache
for both.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.timing import Timing, best, print_timings
from harness.matrices.generate import Effect, MatrixRecipe, write_matrix
from harness.matrices.matrix import BLOCK, Matrix
from harness.matrices.read import read_matrix


def compare_once(matrix: Matrix, right: np.typing.NDArray[np.intp]) -> list[np.typing.NDArray[np.intp]]:
    """Count the scores that are at least as good as that of the right image."""
    size = max(1, BLOCK // matrix.shape[1])
    counts = []
    for start in range(0, matrix.shape[0], size):
        part = matrix.stored[start : start + size]
        own = part[np.arange(len(part)), right[start : start + size]]
        counts.append(np.count_nonzero(part >= own[:, None], axis=1))
    return counts


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    title = f"ranks in {size:,} x {size:,} scores, 32-bit, mapped"
    with tempfile.TemporaryDirectory() as folder:
        rows = [bench(Path(folder) / f"m{images}.npy", size, images) for images in (1, 4)]
    print_timings(rows, title=title)


def bench(path: Path, size: int, images: int) -> Timing:
    write_matrix(MatrixRecipe(size // images, images, [Effect("subject", 0.5)]), path)
    matrix = read_matrix(path)
    right = np.arange(size) // images * images
    compared, ranked = best(lambda: compare_once(matrix, right), lambda: matrix.ranks(exclude_same=False), turns=5)
    path.unlink()
    return Timing(f"{images} images per person", ranked, compared, "comparing once", "2")


if __name__ == "__main__":
    main()
