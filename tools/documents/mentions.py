"""Commands and options that running text names, as in `hate rate --by noise`: does `hate` have them?

They are parsed and not run, so that `hate run ... --resume` and `--by COLUMN` are understood too.
"""

import functools
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from harness.cli.commands import KnownCommands, hate, modern_spelling
from tools.documents.pages import ROOT, blocks

SPAN = re.compile(r"(?<!`)`((?:hate |--?[A-Za-z])[^`]*)`(?!`)")
# Options of other programs, and a column with a minus. It grows only on purpose.
FOREIGN = {"-COLUMN", "-k", "--update", "--log_samples", "--checkpoint-action"}


@dataclass(frozen=True)
class Mention:
    """A command, or an option by itself, and its line."""

    line: int
    text: str

    def mistake(self) -> str:
        """What `hate` does not know of it; nothing if it knows all."""
        words = _words(self.text)
        if words[0] == "hate":
            classic = words[1].startswith("-")  # `hate -mode compare A B`
            return _command_mistake(modern_spelling(words[1:], KnownCommands()) if classic else words[1:])
        name = words[0].partition("=")[0]
        return "" if name in _all_options(hate) | FOREIGN else f"no command has the option {name}"


def mentions(text: str) -> Iterator[Mention]:
    """All commands and options that a page names outside of its blocks."""
    lines = text.splitlines()
    for block in blocks(text):
        lines[block.first : block.end] = [""] * len(block.lines)
    for number, line in enumerate(lines, start=1):
        for found in SPAN.findall(line):
            yield Mention(number, found)


def wrong_mentions(page: Path) -> list[str]:
    """What a page names and `hate` does not have, with its place."""
    found = ((mention, mention.mistake()) for mention in mentions(page.read_text(encoding="utf-8")))
    place = page.relative_to(ROOT) if page.is_relative_to(ROOT) else page
    return [f"{place}:{mention.line}: {mention.text}: {mistake}" for mention, mistake in found if mistake]


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a quotation that goes on elsewhere
        return text.split()


def _command_mistake(words: list[str]) -> str:
    command: click.Command = hate
    context = click.Context(command, info_name="hate")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name, *words = words
        if name.isupper():  # `hate COMMAND --help`
            return ""
        found = command.get_command(context, name)
        if found is None:
            return f"{context.command_path} has no command {name}"
        command, context = found, click.Context(found, info_name=name, parent=context)
    try:
        command.make_parser(context).parse_args(words)
    except click.NoSuchOption as error:
        return f"{context.command_path}: {error.format_message()}"
    except click.BadOptionUsage:  # an option that is named without its value
        return ""
    return ""


@functools.cache
def _all_options(command: click.Command) -> frozenset[str]:
    """The options of a command, and of those that it has."""
    context = click.Context(command, info_name="hate")
    params = command.get_params(context)
    names = frozenset(name for param in params for name in (*param.opts, *param.secondary_opts))
    if isinstance(command, click.Group):
        found = (command.get_command(context, name) for name in command.list_commands(context))
        names = names.union(*(_all_options(one) for one in found if one))
    return names
