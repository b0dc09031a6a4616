"""Options that several commands share, declared once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from harness.report.table import Format

F = TypeVar("F", bound=Callable[..., Any])


class Numbers(click.FloatRange):
    """Numbers within a range, to which "nan" does not belong."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A number, or a mistake that says what it is not."""
        found = super().convert(value, param, ctx)
        return self.fail(f"{value!r} is not a number.", param, ctx) if found != found else found


# Beyond it quantiles are lost in rounding.
CONFIDENCE = Numbers(0.5, 0.999999, min_open=True)


def complete_test(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Names of tests for the shell."""
    from harness.script.library import find_all

    return sorted({found.name for found in find_all() if found.name.startswith(incomplete)})


def complete_interface(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Names of bundled interfaces for the shell."""
    from harness.interface.load import bundled_interfaces

    return [name for name in bundled_interfaces() if name.startswith(incomplete)]


test_argument = click.argument("test", shell_complete=complete_test)


def _offline(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        from harness.site.offline import go_offline, go_online

        go_offline()
        ctx.call_on_close(go_online)


def offline_option(command: F) -> F:
    """--offline, once, for commands that may ask a site or download something."""
    if any(param.name == "offline" for param in getattr(command, "__click_params__", [])):
        return command
    option = click.option("--offline", is_flag=True, expose_value=False, is_eager=True, callback=_offline,
                          help="Ask nobody: only what is here and in the cache.")  # fmt: skip
    return option(command)


def library_option(command: F) -> F:
    """--library and --offline, for commands that take a test."""
    library = click.option(
        "--library", "libraries", multiple=True, metavar="FOLDER", help="A further folder to find tests in."
    )
    return library(offline_option(command))


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
    help="A bundled interface, a file or a folder, or matrix:FILE; else interface.py or interface.toml here.",
)


def interface_options(command: F) -> F:
    """What to run: --interface, --param."""
    parameter = click.option(
        "--param", "assignments", multiple=True, metavar="NAME=VALUE", help="Set a parameter; may be repeated."
    )
    return interface_option(parameter(command))


def choice_options(command: F) -> F:
    """Virtual experiments of a rank test: --gallery, --probe."""
    for name, what in (("--probe", "probes"), ("--gallery", "gallery images")):
        text = f"Rank tests: only the {what} for which this holds, session=1; may be repeated."
        command = click.option(name, multiple=True, metavar="CONDITION", help=text)(command)
    return command


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
