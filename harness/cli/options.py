"""Click options and arguments, made out of the sets of `harness.options`."""

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import click

from harness.api.keywords import help_text
from harness.cli.completion import COMPLETIONS, complete_test, complete_transcript
from harness.errors import OutputError, UsageError
from harness.options import DeclaredOption, OptionError, OptionSet, Range, Writes, declared_options, option
from harness.report.formats import TABULAR as TABULAR

F = TypeVar("F", bound=Callable[..., Any])


class CommandGroup(click.Group):
    """A group that says of each command what it does in a whole sentence, where click would cut it."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list for `--help`."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, " ".join((command.help or "").partition("\n\n")[0].split()))
                    for name, command in commands
                    if command is not None
                ]
            )


class Numbers(click.FloatRange):
    """Numbers within a range, to which "nan" does not belong."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A number, or an error."""
        number = super().convert(value, param, ctx)
        return self.fail(f"{value!r} is not a number.", param, ctx) if number != number else number


class Parsed(click.ParamType):  # type: ignore[type-arg]  # generic only in new versions of click
    """Text that an option parses itself."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A value, or an error in the parser's own words."""
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except (ValueError, UsageError) as error:
            return self.fail(str(error), param, ctx)


class OnceOption(click.Option):
    """An option with one value. If it is given twice with different values, click would drop the first."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Have the parser collect the values."""
        self.multiple = True
        super().add_to_parser(parser, ctx)
        self.multiple = False

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """The one value; an error if there are several."""
        words = opts.get(self.name or "")
        if not isinstance(words, list):
            return super().handle_parse_result(ctx, opts, args)
        if any(self.type_cast_value(ctx, word) != self.type_cast_value(ctx, words[0]) for word in words[1:]):
            several = ", or put commas between them" if self.metavar and self.metavar.endswith(",...") else ""
            raise click.UsageError(f"{self.opts[-1]} is given twice: {', '.join(words)}; leave one out{several}", ctx)
        return super().handle_parse_result(ctx, {**opts, self.name or "": words[-1]}, args)


def command_options(kind: type[OptionSet]) -> Callable[[F], F]:
    """The options of a set, for a command, which gets them as one object: `options`."""

    def decorate(command: Callable[..., Any]) -> Any:
        @functools.wraps(command)
        def call(**values: Any) -> Any:
            names = {declared.name for declared in declared_options(kind)}
            values = {name: value for name, value in values.items() if value is not None or name not in names}
            given = {name: values.pop(name) for name in names if name in values}
            try:
                options = kind(**given)
            except OptionError as error:
                raise UsageError(error.on_the_command_line) from None
            if given.get("offline"):
                from harness.site.config import without_network

                click.get_current_context().with_resource(without_network())
            options.check_needs()
            _check_outputs(options, values.values())
            return command(**values, options=options)

        for declared in reversed(declared_options(kind)):
            if declared.spec.flags:
                _click_option(declared)(call)
        call.option_set = kind  # type: ignore[attr-defined]  # for whoever asks what a command has
        return call

    return decorate


def add_foreign_options(command: click.Command) -> None:
    """Give a command the options that other packages add to its set."""
    from harness.options.entries import include_others
    from harness.report.text import say

    for problem in include_others():
        say(f"hate: {problem}")
    known = {parameter.name for parameter in command.params}
    kind = getattr(command.callback, "option_set", None)
    for declared in declared_options(kind) if kind is not None else ():
        if declared.spec.flags and declared.name not in known:
            _click_option(declared)(command)


def _check_outputs(options: OptionSet, words: Iterable[Any]) -> None:
    """Refuse to write over a file that the command line names as an input, or, unless forced, over any other.

    Here, so that no command forgets it, and before anything is run. Inputs that have other names are found when they
    are opened: transcripts in `open_transcripts`, tests and interfaces in `RunParts.plan`.
    """
    outputs = options.outputs()
    if not outputs:
        return
    from harness.files.outputs import check_free, refuse_inputs

    others = [
        declared
        for declared in declared_options(type(options))
        if declared.type in (str, Path) and declared.spec.writes is None
    ]
    refuse_inputs(outputs, _files_named([*words, *(getattr(options, declared.name) for declared in others)]))
    files = options.outputs(Writes.FILE)
    for option_name, path in files:
        if not path.parent.is_dir():
            raise OutputError(f"{option_name} {path}: no folder {path.parent}; create it first")
    check_free(files, force=bool(getattr(options, "force", False)))


def _files_named(values: Iterable[Any]) -> Iterator[Path]:
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from _files_named(value)
        elif isinstance(value, (str, Path)):
            path = Path(str(value).removeprefix("matrix:"))
            with contextlib.suppress(OSError, ValueError):  # a word that cannot be a name
                if path.is_file():
                    yield path


def _click_option(declared: DeclaredOption) -> Callable[[F], F]:
    spec = declared.spec
    settings: dict[str, Any] = {"help": help_text(spec), "required": declared.required}
    if declared.type is bool:
        return click.option(*spec.flags, declared.name, is_flag=True, **settings)
    settings |= {"metavar": spec.metavar, "type": _click_type(declared)}
    repeated = declared.several and spec.separator is None
    settings |= {"multiple": True} if repeated else {"cls": OnceOption}
    if not repeated and not declared.required and declared.default not in (None, ()):
        # Of a default in words, click would show (4G).
        if spec.shown is None:
            settings["show_default"] = True
        else:
            settings["help"] = f"{settings['help']}  [default: {spec.shown}]"
        # As a user would write it.
        default = declared.default
        if isinstance(default, tuple):
            default = (spec.separator or ",").join(map(str, default))
        settings["default"] = default.value if isinstance(default, Enum) else default
    if spec.completion is not None:
        settings["shell_complete"] = COMPLETIONS[spec.completion]
    return click.option(*spec.flags, declared.name, **settings)


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
        within, kind = spec.within or Range(), click.IntRange if declared.type is int else Numbers
        bounds: dict[str, Any] = {"min_open": within.low_open, "max_open": within.high_open}
        return kind(within.low, within.high, **bounds)  # type: ignore[arg-type]
    return click.STRING


class FormatOptions(OptionSet):
    """How to print."""

    style: str | None = option(
        "--format",
        "How to print; by default a table on a terminal and plain columns elsewhere.",
        default=None,
        choices=map(str, TABULAR),
    )


named_test = click.argument("test", shell_complete=complete_test)
transcripts_argument = click.argument(
    "transcripts", nargs=-1, required=True, metavar="T...", shell_complete=complete_transcript
)
matrices_argument = click.argument("matrices", nargs=-1, required=True, metavar="MATRIX|TEST...")

PATH = click.Path(path_type=Path)
