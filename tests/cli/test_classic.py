"""The classic command line of the tutorial."""

import json

import pytest

from harness.cli.commands import modern_spelling
from tests.workshop import Workshop

COMMANDS = ("list", "describe", "run", "sweep", "compare")
SPELLINGS = {
    "hdigits": "run hdigits",
    "-mode list-tests": "list",
    "-mode describe hdigits": "describe hdigits",
    "hdigits -mode describe": "describe hdigits",
    "-mode run hdigits": "run hdigits",
    "-format transcript hdigits": "run --format transcript hdigits",
    "-interface wisard -library lib hdigits": "run --interface wisard --library lib hdigits",
    "-mode roc -param threshold=0,1,2 hdigits": "sweep --param threshold=0,1,2 hdigits",
    "-mode compare a.out b.out c.out": "compare a.out b.out c.out",
    "run hdigits -param threshold=2": "run hdigits --param threshold=2",
    "run hdigits --param threshold=2": "run hdigits --param threshold=2",
    "--help": "--help",
}


@pytest.mark.parametrize("old", SPELLINGS)
def test_classic_words_become_modern_ones(old: str) -> None:
    assert modern_spelling(old.split(), COMMANDS) == SPELLINGS[old].split()


def test_one_string_sets_several_parameters() -> None:
    assert modern_spelling(["-param", "a=1 b=2", "t"], COMMANDS) == ["run", "--param", "a=1", "--param", "b=2", "t"]


def test_the_tutorial(shop: Workshop) -> None:
    """A run, a list, a description, a transcript on standard output; in the tutorial's words."""
    assert "hdigits" in shop.call("-mode", "list-tests").out
    assert "# hdigits" in shop.call("-mode", "describe", "hdigits").out
    done = shop.call("-interface", "witch", "hdigits", "--limit", "50")
    assert done.status == 0
    assert done.out.startswith("# tests")
    done = shop.call(
        "-format", "transcript", "-interface", "witch", "-param", "threshold=5", "hdigits", "--limit", "50"
    )
    first, *records, last = [json.loads(line) for line in done.out.splitlines()]
    assert first["params"]["threshold"] == 5.0
    assert len(records) == last["tests"] == 50


@pytest.mark.parametrize(
    ("words", "culprit"), [(["-mode"], "-mode"), (["-mode", "nope", "toy"], "nope"), (["-param", "x", "toy"], "x")]
)
def test_mistakes(words: list[str], culprit: str, toy: Workshop) -> None:
    done = toy.call(*words)
    assert done.status == 2
    assert culprit in done.err
    assert done.err.count("\n") == 1
