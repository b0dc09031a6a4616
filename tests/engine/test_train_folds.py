"""`hate run --train-folds`: each run learns from all but one fold."""

import json

import pytest
from workshop import Workshop

# Answers with what it learned last, and leaves a list of all that it was taught.
LEARNER = """\
import json
class Learner:
    def train(self, cases, params):
        self.taught = [case.id for case in cases]
        with open("taught.jsonl", "a") as file:
            file.write(json.dumps(self.taught) + "\\n")
    def answer(self, case, params):
        return case.input if len(case.id) % 2 or "t1" in self.taught else None
interface = Learner()
train, answer = interface.train, interface.answer
"""


@pytest.fixture
def taught(shop: Workshop) -> Workshop:
    shop.script(sections='[train]\ntable = "train.csv"\n')
    rows = [f"t{n},i{n},{'xy'[n % 2]}" for n in range(12)]
    shop.write("toy/train.csv", "\n".join(["id,input,expect", *rows, ""]))
    shop.interface(LEARNER)
    return shop


def test_every_training_lacks_another_fold(taught: Workshop) -> None:
    done = taught.call("run", "toy", "--train-folds", "3", "-o", "out.jsonl", "--format", "json")
    assert done.status == 0, done.err
    lessons = [json.loads(line) for line in (taught.folder / "taught.jsonl").read_text().splitlines()]
    everything = {f"t{n}" for n in range(12)}
    left_out = [everything - set(lesson) for lesson in lessons]
    assert [len(one) for one in left_out] == [4, 4, 4]
    assert set().union(*left_out) == everything
    assert all(len({int(name[1:]) % 2 for name in one}) == 2 for one in left_out)  # of both classes
    assert done.json["transcripts"] == [f"out-fold-{n}.jsonl" for n in (1, 2, 3)]
    assert [row["fold"] for row in done.json["rows"]] == [1, 2, 3]
    header = taught.lines("out-fold-2.jsonl")[0]
    assert header["train"] == {"without_fold": 2, "folds": 3, "seed": 0}


def test_the_variance_is_split(taught: Workshop) -> None:
    done = taught.call("run", "toy", "--train-folds", "3", "--repeat", "2", "--format", "json")
    found = done.json["training"]
    assert (found["cases"], found["folds"], found["runs"]) == (6, 3, 2)
    assert found["run"] == 0
    assert found["se"] >= found["se_training"] > 0  # one of the three has not seen t1, and answers less
    assert "3 trainings, each without another fold" in done.err
    assert len(done.json["transcripts"]) == 3


def test_another_seed_deals_other_folds(taught: Workshop) -> None:
    for seed in ("1", "2", "1"):
        taught.call("run", "toy", "--train-folds", "2", "--train-seed", seed)
    lessons = [json.loads(line) for line in (taught.folder / "taught.jsonl").read_text().splitlines()]
    assert lessons[0] == lessons[4]
    assert lessons[0] != lessons[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--train-folds", "13"], "too few for 13 folds"),
        (["--train-folds", "1"], "1"),
        (["--train-folds", "2", "--resume"], "--resume"),
        (["--train-folds", "2", "--format", "transcript"], "--format transcript"),
        (["--train-folds", "2", "--case", "c0"], "--case"),
    ],
)
def test_mistakes_are_a_line(taught: Workshop, words: list[str], said: str) -> None:
    done = taught.call("run", "toy", *words)
    assert done.status == 2
    assert said in done.err


def test_a_test_without_training_is_refused(toy: Workshop) -> None:
    done = toy.call("run", "toy", "--train-folds", "2")
    assert done.status == 2
    assert "no training part" in done.err
