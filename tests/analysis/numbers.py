"""Transcripts of tests whose answers are numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray
from tests.analysis.transcripts import transcript

VALUE_TEST = {"task": "value"}


def numbers(
    path: Path, truth: Sequence[float] | FloatArray, answers: Sequence[float | None] | FloatArray, /, **more: Any
) -> Path:
    """A transcript of a value test with a tolerance of 1; an answer of None is a refusal."""
    given = [None if one is None or np.isnan(one) else float(one) for one in answers]
    good = [one is not None and abs(one - t) <= 1 for one, t in zip(given, truth, strict=True)]
    fields: dict[str, Any] = {"test": VALUE_TEST, "params": {"tolerance": 1.0}, "actual": given}
    return transcript(path, good, **{**fields, "expect": [repr(float(t)) for t in truth], **more})


@dataclass(frozen=True)
class Scales:
    """Things on scales: `units` of `size` weighings each, in strata of two units; each algorithm has its own spread."""

    units: int = 16
    size: int = 3
    seed: int = 0

    @property
    def n(self) -> int:
        return self.units * self.size

    @property
    def unit(self) -> npt.NDArray[np.intp]:
        return np.arange(self.n) // self.size

    @property
    def truth(self) -> FloatArray:
        return np.round(np.random.default_rng([self.seed, 0]).uniform(0, 100, self.units), 2)[self.unit]

    def errors(self, run: int, bias: float = 0.0) -> FloatArray:
        rng = np.random.default_rng([self.seed, run + 1])
        return np.round(bias + (1 + run) * (rng.normal(size=self.n) + rng.normal(size=self.units)[self.unit]), 3)

    def write(self, path: Path, errors: FloatArray, *, stratified: bool = False, **more: Any) -> Path:
        """Errors of NaN are refusals."""
        names: dict[str, Any] = {"psu": [f"u{u}" for u in self.unit]}
        names |= {"stratum": [f"s{u // 2}" for u in self.unit]} if stratified else {}
        design = {"psu": "thing"} | ({"stratum": "kind"} if stratified else {})
        return numbers(path, self.truth, self.truth + errors, design=design, **names, **more)

    def runs(self, folder: Path, biases: Sequence[float] = (0.0, 0.5), **more: Any) -> list[Path]:
        files = [folder / f"{'abcdef'[run]}.jsonl" for run in range(len(biases))]
        return [
            self.write(path, self.errors(k, bias), **more)
            for k, (path, bias) in enumerate(zip(files, biases, strict=True))
        ]
