"""Simulations: a few experiments with every `pytest`, as many as the claim deserves with `pytest -m slow`."""

from math import sqrt

import pytest


def experiments(full: int, *, quick: int) -> pytest.MarkDecorator:
    """Gives a test its number of `experiments`."""
    return pytest.mark.parametrize("experiments", [quick, pytest.param(full, marks=pytest.mark.slow)])


def slack(allowed: float, *, full: int, experiments: int) -> float:
    """A deviation as unlikely in fewer experiments as `allowed` is in `full` of them."""
    return allowed * sqrt(full / experiments)
