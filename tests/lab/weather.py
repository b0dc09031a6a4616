"""Synthetic recaptures of images at many times, with known variance components, like the urn paper's data."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import BoolArray, IntArray


@dataclass(frozen=True)
class Weather:
    """Recaptures of `images` images of each of `subjects` subjects at `times` times; standard deviations of effects."""

    subjects: int = 40
    images: int = 4
    times: int = 60
    subject: float = 0.5
    image: float = 2.5
    time: float = 0.5
    noise: float = 1.0

    def draw(self, seed: int) -> "Drawn":
        rng = np.random.default_rng(seed)
        shape = (self.subjects, self.images, self.times)
        score = (
            self.subject * rng.normal(size=(self.subjects, 1, 1))
            + self.image * rng.normal(size=(self.subjects, self.images, 1))
            + self.time * rng.normal(size=(1, 1, self.times))
            + self.noise * rng.normal(size=shape)
        )
        subject, image, time = (part.ravel() for part in np.indices(shape))
        return Drawn(score.ravel(), subject, subject * self.images + image, time)


@dataclass(frozen=True)
class Drawn:
    """One value per element."""

    score: npt.NDArray[np.float64]
    subject: IntArray
    image: IntArray
    time: IntArray

    @property
    def success(self) -> BoolArray:
        return np.asarray(self.score > 0)[:, None]


def write_weather(path: Path, drawn: Drawn, **more: Any) -> Path:
    """Write the transcript of a score test; `more` are extra columns with a value for each element."""
    test = {"name": "weather", "version": "1.0", "digest": "1:00", "task": "score", "larger_is_better": True}
    header = {"hate": "transcript", "format": 1, "test": test, "algorithm": {"name": "face"}}
    header |= {"params": {"threshold": 0.0}}
    lines = [json.dumps(header)]
    for i, score in enumerate(drawn.score.tolist()):
        columns = {"subject": f"s{drawn.subject[i]}", "image": f"i{drawn.image[i]}", "time": int(drawn.time[i])}
        columns |= {name: values[i] for name, values in more.items()}
        outcome = "TP" if score >= 0 else "FN"
        lines.append(
            json.dumps({"id": f"c{i}", "outcome": outcome, "positive": True, "score": score, "columns": columns})
        )
    body = "\n".join(lines) + "\n"
    found = int(np.count_nonzero(drawn.score >= 0))
    counts = {"TP": found, "TN": 0, "FP": 0, "FN": drawn.score.size - found, "ER": 0}
    end = {"end": True, "tests": drawn.score.size, **counts, "sha256": hashlib.sha256(body.encode()).hexdigest()}
    path.write_text(body + json.dumps(end) + "\n", encoding="utf-8")
    return path
