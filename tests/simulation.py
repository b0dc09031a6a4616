"""Simulations and property tests: few experiments in every `pytest`, the full number in `.ci/run`."""

from math import sqrt
from typing import Any

import pytest
from hypothesis import settings


def experiments(full: int, *, quick: int) -> pytest.MarkDecorator:
    """Gives a test its number of `experiments`: `quick` by default, `full` with `pytest -m slow`."""
    return pytest.mark.parametrize("experiments", [quick, pytest.param(full, marks=pytest.mark.slow)])


def slack(allowed: float, *, full: int, experiments: int) -> float:
    """The deviation that is as unlikely with this many experiments as `allowed` is with `full`."""
    return allowed * sqrt(full / experiments)


def examples(full: int, **other: Any) -> settings:
    """Settings of a property test with another number of examples than 100: that many in the thorough profile."""
    return settings(max_examples=max(5, full * settings().max_examples // 100), **other)
