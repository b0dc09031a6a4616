"""`hate submit` and `hate token`: hand transcripts in at a site that is served, and say who may."""

from collections.abc import Sequence
from dataclasses import replace

import click

from harness.cli.options import CommandGroup, FormatOptions, command_options, transcripts_argument
from harness.cli.output import emit_result, remark
from harness.server.submitting import PartlyRefused, SubmitOptions, SubmitResult, submit
from harness.server.tokens import TokenAddOptions, TokenOptions, add_token, list_tokens, remove_token, set_token_quota


class SubmitCommandOptions(SubmitOptions, FormatOptions):
    """Options of `hate submit`, and how to print."""


@click.command("submit")
@transcripts_argument
@command_options(SubmitCommandOptions)
def submit_command(transcripts: Sequence[str], options: SubmitCommandOptions) -> None:
    """Hand transcripts in at a site, with a token from its owner.

    T is a file, or the NAME of a run. What the server will check is checked here first, with the same code.

    \b
    hate submit mine.jsonl --to http://localhost:8000
    """
    hand_in(transcripts, options, options.style)


def hand_in(transcripts: Sequence[str], options: SubmitOptions, style: str | None) -> None:
    """Submit, and print what was accepted, also if some of it was not."""
    try:
        _print_submitted(submit(transcripts, options=options), style)
    except PartlyRefused as refusal:
        _print_submitted(refusal.result, style)
        raise


def _print_submitted(result: SubmitResult, style: str | None) -> None:
    """What the server had to say comes first: it may be the score of a blind run."""
    for text in result.remarks:
        remark(text)
    emit_result(replace(result, remarks=()), style)


class TokenListCommandOptions(TokenOptions, FormatOptions):
    """Options of `hate token list`."""


@click.group("token", cls=CommandGroup)
def token_command() -> None:
    """Tokens for those who may submit transcripts; their names and hashes are kept in a file.

    \b
    hate token add ann --tokens tokens.db
    """


@token_command.command("add")
@click.argument("name")
@command_options(TokenAddOptions)
def add_command(name: str, options: TokenAddOptions) -> None:
    """Make a token for NAME and print it; it is never shown again.

    \b
    hate token add ann --tokens tokens.db --per-day 5
    """
    print(add_token(name, options=options))
    remark("hate: this token is shown only once; give it to its owner in private")


@token_command.command("quota")
@click.argument("name")
@click.argument("per_day", type=click.IntRange(0, 1_000_000))
@command_options(TokenOptions)
def quota_command(name: str, per_day: int, options: TokenOptions) -> None:
    """Let NAME make PER_DAY submissions on a day; 0 for what the server allows everyone.

    \b
    hate token quota ann 10 --tokens tokens.db
    """
    set_token_quota(name, per_day, options=options)


@token_command.command("remove")
@click.argument("name")
@command_options(TokenOptions)
def remove_command(name: str, options: TokenOptions) -> None:
    """Revoke the token of NAME.

    \b
    hate token remove ann --tokens tokens.db
    """
    remove_token(name, options=options)


@token_command.command("list")
@command_options(TokenListCommandOptions)
def list_tokens_command(options: TokenListCommandOptions) -> None:
    """List who has a token.

    \b
    hate token list --tokens tokens.db
    """
    emit_result(list_tokens(options=options), options.style)
