"""[command]: one process per case. The command is a list, never a shell; the interface says how to read its output."""

import contextlib
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from pydantic import Field, StrictBool, model_validator

from harness.errors import InterfaceError, ScriptError, quoting
from harness.files.images import ImageError, read_regular
from harness.files.patterns import Matcher, compile_pattern
from harness.interface.contract import Session, Setup
from harness.interface.process import (
    MAX_OUTPUT_BYTES,
    FinishedProcess,
    ProgramInterface,
    describe_status,
    last_lines,
    run_to_end,
)
from harness.interface.toml import Argv, InterfaceFile, KindSection
from harness.interface.wire import BYTES
from harness.model import ErrorKind, Question, Reply, plain_text
from harness.params import nearest, similar

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")

# What the harness fills in; no parameter can have these names.
FILLED_IN = frozenset({"id", "input", "expect", "repeat", "work", "folder", "train", "gallery", "output"})

_training = threading.Lock()

# Reads the answer of a finished program; a ValueError says what is wrong with its output.
ReadAnswer = Callable[[FinishedProcess], Any]


class CommandSection(KindSection):
    """[command]: one process per case."""

    argv: Argv
    output: Literal["label", "score", "value", "json", "image", "scores", "exit"] | None = None
    pattern: str | None = None
    suffix: Annotated[str, Field(pattern=r"^\.[A-Za-z0-9.]{1,20}$")] | None = None
    train: Argv | None = None
    dashes: StrictBool = False

    @model_validator(mode="after")
    def _check_reading(self) -> "CommandSection":
        if self.output is not None and self.pattern is not None:
            raise ValueError("give either output or pattern")
        if self.suffix is not None and not _has_placeholder("output", self.argv):
            raise ValueError("suffix is the end of the name of {output}, which argv does not have")
        if _has_placeholder("output", self.argv) and self.output == "exit":
            raise ValueError("the answer is either the exit status or in {output}, not both")
        return self

    def load(self, file: InterfaceFile) -> "CommandInterface":
        """The program, which must exist."""
        if taken := sorted(FILLED_IN & file.algorithm["params"].keys()):
            name = taken[0]
            raise InterfaceError(f"{file.path}: parameter '{name}': the harness fills in {{{name}}} itself; rename it")
        argv = file.program(self.argv, "command.argv")
        train = None if self.train is None else file.program(self.train, "command.train")
        words = [*argv, *(train or ())]
        return CommandInterface(
            **file.described(words),
            argv=argv,
            train=train,
            folder=file.folder,
            output=self.output or ("image" if _has_placeholder("output", argv) else "label"),
            pattern=None if self.pattern is None else _pattern(self.pattern, f"{file.path}: command.pattern"),
            suffix=self.suffix or ".png",
            dashes=self.dashes,
            learns=train is not None or _has_placeholder("train", argv),
            enrols=_has_placeholder("gallery", words),
        )


def _has_placeholder(what: str, words: Sequence[str]) -> bool:
    """Whether a command has this placeholder."""
    return any(f"{{{what}}}" in word for word in words)


def _pattern(text: str, location: str) -> re.Pattern[str]:
    try:
        pattern = compile_pattern(text, re.MULTILINE)
    except ScriptError as error:
        raise InterfaceError(f"{location}: {error}") from None
    if not set(pattern.groupindex) & {"label", "score", "value"}:
        raise InterfaceError(f"{location}: name its groups, (?P<label>...), (?P<score>...)")
    return pattern


@dataclass(frozen=True, kw_only=True)
class CommandInterface(ProgramInterface):
    """A program that is run once per case."""

    kind = "command"
    to_learn = "give its [command] a train command, or {train} among its arguments"

    train: tuple[str, ...] | None = None
    # How to read the answer: a name in READERS, or a pattern whose named groups are the answer.
    output: str = "label"
    pattern: re.Pattern[str] | None = None
    # The end of the name of {output}, the file that the program writes its answer to.
    suffix: str = ".png"
    # Whether what is filled in may begin with a dash, as an option does.
    dashes: bool = False

    @property
    def words(self) -> Sequence[str]:
        """Those of the training command too."""
        return [*self.argv, *(self.train or ())]

    def moved(self, folder: Path) -> "CommandInterface":
        """With the training command."""
        train = None if self.train is None else self._moved(self.train, folder)
        return replace(self, folder=folder, argv=self._moved(self.argv, folder), train=train)

    def open(self, setup: Setup) -> Session:
        """Train the program, if it has a training command."""
        session = CommandSession(self, setup)
        try:
            session.train()
        except BaseException:
            session.close()
            raise
        return session

    def remarks(self) -> Iterator[str]:
        """Placeholders that only a column of the cases can fill in: most are misspelt."""
        known = FILLED_IN | set(self.params)
        for name in sorted(set(_PLACEHOLDER.findall(" ".join(self.words))) - known):
            near = similar(name, known, cutoff=0.75)
            hint = f"; did you mean {{{near}}}?" if near else ""
            yield f"warning: {{{name}}} is filled in only if the cases have a column '{name}'{hint}"


class CommandSession:
    """Runs the program for each case in turn."""

    def __init__(self, interface: CommandInterface, setup: Setup) -> None:
        self._interface = interface
        self._setup = setup
        self._read = READERS[interface.output] if interface.pattern is None else read_pattern(interface.pattern)
        # A status other than 0 is a crash, unless it is the answer.
        self._any_status = interface.pattern is None and interface.output == "exit"
        self._values: dict[str, Any] = {
            **setup.params,
            "work": str(setup.work),
            "folder": str(interface.folder.absolute()),
            "train": "" if setup.train is None else str(setup.train),
            "gallery": "" if setup.gallery is None else str(setup.gallery),
        }
        self._null = os.open(os.devnull, os.O_RDONLY)
        # Several sessions may share the work folder; each has a folder of its own for the files of its program.
        writes = _has_placeholder("output", interface.argv)
        self._files = Path(tempfile.mkdtemp(dir=setup.work, prefix="output-")) if writes else None
        self._number = 0

    def train(self) -> None:
        """Run the training command once; if several sessions share a work folder, the first of them does it."""
        command = self._interface.train
        done = self._setup.work / "trained"
        with _training:
            if command is None or done.exists():
                return
            argv, folder = self._argv(command, self._values), self._interface.folder
            finished = run_to_end(argv, folder, timeout=None, stdin=self._null, setup=self._setup)
            if finished.status != 0:
                words = self._setup.limits.hint(last_lines(finished.stderr))
                text = f"{command[0]}: training failed: {describe_status(finished.status)}: {words}"
                raise InterfaceError(quoting(text, last_lines(finished.stderr)))
            done.touch()

    def replies(self, questions: Iterator[Question]) -> Iterator[Reply]:
        """One process after the other."""
        setup, folder = self._setup, self._interface.folder
        for question in questions:
            # A column cannot replace a parameter or what the harness fills in.
            case = {"id": question.id, "input": question.input, "expect": question.expect, "repeat": question.repeat}
            file = None
            if self._files is not None:
                self._number += 1
                file = self._files / f"{self._number}{self._interface.suffix}"
                case["output"] = str(file)
            try:
                argv = self._argv(self._interface.argv, {**question.columns, **self._values, **case})
                finished = run_to_end(argv, folder, timeout=setup.timeout, stdin=self._null, setup=setup)
            except InterfaceError as error:
                yield Reply(question, None, ErrorKind.INTERFACE, str(error))
                continue
            raw, kind, message = self._judge(finished, file)
            if file is not None:
                # Whatever it is, it goes with the work folder at the end of the run.
                with contextlib.suppress(OSError):
                    file.unlink()
            yield Reply(question, raw, kind, message, finished.seconds, finished.memory)

    def _judge(self, finished: FinishedProcess, file: Path | None) -> tuple[Any, ErrorKind | None, str]:
        words = self._setup.limits.hint(last_lines(finished.stderr))
        words = f": {words}" if words else ""
        if finished.timed_out:
            return None, ErrorKind.TIMEOUT, f"no answer in {self._setup.timeout:g} s{words}"
        if finished.status is None or finished.status < 0 or (finished.status and not self._any_status):
            return None, ErrorKind.CRASH, describe_status(finished.status) + words
        if finished.too_much:
            return None, ErrorKind.ANSWER, f"printed more than {MAX_OUTPUT_BYTES >> 20} MiB{words}"
        try:
            return self._read(finished if file is None else replace(finished, stdout=_written(file))), None, ""
        except (ValueError, msgspec.MsgspecError, RecursionError) as error:
            return None, ErrorKind.ANSWER, f"{error}{words}"

    def _argv(self, command: tuple[str, ...], known: Mapping[str, Any]) -> list[str]:
        """The command with its placeholders filled in; a list becomes several arguments."""
        argv: list[str] = []
        any_text = self._interface.dashes
        for part in command:
            whole = _PLACEHOLDER.fullmatch(part)
            if whole is not None and isinstance(known.get(whole[1]), list):
                words = [_argument(item) for item in known[whole[1]]]
            else:
                words = [_PLACEHOLDER.sub(lambda match: _argument(_fill_in(match[1], known)), part)]
            if not any_text and not part.startswith("-"):
                self._check_dashes(part, words)
            # By convention, no argument after this one is an option.
            any_text = any_text or part == "--"
            argv += words
        return argv

    def _check_dashes(self, part: str, words: list[str]) -> None:
        """A case's input must not be an option of the program; a negative number of a parameter is none."""
        for word in words:
            if not word.startswith("-"):
                continue
            name = _PLACEHOLDER.match(part)
            value = self._setup.params.get(name[1]) if name is not None else None
            if not isinstance(value, (int, float)):
                raise InterfaceError(
                    f'argv: {part} is {word[:60]!r} here, which the program would take for an option; put "--" '
                    "before it, or write dashes = true under [command]"
                )

    def close(self) -> None:
        """Nothing is left running."""
        os.close(self._null)


def _written(file: Path) -> bytes:
    """What the program wrote to {output}."""
    if not file.exists():
        raise ValueError("wrote no file {output}; an empty one is a refusal")
    try:
        return read_regular(file)
    except ImageError as error:
        raise ValueError(f"{{output}}: {error}") from None


def _fill_in(name: str, known: Mapping[str, Any]) -> Any:
    """The value of a placeholder; an unknown one is misspelt, or a column that the case does not have."""
    if name not in known:
        raise InterfaceError(f"nothing to fill in for {{{name}}}; {nearest(name, known)}")
    return known[name]


def _argument(value: Any) -> str:
    # An argument cannot contain a NUL byte.
    text = msgspec.json.encode(value).decode() if isinstance(value, (dict, list)) else plain_text(value)
    return text.replace("\0", "")


def _first_line(finished: FinishedProcess) -> str:
    lines = finished.stdout.decode(errors="replace").strip().splitlines()
    return lines[0].strip() if lines else ""


def read_label(finished: FinishedProcess) -> str | None:
    """The first line is the label; empty output is a refusal."""
    return _first_line(finished) or None


def read_json(finished: FinishedProcess) -> Any:
    """The whole output is one JSON value; empty output is a refusal."""
    if not finished.stdout.strip():
        return None
    try:
        return msgspec.json.decode(finished.stdout)
    except msgspec.MsgspecError:
        raise ValueError(f"printed {_first_line(finished)[:60]!r}, which is not JSON") from None


def read_image_bytes(finished: FinishedProcess) -> dict[str, bytes] | None:
    """The output is an image; empty output is a refusal."""
    return {BYTES: finished.stdout} if finished.stdout else None


def read_score_map(finished: FinishedProcess) -> dict[str, Any] | None:
    """The output is an image, whose values are scores; empty output is a refusal."""
    image = read_image_bytes(finished)
    return None if image is None else {"scores": image}


def read_exit(finished: FinishedProcess) -> int | None:
    """The exit status is the answer."""
    return finished.status


def read_pattern(pattern: re.Pattern[str]) -> ReadAnswer:
    """The answer is the named groups of a regular expression, searched for in the output; empty output is a refusal."""

    def read(finished: FinishedProcess) -> dict[str, Any] | None:
        text = finished.stdout.decode(errors="replace")
        if not text.strip():
            return None
        try:
            with Matcher(pattern) as matcher:
                groups = matcher.search(text)
        except ScriptError as error:
            raise ValueError(f"command.pattern: {error}") from None
        if groups is None:
            raise ValueError(f"printed {_first_line(finished)[:60]!r}, which does not match the pattern")
        return {name: value for name, value in groups.items() if value is not None}

    return read


READERS: Mapping[str, ReadAnswer] = {
    "label": read_label,
    "score": read_label,  # the task reads the number from the text
    "value": read_label,
    "json": read_json,
    "image": read_image_bytes,
    "scores": read_score_map,
    "exit": read_exit,
}
