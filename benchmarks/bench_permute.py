"""Permuted experiments: 10,000 of them, 160 people with 4 images, for 1 and 8 algorithms, against gathering the scores.

Run as `python benchmarks/bench_permute.py`. Seconds are of processor time, the best of three.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from harness.stats.permuting import Choices, draw_choices, permute

PEOPLE, IMAGES, EXPERIMENTS = 160, 4, 10_000
# Gallery and probe image of different days: table 6b of Beveridge et al. (2001).
PATTERN = [(0, 2), (0, 3), (1, 2), (1, 3), (2, 0), (2, 1), (3, 0), (3, 1)]
Scores = npt.NDArray[np.float32]


def best(run: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def choices() -> Choices:
    rows = np.array([person * IMAGES + probe for person in range(PEOPLE) for _, probe in PATTERN])
    columns = np.array([person * IMAGES + gallery for person in range(PEOPLE) for gallery, _ in PATTERN])
    starts = np.arange(PEOPLE + 1) * len(PATTERN)
    return Choices(rows, columns, starts, np.zeros(PEOPLE, np.intp))


def gathered(matrix: Scores, pairs: Choices, experiments: int) -> int:
    """The plain way: take the 160 x 160 scores of an experiment, compare, count."""
    total = 0
    for drawn in draw_choices(pairs, experiments, rng=np.random.default_rng(0), step=50):
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
    plain = best(lambda: gathered(matrices[0], pairs, EXPERIMENTS // 10)) * 10
    print(f"{EXPERIMENTS:,} experiments, {PEOPLE * IMAGES} x {PEOPLE * IMAGES} scores, ranks 1 to 10, CPU seconds")
    print(f"gathering the scores, 1 algorithm, rank 1 only (from a tenth): {plain:.2f}")
    for count in (1, 8):
        for balanced in (True, False):
            draw = {"rng": np.random.default_rng(0), "balanced": balanced}
            seconds = best(
                lambda count=count, draw=draw: permute(  # type: ignore[misc]
                    matrices[:count], pairs, larger_is_better=[True] * count, experiments=EXPERIMENTS, **draw
                )
            )
            what = "balanced" if balanced else "unbalanced"
            print(f"{count} algorithms, {what}: {seconds:.2f}, {count * plain / seconds:.0f} times as fast")


if __name__ == "__main__":
    main()
