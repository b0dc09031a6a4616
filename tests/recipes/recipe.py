"""Recipes of the documentation, followed to the letter in a copy of the package, and `hate` of that copy."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.workshop import WAIT, Done, Workshop, without_traceback
from tools.documents.pages import CHANGE, ROOT, Block, blocks

# Words of a `hate` command, or Python code.
Step = Sequence[str | Path] | str

JSON = ("--format", "json")
# The paths of a recipe: in this package, or in a package of one's own.
OURS, OTHERS = "harness/", "hate-"

# Several commands in one process, which takes most of its time to start.
DRIVER = """\
import contextlib, io, json, sys
from harness.cli.main import call
done = {}
for name, step in json.load(sys.stdin).items():
    # As a real output has it, with bytes below the text.
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    status = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = exec(step, {}) or 0 if isinstance(step, str) else call(step)
        except SystemExit:  # a shell that completes a word ends so
            pass
    done[name] = status, *(one.buffer.getvalue().decode() for one in (out, err))
json.dump(done, sys.stdout)
"""


@dataclass(frozen=True)
class Place:
    """Lines of a file, and what they become."""

    before: str
    after: str


@dataclass(frozen=True)
class Recipe:
    """A section of a page: files to write, and places of files to change, by path."""

    written: Mapping[str, str]
    changed: Mapping[str, Sequence[Place]]

    @property
    def places(self) -> int:
        return len(self.written) + sum(map(len, self.changed.values()))

    def follow(self, folder: Path) -> None:
        """Do what the recipe says to the package in a folder; a package of one's own stands beside it."""
        for path, text in self.written.items():
            if (folder / path).exists():
                raise ValueError(f"{path} is there already")
            if not path.startswith(OURS):
                (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        for path, places in self.changed.items():
            text = "\n" + (folder / path).read_text(encoding="utf-8")
            for place in places:
                if (count := text.count(f"\n{place.before}\n")) != 1:
                    raise ValueError(f"{path}: these lines are there {count} times:\n{place.before}")
                text = text.replace(f"\n{place.before}\n", f"\n{place.after}\n")
            (folder / path).write_text(text[1:], encoding="utf-8")


def section(page: Path, heading: str) -> list[Block]:
    """The blocks below a heading, up to the next one."""
    text = page.read_text(encoding="utf-8")
    heads = [(number, line.lstrip("# ")) for number, line in enumerate(text.splitlines()) if re.match("##+ ", line)]
    [here] = [number for number, (_, name) in enumerate(heads) if name == heading]
    first = heads[here][0]
    last = heads[here + 1][0] if here + 1 < len(heads) else len(text)
    return [block for block in blocks(text) if first < block.first < last]


def recipe(page: Path, heading: str) -> Recipe:
    """What a section says is to be written and changed."""
    of_files = [block for block in section(page, heading) if block.title.startswith((OURS, OTHERS))]
    return Recipe(
        {block.title: "\n".join([*block.lines, ""]) for block in of_files if block.language != CHANGE},
        {block.title: list(_places(block)) for block in of_files if block.language == CHANGE},
    )


def _places(block: Block) -> Iterator[Place]:
    """The places of a file, which lines with @@ separate; lines with + come, lines with - go."""
    for lines in "\n".join(block.lines).split("\n@@\n"):
        marked = [(line[:1], line[1:]) for line in lines.split("\n")]
        if unknown := {mark for mark, _ in marked} - {"+", "-", " ", ""}:
            raise ValueError(f"{block.title}: a line of a diff begins with {sorted(unknown)[0]!r}")
        before, after = ("\n".join(line for mark, line in marked if mark != other) for other in "+-")
        yield Place(before, after)


class ChangedPackage:
    """A copy of the package and of what ships with it, and a folder to use it in."""

    def __init__(self, shop: Workshop, folder: Path) -> None:
        self.shop, self.folder = shop, folder
        shutil.copytree(ROOT / "harness", folder / "harness")
        for name in ("interfaces", "test_scripts", "transcripts"):
            (folder / name).symlink_to(ROOT / name)
        self._path = [str(folder)]

    def follow(self, said: Recipe) -> None:
        """Do what a recipe says, and install what it has of another package."""
        said.follow(self.folder)
        for name in {path.partition("/")[0] for path in said.written if path.startswith(OTHERS)}:
            self.install(self.folder / name)

    def install(self, folder: Path) -> None:
        """Have Python find the modules of another project, and its entry points as an installer leaves them."""
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        points = "".join(
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
            for group, entries in project["entry-points"].items()
        )
        name, version = project["name"], project["version"]
        info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(points, encoding="utf-8")
        self._path.append(str(folder))

    def do(self, steps: Mapping[str, Step], *, refused: Collection[str] = ()) -> dict[str, Done]:
        """Do named steps in a new process, one after the other; all must succeed but those that are refused."""
        words = {name: step if isinstance(step, str) else list(map(str, step)) for name, step in steps.items()}
        ended = subprocess.run(
            [sys.executable, "-P", "-c", DRIVER], input=json.dumps(words), cwd=self.shop.folder,
            env=self.shop.env | {"PYTHONPATH": os.pathsep.join(self._path)},
            capture_output=True, text=True, timeout=WAIT,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        done = {name: without_traceback(Done(*one)) for name, one in json.loads(ended.stdout).items()}
        wrong = {name: one.err for name, one in done.items() if (one.status != 0) != (name in refused)}
        assert not wrong, wrong
        return done
