"""`hate new`: an example interface or test script to start from."""

from pathlib import Path

import click

from harness.cli.new_matrix import new_matrix
from harness.cli.output import remark
from harness.errors import OutputError, UsageError
from harness.interface.load import FILES

PYTHON_INTERFACE = '''\
NAME = "{name}"


def answer(case, params):
    """Called once a case: look at case.input, return a label, (label, score), {{label: score}} or None to refuse."""
    return "0"
'''

COMMAND_INTERFACE = """\
[algorithm]
name = "{name}"
version = "1.0"

[command]
# One process a case; {{input}}, {{id}}, any parameter and any column are filled in. A list, never a shell.
argv = ["./{name}", "{{input}}"]
# How to read what it prints: label, score, value, json, exit; or pattern = '(?P<label>\\d+) (?P<score>\\S+)'
output = "label"
"""

STREAM_INTERFACE = """\
[algorithm]
name = "{name}"
version = "1.0"

[stream]
# One long-lived process: a JSON line in for every case, a JSON line out. See docs/interfaces.md.
argv = ["./{name}"]
in_flight = 16
"""

SCRIPT = '''\
format = 1

[test]
name = "{name}"
version = "0.1.0"
synopsis = "What is tested, in a line"
task = "label"
description = """
What the cases are, where they come from, and how they were sampled.
"""
authors = []
license = "CC-BY-4.0"

[cases]
table = "cases.csv"

[params.threshold]
type = "float"
default = 0.0
decision = true
help = "how far the best label must lead the second"

[design]
# stratum = "truth"    # a group that a repetition would have again; makes the error smaller
# psu = "subject"      # a group that was drawn, and would be others in a repetition; makes the error larger
'''

CASES = """\
id,input,expect,positive
0001,an input,yes,true
0002,another input,yes,false
"""


@click.group("new", no_args_is_help=False)
def command() -> None:
    """Write an example interface, test script or similarity matrix to start from."""


command.add_command(new_matrix)


@command.command("interface")
@click.argument("name", required=False)
@click.option("--kind", type=click.Choice(["python", "command", "stream"]), default="python", show_default=True)
def new_interface(name: str | None, kind: str) -> None:
    """Write interface.py (or interface.toml) into the working folder; NAME is the algorithm's."""
    template = {"python": PYTHON_INTERFACE, "command": COMMAND_INTERFACE, "stream": STREAM_INTERFACE}[kind]
    path = Path("interface.py" if kind == "python" else "interface.toml")
    for other in FILES:
        if Path(other).exists() and other != path.name:
            raise OutputError(f"{other}: exists, and a folder has one interface; nothing was written")
    _write({path: template.format(name=_checked(name or Path.cwd().name))})
    remark(f"{path} written; try: hate run hdigits")


@command.command("script")
@click.argument("name")
def new_script(name: str) -> None:
    """Write NAME/NAME.hate.toml and a table of cases."""
    import re

    from harness.script.schema import NAME_PATTERN

    if not re.fullmatch(NAME_PATTERN, name):
        raise UsageError(f"'{name}': a test's name has small letters, digits, dots, _ and -, such as my-test")
    folder = Path(name)
    script = folder / f"{name}.hate.toml"
    _write({script: SCRIPT.format(name=name), folder / "cases.csv": CASES})
    remark(f"{script} written; try: hate check {folder}")


def _checked(name: str) -> str:
    return "".join(char if char.isalnum() or char in "._-" else "-" for char in name) or "mine"


def _write(files: dict[Path, str]) -> None:
    for path in files:
        if path.exists():
            raise OutputError(f"{path}: exists; nothing was written")
    for path, text in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise OutputError(f"{path}: {error.strerror}") from None
