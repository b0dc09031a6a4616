"""Eigenfaces (Turk and Pentland, 1991): faces as points along their principal components, compared by a distance.

The axes are learned from the training images, or from the gallery where there are none; labels are not used for it.
`distance` is `l1`, the sum of absolute differences along the axes, or `mahalanobis`, the Euclidean distance after each
axis was divided by the standard deviation along it.
"""

import re
from pathlib import Path

import numpy as np

NAME = "eigenfaces"
VERSION = "1.0"
PARAMS = {"distance": "l1", "components": 100}
HEADER = re.compile(rb"P5\s+(?:#.*\s+)*(\d+)\s+(\d+)\s+(\d+)\s")


def read_pgm(path):
    content = Path(path).read_bytes()
    header = HEADER.match(content)
    pixels = np.frombuffer(content, np.uint8, offset=header.end())
    return pixels / int(header[3])


class Interface:
    def train(self, cases, params):
        if cases:
            self.learn([read_pgm(case.input) for case in cases], params)

    def learn(self, images, params):
        self.mean = np.mean(images, axis=0)
        _, spread, axes = np.linalg.svd(np.array(images) - self.mean, full_matrices=False)
        kept = spread[: params["components"]] > 1e-9 * spread[0]
        self.axes = axes[: params["components"]][kept].T
        if params["distance"] == "mahalanobis":
            self.axes = self.axes * np.sqrt(len(images) - 1) / spread[: params["components"]][kept]
        self.order = {"l1": 1, "mahalanobis": 2}[params["distance"]]

    def enrol(self, gallery, params):
        images = [read_pgm(image.input) for image in gallery]
        if not hasattr(self, "axes"):
            self.learn(images, params)
        self.gallery = (np.array(images) - self.mean) @ self.axes

    def answer(self, case, params):
        probe = (read_pgm(case.input) - self.mean) @ self.axes
        return np.linalg.norm(self.gallery - probe, self.order, axis=1)
