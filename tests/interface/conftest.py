"""What tests of estimators learn and answer: the bundled digits."""

from typing import Any

import numpy as np
import pytest

import harness
from harness.script.cases import CaseSet, training
from tests.interface.estimators import pixels
from tests.workshop import Workshop


@pytest.fixture
def digits(shop: Workshop) -> CaseSet:
    return harness.load_test("hdigits")


@pytest.fixture
def taught(digits: CaseSet) -> tuple[Any, Any]:
    """What there is to learn: rows and labels."""
    cases = list(training(digits.script, digits.data_paths))
    return np.array([pixels(case.input) for case in cases]), np.array([case.expect for case in cases])


@pytest.fixture
def asked(digits: CaseSet) -> tuple[list[str], Any, Any]:
    """The cases with a true claim: their ids, rows and labels."""
    cases = [case for case in digits if case.positive]
    rows = np.array([pixels(digits.input_of(case)) for case in cases])
    return [case.id for case in cases], rows, np.array([case.expect for case in cases])
