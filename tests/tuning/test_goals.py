"""Whatever `--goal` offers can be tuned for."""

import pytest

from harness.measures import goals
from tests.workshop import Workshop

SCORED = """\
PARAMS = {"shift": 0.0}
def answer(case, params):
    number = int(case.input[1:])
    return (case.input if (number + int(params["shift"])) % 3 else "z", float(number % 5))
"""


def test_every_goal_can_be_tuned_for(shop: Workshop) -> None:
    """All with the same runs, which are kept."""
    sections = '[params.threshold]\ntype = "float"\ndefault = 0\ndecision = true'
    shop.script(24, sections=sections)
    shop.interface(SCORED)
    for goal in goals():
        done = shop.call("tune", "toy", "--on-test", "--param", "shift=0,1", "--goal", goal, "--format", "json")
        assert done.status == 0, (goal, done.err)


@pytest.mark.parametrize("goal", ["cllr", "min_cllr", "brier", "ece", "auc_binormal", "iou"])
def test_what_cannot_be_tuned_for_is_refused(shop: Workshop, goal: str) -> None:
    done = shop.call("tune", "hdigits", "--interface", "wisard", "--param", "threshold=0,1", "--goal", goal)
    assert done.status == 2
    assert f"--goal {goal}: not a goal; choose from rate" in done.err
