"""Tokens: shown once, kept as hashes, taken away at once; and how often something may be done."""

import stat
from pathlib import Path

import pytest

from harness.server.submit import MOST_KEYS, RateLimiter
from harness.server.tokens import TokenStore, add_token, read_tokens, remove_token
from tests.workshop import Workshop


# Not a conftest.py: type checkers take two modules of one name for one.
def test_a_token_is_printed_once_and_kept_as_a_hash(shop: Workshop) -> None:
    done = shop.call("token", "add", "anna", "--tokens", "tokens.json")
    token = done.out.strip()
    assert (done.status, done.out.count("\n")) == (0, 1)
    assert "once" in done.err
    path = shop.folder / "tokens.json"
    name, _, secret = token.partition(":")
    assert name == "anna"
    assert len(secret) >= 43
    assert secret not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert TokenStore(path).owner(token) == "anna"
    again = shop.call("token", "add", "anna", "--tokens", "tokens.json")
    assert (again.status, again.out) == (2, "")
    assert "hate token remove anna" in again.err
    listed = shop.call("token", "list", "--tokens", "tokens.json", "--format", "json").json
    assert [one["name"] for one in listed["tokens"]] == ["anna"]


def test_a_token_that_was_taken_away_is_no_good(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    anna, ben = add_token(path, "anna"), add_token(path, "ben")
    keeper = TokenStore(path)
    assert [keeper.owner(token) for token in (anna, ben)] == ["anna", "ben"]
    remove_token(path, "anna")
    assert [keeper.owner(token) for token in (anna, ben)] == [None, "ben"]
    path.unlink()
    assert keeper.owner(ben) is None


def test_two_tokens_of_one_name_in_turn_differ(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    first = add_token(path, "anna")
    old = read_tokens(path)[0]
    remove_token(path, "anna")
    second = add_token(path, "anna")
    assert first != second
    assert old.salt != read_tokens(path)[0].salt
    assert TokenStore(path).owner(first) is None


@pytest.mark.parametrize(
    "token", ["", ":", "anna", "anna:", "anna:x", "nobody:x", ":x", "anna:" + "x" * 10_000, "ä:ö", "\0"]
)
def test_nonsense_is_no_token(tmp_path: Path, token: str) -> None:
    path = tmp_path / "tokens.json"
    add_token(path, "anna")
    assert TokenStore(path).owner(token) is None


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["add", "a b"], "not a possible name"),
        (["add", "x" * 65], "not a possible name"),
        (["remove", "nobody"], "nobody has no token; known: none"),
        (["list", "--tokens", "broken.json"], "not a file of tokens"),
        (["add", "x", "--tokens", "broken.json"], "not a file of tokens"),
    ],
)
def test_mistakes_are_told_in_a_line(shop: Workshop, words: list[str], text: str) -> None:
    shop.write("broken.json", '{"tokens": 5}')
    done = shop.call("token", *words, *([] if "--tokens" in words else ["--tokens", "tokens.json"]))
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert text in done.err


def test_so_many_at_once_and_more_as_time_passes() -> None:
    time = [0.0]
    allowance = RateLimiter(3, 60.0, clock=lambda: time[0])
    assert [allowance.take("a") for _ in range(4)] == [0, 0, 0, 20]
    assert allowance.take("b") == 0
    time[0] = 19.0
    assert allowance.wait("a") == allowance.take("a") == pytest.approx(1)
    time[0] = 20.0
    assert (allowance.wait("a"), allowance.take("a"), allowance.take("a")) == (0, 0, 20)
    time[0] = 1e6
    assert [allowance.take("a") for _ in range(4)] == [0, 0, 0, 20]


def test_an_allowance_forgets_rather_than_grows() -> None:
    allowance = RateLimiter(1, 60.0)
    for number in range(MOST_KEYS + 5):
        allowance.take(str(number))
    assert allowance.wait("0") == 0
    assert allowance.wait(str(MOST_KEYS + 4)) > 0
