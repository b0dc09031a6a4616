"""WISARD, the n-tuple network of Wilkie, Stonham and Aleksander, as the tutorial's appendix A describes it.

A tuple is a handful of pixels, chosen at random once and for all; their bits, read as a number, are an address.
Every digit has a discriminator: one RAM of single bits for each tuple. Training sets the addressed bits; there is
nothing to weigh and nothing to repeat. An image's score for a digit is how many of its RAMs know the address.
"""

import random
from pathlib import Path

import numpy as np

NAME = "wisard"
VERSION = "1.0"
# Chosen on the training images alone; in five folds of them 0.90 are read, and twice the tuples, or 12 bits, gain less
# than 0.01. `level`: the least ink that makes a pixel 1.
PARAMS = {"tuples": 128, "bits": 10, "level": 8, "seed": 0}
PIXELS = 64


def read_pgm(path):
    _magic, _size, _maxval, pixels = Path(path).read_bytes().split(b"\n", 3)
    return np.frombuffer(pixels, np.uint8)


def draw_tuples(count, bits, seed):
    # Only `random()` is promised to be the same in every version of Python, hence sort and not `sample`.
    rng = random.Random(seed)
    return np.array([sorted(range(PIXELS), key=lambda _: rng.random())[:bits] for _ in range(count)])


class Interface:
    def train(self, cases, params):
        self.tuples = draw_tuples(params["tuples"], params["bits"], params["seed"])
        self.rams = {}
        for case in cases:
            if case.expect not in self.rams:
                self.rams[case.expect] = np.zeros((params["tuples"], 2 ** params["bits"]), bool)
            self.rams[case.expect][self.addresses(case, params)] = True

    def answer(self, case, params):
        here = self.addresses(case, params)
        return {label: int(self.rams[label][here].sum()) for label in sorted(self.rams)}

    def addresses(self, case, params):
        """Which RAM, and which bit of it, for every tuple."""
        bits = read_pgm(case.input)[self.tuples] >= params["level"]
        return np.arange(len(bits)), bits @ (1 << np.arange(params["bits"]))
