"""BLOBS, the strawman: whatever is brighter than most of the image is an object, one for each connected part.

The kind of an object is told by how much of its box is bright: all of it in a square, 79 % in a circle, half in a
triangle. Shadows and clutter are not allowed for.
"""

from pathlib import Path

import numpy as np

NAME = "blobs"
VERSION = "1.0"
PARAMS = {"brighter": 1.2, "smallest": 20}  # standard deviations above the mean; pixels
FILL = {"square": 1.0, "circle": 0.785, "triangle": 0.5}


def read_pgm(path):
    _magic, size, _maxval, pixels = Path(path).read_bytes().split(b"\n", 3)
    width, height = map(int, size.split())
    return np.frombuffer(pixels, np.uint8).reshape(height, width).astype(float)


def parts(mask):
    """The connected parts: each pixel takes the largest number around it, then that of the pixel so numbered."""
    number = np.where(mask, np.arange(1, mask.size + 1).reshape(mask.shape), 0)
    while True:
        wide = np.pad(number, 1)
        around = np.maximum.reduce([wide[1:-1, 1:-1], wide[:-2, 1:-1], wide[2:, 1:-1], wide[1:-1, :-2], wide[1:-1, 2:]])
        around = np.where(mask, around, 0)
        around = np.append(0, around.ravel())[around]
        if (around == number).all():
            return [number == one for one in np.unique(number) if one]
        number = around


def answer(case, params):
    image = read_pgm(case.input)
    bright = image > image.mean() + params["brighter"] * image.std()
    found = []
    for part in parts(bright):
        rows, columns = np.flatnonzero(part.any(axis=1)), np.flatnonzero(part.any(axis=0))
        size = int(part.sum())
        if size < params["smallest"]:
            continue
        box = [int(columns[0]), int(rows[0]), int(np.ptp(columns)) + 1, int(np.ptp(rows)) + 1]
        fill = size / (box[2] * box[3])
        label = min(FILL, key=lambda name: abs(FILL[name] - fill))
        # Large objects are trusted more than small ones.
        found.append({"label": label, "box": box, "score": round(size / image.size, 4)})
    return found
