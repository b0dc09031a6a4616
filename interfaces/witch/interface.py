"""WITCH, the strawman: ridge regression, a weighted sum of the pixels for each digit.

The weights are those that come nearest, in least squares, to 1000 for the right digit and 0 for the others. It is
known to work and far from the best; a method that does not beat it needs improvement.
"""

from pathlib import Path

import numpy as np

NAME = "witch"
VERSION = "1.0"
PARAMS = {"ridge": 1000.0}  # found on the training images alone, in five folds
RIGHT = 1000


def read_pgm(path):
    _magic, _size, _maxval, pixels = Path(path).read_bytes().split(b"\n", 3)
    return np.append(np.frombuffer(pixels, np.uint8), 16.0)  # a pixel full of ink serves as the constant


class Interface:
    def train(self, cases, params):
        cases = list(cases)
        images = np.array([read_pgm(case.input) for case in cases])
        self.labels = sorted({case.expect for case in cases})
        wanted = np.array([[RIGHT * (case.expect == label) for label in self.labels] for case in cases])
        penalty = params["ridge"] * np.eye(images.shape[1])
        self.weights = np.linalg.solve(images.T @ images + penalty, images.T @ wanted)

    def answer(self, case, params):
        scores = read_pgm(case.input) @ self.weights
        # Whole numbers: the last digits of a float depend on the machine's linear algebra library.
        return {label: round(float(score)) for label, score in zip(self.labels, scores, strict=True)}
