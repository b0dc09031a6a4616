"""Scored answers for the tests of comparisons: score tests with strata, units, a noise level, times and memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.analysis.compare import compare_aligned
from harness.analysis.comparison import Comparison
from harness.options.comparing import CompareOptions
from harness.stats.arrays import BoolArray, FloatArray
from harness.stats.replication.method import Replication
from tests.analysis.transcripts import aligned, transcript

SCORE_TEST = {"task": "score"}


@dataclass(frozen=True)
class World:
    """Cases: two units of `size` cases in every stratum, half of the cases positive."""

    strata: int = 8
    size: int = 6
    seed: int = 0
    units: int = 2

    @property
    def n(self) -> int:
        return self.strata * self.units * self.size

    @property
    def positive(self) -> BoolArray:
        return np.asarray(np.arange(self.n) % 2 == 0)

    @property
    def unit(self) -> npt.NDArray[np.intp]:
        return np.arange(self.n) // self.size

    @property
    def stratum(self) -> npt.NDArray[np.intp]:
        return self.unit // self.units

    def scores(self, run: int, lift: float = 1.0) -> FloatArray:
        """Rounded, so that there are ties."""
        rng = np.random.default_rng([self.seed, run])
        return np.round(rng.normal(size=self.n) + lift * self.positive + 0.5 * rng.normal(size=self.n)[self.unit], 1)

    def write(self, path: Path, scores: FloatArray, *, threshold: float = 0.5, **more: Any) -> Path:
        good = (scores >= threshold) == self.positive
        rng = np.random.default_rng([self.seed, 99])
        fields: dict[str, Any] = {
            "score": scores.tolist(),
            "stratum": [f"s{s}" for s in self.stratum],
            "psu": [f"u{u}" for u in self.unit],
            "columns": [{"noise": float(x)} for x in np.round(rng.uniform(0, 40, self.n), 2)],
        }
        design = {"stratum": "s", "psu": "u"}
        test: dict[str, Any] = SCORE_TEST
        return transcript(path, good, positive=self.positive.tolist(), test=test, design=design, **(fields | more))

    def runs(self, folder: Path, lifts: Sequence[float] = (1.5, 1.0, 0.5), **more: Any) -> list[Path]:
        return [
            self.write(folder / f"{'abcdef'[k]}.jsonl", self.scores(k, lift), **more) for k, lift in enumerate(lifts)
        ]


def compare_files(*paths: Path, plan: Replication | None = None, **options: Any) -> Comparison:
    """Compare transcripts, with default options."""
    return compare_aligned(aligned(*paths), CompareOptions(**options), replication=plan)
