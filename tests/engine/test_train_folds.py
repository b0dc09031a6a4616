"""`hate run --train-folds`: each run learns from all but one fold."""

import json

import pytest

from tests.workshop import ECHO, STREAM, Workshop

# Its answers depend on its training cases; it writes a list of them to a file.
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


def test_every_training_leaves_out_another_fold(taught: Workshop) -> None:
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
    assert found["se"] >= found["se_training"] > 0  # one of the three has not seen t1 and answers fewer cases
    assert "3 trainings, each leaving out a different fold" in done.err
    assert len(done.json["transcripts"]) == 3


def test_another_seed_deals_other_folds(taught: Workshop) -> None:
    for seed in ("1", "2", "1"):
        taught.call("run", "toy", "--train-folds", "2", "--train-seed", seed)
    lessons = [json.loads(line) for line in (taught.folder / "taught.jsonl").read_text().splitlines()]
    assert lessons[0] == lessons[4]
    assert lessons[0] != lessons[2]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--train-folds", "13"], "too few for 13 folds"),
        (["--train-folds", "1"], "1"),
        (["--train-folds", "2", "--format", "transcript"], "--format transcript"),
        (["--train-folds", "2", "--case", "c0"], "--case"),
    ],
)
def test_mistakes(taught: Workshop, words: list[str], expected: str) -> None:
    done = taught.call("run", "toy", *words)
    assert done.status == 2
    assert expected in done.err


def test_a_test_without_training_is_refused(toy: Workshop) -> None:
    done = toy.call("run", "toy", "--train-folds", "2")
    assert done.status == 2
    assert done.err == (
        "hate: --train-folds 2: toy has no training part ([train] in its script) to hold out a fold of; "
        "leave --train-folds out\n"
    )


PROGRAM = "#!/bin/sh\ntouch ran\necho $1\n"
# Interfaces that do not learn: the file, its text, and the remedy in the message.
NOT_LEARNING = {
    "a function": ("interface.py", ECHO, "train(cases, params)"),
    "a class": (
        "interface.py",
        "class Interface:\n    def answer(self, case, params):\n        raise SystemExit\n",
        "train(cases, params)",
    ),
    "a command": ("interface.toml", '[command]\nargv = ["./prog", "{input}"]\n', "{train}"),
    "a service": ("interface.toml", '[http]\nurl = "http://127.0.0.1:9/"\n', "leave --train-folds out"),
    "scores": ("interface.toml", '[scores]\ntable = "toy/cases.csv"\n', "leave --train-folds out"),
    "a matrix of scores": ("interface.toml", '[scores]\nmatrix = "toy/cases.csv"\n', "leave --train-folds out"),
}


@pytest.mark.parametrize("which", NOT_LEARNING)
@pytest.mark.parametrize("words", [[], ["--resume"], ["-j", "2"]], ids=["", "resume", "two"])
def test_an_interface_that_cannot_learn_is_refused(which: str, words: list[str], taught: Workshop) -> None:
    name, text, remedy = NOT_LEARNING[which]
    (taught.folder / "interface.py").unlink()
    taught.write(name, text)
    taught.program("prog", PROGRAM)
    done = taught.call("run", "toy", "--train-folds", "2", *words)
    assert done.status == 2
    assert done.err.startswith("hate: --train-folds 2: work (")
    assert "does not learn, so every fold would give the same answers" in done.err
    assert remedy in done.err
    assert done.err.count("\n") == 1
    assert not (taught.folder / "ran").exists()
    assert not (taught.folder / "transcripts").exists()


# Finds only people that it was trained on.
FINDER = """\
class Interface:
    def train(self, cases, params):
        self.known = {case.expect for case in cases}
    def enrol(self, gallery, params):
        self.names = [image.expect for image in gallery]
    def answer(self, case, params):
        return [float(name in self.known) for name in self.names]
"""


@pytest.fixture
def people(shop: Workshop) -> Workshop:
    """A rank test with training cases."""
    shop.write("toy/people.csv", "id,input,expect\na,a,ann\nb,b,bob\n")
    sections = '[gallery]\ntable = "people.csv"\n[train]\ntable = "people.csv"\n'
    shop.script(task="rank", rows="id,input,expect\nc,c,ann\nd,d,bob\n", sections=sections)
    shop.write("m.csv", "id,a,b\nc,1,0\nd,0,1\n")
    shop.interface(FINDER)
    return shop


def test_a_matrix_cannot_learn(people: Workshop) -> None:
    done = people.call("run", "toy", "--interface", "matrix:m.csv", "--train-folds", "2")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "m (matrix) does not learn" in done.err


def test_the_gallery_of_a_rank_test_stays_whole(people: Workshop) -> None:
    """A fold is held out of the training part only."""
    done = people.call("run", "toy", "--train-folds", "2", "-o", "out.jsonl", "--format", "json")
    assert done.status == 0, done.err
    found = [[line["outcome"] for line in people.lines(f"out-fold-{fold}.jsonl")[1:-1]] for fold in (1, 2)]
    assert sorted(found) == [["FN", "TP"], ["TP", "FN"]]


def test_training_cases_without_labels_are_held_out_too(taught: Workshop) -> None:
    rows = [f"t{n},i{n}" for n in range(12)]
    taught.write("toy/train.csv", "\n".join(["id,input", *rows, ""]))
    assert taught.call("run", "toy", "--train-folds", "3").status == 0
    taught.write("toy/train.csv", "id,input\n")
    done = taught.call("run", "toy", "--train-folds", "3")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "0 units (training cases) are too few for 3 folds" in done.err


@pytest.mark.parametrize(
    "section",
    [
        '[command]\nargv = ["cat", "{work}/net"]\ntrain = ["cp", "{train}", "{work}/net"]\n',
        '[command]\nargv = ["head", "-c", "20", "{train}"]\n',
    ],
)
def test_a_command_learns_by_itself_or_from_the_training_file(section: str, taught: Workshop) -> None:
    (taught.folder / "interface.py").unlink()
    taught.toml(section)
    done = taught.call("run", "toy", "--train-folds", "2", "-o", "out.jsonl")
    assert done.status == 0, done.err
    answers = [{line["actual"] for line in taught.lines(f"out-fold-{fold}.jsonl")[1:-1]} for fold in (1, 2)]
    assert answers[0] != answers[1]  # each training sees other cases


def test_a_stream_that_does_not_learn_gets_a_remark(taught: Workshop) -> None:
    """Only its answers show whether a program has read the training part."""
    (taught.folder / "interface.py").unlink()
    taught.stream("say(id=id, label=given)")
    remark = "all trainings have the same outcome in every case; does streamer learn what it is given?"
    done = taught.call("run", "toy", "--train-folds", "2")
    assert done.status == 0, done.err
    assert remark in done.err
    learning = STREAM.replace("n = -1", 'n = -1\ntaught = open(hello["train"]).read()')
    taught.write("program.py", learning.format(body="    say(id=id, label=given if '\"t1\"' in taught else 'z')"))
    done = taught.call("run", "toy", "--train-folds", "2")
    assert done.status == 0, done.err
    assert remark not in done.err
