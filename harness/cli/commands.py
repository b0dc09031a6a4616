"""The commands, by name; each is imported only when it is called, so that `hate --help` is quick."""

import importlib
from typing import Any

import click

# Name: (module, what it does).
COMMANDS = {
    "list": ("list", "tests, here and at the sites, with their synopses; interfaces; transcripts"),
    "describe": ("describe", "what a test is about: data, training, parameters, design, cases"),
    "run": ("run", "run a test, print TP, TN, FP, FN, leave a transcript"),
    "test": ("test", "regression testing: print only the unexpected, exit 1 when a case failed"),
    "sweep": ("sweep", "run a test with every combination of parameter values, a row of counts each"),
    "tune": ("tune", "find the best parameter values, on the training part, without the test cases"),
    "roc": ("roc", "ROC curves with areas, bands, operating points, from a test or transcripts"),
    "det": ("det", "DET curves: both errors against each other, equal error rates"),
    "pr": ("pr", "precision over recall"),
    "cmc": ("cmc", "cumulative match curves of rank tests, transcripts and similarity matrices"),
    "confusion": ("confusion", "confusion matrices: who is taken for whom"),
    "show": ("show", "look into the cases of a transcript"),
    "diff": ("diff", "the cases on which two runs differ"),
    "rate": ("rate", "one algorithm by itself: measures with errors by design, groups, worst group, gap"),
    "compare": ("compare", "is A better than B? McNemar, replication, verdicts, from transcripts anywhere"),
    "permute": ("permute", "recognition rates of the same people with other choices of image, from matrices"),
    "urn": ("urn", "which way of sampling explains how a rate varies from trial to trial"),
    "import": ("import_", "turn results of other tools into transcripts"),
    "publish": ("publish", "add tests and transcripts to a site, a folder that any web server can serve"),
    "serve": ("serve", "serve a site over HTTP, with pages for people"),
    "token": ("token", "who may submit transcripts to a site that is served"),
    "fetch": ("fetch", "download tests and transcripts ahead of time"),
    "cache": ("cache", "what was downloaded: list, verify, clear"),
    "check": ("check", "validate scripts, interfaces and transcripts"),
    "new": ("new", "write an example interface, test script or matrix to start from"),
    "completion": ("completion", "shell completion for bash, zsh or fish"),
}


class LazyGroup(click.Group):
    """A group that knows its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of use, not of the alphabet."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module."""
        if cmd_name not in COMMANDS:
            return None
        module: Any = importlib.import_module(f"harness.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list for `hate --help`."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])
