"""Examples to start from: `new_interface`, `new_script`, `new_matrix`, `hate new`."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.api.result import Result
from harness.errors import OutputError, UsageError
from harness.files.outputs import check_free, write_output
from harness.interface.contract import FILES
from harness.options import OptionSet, OverwriteOptions, Range, SeedOptions, option
from harness.params import nearest
from harness.report.blocks import Block, CommandText, Table
from harness.tasks import TASKS, find_task, task_names

if TYPE_CHECKING:
    from harness.matrices.generate import Effect

_EFFECT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(\d+(?:\.\d*)?|\.\d+)(?:/(\d{1,6}))?", re.ASCII)
MAX_MATRIX_SIDE = 50_000

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


@dataclass(frozen=True, repr=False)
class NewFiles(Result):
    """The files that were written; the remark says what to do next."""

    paths: Sequence[Path]
    remarks: Sequence[str]

    def payload(self) -> Any:
        return {"files": [str(path) for path in self.paths]}

    def blocks(self) -> Sequence[Block]:
        return [Table(["file"], [[str(path)] for path in self.paths])]


class NewInterfaceOptions(OptionSet):
    """Options of `hate new interface`."""

    kind: str = option(
        "--kind", "How the program is reached.", default="python", choices=("python", "command", "stream")
    )


class NewScriptOptions(OptionSet):
    """Options of `hate new script`."""

    task: str = option("--task TASK", f"What is asked: {', '.join(TASKS)}, or a plug-in's.", default="label")


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


def new_interface(name: str | None = None, *, options: NewInterfaceOptions) -> NewFiles:
    """Write an example `interface.py`, or `interface.toml`, into the working folder.

    >>> harness.new_interface("mine", kind="command")

    Args:
        name: What the algorithm is called; by default, like the folder.
    """
    kind = options.kind
    template = {"python": PYTHON_INTERFACE, "command": COMMAND_INTERFACE, "stream": STREAM_INTERFACE}[kind]
    path = Path("interface.py" if kind == "python" else "interface.toml")
    for other in FILES:
        if Path(other).exists() and other != path.name:
            raise OutputError(f"{other}: exists, and a folder can have only one interface; nothing was written")
    word = "".join(char if char.isalnum() or char in "._-" else "-" for char in name or Path.cwd().name) or "mine"
    _write({path: template.format(name=word)})
    return NewFiles([path], [f"{path} written; try: hate run hdigits"])


def new_script(name: str, *, options: NewScriptOptions) -> NewFiles:
    """Write an example of a test, NAME/NAME.hate.toml, and a table of cases.

    >>> harness.new_script("my-test", task="score")

    Args:
        name: What the test is called: small letters, digits, dots, _ and -.
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
    check = f"hate check {shlex.quote(str(script.parent))}"
    return NewFiles(list(files), [CommandText(f"{script} written; fill it in, then: {check}")])


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


def new_matrix(path: str | Path = "synthetic.npy", *, options: NewMatrixOptions) -> NewFiles:
    """Write a similarity matrix, every image against every other, with labels and the recipe it was made from.

    >>> harness.new_matrix("made.npy", subjects=256, images=4, effects=["day=0.3"])

    An effect adds to the right comparisons of a probe what was drawn for its level, from a normal distribution of
    standard deviation SD; the noise of a comparison has 1. `day=0.3`: image k of everyone was taken on day k.
    `day=0.3/45`: on one of 45 days, at random.

    Args:
        path: The file of the matrix; it ends in .npy.
    """
    from harness.matrices.generate import MatrixRecipe, matrix_files, write_matrix

    path = Path(path)
    if path.suffix.lower() != ".npy":
        raise UsageError(f"{path}: a matrix is written as .npy; call it {path.stem}.npy")
    effects = [_parse_effect(text) for text in options.effects]
    names = [effect.name for effect in effects]
    if len(set(names)) < len(names):
        raise UsageError("--effect: one name is given twice")
    recipe = MatrixRecipe(options.subjects, options.images, effects, options.separation, options.seed)
    if recipe.size > MAX_MATRIX_SIDE:
        raise UsageError(f"--subjects x --images is {recipe.size:,} rows and columns; at most {MAX_MATRIX_SIDE:,}")
    check_free([("FILE.npy", there) for there in matrix_files(path)], force=options.force)
    written = write_matrix(recipe, path, force=options.force)
    remark = f"{recipe.size:,} x {recipe.size:,}, seed {recipe.seed}: {', '.join(map(str, written))}"
    return NewFiles(written, [remark])


def _parse_effect(text: str) -> "Effect":
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
