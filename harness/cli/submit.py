"""`hate submit` and `hate token`: hand transcripts in at a site that is served, and say who may."""

import os
from collections.abc import Sequence
from pathlib import Path

import click

from harness.cli.arguments import find_transcripts
from harness.cli.options import CommandGroup, FormatOptions, command_options, transcripts_argument
from harness.cli.output import emit, remark
from harness.errors import HateError, UsageError
from harness.options import DownloadOptions, OptionSet, Range, option
from harness.report.blocks import Cell, Table
from harness.server.database import Database
from harness.site.urls import is_exposed, is_url, masked

TOKEN = "HATE_TOKEN"  # noqa: S105 (the name of a variable)


class SubmitOptions(DownloadOptions, FormatOptions):
    """Options of `hate submit`."""

    site: str = option("--to URL", "The site, as `hate serve` prints its address.")
    name: str = option("--name NAME", "Submit under this name instead of the file's.", default="")
    token_file: Path | None = option("--token-file FILE", f"Your token is in FILE; otherwise in {TOKEN}.", default=None)
    dry_run: bool = option("--dry-run", "Check what the server will check; send nothing.", default=False)


@click.command("submit")
@transcripts_argument
@command_options(SubmitOptions)
def submit_command(transcripts: Sequence[str], options: SubmitOptions) -> None:
    """Hand transcripts in at a site, with a token from its owner.

    T is a file, or the NAME of a run. What the server will check is checked here first, with the same code.

    \b
    hate submit mine.jsonl --to http://localhost:8000
    """
    submit(transcripts, options)


def submit(words: Sequence[str], options: SubmitOptions) -> None:
    """Check all transcripts, then send them one by one; what the server refuses does not stop the others."""
    if not is_url(options.site):
        raise UsageError(f"--to {options.site}: not an address; `hate publish T... --to FOLDER` writes to a folder")
    if options.name and len(words) != 1:
        raise UsageError("--name is for one transcript; name one")
    token = read_token(options.token_file)
    if is_exposed(options.site):
        remark(f"hate: your token goes to {masked(options.site)} unencrypted; use https if the site has it")
    from harness.server.submission_checks import SubmissionClient, check_all

    sources = find_transcripts(words, options, told_apart=False).sources
    files = {source.path: options.name or word_name(source.typed) for source in sources}
    client = SubmissionClient(options.site, token)
    checked = check_all(client, files)
    if client.note:
        remark(f"hate: {client.note}")
    for note in (note for submission in checked for note in submission.notes):
        remark(f"hate: {note}")
    rows: list[list[Cell]] = []
    refusals: list[HateError] = []
    for submission in checked:
        try:
            receipt = None if options.dry_run else client.send(submission)
        except HateError as error:
            refusals.append(error)
            continue
        answer = ("would be sent", "", "") if receipt is None else (receipt.result, receipt.page, receipt.message)
        rows.append([f"{submission.test}/{submission.name}", *answer[:2]])
        if answer[2]:
            remark(answer[2])
    if rows:
        _print_submitted(rows, options)
    _raise_refusals(refusals)


def word_name(word: str) -> str:
    """The name for a transcript that was given by name; empty for a file, which has one."""
    return "" if Path(word).exists() or is_url(word) else word.rpartition("/")[2]


def _print_submitted(rows: list[list[Cell]], options: SubmitOptions) -> None:
    base = options.site.rstrip("/")
    payload = [{"name": row[0], "result": row[1], "page": f"{base}{row[2]}" if row[2] else None} for row in rows]
    table = Table(["what", "result", "page"], [[row[0], row[1], f"{base}{row[2]}" if row[2] else ""] for row in rows])
    emit(options.style, table, {"site": options.site, "submitted": payload})


def _raise_refusals(refusals: list[HateError]) -> None:
    if len(refusals) == 1:
        raise refusals[0]
    if refusals:
        raise UsageError("\n  ".join([f"{len(refusals)} were not accepted", *map(str, refusals)]))


def read_token(path: Path | None) -> str:
    """The token in a file, or in the environment."""
    if path is not None:
        try:
            text = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--token-file {path}: {getattr(error, 'strerror', None) or error}") from None
    else:
        text = os.environ.get(TOKEN, "").strip()
    source = f"--token-file {path}" if path is not None else TOKEN
    if not text:
        raise UsageError(f"no token in {source}; the site's owner makes one with `hate token add NAME --tokens FILE`")
    if ":" not in text or not text.isascii() or len(text.split()) != 1:
        raise UsageError(f"{source}: not a token, which is one word such as NAME:SECRET")
    return text


class TokenOptions(OptionSet):
    """The file of tokens."""

    tokens: Path = option("--tokens FILE", "The file of tokens that `hate serve` reads.")


PER_DAY = Range(1, 1_000_000)


class TokenAddOptions(TokenOptions):
    """Options of `hate token add`."""

    per_day: int | None = option(
        "--per-day N",
        "How many submissions NAME may make on a day, instead of what the server allows everyone.",
        default=None,
        within=PER_DAY,
    )


class TokenListOptions(TokenOptions, FormatOptions):
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
    print(Database(options.tokens).add_token(name, per_day=options.per_day or 0))
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
    Database(options.tokens).set_quota(name, per_day)


@token_command.command("remove")
@click.argument("name")
@command_options(TokenOptions)
def remove_command(name: str, options: TokenOptions) -> None:
    """Revoke the token of NAME.

    \b
    hate token remove ann --tokens tokens.db
    """
    Database(options.tokens).remove_token(name)


token_command.add_command(remove_command, "revoke")


@token_command.command("list")
@command_options(TokenListOptions)
def list_tokens_command(options: TokenListOptions) -> None:
    """List who has a token.

    \b
    hate token list --tokens tokens.db
    """
    known = [
        {"name": token.name, "created": token.created, "per_day": token.per_day or None}
        for token in Database(options.tokens).tokens()
    ]
    rows: list[list[Cell]] = [[token["name"], token["created"], token["per_day"]] for token in known]
    emit(options.style, Table(["name", "created", "per day"], rows), {"tokens": known})
