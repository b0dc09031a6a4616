"""Some points of a curve are points of the whole curve, with both of its ends."""

import pytest

from tests.products.conftest import AllRuns
from tests.products.subjects import SUBJECTS
from tests.workshop import Workshop

# Every command that has the option, and the names of what it draws.
CURVES = {"roc": ("fpr", "tpr"), "det": ("fpr", "fnr"), "pr": ("tpr", "precision"), "froc": ("fppi", "recall")}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("command", CURVES)
def test_some_points_are_of_the_curve_and_have_its_ends(shop: Workshop, all_runs: AllRuns, command: str) -> None:
    taken = 0
    for name in SUBJECTS:
        path = all_runs.of(name).paths[0]
        whole, some = (
            shop.call(command, path, "--points", number, "--bands", "none", "--format", "json") for number in ("0", "6")
        )
        assert whole.status == some.status
        if whole.status == 0:
            taken += 1
            [every], [few] = whole.json["curves"], some.json["curves"]
            every, few = ([*zip(*(one["points"][key] for key in CURVES[command]), strict=True)] for one in (every, few))
            assert 2 <= len(few) <= 6
            assert (few[0], few[-1]) == (every[0], every[-1])
            assert set(few) <= set(every)
    assert taken
