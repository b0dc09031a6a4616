"""The board of a blind test cannot be climbed by trying."""

import random
from pathlib import Path

import pytest

from harness.server.blind_board import level_of
from tests.server.riddles import Climber, truth


def test_the_levels_of_all_comparisons_add_up() -> None:
    assert sum(level_of(n) for n in range(1, 100_000)) == pytest.approx(0.05, rel=1e-4)


@pytest.mark.parametrize("tries", [40, pytest.param(500, marks=pytest.mark.slow)])
def test_the_board_cannot_be_climbed_by_trying(tmp_path: Path, tries: int) -> None:
    """Random answers, and the attack of Blum and Hardt (2015, section 4): a vote of those that did well.

    With the scores of all submissions, the vote is far better than chance; with what the board tells, it is not.
    """
    cases, chance = 100, random.Random(7)
    climber = Climber(tmp_path, cases)
    guesses = [[chance.choice(("odd", "even")) for _ in range(cases)] for _ in range(tries)]
    moved = [climber.hand_in(guess, f"g{n}") for n, guess in enumerate(guesses)]
    scores = [sum(truth(n) == said for n, said in enumerate(guess)) / cases for guess in guesses]
    assert moved[0]
    # 95 % of such climbers see nothing but their first score; this one (seed 7) is one of them.
    assert sum(moved) == 1
    assert len(climber.shown()) == 1

    def vote(voters: list[list[str]]) -> list[str]:
        return ["odd" if 2 * sum(one[n] == "odd" for one in voters) >= len(voters) else "even" for n in range(cases)]

    told = [guess for guess, up in zip(guesses, moved, strict=True) if up]
    known = [guess for guess, score in zip(guesses, scores, strict=True) if score > 0.5]
    honest, cheat = (sum(truth(n) == said for n, said in enumerate(vote(v))) / cases for v in (told, known))
    # The attack works where every score is told: that is what the board must not do.
    assert cheat > 0.5 + 2 * (0.25 / cases) ** 0.5
    assert honest == scores[0]
    assert not climber.hand_in(vote(told), "vote") or climber.shown()[-1] == scores[0]
    # Someone who really is better gets through, however many tries there were before.
    assert climber.hand_in([truth(n) for n in range(cases)], "knows")
    assert climber.shown()[-1] > climber.shown()[0]
