"""What the counts of a run hide is said: that nothing was answered, and that answers are no label of the test."""

import pytest

import harness
from tests.workshop import Workshop

CRASH = "NAME = 'none'\nPARAMS = {'k': 1}\ndef answer(case, params):\n    raise ValueError('no')\n"
EVERY = "every case was an error"
# The digits 0 to 2, four inputs each; with every input a true and a false claim.
DIGITS = "\n".join(
    [
        "id,input,expect,positive,truth",
        *(f"a{n},x{n},{n % 3},true,{n % 3}\nb{n},x{n},{(n + 1) % 3},false,{n % 3}" for n in range(12)),
        "",
    ]
)


def answering(text: str) -> str:
    return f"NAME = 'mine'\ndef answer(case, params):\n    return {text}\n"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "words",
    [
        "run toy -o out.jsonl",
        "run toy -o out.jsonl -j 2",
        "run toy -o out.jsonl --limit 1",
        "run toy -o out.jsonl --repeat 2",
        "run toy -o out.jsonl --isolate",
        "run toy -o out.jsonl --format json",
        "run toy -o out.jsonl --format transcript",
        "sweep toy --param threshold=0,1",
        "toy",
    ],
)
def test_a_run_without_any_answer_is_bad_news(words: str, shop: Workshop) -> None:
    shop.script()
    shop.interface(CRASH)
    done = shop.call(*words.split())
    assert done.status == 1
    assert EVERY in done.err
    assert "the first, case c0: crash: ValueError: no" in done.err


def test_it_still_is_when_nothing_was_left_to_run(shop: Workshop) -> None:
    shop.script()
    shop.interface(CRASH)
    assert shop.call("run", "toy", "-o", "out.jsonl").status == 1
    for option in ("--resume", "--retry-errors"):
        done = shop.call("run", "toy", "-o", "out.jsonl", option)
        assert done.status == 1
        assert EVERY in done.err


def test_one_answer_is_not_nothing(shop: Workshop) -> None:
    shop.script()
    shop.interface(
        "def answer(case, params):\n    if case.id != 'c0':\n        raise ValueError('no')\n    return 'x0'\n"
    )
    done = shop.call("run", "toy", "-o", "out.jsonl")
    assert done.status == 0
    assert EVERY not in done.err
    assert "5 errors; the first, case c1: crash: ValueError: no" in done.err


def test_a_test_that_may_fail_must_be_answered(shop: Workshop) -> None:
    shop.script()
    shop.interface(CRASH)
    done = shop.call("test", "toy", "--least", "0")
    assert done.status == 1
    assert "toy: an answer: FAILED: every case was an error" in done.out


def test_errors_that_count_as_refusals_are_no_answers(shop: Workshop) -> None:
    """All of them are right, and none of them is an answer."""
    shop.script(keys='errors = "refuse"', rows="id,input,expect,positive\nc0,x,y,false\nc1,x,z,false\n")
    shop.interface(CRASH)
    assert shop.call("test", "toy").status == 1
    done = shop.call("run", "toy", "-o", "out.jsonl", "--format", "json")
    assert (done.status, done.row["TN"]) == (1, 2)


def test_a_sweep_names_the_setting_that_came_to_nothing(shop: Workshop) -> None:
    shop.script()
    shop.interface(
        "NAME = 'mine'\nPARAMS = {'k': 1}\n"
        "def answer(case, params):\n    if params['k'] == 2:\n        raise ValueError('no')\n    return case.input\n"
    )
    assert shop.call("sweep", "toy", "--param", "k=1,3").status == 0
    done = shop.call("sweep", "toy", "--param", "k=1,2,3")
    assert done.status == 1
    assert "every case was an error in 1 of 3 rows, such as k=2\n" in done.err


def test_answers_that_are_no_label_are_said(shop: Workshop) -> None:
    shop.script(rows=DIGITS)
    shop.interface(answering("'two' if case.input == 'x2' else '1'"))
    said = "2 of 24 answers are no label of the test, such as 'two'; its labels are 0, 1, 2"
    for words in ("run toy -o out.jsonl", "run toy -o out-2.jsonl -j 2", "sweep toy --param threshold=0", "rate toy"):
        done = shop.call(*words.split())
        assert done.status == 0
        assert f"{said}\n" in done.err
    assert f"toy: {said}\n" in shop.call("test", "toy", "--quiet").out
    assert said in harness.run("toy", "./interface.py", output="api.jsonl").remarks


@pytest.mark.parametrize("words", ["--limit 6", "--repeat 2"])
def test_the_labels_are_those_of_the_whole_test(words: str, shop: Workshop) -> None:
    """Of the first cases alone, too little would be known."""
    shop.script(rows=DIGITS)
    shop.interface(answering("'two' if case.input == 'x2' else '0'"))
    said = shop.call("run", "toy", "-o", "out.jsonl", *words.split()).err
    assert "answers are no label of the test, such as 'two'; its labels are 0, 1, 2\n" in said


@pytest.mark.parametrize(
    ("rows", "answer"),
    [
        # Labels of the test, refusals and errors.
        (DIGITS, "'2'"),
        (DIGITS, "None"),
        (DIGITS, "[1, 2, 3, 4]"),
        # Free text: each question has an answer of its own, and claims about it do not make it frequent.
        ("".join(["id,input,expect\n", *(f"c{n},x{n},the answer {n}\n" for n in range(40))]), "'another'"),
        (
            "".join(
                ["id,input,expect,positive,truth\n"]
                + [f"a{n},x{n},t{n},true,t{n}\nb{n},x{n},t{n},false,t{n}\n" for n in range(40)]
            ),
            "'another'",
        ),
        # Numbers that are often the same, and often not.
        ("".join(["id,input,expect\n", *(f"c{n},x{n},{n if n % 3 else 0}\n" for n in range(40))]), "'99'"),
        # The class of an input that is not what was claimed has no name here.
        ("".join(["id,input,expect,positive\n", *(f"c{n},x{n},yes,{n % 2}\n" for n in range(40))]), "'no'"),
    ],
)
def test_no_false_alarm(rows: str, answer: str, shop: Workshop) -> None:
    shop.script(rows=rows)
    shop.interface(answering(answer))
    assert "no label" not in shop.call("run", "toy", "-o", "out.jsonl").err


def test_labels_of_the_training_part_are_labels(shop: Workshop) -> None:
    rows = "".join(["id,input,expect,positive\n", *(f"c{n},x{n},yes,{n % 2}\n" for n in range(10))])
    shop.script(rows=rows, sections='[train]\ntable = "train.csv"')
    shop.write("toy/train.csv", "".join(["id,input,expect\n", *(f"t{n},y{n},{'yn'[n % 2]}\n" for n in range(10))]))
    shop.interface(answering("'n'"))
    assert "no label" not in shop.call("run", "toy", "-o", "out.jsonl").err
    shop.interface(answering("'no'"))
    said = shop.call("run", "toy", "-o", "out-2.jsonl").err
    assert "10 of 10 answers are no label of the test, such as 'no'; its labels are n, y, yes\n" in said


def test_tasks_whose_answers_are_no_classes_have_no_labels(shop: Workshop) -> None:
    shop.script(task="value", keys="tolerance = {absolute = 1}", rows=DIGITS)
    shop.interface(answering("7"))
    assert "no label" not in shop.call("run", "toy", "-o", "out.jsonl").err
