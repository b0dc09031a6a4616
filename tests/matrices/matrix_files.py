"""Matrices for tests, and a slow reference implementation of ranking."""

from pathlib import Path

import numpy as np
import numpy.typing as npt


def write_faces(folder: Path, subjects: int = 6, images: int = 3, seed: int = 1) -> Path:
    """A square matrix of similarities with its table of labels; image numbers are sessions."""
    rng = np.random.default_rng(seed)
    total = subjects * images
    who = np.repeat(np.arange(subjects), images)
    scores = rng.normal(size=(total, total)) + 1.5 * (who[:, None] == who[None, :])
    np.save(folder / "faces.npy", scores.astype(np.float32))
    lines = [f"p{who[i]}_{i % images + 1},p{who[i]},{i % images + 1}" for i in range(total)]
    (folder / "faces.labels.csv").write_text("\n".join(["id,subject,session", *lines]) + "\n", encoding="utf-8")
    return folder / "faces.npy"


def slow_rank(scores: npt.NDArray[np.floating], own: str, gallery: list[str], skip: int = -1) -> float:
    """1 + the wrong identities that score at least as well as the best right image, one comparison at a time."""
    best: dict[str, float] = {}
    for place, who in enumerate(gallery):
        if place != skip:
            best[who] = max(best.get(who, -np.inf), float(scores[place]))
    if own not in best:
        return float("nan")
    return 1.0 + sum(score >= best[own] for who, score in best.items() if who != own)
