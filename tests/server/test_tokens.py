"""Tokens: shown once, stored as hashes, revoked at once; and rate limits."""

import stat
from pathlib import Path

import pytest

from harness.server.database import Database
from harness.server.submissions import MAX_KEYS, RateLimiter
from tests.workshop import Workshop


def owner(path: Path, token: str) -> str | None:
    known = Database(path).find_token(token)
    return None if known is None else known.name


def test_a_token_is_printed_once_and_kept_as_a_hash(shop: Workshop) -> None:
    done = shop.call("token", "add", "anna", "--tokens", "tokens.db")
    token = done.out.strip()
    assert (done.status, done.out.count("\n")) == (0, 1)
    assert "once" in done.err
    path = shop.folder / "tokens.db"
    name, _, secret = token.partition(":")
    assert name == "anna"
    assert len(secret) >= 43
    assert secret.encode() not in path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert owner(path, token) == "anna"
    again = shop.call("token", "add", "anna", "--tokens", "tokens.db")
    assert (again.status, again.out) == (2, "")
    assert "hate token remove anna" in again.err
    listed = shop.call("token", "list", "--tokens", "tokens.db", "--format", "json").json
    assert [entry["name"] for entry in listed["tokens"]] == ["anna"]


def test_a_revoked_token_is_invalid(tmp_path: Path) -> None:
    path = tmp_path / "tokens.db"
    anna, ben = Database(path).add_token("anna"), Database(path).add_token("ben")
    assert [owner(path, token) for token in (anna, ben)] == ["anna", "ben"]
    Database(path).remove_token("anna")
    assert [owner(path, token) for token in (anna, ben)] == [None, "ben"]
    path.unlink()
    assert owner(path, ben) is None


def test_a_new_token_for_the_same_name_differs(tmp_path: Path) -> None:
    path = tmp_path / "tokens.db"
    first = Database(path).add_token("anna")
    old = Database(path).tokens()[0]
    Database(path).remove_token("anna")
    second = Database(path).add_token("anna")
    assert first != second
    assert old.salt != Database(path).tokens()[0].salt
    assert owner(path, first) is None


@pytest.mark.parametrize(
    "token", ["", ":", "anna", "anna:", "anna:x", "nobody:x", ":x", "anna:" + "x" * 10_000, "ä:ö", "\0"]
)
def test_nonsense_is_not_a_token(tmp_path: Path, token: str) -> None:
    path = tmp_path / "tokens.db"
    Database(path).add_token("anna")
    assert owner(path, token) is None


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["add", "a b"], "not a valid name"),
        (["add", "x" * 65], "not a valid name"),
        (["remove", "nobody"], "nobody has no token; known: none"),
        (["list", "--tokens", "broken.db"], "not a file of tokens"),
        (["add", "x", "--tokens", "broken.db"], "not a file of tokens"),
    ],
)
def test_mistakes_are_one_line(shop: Workshop, words: list[str], text: str) -> None:
    shop.write("broken.db", '{"tokens": 5}')
    done = shop.call("token", *words, *([] if "--tokens" in words else ["--tokens", "tokens.db"]))
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert text in done.err


def test_the_rate_limit_refills_over_time() -> None:
    time = [0.0]
    allowance = RateLimiter(3, 60.0, clock=lambda: time[0])
    assert [allowance.take("a") for _ in range(4)] == [0, 0, 0, 20]
    assert allowance.take("b") == 0
    time[0] = 19.0
    assert allowance.take("a") == pytest.approx(1)
    time[0] = 20.0
    assert (allowance.take("a"), allowance.take("a")) == (0, 20)
    time[0] = 1e6
    assert [allowance.take("a") for _ in range(4)] == [0, 0, 0, 20]


def test_a_rate_limiter_drops_old_keys() -> None:
    allowance = RateLimiter(1, 60.0)
    for number in range(MAX_KEYS + 5):
        allowance.take(str(number))
    assert allowance.take("0") == 0
    assert allowance.take(str(MAX_KEYS + 4)) > 0
