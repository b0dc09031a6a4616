"""Options that several commands share, declared once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from harness.report.table import Format

F = TypeVar("F", bound=Callable[..., Any])


def complete_test(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Names of tests for the shell."""
    from harness.script.library import find_all

    return sorted({found.name for found in find_all() if found.name.startswith(incomplete)})


def complete_interface(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Names of bundled interfaces for the shell."""
    from harness.interface.load import bundled_interfaces

    return [name for name in bundled_interfaces() if name.startswith(incomplete)]


test_argument = click.argument("test", shell_complete=complete_test)

library_option = click.option(
    "--library", "libraries", multiple=True, metavar="FOLDER", help="A further folder to find tests in."
)


def format_option(*formats: Format) -> Callable[[F], F]:
    """--format, with those that make sense for a command."""
    return click.option(
        "--format",
        "style",
        type=click.Choice([style.value for style in formats]),
        default=None,
        help="How to print; a table on a terminal and plain columns elsewhere, unless told.",
    )


TABULAR = (Format.TABLE, Format.PLAIN, Format.JSON, Format.CSV, Format.TEX, Format.MD)


interface_option = click.option(
    "--interface",
    "interface",
    metavar="NAME|PATH",
    shell_complete=complete_interface,
    help="A bundled interface, a file or a folder; else interface.py or interface.toml here.",
)


def interface_options(command: F) -> F:
    """What to run: --interface, --param."""
    parameter = click.option(
        "--param", "assignments", multiple=True, metavar="NAME=VALUE", help="Set a parameter; may be repeated."
    )
    return interface_option(parameter(command))


def _positive(_ctx: click.Context, _param: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 < value < 1e9:
        raise click.BadParameter(f"{value:g} is not a number of seconds above 0")
    return value


def running_options(command: F) -> F:
    """How to run: -j, --timeout, --limit."""
    for option in (
        click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N cases."),
        click.option(
            "--timeout", type=float, callback=_positive, metavar="SECONDS",
            help="Give up on a case after that long; its program is killed and started again.",
        ),
        click.option("-j", "--jobs", type=click.IntRange(1, 1000), default=1, show_default=True, metavar="N",
                     help="Run N cases at a time, in processes of their own."),
    ):  # fmt: skip
        command = option(command)
    return command


PATH = click.Path(path_type=Path)
