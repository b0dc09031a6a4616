"""`interface.toml`: how to reach a program that is not Python."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, StrictBool, StrictStr, field_validator, model_validator

from harness.errors import InterfaceError, ScriptError
from harness.files.digest import digest, file_sha256
from harness.files.mistakes import Mistakes
from harness.files.patterns import compile_pattern
from harness.files.toml import Section, read_toml, validate
from harness.interface.command import FILLED_IN, CommandInterface
from harness.interface.contract import AlgorithmLinks, Interface
from harness.interface.process import resolve_program
from harness.interface.python_load import own_params
from harness.interface.scores import ScoresInterface
from harness.interface.stream import StreamInterface

Argv = Annotated[list[StrictStr], Field(min_length=1)]
KINDS = ("command", "stream", "http", "scores")


class AlgorithmSection(Section):
    """[algorithm]."""

    name: StrictStr | None = None
    version: StrictStr = ""
    params: dict[str, Any] = {}
    code: StrictStr = ""
    paper: StrictStr = ""


class CommandSection(Section):
    """[command]: one process per case."""

    argv: Argv
    output: Literal["label", "score", "value", "json", "image", "scores", "exit"] | None = None
    pattern: StrictStr | None = None
    suffix: Annotated[StrictStr, Field(pattern=r"^\.[A-Za-z0-9.]{1,20}$")] | None = None
    train: Argv | None = None
    dashes: StrictBool = False

    @model_validator(mode="after")
    def _one_way_to_read(self) -> "CommandSection":
        if self.output is not None and self.pattern is not None:
            raise ValueError("give either output or pattern")
        if self.suffix is not None and not self.writes_file:
            raise ValueError("suffix is the end of the name of {output}, which argv does not have")
        if self.writes_file and self.output == "exit":
            raise ValueError("the answer is either the exit status or in {output}, not both")
        return self

    @property
    def writes_file(self) -> bool:
        """Whether the program writes its answer to {output}."""
        return any("{output}" in word for word in self.argv)


class StreamSection(Section):
    """[stream]: one long-lived process."""

    argv: Argv
    in_flight: Annotated[int, Field(ge=1, le=10_000)] = 16


class HttpSection(Section):
    """[http]: a service."""

    url: Annotated[StrictStr, Field(pattern=r"^https?://[^/]+")]
    headers: dict[str, StrictStr] = {}

    @field_validator("url")
    @classmethod
    def _has_host_and_port(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
            # As a resolver would: "a..b" has an empty label.
            valid = (parts.hostname or "").encode("idna") and parts.port != 0
        except ValueError:
            valid = False
        if not valid:
            raise ValueError(f"'{url}' has no valid host, or an invalid port; write http://host:8000/path")
        return url


class ScoresSection(Section):
    """[scores]: answers computed earlier."""

    table: StrictStr | None = None
    matrix: StrictStr | None = None

    @model_validator(mode="after")
    def _one_file(self) -> "ScoresSection":
        if (self.table is None) == (self.matrix is None):
            raise ValueError("give either table or matrix")
        return self


class InterfaceFile(Section):
    """The whole file."""

    algorithm: AlgorithmSection = AlgorithmSection()
    command: CommandSection | None = None
    stream: StreamSection | None = None
    http: HttpSection | None = None
    scores: ScoresSection | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> "InterfaceFile":
        if sum(getattr(self, kind) is not None for kind in KINDS) != 1:
            raise ValueError("give exactly one of " + ", ".join(f"[{kind}]" for kind in KINDS))
        return self


def load_toml(path: Path) -> Interface:
    """Load an interface and check that its program exists and is executable."""
    file = _parse(path)
    name = file.algorithm.name or (path.absolute().parent.name if path.name == "interface.toml" else path.stem)
    common: dict[str, Any] = {
        "name": name,
        "version": file.algorithm.version,
        "params": own_params(file.algorithm.params, str(path)),
        "links": AlgorithmLinks(file.algorithm.code, file.algorithm.paper).check(f"{path}: algorithm"),
    }
    if file.command is not None:
        return _command(path, file.command, common)
    if file.stream is not None:
        argv = resolve_program(file.stream.argv, path.parent, f"{path}: stream.argv")
        return StreamInterface(
            **common, sha256=_sha256(path, argv), argv=tuple(argv), folder=path.parent,
            in_flight=file.stream.in_flight,
        )  # fmt: skip
    if file.scores is not None:
        return _scores(path, file.scores, common)
    if file.http is not None:
        from harness.interface.http import HttpInterface  # TLS is slow to import

        return HttpInterface(**common, sha256=_sha256(path), url=file.http.url, headers=file.http.headers)
    raise InterfaceError(f"{path}: no way to reach the program")


def _command(path: Path, section: CommandSection, common: dict[str, Any]) -> Interface:
    if taken := sorted(FILLED_IN & set(common["params"])):
        raise InterfaceError(f"{path}: parameter '{taken[0]}': the harness fills in {{{taken[0]}}} itself; rename it")
    argv = resolve_program(section.argv, path.parent, f"{path}: command.argv")
    train = None
    if section.train is not None:
        train = tuple(resolve_program(section.train, path.parent, f"{path}: command.train"))
    return CommandInterface(
        **common, sha256=_sha256(path, [*argv, *(train or ())]), argv=tuple(argv), train=train, folder=path.parent,
        output=section.output or ("image" if section.writes_file else "label"), suffix=section.suffix or ".png",
        pattern=None if section.pattern is None else _pattern(path, section.pattern), dashes=section.dashes,
    )  # fmt: skip


def _scores(path: Path, section: ScoresSection, common: dict[str, Any]) -> Interface:
    name = section.table or section.matrix or ""
    file = path.parent / name
    if not file.is_file():
        raise InterfaceError(f"{path}: scores: no file {name} in {path.parent}")
    sha256 = _sha256(path, [name])
    return ScoresInterface(**common, sha256=sha256, path=file, matrix=section.matrix is not None)


def _pattern(path: Path, text: str) -> re.Pattern[str]:
    try:
        pattern = compile_pattern(text, re.MULTILINE)
    except ScriptError as error:
        raise InterfaceError(f"{path}: command.pattern: {error}") from None
    if not set(pattern.groupindex) & {"label", "score", "value"}:
        raise InterfaceError(f"{path}: command.pattern: name its groups, (?P<label>...), (?P<score>...)")
    return pattern


def _sha256(path: Path, words: Sequence[str] = ()) -> str:
    """The digest of the file and of the files in its folder that its command names: a new build is a new algorithm."""
    folder = path.absolute().parent
    files = {file for word in words if (file := folder / word).is_relative_to(folder) and _is_file(file)}
    if not files:
        return file_sha256(path)
    named = {file.relative_to(folder).as_posix(): file_sha256(file) for file in (folder / path.name, *files)}
    return digest(named).partition(":")[2]


def _is_file(path: Path) -> bool:
    try:
        return ".." not in path.parts and path.is_file()
    except (OSError, ValueError):  # a word of a command may be any text
        return False


def _parse(path: Path) -> InterfaceFile:
    try:
        parsed, text = read_toml(path)
        return validate(InterfaceFile, parsed, text, Mistakes(str(path)))
    except ScriptError as error:
        raise InterfaceError(str(error)) from None
