"""Whatever `--goal` offers can be tuned for, by the runs of a task that has it."""

import pytest

from harness.analysis.settings import can_have
from harness.measures import find_measure, goals
from harness.tasks import TASKS
from tests.workshop import Workshop

SCORED = """\
PARAMS = {"shift": 0.0}
def answer(case, params):
    number = int(case.input[1:])
    return (case.input if (number + int(params["shift"])) % 3 else "z", (number % 5) / 5)
"""
# Runs of this interface have none: a wrong label has no score at all.
LACKING = {
    "cllr": "no cllr: it needs a finite log-likelihood ratio each",
    "brier": "score -inf is not a probability",
    "ece": "score -inf is not a probability",
}


@pytest.fixture
def scored(shop: Workshop) -> Workshop:
    sections = '[params.threshold]\ntype = "float"\ndefault = 0\ndecision = true'
    shop.script(24, sections=sections)
    shop.interface(SCORED)
    return shop


def test_every_goal_of_the_task_can_be_tuned_for(scored: Workshop) -> None:
    """All with the same runs, which are kept."""
    for goal in goals():
        done = scored.call("tune", "toy", "--on-test", "--param", "shift=0,1", "--goal", goal, "--format", "json")
        if not can_have(TASKS["label"], find_measure(goal)):
            assert done.status == 2, goal
            assert f"--goal {goal}: runs of a label test do not record what it is computed from" in done.err
        elif goal in LACKING:
            assert done.status == 2, goal
            assert LACKING[goal] in done.err
            assert done.err.startswith("hate: --goal")
        else:
            assert done.status == 0, (goal, done.err)
            assert done.json["winner"]["value"] is not None, goal


@pytest.mark.parametrize("goal", ["rank1", "ap", "ap50:cat", "iou", "mae", "pass@2"])
@pytest.mark.parametrize("command", ["tune", "sweep"])
def test_what_no_run_of_the_task_has_is_refused_before_anything_runs(shop: Workshop, command: str, goal: str) -> None:
    shop.script()
    shop.interface("def answer(case, params):\n    open('asked', 'w').close()\n    return case.input\n")
    words = ["--on-test", "--goal", goal] if command == "tune" else ["--statistic", goal]
    done = shop.call(command, "toy", "--fresh", "--param", "threshold=0", *words)
    assert done.status == 2
    assert f"{words[-2]} {goal}: " in done.err
    assert not (shop.folder / "asked").exists()


def test_a_goal_of_curves_refuses_answers_without_a_score_and_a_single_class(shop: Workshop) -> None:
    words = ["--on-test", "--param", "threshold=0", "--goal"]
    rows = "id,input,expect,positive\n" + "".join(f"c{n},x{n},x0,{str(n % 2 == 0).lower()}\n" for n in range(6))
    shop.script(rows=rows)
    shop.interface("def answer(case, params):\n    return ('x0', 1.0) if case.id == 'c0' else 'x0'\n")
    done = shop.call("tune", "toy", *words, "auc")
    assert done.status == 2
    assert "5 accepted cases have no score ('c1' is the first)" in done.err
    shop.script(rows=rows.replace("false", "true"))
    for goal in ("auc", "eer"):
        done = shop.call("tune", "toy", *words, goal)
        assert done.status == 2
        assert f"--goal {goal} needs negative cases; this test has none" in done.err
