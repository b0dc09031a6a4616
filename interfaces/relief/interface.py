"""RELIEF: objects are what stands out from its own surroundings, at several heights; shapes are compared with masks.

The image is smoothed, and the level of the surroundings (a wide mean, taken twice, the second time without what stood
out) is subtracted. The connected parts above several heights are candidates. Each is compared with a square, a circle
and a triangle that fill its box; the best overlap says which it is, and with the contrast gives the score. Of
candidates that overlap, the best stays.
"""

from pathlib import Path

import numpy as np

NAME = "relief"
VERSION = "1.0"
PARAMS = {"window": 41, "smallest": 40, "fit": 0.75, "least": 0.2}  # pixels; the least overlap with a shape, and score
HEIGHTS = (9, 14, 22, 34)  # grey levels above the surroundings
MARGIN = 6  # pixels around a part that are looked at
SHARED = 0.3  # the overlap from which two boxes are one object


def read_pgm(path):
    _magic, size, _maxval, pixels = Path(path).read_bytes().split(b"\n", 3)
    width, height = map(int, size.split())
    return np.frombuffer(pixels, np.uint8).reshape(height, width).astype(float)


def sums(image, side):
    """The sum over a square around each pixel, as far as it lies within the image."""
    whole = np.pad(image.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    rows, columns = np.arange(image.shape[0]), np.arange(image.shape[1])
    top, bottom = np.maximum(rows - side // 2, 0), np.minimum(rows + side // 2 + 1, rows.size)
    left, right = np.maximum(columns - side // 2, 0), np.minimum(columns + side // 2 + 1, columns.size)
    return (
        whole[np.ix_(bottom, right)]
        - whole[np.ix_(top, right)]
        - whole[np.ix_(bottom, left)]
        + whole[np.ix_(top, left)]
    )


def mean(image, side, of=None):
    weights = np.ones_like(image) if of is None else of.astype(float)
    return sums(image * weights, side) / np.maximum(sums(weights, side), 1e-9)


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


def opened(mask):
    """Without what is thinner than three pixels."""
    return grown(mean(mask.astype(float), 3) > 0.999, 3)


def grown(mask, side):
    return mean(mask.astype(float), side) > 1e-9


def shapes(height, width):
    y, x = np.mgrid[0:height, 0:width]
    across, down = (x + 0.5) / width, (y + 0.5) / height
    return {
        "square": np.ones((height, width), bool),
        "circle": (across - 0.5) ** 2 + (down - 0.5) ** 2 <= 0.25,
        "triangle": abs(across - 0.5) <= down / 2,
    }


def shared(a, b):
    across = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    down = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    both = max(across, 0) * max(down, 0)
    return both / (a[2] * a[3] + b[2] * b[3] - both)


def extent(mask):
    """The first and last row and column of what is in a mask."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return rows[0], rows[-1] + 1, columns[0], columns[-1] + 1


def candidates(relief, params):
    for height in HEIGHTS:
        for core in parts(opened(relief > height)):
            top, bottom, left, right = extent(core)
            top, left = max(top - MARGIN, 0), max(left - MARGIN, 0)
            near = np.s_[top : bottom + MARGIN, left : right + MARGIN]
            one = candidate(relief[near], core[near], height, params)
            if one is not None:
                x, y, width, height_of_box = one["box"]
                yield one | {"box": [int(x + left), int(y + top), int(width), int(height_of_box)]}


def candidate(relief, core, height, params):
    """What a part that stands out is, judged by its surroundings; None if it is like nothing."""
    # Corners that were too thin come back, but not the strokes that pass through.
    part = (relief > height) & grown(core, 5)
    if part.sum() < params["smallest"]:
        return None
    top, bottom, left, right = extent(part)
    inside = part[top:bottom, left:right]
    fits = {name: (inside & shape).sum() / (inside | shape).sum() for name, shape in shapes(*inside.shape).items()}
    label = max(fits, key=lambda name: fits[name])
    if fits[label] < params["fit"]:
        return None
    # How far the part stands out from a ring around it, and how near to half of that it was cut.
    ring = grown(part, 7) & ~grown(part, 3)
    contrast = np.median(relief[part]) - (np.median(relief[ring]) if ring.any() else 0.0)
    score = fits[label] ** 2 * min(max(contrast, 0.0), 40.0) / 40 * (1 - abs(height / max(contrast, 1.0) - 0.5))
    if score < params["least"]:
        return None
    return {"label": label, "box": [left, top, right - left, bottom - top], "score": round(float(score), 4)}


def answer(case, params):
    image = mean(read_pgm(case.input), 3)
    level = mean(image, params["window"])
    level = mean(image, params["window"], image < level + 6)
    found = []
    for one in sorted(candidates(image - level, params), key=lambda one: -one["score"]):
        if all(shared(one["box"], other["box"]) < SHARED for other in found):
            found.append(one)
    return found
