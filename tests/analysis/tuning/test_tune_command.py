"""`hate tune`: the winner is the best on held-out training cases; test cases are never shown to the program."""

import shlex
import sys
from typing import Any

import pytest

from tests.workshop import Workshop

# Learns the mean of each class and answers with the nearest; its parameters are a scale and a bias.
NEAREST = """\
import os
NAME = "nearest"
PARAMS = {"bias": 0, "noise": False}
class Interface:
    def train(self, cases, params):
        groups = {}
        for case in cases:
            groups.setdefault(case.expect, []).append(float(case.input))
        self.means = {label: sum(values) / len(values) for label, values in groups.items()}
        self.seen = {case.input for case in cases}
    def answer(self, case, params):
        with open("asked.log", "a") as log:
            log.write(f"{case.input} {case.input in self.seen} {case.expect} {sorted(case.columns)}\\n")
        value = float(case.input) + params["bias"]
        return {label: -abs(value - mean) for label, mean in self.means.items()}
"""
TRAIN = "id,input,expect\n" + "".join(f"t{n},{n % 3 * 10 + n / 100},{'abc'[n % 3]}\n" for n in range(60))
CASES = "id,input,expect,positive\n" + "".join(
    f"c{n},{n % 3 * 10 + n / 100 + 0.001},{'abc'[n % 3]},true\n" for n in range(9)
)
SECTIONS = '[train]\ntable = "train.csv"\n'


@pytest.fixture
def nearest(shop: Workshop) -> Workshop:
    shop.script(rows=CASES, sections=SECTIONS)
    shop.write("toy/train.csv", TRAIN)
    shop.interface(NEAREST)
    return shop


def tune(shop: Workshop, *words: str) -> dict[str, Any]:
    """Tune with two folds by default: every fold of every setting starts a program."""
    if not {"--folds", "--on-test"} & set(words):
        words += ("--folds", "2")
    done = shop.call("tune", "toy", "--format", "json", *words)
    assert done.status == 0, done.err
    found: dict[str, Any] = done.json
    return found


def read_questions(shop: Workshop) -> list[list[str]]:
    lines = (shop.folder / "asked.log").read_text().splitlines()
    (shop.folder / "asked.log").unlink()
    return [line.split(" ", 3) for line in lines]


@pytest.mark.slow
def test_test_cases_are_never_asked_and_labels_never_shown(nearest: Workshop) -> None:
    found = tune(nearest, "--param", "bias=-6,0,6", "--folds", "3")
    questions = read_questions(nearest)
    assert len(questions) == 3 * 120
    inputs = {line.split(",")[1] for line in TRAIN.splitlines()[1:]}
    assert {question[0] for question in questions} == inputs
    assert {question[1] for question in questions} == {"False"}  # the program was not trained on any of them
    assert {question[2] for question in questions} == {""}
    assert {question[3] for question in questions} == {"['training_case']"}
    assert found["on"] == "folds"


def test_the_best_setting_wins_and_its_command_line_runs(nearest: Workshop) -> None:
    nearest.interface(NEAREST.replace('"bias": 0', '"bias": 6'))
    found = tune(nearest, "--param", "bias=-6,0,6", "--param", "threshold=0,1")
    assert found["winner"]["params"]["bias"] == 0
    assert found["winner"]["value"] == 1.0
    assert found["default"]["params"]["bias"] == 6
    assert found["lead"]["estimate"] > 0.2
    assert found["lead"]["within_noise"] is False
    assert found["lead"]["p_exact"] < 0.001
    assert (found["units"], found["strata"]) == (60, 1)
    assert len(found["rows"]) == 6
    words = shlex.split(found["command"])
    assert words == ["hate", "run", "toy", "--param", "bias=0", "--param", "threshold=0"]
    assert nearest.call(*words[1:], "--format", "json").row["rate"] == 1.0


@pytest.mark.slow
def test_the_output_says_what_was_done(nearest: Workshop) -> None:
    nearest.interface(NEAREST.replace('"bias": 0', '"bias": 6'))
    done = nearest.call("tune", "toy", "--param", "bias=0,6", "--format", "table")
    assert "5 folds of the 60 training cases of toy" in done.out
    assert "its test cases were not used" in " ".join(done.out.split())
    assert "The lead is more than noise" in done.out
    assert "Run it: hate run toy --param bias=0" in done.out


@pytest.mark.slow
def test_the_command_to_copy_is_never_broken_into_lines(nearest: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    nearest.interface(NEAREST.replace('"bias": 0', '"bias": 6'))
    monkeypatch.setenv("COLUMNS", "40")
    words = ("tune", "toy", "--param", "bias=0,6", "--param", "threshold=0,1")
    command = nearest.call(*words, "--format", "json").json["command"]
    assert len(command) > 40
    lines = nearest.call(*words, "--format", "table").out.splitlines()
    assert f"Run it: {command}" in lines
    assert not any(len(line) > 40 for line in lines if line.endswith("."))


@pytest.mark.slow
def test_a_lead_within_the_noise_gives_a_warning(nearest: Workshop) -> None:
    # A bias of 1 gets one more of the 60 cases right, and loses none.
    nearest.write("toy/train.csv", TRAIN.replace("t1,10.01,b", "t1,4.5,b"))
    done = nearest.call("tune", "toy", "--param", "bias=0,1", "--folds", "2", "--format", "table")
    assert "Warning: the lead is within the noise" in done.out
    text = " ".join(done.out.split())
    assert "Keep the default; to run the best of these all the same: hate run toy --param bias=1" in text
    found = tune(nearest, "--param", "bias=0,1")
    assert found["winner"]["params"]["bias"] == 1
    assert found["lead"]["n_sf"] >= 1
    assert found["lead"]["within_noise"] is True


@pytest.mark.slow
def test_if_nothing_is_better_the_default_stays(nearest: Workshop) -> None:
    found = tune(nearest, "--param", "bias=0,1,2")
    assert found["winner"] == found["default"]
    assert found["lead"] is None
    done = nearest.call("tune", "toy", "--param", "bias=0,1,2", "--folds", "2")
    assert "That is the default: nothing that was tried is better." in done.out


@pytest.mark.slow
def test_the_default_is_tried_even_if_it_is_not_on_the_grid(nearest: Workshop) -> None:
    found = tune(nearest, "--param", "bias=4,6", "--param", "threshold=1,2")
    assert found["default"]["params"] == {"threshold": 0.0, "bias": 0, "noise": False}
    assert found["winner"] == found["default"]


def test_thresholds_cost_nothing(nearest: Workshop) -> None:
    found = tune(nearest, "--param", "threshold=-1:30:0.1", "--goal", "cost:fp=100,fn=1")
    assert len(read_questions(nearest)) == 120
    assert len(found["rows"]) == 311
    assert found["winner"] == found["default"]  # it makes no mistake


def test_among_equal_thresholds_the_middle_one_wins(nearest: Workshop) -> None:
    # A b that looks like an a: the claim that it is an a is false, and only a threshold can refuse it.
    claims = TRAIN.replace("expect\n", "expect,positive,truth\n", 1).replace("a\n", "a,true,\n")
    claims = claims.replace("b\n", "b,true,\n").replace("c\n", "c,true,\n") + "x,1.5,a,false,b\n"
    nearest.write("toy/train.csv", claims)
    found = tune(nearest, "--param", "threshold=-1:30:0.1")
    best = max(row["value"] for row in found["rows"])
    equal = [row["params"]["threshold"] for row in found["rows"] if row["value"] == best]
    assert best == 1.0
    assert 0.0 not in equal
    assert len(equal) > 2
    assert found["winner"]["params"]["threshold"] == equal[(len(equal) - 1) // 2]


@pytest.mark.slow
def test_every_goal_finds_the_setting_that_makes_no_mistake(nearest: Workshop) -> None:
    """All with the same runs, which are kept."""
    nearest.interface(NEAREST.replace('"bias": 0', '"bias": 6'))
    for goal, best in {"rate": 1.0, "f1": 1.0, "auc": 1.0, "eer": 0.0, "cost:fp=10,fn=1": 0.0}.items():
        found = tune(nearest, "--param", "bias=6,0", "--goal", goal, "--folds", "2")
        assert found["goal"] == goal
        assert found["winner"]["params"]["bias"] == 0, goal
        assert found["winner"]["value"] == best, goal
        low, high = found["winner"]["interval"]
        assert low <= found["winner"]["value"] <= high


@pytest.mark.slow
@pytest.mark.parametrize("method", ["random", "optimise"])
def test_other_searches_use_all_their_trials(nearest: Workshop, method: str) -> None:
    nearest.interface(NEAREST.replace('"bias": 0', '"bias": 9'))
    words = ["--param", "bias=-9:9:1", "--param", "noise=true,false", "--folds", "2", "--method", method]
    found = tune(nearest, *words, "--trials", "6", "--seed", "1")
    tried = {str(row["params"]) for row in found["rows"]}
    assert 6 <= len(tried) <= 7
    assert found == tune(nearest, *words, "--trials", "6", "--seed", "1")
    assert found["winner"]["value"] == max(row["value"] for row in found["rows"])


@pytest.mark.slow
def test_an_optimiser_finds_a_good_setting(nearest: Workshop) -> None:
    nearest.interface(NEAREST.replace('"bias": 0', '"bias": 40'))
    words = ["--param", "bias=-50:50:1", "--folds", "2", "--method", "optimise", "--trials", "15"]
    found = tune(nearest, *words)
    assert abs(found["winner"]["params"]["bias"]) <= 8


@pytest.mark.slow
def test_without_optuna_the_error_is_one_line(nearest: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    done = nearest.call("tune", "toy", "--param", "bias=0:9:1", "--method", "optimise", "--trials", "2")
    assert done.status == 2
    assert "pip install 'hate-harness[tune]'" in done.err
    assert nearest.call("tune", "toy", "--param", "bias=0,1", "--method", "random", "--trials", "1").status == 0


def test_the_test_cases_are_used_only_with_on_test(nearest: Workshop) -> None:
    found = tune(nearest, "--param", "bias=0,6", "--on-test")
    assert (found["on"], found["folds"]) == ("test", None)
    assert {row["tests"] for row in found["rows"]} == {9}
    done = nearest.call("tune", "toy", "--param", "bias=0,6", "--on-test", "--format", "table")
    assert "they are no longer evidence for the winner" in " ".join(done.out.split())
    nearest.script(rows=CASES)
    done = nearest.call("tune", "toy", "--param", "bias=0,6")
    assert done.status == 2
    assert "no training part to tune on; --on-test tunes on the test's own cases" in done.err


@pytest.mark.slow
def test_runs_are_cached(nearest: Workshop) -> None:
    first = tune(nearest, "--param", "bias=0,6", "--folds", "2")
    assert len(read_questions(nearest)) == 240
    done = nearest.call("tune", "toy", "--param", "bias=0,6", "--folds", "2", "--format", "json")
    assert done.json == first
    assert "4 of 4 runs" in done.err
    assert not (nearest.folder / "asked.log").exists()
    tune(nearest, "--param", "bias=0,6", "--folds", "2", "--seed", "1")  # other folds
    assert len(read_questions(nearest)) == 240


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--param", "threshold=0,1", "--goal", "auc"], "leave out --param threshold"),
        (["--param", "bias=0", "--goal", "speed"], "--goal speed: no such measure; known: ap, ap50, ap75,"),
        (["--param", "bias=0", "--goal", "rank1"], "--goal rank1: runs of a label test do not record"),
        (["--param", "bios=0"], "did you mean 'bias'?"),
        (["--param", "bias=0", "--folds", "1"], "--folds"),
        (["--param", "bias=0", "--folds", "61"], "too few for 61 folds"),
    ],
)
def test_mistakes_are_one_line(nearest: Workshop, words: list[str], message: str) -> None:
    done = nearest.call("tune", "toy", *words)
    assert done.status == 2
    assert message in done.err


@pytest.mark.slow
def test_every_format_has_the_winner(nearest: Workshop) -> None:
    for style in ("table", "plain", "csv", "tex", "md"):
        done = nearest.call("tune", "toy", "--param", "bias=0,6", "--folds", "2", "--format", style)
        assert done.status == 0, style
        assert "1.0" in done.out, style


def test_a_test_with_a_gallery_can_only_be_tuned_on_its_own_cases(shop: Workshop) -> None:
    gallery = "id,input,expect\ng1,a,ann\ng2,b,bob\ng3,c,cat\n"
    probes = "id,input,expect,positive\nq1,0.9 0.3 0.1,ann,true\nq2,0.8 0.7 0.2,bob,true\nq3,0.6 0.5 0.4,dan,false\n"
    sections = '[params.threshold]\ntype = "float"\ndefault = 0.5\ndecision = true\n[train]\ntable = "train.csv"\n'
    shop.write("toy/gallery.csv", gallery)
    shop.write("toy/train.csv", "id,input,expect\nt1,a,eve\nt2,b,fay\n")
    shop.script(task="rank", rows=probes, sections=sections + '[gallery]\ntable = "gallery.csv"\n')
    shop.interface("def answer(case, params):\n    return [float(score) for score in case.input.split()]\n")
    done = shop.call("tune", "toy", "--param", "rank=1,2")
    assert done.status == 2
    assert "would not be in it; --on-test" in done.err
    words = ("--param", "rank=1,2", "--param", "threshold=0.5,0.65,0.75,0.95")
    found = tune(shop, *words, "--on-test")
    swept = shop.call("sweep", "toy", *words, "--format", "json").json["rows"]
    assert sorted(str(row["params"]) for row in found["rows"]) == sorted(str(row["params"]) for row in swept)
    for row in found["rows"]:
        (same,) = [one for one in swept if one["params"] == row["params"]]
        assert {**same, "value": same["rate"]} == row
    assert found["winner"]["value"] == max(row["rate"] for row in swept) == 1.0
    assert found["winner"]["params"] == {"rank": 2, "threshold": 0.65}


def test_a_design_with_weights_is_tuned_by_weighted_numbers(shop: Workshop) -> None:
    """Stratum a is as important as b, whose cases are many: what is good at a wins."""
    rows = [f"c{n},{'a' if n < 4 else 'b'},x,{'a' if n < 4 else 'b'}" for n in range(24)]
    design = "[design]\nstratum = 'part'\nweights = 'equal'\n"
    shop.script(rows="\n".join(["id,input,expect,part", *rows, ""]), sections=design)
    # Right on all of part a and on 3 of 5 cases of part b, or on half of a and on all of b.
    shop.interface(
        "PARAMS = {'good_at': 'b'}\n"
        "def answer(case, params):\n"
        "    n = int(case.id[1:])\n"
        "    other = n % 2 if case.input == 'a' else n % 5 < 3\n"
        "    return 'x' if case.input == params['good_at'] or other else 'y'\n"
    )
    done = shop.call("tune", "toy", "--on-test", "--param", "good_at=a,b", "--format", "json")
    assert done.status == 0, done.err
    values = {row["params"]["good_at"]: row["value"] for row in done.json["rows"]}
    assert values == pytest.approx({"a": (1 + 0.6) / 2, "b": (0.5 + 1) / 2})
    assert done.json["winner"]["params"]["good_at"] == "a"
    rated = shop.call("rate", *done.json["transcripts"], "--format", "json").json["transcripts"][0]
    assert done.json["winner"]["value"] == pytest.approx(rated["value"])
