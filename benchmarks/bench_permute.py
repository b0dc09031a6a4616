"""10,000 permuted experiments, 160 people with 4 images, for 1 and 8 algorithms, against gathering the scores.

Run as `python -m benchmarks.bench_permute`. Processor time, the best of three turns.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from benchmarks.timing import Timing, best, print_timings
from harness.lab.permute.statistics import ImagePairs, draw_pairs, permute

PEOPLE, IMAGES, EXPERIMENTS = 160, 4, 10_000
# Gallery and probe image of different days: table 6b of Beveridge et al. (2001).
PATTERN = [(0, 2), (0, 3), (1, 2), (1, 3), (2, 0), (2, 1), (3, 0), (3, 1)]
Scores = npt.NDArray[np.float32]


def choices() -> ImagePairs:
    rows = np.array([person * IMAGES + probe for person in range(PEOPLE) for _, probe in PATTERN])
    columns = np.array([person * IMAGES + gallery for person in range(PEOPLE) for gallery, _ in PATTERN])
    starts = np.arange(PEOPLE + 1) * len(PATTERN)
    return ImagePairs(rows, columns, starts, np.zeros(PEOPLE, np.intp))


def gather(matrix: Scores, pairs: ImagePairs, experiments: int) -> int:
    """The simple way: take the 160 x 160 scores of an experiment, compare and count."""
    total = 0
    for drawn in draw_pairs(pairs, experiments, rng=np.random.default_rng(0), step=50):
        rows, columns = pairs.rows[drawn], pairs.columns[drawn]
        scores = matrix[rows[:, :, None], columns[:, None, :]]
        right = np.diagonal(scores, axis1=1, axis2=2)
        total += int(np.count_nonzero((scores >= right[:, :, None]).sum(axis=2) <= 1))
    return total


def main() -> None:
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(PEOPLE), IMAGES)
    same = 2 * (who[:, None] == who)
    matrices = [(rng.normal(size=same.shape) + same).astype(np.float32) for _ in range(8)]
    pairs = choices()
    (tenth,) = best(lambda: gather(matrices[0], pairs, EXPERIMENTS // 10))
    plain = tenth * 10
    rows = [Timing("gathering the scores, 1 algorithm, rank 1 only (from a tenth)", plain)]
    for count in (1, 8):
        for balanced in (True, False):
            draw = partial(
                permute, matrices[:count], pairs, larger_is_better=[True] * count, experiments=EXPERIMENTS,
                rng=np.random.default_rng(0), balanced=balanced,
            )  # fmt: skip
            what = f"{count} algorithms, {'balanced' if balanced else 'unbalanced'}"
            (spent,) = best(draw)
            rows.append(Timing(what, spent, count * plain, "gathering the scores of each"))
    size = PEOPLE * IMAGES
    print_timings(rows, title=f"{EXPERIMENTS:,} experiments, {size} x {size} scores, ranks 1 to 10")


if __name__ == "__main__":
    main()
