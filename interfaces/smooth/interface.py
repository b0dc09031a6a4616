"""SMOOTH: a blur against noise, then Otsu's threshold.

The blur is the mean over a square, twice. It costs a little at the outline, and gains much where pixels are noisy.
"""

from pathlib import Path

import numpy as np

NAME = "smooth"
VERSION = "1.0"
PARAMS = {"radius": 2}  # the square has 2 * radius + 1 pixels a side


def read_pgm(path):
    _magic, size, _maxval, pixels = Path(path).read_bytes().split(b"\n", 3)
    width, height = map(int, size.split())
    return np.frombuffer(pixels, np.uint8).reshape(height, width)


def blurred(image, radius):
    side = 2 * radius + 1
    around = np.pad(image, radius, mode="edge").astype(np.int64)
    # Sums over all pixels above and to the left: the sum over any square is made of four of them.
    sums = np.pad(around.cumsum(axis=0).cumsum(axis=1), [(1, 0), (1, 0)])
    squares = sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]
    return squares // (side * side)


def otsu_level(image):
    """The grey level with the largest variance between what is below and above it; see the interface `otsu`."""
    counts = np.bincount(image.ravel(), minlength=256)
    below, sums = np.cumsum(counts), np.cumsum(counts * np.arange(256))
    above = below[-1] - below
    between = below * above * (sums / np.maximum(below, 1) - (sums[-1] - sums) / np.maximum(above, 1)) ** 2
    return int(between.argmax()) if between.any() else 255


def answer(case, params):
    image = blurred(blurred(read_pgm(case.input), params["radius"]), params["radius"])
    return image > otsu_level(image)
