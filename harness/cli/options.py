"""Click options and arguments: made out of the sets of `harness.options`, and what a shell completes."""

import functools
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from harness.errors import UsageError
from harness.options import DeclaredOption, OptionSet, Range, declared_options, option
from harness.report.formats import TABULAR as TABULAR
from harness.report.formats import Format

F = TypeVar("F", bound=Callable[..., Any])
Completion = Callable[[click.Context, click.Parameter, str], list[Any]]


class Numbers(click.FloatRange):
    """Numbers within a range, to which "nan" does not belong."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A number, or a mistake that says what it is not."""
        found = super().convert(value, param, ctx)
        return self.fail(f"{value!r} is not a number.", param, ctx) if found != found else found


class Parsed(click.ParamType):  # type: ignore[type-arg]  # generic only in new versions of click
    """Text that an option parses itself."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A value, or a mistake in the parser's own words."""
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except (ValueError, UsageError) as error:
            return self.fail(str(error), param, ctx)


def command_options(kind: type[OptionSet]) -> Callable[[F], F]:
    """The options of a set, for a command, which gets them as one object: `options`."""
    declared = [one for one in declared_options(kind) if one.spec.flags]
    names = {one.name for one in declared}

    def decorate(command: Callable[..., Any]) -> Any:
        @functools.wraps(command)
        def call(**values: Any) -> Any:
            values = {name: value for name, value in values.items() if value is not None or name not in names}
            given = {name: values.pop(name) for name in names if name in values}
            return command(**values, options=_made(kind, given))

        for one in reversed(declared):
            _click_option(one)(call)
        return call

    return decorate


def _made(kind: type[OptionSet], given: Mapping[str, Any]) -> OptionSet:
    options = kind(**given)
    if given.get("offline"):
        from harness.site.config import go_offline, go_online

        go_offline()
        click.get_current_context().call_on_close(go_online)
    return options


def _click_option(declared: DeclaredOption) -> Callable[[F], F]:
    spec = declared.spec
    settings: dict[str, Any] = {
        "help": spec.help() if callable(spec.help) else spec.help,
        "hidden": spec.hidden,
        "required": declared.required,
    }
    if declared.type is bool:
        return click.option(*spec.flags, declared.name, is_flag=True, **settings)
    settings |= {"metavar": spec.metavar, "type": _click_type(declared)}
    if declared.several and spec.separator is None:
        settings["multiple"] = True
    elif not declared.required and declared.default not in (None, ()):
        settings |= {"default": _written(declared), "show_default": spec.shown or True}
    if spec.completion is not None:
        settings["shell_complete"] = COMPLETIONS[spec.completion]
    return click.option(*spec.flags, declared.name, **settings)


def _written(declared: DeclaredOption) -> Any:
    """The default as a user would write it."""
    if isinstance(declared.default, tuple):
        return (declared.spec.separator or ",").join(map(str, declared.default))
    return declared.default.value if isinstance(declared.default, Enum) else declared.default


def _click_type(declared: DeclaredOption) -> "click.ParamType[Any]":
    spec = declared.spec
    if spec.parse is not None:
        return Parsed(declared.name, spec.parse)
    if declared.choices:
        return click.Choice(declared.choices, case_sensitive=False)
    if declared.several and spec.separator is not None:
        return click.STRING
    if declared.type is Path:
        return click.Path(path_type=Path)
    if declared.type in (int, float):
        return _number_type(declared.type, spec.within or Range())
    return click.STRING


def _number_type(kind: type, within: Range) -> "click.ParamType[Any]":
    bounds: dict[str, Any] = {
        "min": within.low, "max": within.high, "min_open": within.low_open, "max_open": within.high_open,
    }  # fmt: skip
    return click.IntRange(**bounds) if kind is int else Numbers(**bounds)


def complete_test(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Names of tests for the shell."""
    from harness.script.library import find_all

    return sorted({found.name for found in find_all() if found.name.startswith(incomplete)})


def complete_interface(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Names of bundled interfaces for the shell."""
    from harness.interface.load import bundled_interfaces

    return [name for name in bundled_interfaces() if name.startswith(incomplete)]


def complete_measure(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Names of measures for the shell."""
    from harness.measures import MEASURES

    return [name for name in (*MEASURES, "rank1") if name.startswith(incomplete)]


def complete_goal(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Measures that can be tuned for, for the shell."""
    from harness.measures import goals

    return [name for name in goals() if name.startswith(incomplete)]


def complete_transcript(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of runs and of published transcripts, and files, for the shell."""
    from harness.site.names import local_transcripts

    found = [CompletionItem(name) for name in sorted(local_transcripts().names()) if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


# What a set's option may name as its completion.
COMPLETIONS: Mapping[str, Completion] = {
    "test": complete_test,
    "interface": complete_interface,
    "measure": complete_measure,
    "goal": complete_goal,
    "transcript": complete_transcript,
}


class FormatOptions(OptionSet):
    """How to print."""

    style: str | None = option(
        "--format", default=None, choices=map(str, TABULAR),
        help="How to print; by default a table on a terminal and plain columns elsewhere.",
    )  # fmt: skip


class DataFormatOptions(FormatOptions):
    """How to print, also as data for R."""

    style: str | None = option(
        "--format", default=None, choices=map(str, (*TABULAR, Format.R)),
        help="How to print; by default a table on a terminal and plain columns elsewhere.",
    )  # fmt: skip


class PlotOptions(OptionSet):
    """A picture."""

    plot: Path | None = option("--plot", default=None, metavar="FILE.svg|png|pdf", help="Draw it.")


test_argument = click.argument("test", shell_complete=complete_test)
transcripts_argument = click.argument(
    "transcripts", nargs=-1, required=True, metavar="T...", shell_complete=complete_transcript
)


# Beyond it quantiles are lost in rounding.
CONFIDENCE = Numbers(0.5, 0.999999, min_open=True)


def _offline(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        from harness.site.config import go_offline, go_online

        go_offline()
        ctx.call_on_close(go_online)


def offline_option(command: F) -> F:
    """--offline, once, for commands that may ask a site or download something."""
    if any(param.name == "offline" for param in getattr(command, "__click_params__", [])):
        return command
    option = click.option("--offline", is_flag=True, expose_value=False, is_eager=True, callback=_offline,
                          help="Use only what is here and in the cache; ask no server.")  # fmt: skip
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
        help="How to print; a table on a terminal and plain columns elsewhere, by default.",
    )


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
    for each in (
        click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N cases."),
        click.option(
            "--timeout", type=float, callback=_positive, metavar="SECONDS",
            help="Give up on a case after that long; its program is killed and started again.",
        ),
        click.option("-j", "--jobs", type=click.IntRange(1, 1000), default=1, show_default=True, metavar="N",
                     help="Run N cases at a time, in processes of their own."),
    ):  # fmt: skip
        command = each(command)
    return command


PATH = click.Path(path_type=Path)
