"""THRESHOLD, the strawman: whatever is brighter than a fixed grey level is the object."""

from pathlib import Path

import numpy as np

NAME = "threshold"
VERSION = "1.0"
# Between the backgrounds and the vases; chosen after a look at the IoU by noise at several levels.
PARAMS = {"level": 90}


def read_pgm(path):
    _magic, size, _maxval, pixels = Path(path).read_bytes().split(b"\n", 3)
    width, height = map(int, size.split())
    return np.frombuffer(pixels, np.uint8).reshape(height, width)


def answer(case, params):
    return read_pgm(case.input) > params["level"]
