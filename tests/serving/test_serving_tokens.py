"""Tokens: shown once, stored as hashes, revoked at once; and rate limits."""

import stat
from pathlib import Path

import pytest

from harness.server.submit import MOST_KEYS, RateLimiter
from harness.server.tokens import TokenStore, add_token, read_tokens, remove_token
from tests.workshop import Workshop


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


def test_a_revoked_token_is_invalid(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    anna, ben = add_token(path, "anna"), add_token(path, "ben")
    keeper = TokenStore(path)
    assert [keeper.owner(token) for token in (anna, ben)] == ["anna", "ben"]
    remove_token(path, "anna")
    assert [keeper.owner(token) for token in (anna, ben)] == [None, "ben"]
    path.unlink()
    assert keeper.owner(ben) is None


def test_a_new_token_for_the_same_name_differs(tmp_path: Path) -> None:
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
def test_nonsense_is_not_a_token(tmp_path: Path, token: str) -> None:
    path = tmp_path / "tokens.json"
    add_token(path, "anna")
    assert TokenStore(path).owner(token) is None


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["add", "a b"], "not a valid name"),
        (["add", "x" * 65], "not a valid name"),
        (["remove", "nobody"], "nobody has no token; known: none"),
        (["list", "--tokens", "broken.json"], "not a file of tokens"),
        (["add", "x", "--tokens", "broken.json"], "not a file of tokens"),
    ],
)
def test_mistakes_are_one_line(shop: Workshop, words: list[str], text: str) -> None:
    shop.write("broken.json", '{"tokens": 5}')
    done = shop.call("token", *words, *([] if "--tokens" in words else ["--tokens", "tokens.json"]))
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert text in done.err


def test_the_rate_limit_refills_over_time() -> None:
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


def test_a_rate_limiter_drops_old_keys() -> None:
    allowance = RateLimiter(1, 60.0)
    for number in range(MOST_KEYS + 5):
        allowance.take(str(number))
    assert allowance.wait("0") == 0
    assert allowance.wait(str(MOST_KEYS + 4)) > 0
