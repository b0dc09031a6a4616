"""OTSU: the grey level that splits the histogram best is the threshold.

N. Otsu, A threshold selection method from gray-level histograms, IEEE Transactions on Systems, Man, and Cybernetics
9(1), 1979: of all levels, the one with the largest variance between the two classes that it makes.
"""

from pathlib import Path

import numpy as np

NAME = "otsu"
VERSION = "1.0"


def read_pgm(path):
    _magic, size, _maxval, pixels = Path(path).read_bytes().split(b"\n", 3)
    width, height = map(int, size.split())
    return np.frombuffer(pixels, np.uint8).reshape(height, width)


def otsu_level(image):
    counts = np.bincount(image.ravel(), minlength=256)
    below, sums = np.cumsum(counts), np.cumsum(counts * np.arange(256))
    above = below[-1] - below
    between = below * above * (sums / np.maximum(below, 1) - (sums[-1] - sums) / np.maximum(above, 1)) ** 2
    return int(between.argmax()) if between.any() else 255  # of a single grey level, nothing is marked


def answer(case, params):
    image = read_pgm(case.input)
    return image > otsu_level(image)
