"""`hate new`: an example interface, test script or similarity matrix to start from."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.options import PATH, CommandGroup, command_options
from harness.cli.output import remark
from harness.errors import OutputError, UsageError
from harness.files.outputs import check_free, write_output
from harness.interface.contract import FILES
from harness.options import OptionSet, OverwriteOptions, Range, SeedOptions, option
from harness.params import nearest
from harness.tasks import TASKS, find_task, task_names

if TYPE_CHECKING:
    from harness.matrices.generate import Effect


_EFFECT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(\d+(?:\.\d*)?|\.\d+)(?:/(\d{1,6}))?", re.ASCII)
MAX_MATRIX_SIDE = 50_000


class NewMatrixOptions(SeedOptions, OverwriteOptions):
    """Options of `hate new matrix`."""

    subjects: int = option("--subjects N", "People.", default=256, within=Range(2, MAX_MATRIX_SIDE))
    images: int = option("--images K", "How many images of each subject.", default=4, within=Range(1, 10_000))
    effects: tuple[str, ...] = option(
        "--effect NAME=SD[/LEVELS]",
        "A variance component: subject, image, or a column of its own; may be repeated.",
        default=(),
    )
    separation: float = option(
        "--separation D",
        "How far right comparisons are above wrong ones, in standard deviations of the noise.",
        default=3.0,
        within=Range(-100, 100),
    )


@click.command("matrix")
@click.argument("path", required=False, default=Path("synthetic.npy"), type=PATH, metavar="[FILE.npy]")
@command_options(NewMatrixOptions)
def new_matrix_command(path: Path, options: NewMatrixOptions) -> None:
    """Write a similarity matrix, every image against every other, with labels and the recipe it was made from.

    An effect adds to the right comparisons of a probe what was drawn for its level, from a normal distribution of
    standard deviation SD; the noise of a comparison has 1. `day=0.3`: image k of everyone was taken on day k.
    `day=0.3/45`: on one of 45 days, at random.

    \b
    hate new matrix made.npy --subjects 256 --images 4 --effect day=0.3
    hate cmc made.npy --gallery day=1 --probe day=2
    """
    from harness.matrices.generate import MatrixRecipe, matrix_files, write_matrix

    if path.suffix.lower() != ".npy":
        raise UsageError(f"{path}: a matrix is written as .npy; call it {path.stem}.npy")
    effects = [parse_effect(text) for text in options.effects]
    names = [effect.name for effect in effects]
    if len(set(names)) < len(names):
        raise UsageError("--effect: one name is given twice")
    recipe = MatrixRecipe(options.subjects, options.images, effects, options.separation, options.seed)
    if recipe.size > MAX_MATRIX_SIDE:
        raise UsageError(f"--subjects x --images is {recipe.size:,} rows and columns; at most {MAX_MATRIX_SIDE:,}")
    check_free([("FILE.npy", there) for there in matrix_files(path)], force=options.force)
    written = write_matrix(recipe, path, force=options.force)
    remark(f"{recipe.size:,} x {recipe.size:,}, seed {recipe.seed}: {', '.join(map(str, written))}")


def parse_effect(text: str) -> "Effect":
    """NAME=SD, or NAME=SD/LEVELS."""
    from harness.matrices.generate import IMAGE_LEVELS, Effect

    match = _EFFECT.fullmatch(text)
    if match is None:
        raise UsageError(f"--effect {text}: write NAME=SD or NAME=SD/LEVELS, such as day=0.3")
    levels = None if match[3] is None else int(match[3])
    if match[1] == "id" or (levels is not None and (match[1] in IMAGE_LEVELS or levels < 1)):
        raise UsageError(
            f"--effect {text}: {match[1]} cannot have {'that name' if match[1] == 'id' else 'these levels'}"
        )
    return Effect(match[1], float(match[2]), levels)


PYTHON_INTERFACE = '''\
NAME = "{name}"


def answer(case, params):
    """Called once per case: look at case.input, return a label, (label, score), {{label: score}} or None to refuse."""
    return "0"
'''

COMMAND_INTERFACE = """\
[algorithm]
name = "{name}"
version = "1.0"

[command]
# One process per case; {{input}}, {{id}}, any parameter and any column are filled in. A list, never a shell.
argv = ["./{name}", "{{input}}"]
# How to read what it prints: label, score, value, json, exit; or pattern = '(?P<label>\\d+) (?P<score>\\S+)'
output = "label"
"""

STREAM_INTERFACE = """\
[algorithm]
name = "{name}"
version = "1.0"

[stream]
# One long-lived process: a JSON line in for every case, a JSON line out. See docs/reference/interfaces.md.
argv = ["./{name}"]
in_flight = 16
"""


@click.group("new", cls=CommandGroup, no_args_is_help=False)
def new_command() -> None:
    """Write an example interface, test script or similarity matrix to start from.

    \b
    hate new interface mine
    hate new script my-test --task score
    """


new_command.add_command(new_matrix_command)


class NewInterfaceOptions(OptionSet):
    """Options of `hate new interface`."""

    kind: str = option(
        "--kind", "How the program is reached.", default="python", choices=("python", "command", "stream")
    )


class NewScriptOptions(OptionSet):
    """Options of `hate new script`."""

    task: str = option("--task TASK", f"What is asked: {', '.join(TASKS)}, or a plug-in's.", default="label")


@new_command.command("interface")
@click.argument("name", required=False)
@command_options(NewInterfaceOptions)
def new_interface_command(name: str | None, options: NewInterfaceOptions) -> None:
    """Write interface.py (or interface.toml) into the working folder; NAME is the algorithm's.

    \b
    hate new interface mine --kind command
    """
    kind = options.kind
    template = {"python": PYTHON_INTERFACE, "command": COMMAND_INTERFACE, "stream": STREAM_INTERFACE}[kind]
    path = Path("interface.py" if kind == "python" else "interface.toml")
    for other in FILES:
        if Path(other).exists() and other != path.name:
            raise OutputError(f"{other}: exists, and a folder can have only one interface; nothing was written")
    word = "".join(char if char.isalnum() or char in "._-" else "-" for char in name or Path.cwd().name) or "mine"
    _write({path: template.format(name=word)})
    remark(f"{path} written; try: hate run hdigits")


@new_command.command("script")
@click.argument("name")
@command_options(NewScriptOptions)
def new_script_command(name: str, options: NewScriptOptions) -> None:
    """Write NAME/NAME.hate.toml and a table of cases.

    \b
    hate new script my-test --task score
    """
    from harness.script.schema import NAME_PATTERN
    from harness.script.template import template_files

    task = options.task
    if not re.fullmatch(NAME_PATTERN, name):
        raise UsageError(f"'{name}': a test's name has small letters, digits, dots, _ and -, such as my-test")
    known = find_task(task)
    if known is None:
        raise UsageError(f"--task {task}: no such task; {nearest(task, task_names())}")
    files = template_files(name, known)
    _write(files)
    script = next(iter(files))
    remark(f"{script} written; fill it in, then: hate check {script.parent}")


def _write(files: dict[Path, str]) -> None:
    for path in files:
        if path.exists():
            raise OutputError(f"{path}: exists; nothing was written")
    for path, text in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_output(path, text, force=False, what="the file")
        except OSError as error:
            raise OutputError(f"{path}: {error.strerror}") from None
