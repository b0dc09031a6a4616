"""Synthetic score matrices with people, days and images, and their labels."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from harness.matrices.matrix import Labels, Matrix

Scores = npt.NDArray[np.float32]


def people_matrix(
    people: int, images: int, *, noise: float = 1.0, seed: int = 0, harder: float = 0.0, name: str = "alg"
) -> Matrix:
    """Similarities of points: a centre for each person, shifted for each image; image 1 is shifted by `harder` more."""
    rng = np.random.default_rng(seed)
    who, image = np.repeat(np.arange(people), images), np.tile(np.arange(images), people)
    points = rng.normal(size=(people, 6))[who] + (noise + harder * (image == 1))[:, None] * rng.normal(
        size=(who.size, 6)
    )
    scores: Scores = -np.linalg.norm(points[:, None] - points[None], axis=2).astype(np.float32)
    labels = labels_of(people, images)
    return Matrix(name, scores, labels, labels)


def labels_of(people: int, images: int) -> Labels:
    """Half of a person's images are of the first day."""
    pairs = [(person, image) for person in range(people) for image in range(images)]
    return Labels(
        {
            "id": [f"p{person:03d}_{image}" for person, image in pairs],
            "subject": [f"p{person:03d}" for person, _ in pairs],
            "day": [str(1 + (2 * image >= images)) for _, image in pairs],
            "image": [str(image) for _, image in pairs],
        }
    )


def write_matrix(matrix: Matrix, folder: Path) -> Path:
    """Write the matrix as NAME.npy, with its labels next to it."""
    np.save(folder / f"{matrix.name}.npy", matrix.scores)
    names = list(matrix.rows.columns)
    lines = [",".join(row) for row in zip(*(matrix.rows.columns[name] for name in names), strict=True)]
    (folder / f"{matrix.name}.labels.csv").write_text("\n".join([",".join(names), *lines, ""]), encoding="utf-8")
    return folder / f"{matrix.name}.npy"
