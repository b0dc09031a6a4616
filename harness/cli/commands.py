"""The commands by name, each imported only when it is called; the classic spelling; shell completion."""

import importlib
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import click
from click.shell_completion import get_completion_class

from harness import __version__
from harness.errors import UsageError
from harness.plugins import CommandEntry, PluginGroup, load_object

# Name: (module that has it, as `NAME_command` or in its own `COMMANDS`, and what it does).
COMMANDS = {
    "list": ("list", "tests, here and at the sites, with their synopses; interfaces; transcripts"),
    "describe": ("check", "what a test is about: data, training, parameters, design, cases"),
    "cases": ("cases", "the cases of a test, with their inputs, to compute answers elsewhere"),
    "run": ("run", "run a test, print TP, TN, FP, FN, leave a transcript"),
    "status": ("status", "how far a run is, from another terminal"),
    "test": ("regression", "regression testing: print only the unexpected, exit 1 when a case failed"),
    "sweep": ("sweep", "run a test with every combination of parameter values, a row of counts each"),
    "tune": ("sweep", "find the best parameter values, on the training part, without the test cases"),
    "roc": ("curves", "ROC curves with areas, bands, operating points, from a test or transcripts"),
    "det": ("curves", "DET curves: both errors against each other, equal error rates"),
    "pr": ("curves", "precision over recall"),
    "froc": ("curves", "free-response curves: objects found over false positives per image"),
    "cmc": ("curves", "cumulative match curves of rank tests, transcripts and similarity matrices"),
    "confusion": ("compare", "confusion matrices: which class is mistaken for which"),
    "show": ("cases", "look into the cases of a transcript"),
    "diff": ("cases", "the cases on which two runs differ"),
    "rate": ("compare", "one algorithm by itself: measures with errors by design, groups, worst group, gap"),
    "compare": ("compare", "is A better than B? McNemar, replication, verdicts, from transcripts anywhere"),
    "report": ("compare", "one page that needs nothing else: the data sheet of a run, the comparison of several"),
    "fuse": ("compare", "combine the answers of several algorithms into one transcript"),
    "power": ("compare", "how many units and cases a test needs; what a test could have shown"),
    "convert": ("importing", "store a transcript in another form: .jsonl, .jsonl.gz, .parquet"),
    "import": ("importing", "turn results of other tools into transcripts"),
    "publish": ("publish", "add tests and transcripts to a site, a folder that any web server can serve"),
    "serve": ("serve", "serve a site over HTTP, with pages for people"),
    "submit": ("submit", "hand a transcript in at a site that is served"),
    "token": ("submit", "who may submit transcripts to a site that is served, and how many on a day"),
    "fetch": ("fetch", "download tests and transcripts ahead of time"),
    "cache": ("fetch", "what was downloaded: list, verify, clear"),
    "check": ("check", "validate scripts, interfaces and transcripts"),
    "new": ("new", "write an example interface, test script or matrix to start from"),
    "completion": ("commands", "shell completion for bash, zsh or fish"),
}


def _mistakes(entry: CommandEntry) -> Iterator[str]:
    """What makes a command of another package unusable."""
    if not isinstance(entry.summary, str) or not entry.summary:
        yield "summary is missing: what the command does, for `hate --help`"
    if not isinstance(entry.where, str) or ":" not in entry.where:
        yield "where is not a module and a click command, such as my_package.commands:mine"


PLUGINS = PluginGroup("hate.commands", CommandEntry, _mistakes, COMMANDS.__contains__)


def commands_here() -> list[str]:
    """The names of the commands of this package, with those of its rooms."""
    return [*COMMANDS, *PLUGINS.here()]


class KnownCommands(Collection[str]):
    """The names of all commands. Other packages are looked for only if a name is not known here."""

    def __contains__(self, name: object) -> bool:
        return name in commands_here() or name in PLUGINS.names()

    def __iter__(self) -> Iterator[str]:
        return iter([*COMMANDS, *PLUGINS.names()])

    def __len__(self) -> int:
        return len(list(iter(self)))


class LazyGroup(click.Group):
    """A group that knows its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of use, not of the alphabet."""
        return list(KnownCommands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            module: Any = importlib.import_module(f"harness.cli.{COMMANDS[cmd_name][0]}")
            attribute = f"{cmd_name}_command"
            command: click.Command = (
                getattr(module, attribute) if hasattr(module, attribute) else module.COMMANDS[cmd_name]
            )
            return command
        entry = PLUGINS.find(cmd_name)
        if entry is None:
            return None
        about = f"{PLUGINS.plugin(entry.name) or entry.name}: {entry.where}"
        loaded = load_object(entry.where, about)
        if not isinstance(loaded, click.Command):
            raise UsageError(f"{about} is not a click command")
        return loaded

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command; with the options of other packages, if one is used that nobody here has, or help is wanted."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is None:
            return name, command, rest
        known = {flag for parameter in command.params for flag in parameter.opts}
        flags = {word.partition("=")[0] for word in rest if word.startswith("--") and word != "--"}
        if not flags <= known or "-h" in rest:
            from harness.cli.options import add_foreign_options

            add_foreign_options(command)
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list for `hate --help`."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])
        others = [PLUGINS.find(plugin.name) for plugin, problem in PLUGINS.all() if problem is None]
        for title, entries in (("Experiments", PLUGINS.here().values()), ("Of other packages", filter(None, others))):
            if rows := [(entry.name, entry.summary) for entry in entries]:
                with formatter.section(title):
                    formatter.write_dl(rows)


# Help is read in terminals of 80 columns, and quoted in mails.
HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 80}


@click.group(cls=LazyGroup, context_settings=HELP)
@click.version_option(__version__, prog_name="hate")
def hate() -> None:
    """A Harness for Algorithm Testing and Exploration.

    Run an algorithm on a published test, let the harness decide what is right, and compare the transcripts.

    \b
    hate run hdigits --interface wisard
    hate compare wisard witch
    """


CLASSIC_OPTIONS = ("-mode", "-param", "-format", "-interface", "-library")
# In the tutorial, data for a ROC or DET curve is the plain table of a sweep.
CLASSIC_MODES = {"run": "run", "list-tests": "list", "roc": "sweep", "det": "sweep"}


def modern_spelling(args: Sequence[str], commands: Collection[str]) -> list[str]:
    """The arguments as the command line takes them; a bare test is run."""
    if any(arg in CLASSIC_OPTIONS for arg in args):
        return _translate(args, commands)
    if args and not args[0].startswith("-") and args[0] not in commands:
        return ["run", *args]
    return list(args)


def command_hint(args: Sequence[str], commands: Collection[str]) -> str:
    """For a first word that was read as a test: the command that the user may have meant."""
    if not args or args[0].startswith("-") or args[0] in commands:
        return ""
    from harness.params import similar

    near = similar(args[0], commands)
    return f"; or is '{args[0]}' the command '{near}'?" if near else ""


def _translate(args: Sequence[str], commands: Collection[str]) -> list[str]:
    command, rest = "run", list[str]()
    modes = list[str]()
    remaining = iter(args)
    for arg in remaining:
        if arg not in CLASSIC_OPTIONS:
            rest.append(arg)
            continue
        value = next(remaining, None)
        if value is None:
            raise UsageError(f"{arg}: needs a value")
        if arg == "-mode":
            command = _mode_command(value, commands)
            modes.append(value)
        elif arg == "-param":
            # One string may set several, as in a shell's word list.
            rest += [word for assignment in value.split() for word in ("--param", assignment)]
        else:
            rest += [f"-{arg}", value]
    if len(set(modes)) > 1:
        raise UsageError(f"-mode is given twice: {', '.join(modes)}; leave one out")
    if rest and rest[0] == command:
        rest = rest[1:]
    return [command, *rest]


def _mode_command(mode: str, commands: Collection[str]) -> str:
    command = CLASSIC_MODES.get(mode, mode)
    if command not in commands:
        modes = (mode for mode, meant in CLASSIC_MODES.items() if meant in commands)
        known = ", ".join(sorted({*modes, *commands}))
        raise UsageError(f"-mode {mode}: not a mode; known: {known}")
    return command


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print the completion script of a shell, such as `eval "$(hate completion bash)"`.

    \b
    hate completion bash
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise UsageError(f"{shell}: no completion for this shell")
    print(kind(hate, {}, "hate", "_HATE_COMPLETE").source())
