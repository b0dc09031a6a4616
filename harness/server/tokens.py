"""Tokens of those who may submit: `add_token`, `remove_token`, ..., which the commands of `hate token` call."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.api.result import Result
from harness.errors import UsageError
from harness.options import OptionSet, Range, option
from harness.report.blocks import Audience, Block, Column, records_of, table_of
from harness.server.database import Database, Token

PER_DAY = Range(1, 1_000_000)
# 0 is what the server allows everyone.
QUOTA = Range(0, 1_000_000)


class TokenOptions(OptionSet):
    """The file of tokens."""

    tokens: Path = option("--tokens FILE", "The file of tokens that `hate serve` reads.")


class TokenAddOptions(TokenOptions):
    """How much the owner of a new token may submit."""

    per_day: int | None = option(
        "--per-day N",
        "How many submissions NAME may make on a day, instead of what the server allows everyone.",
        default=None,
        within=PER_DAY,
    )


def add_token(name: str, *, options: TokenAddOptions) -> str:
    """Make a token for somebody who may submit transcripts; it is returned only this once.

    >>> harness.add_token("ann", tokens="tokens.db")

    Args:
        name: Who gets it; names and hashes are kept in the file, which is created if there is none.
    """
    return Database(options.tokens).add_token(name, per_day=options.per_day or 0)


def set_token_quota(name: str, per_day: int, *, options: TokenOptions) -> None:
    """Change how many submissions somebody may make on a day, also for a server that is running.

    >>> harness.set_token_quota("ann", 10, tokens="tokens.db")

    Args:
        name: Who has the token.
        per_day: How many; 0 for what the server allows everyone.
    """
    if not isinstance(per_day, int) or per_day not in QUOTA:
        raise UsageError(f"per_day={per_day!r}: not a whole number in the range {QUOTA}")
    Database(options.tokens).set_quota(name, per_day)


def remove_token(name: str, *, options: TokenOptions) -> None:
    """Revoke somebody's token, also for a server that is running.

    >>> harness.remove_token("ann", tokens="tokens.db")

    Args:
        name: Who has the token.
    """
    Database(options.tokens).remove_token(name)


@dataclass(frozen=True, repr=False)
class TokenListResult(Result):
    """Who has a token, since when, and how many submissions they may make on a day."""

    tokens: Sequence[Token]
    remarks: Sequence[str] = ()

    def payload(self) -> dict[str, Any]:
        return {"tokens": list(records_of(self.tokens, _COLUMNS, Audience.PROGRAMS))}

    def blocks(self) -> Sequence[Block]:
        """A row for each."""
        return [table_of(self.tokens, _COLUMNS)]


_COLUMNS: list[Column[Token]] = [
    Column("name"),
    Column("created"),
    Column("per_day", lambda token: token.per_day or None, head="per day"),
]


def list_tokens(*, options: TokenOptions) -> TokenListResult:
    """Who has a token, the oldest first.

    >>> harness.list_tokens(tokens="tokens.db")
    """
    remarks = [] if options.tokens.exists() else [f"{options.tokens}: no such file, so nobody has a token yet"]
    return TokenListResult(Database(options.tokens).tokens(), remarks)
