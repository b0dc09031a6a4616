"""`hate token`: who may submit transcripts to a site that is served."""

from pathlib import Path

import click

from harness.cli.options import PATH, TABULAR, format_option
from harness.cli.output import chosen, emit, remark
from harness.report.table import Table

tokens_option = click.option(
    "--tokens", type=PATH, required=True, metavar="FILE", help="The file that `hate serve` reads."
)


@click.group("token")
def command() -> None:
    """Tokens for those who may submit transcripts; a file has their names and hashes."""


@command.command("add")
@click.argument("name")
@tokens_option
def add(name: str, tokens: Path) -> None:
    """Make a token for NAME and print it, this once."""
    from harness.site.serving.tokens import add_token

    print(add_token(tokens, name))
    remark("hate: this is shown once; give it to its owner in secret")


@command.command("remove")
@click.argument("name")
@tokens_option
def remove(name: str, tokens: Path) -> None:
    """Take NAME's token away."""
    from harness.site.serving.tokens import remove_token

    remove_token(tokens, name)


@command.command("list")
@tokens_option
@format_option(*TABULAR)
def list_(tokens: Path, style: str | None) -> None:
    """Who has a token."""
    from harness.site.serving.tokens import read_tokens

    known = [{"name": token.name, "created": token.created} for token in read_tokens(tokens)]
    emit(chosen(style), Table(["name", "created"], [[one["name"], one["created"]] for one in known]), {"tokens": known})
