"""The blocks of a page, and the steps in them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
FENCE = re.compile(r"^```(\S*) ?(.*)$")
NEEDS = re.compile(r"^<!-- needs: (.+) -->$", re.MULTILINE)
# A change of a file of the package, which tests/recipes/ makes.
CHANGE = "diff"
NOT_RUN = re.compile(r"^<!-- not run: (.+) -->$")


class Kind(Enum):
    """What is done with a step."""

    SHELL = "shell"
    PYTHON = "python"
    FILE = "file"
    TOML = "toml"
    JSON = "json"


@dataclass(frozen=True)
class Block:
    """A fenced block: its lines are those of the page from `first` up to, not including, `end`."""

    language: str
    title: str
    lines: Sequence[str]
    first: int
    not_run: str | None

    @property
    def end(self) -> int:
        """The line of the closing fence, counted from 0."""
        return self.first + len(self.lines)


@dataclass
class Step:
    """Something to do, and what is then printed: the lines of the page from `first` up to `end`."""

    kind: Kind
    source: str
    first: int
    end: int
    title: str = ""
    expected: list[str] = field(default_factory=list)

    @property
    def waits(self) -> bool:
        """Whether it goes on in the background, so that it is over when it has printed what it should."""
        return self.kind is Kind.SHELL and self.source.rstrip().endswith("&")


def blocks(text: str) -> Iterator[Block]:
    """All fenced blocks of a page."""
    lines = text.splitlines()
    opened: int | None = None
    for number, line in enumerate(lines):
        if opened is None and line.startswith("```"):
            opened = number
        elif opened is not None and line == "```":
            fence = FENCE.match(lines[opened])
            reason = NOT_RUN.match(lines[opened - 1]) if opened else None
            if fence:
                body = lines[opened + 1 : number]
                yield Block(fence[1], fence[2], body, opened + 1, reason[1] if reason else None)
            opened = None


def steps(block: Block) -> Iterator[Step]:
    """What a block has to be done with."""
    if block.not_run is not None or block.language == CHANGE:
        return
    if block.language in ("console", "pycon"):
        yield from _session(block)
        return
    kind = {"python": Kind.PYTHON, "toml": Kind.TOML, "json": Kind.JSON}.get(block.language)
    if block.title and " " not in block.title:
        kind = Kind.FILE
    if kind is not None:
        text = "".join(f"{line}\n" for line in block.lines)
        yield Step(kind, text, block.end, block.end, title=block.title)


def _session(block: Block) -> Iterator[Step]:
    """The commands of a terminal or an interpreter, each with what it prints."""
    kind, prompt, more = (Kind.SHELL, "$ ", "> ") if block.language == "console" else (Kind.PYTHON, ">>> ", "... ")
    step: Step | None = None
    typing = False
    for number, line in enumerate(block.lines, start=block.first):
        if line.startswith(prompt):
            if step:
                yield step
            step = Step(kind, line.removeprefix(prompt) + "\n", number + 1, number + 1, title="typed")
            typing = True
        elif step is None:
            raise ValueError(f"line {number + 1}: a {block.language} block begins with {prompt.strip()!r}")
        elif typing and (line.startswith(more) or step.source.endswith("\\\n")):
            step.source += line.removeprefix(more) + "\n"
            step.first = step.end = number + 1
        else:
            typing = False
            step.expected.append(line)
            step.end = number + 1
    if step:
        yield step


def programs_needed(text: str) -> list[str]:
    """Programs without which a page cannot be run."""
    return [name for line in NEEDS.findall(text) for name in line.split()]


def page_steps(text: str) -> list[Step]:
    """All steps of a page, in order."""
    return [step for block in blocks(text) for step in steps(block)]
