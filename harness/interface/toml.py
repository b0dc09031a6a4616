"""`interface.toml`: how to reach a program that is not Python. Each kind has a section, in a file of its own."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any

from pydantic import Field, create_model, model_validator

from harness.errors import InterfaceError, ScriptError
from harness.files.digest import digest, file_sha256
from harness.files.mistakes import Mistakes
from harness.files.toml import Section, read_toml, validate
from harness.interface.contract import AlgorithmLinks, Interface, algorithm_params
from harness.interface.process import named_files, resolve_program

# The kinds, and the class of each one's section; only those that a file has are imported.
KINDS: Mapping[str, str] = {
    "command": "harness.interface.command:CommandSection",
    "stream": "harness.interface.stream:StreamSection",
    "http": "harness.interface.http:HttpSection",
    "scores": "harness.interface.scores:ScoresSection",
}
Argv = Annotated[list[str], Field(min_length=1)]


class KindSection(Section):
    """The section of a kind: its keys, and what is loaded from them."""

    @abstractmethod
    def load(self, file: "InterfaceFile") -> Interface:
        """The interface; an InterfaceError if it cannot be used, such as without its program."""


class AlgorithmSection(Section):
    """[algorithm]."""

    name: str | None = None
    version: str = ""
    params: dict[str, Any] = {}
    code: str = ""
    paper: str = ""


@dataclass(frozen=True)
class InterfaceFile:
    """An interface file whose keys are valid, for the section that makes an interface of it."""

    path: Path
    # The name, version, parameters and links of the algorithm, by the names that an `Interface` has for them.
    algorithm: Mapping[str, Any]

    @property
    def folder(self) -> Path:
        """Where programs are started."""
        return self.path.parent

    def described(self, words: Sequence[str] = ()) -> dict[str, Any]:
        """What all interfaces have. The digest covers the files of the folder that `words` of a command name too."""
        folder = self.path.absolute().parent
        files = named_files(folder, words)
        if not files:
            return {**self.algorithm, "sha256": file_sha256(self.path)}
        # A new build is a new algorithm.
        named = {file.relative_to(folder).as_posix(): file_sha256(file) for file in (folder / self.path.name, *files)}
        return {**self.algorithm, "sha256": digest(named).partition(":")[2]}

    def program(self, argv: Sequence[str], key: str) -> tuple[str, ...]:
        """A command with its program as an absolute path; it must exist and be executable."""
        return resolve_program(argv, self.folder, f"{self.path}: {key}")


class _Sections(Section):
    """The whole file; the sections of the kinds are added when it is known which of them it has."""

    algorithm: AlgorithmSection = AlgorithmSection()

    @model_validator(mode="after")
    def _check_kinds(self) -> "_Sections":
        if sum(getattr(self, kind) is not None for kind in KINDS) != 1:
            raise ValueError("give exactly one of " + ", ".join(f"[{kind}]" for kind in KINDS))
        return self


def load_toml(path: Path) -> Interface:
    """Load an interface and check that its program exists and is executable."""
    try:
        parsed, text = read_toml(path)
        kinds: dict[str, Any] = {
            kind: (resolve_name(section) | None if kind in parsed else None, None) for kind, section in KINDS.items()
        }
        model = create_model("InterfaceSections", __base__=_Sections, **kinds)
        file = validate(model, parsed, text, Mistakes(str(path)))
    except ScriptError as error:
        raise InterfaceError(str(error)) from None
    declared = file.algorithm
    algorithm = {
        "name": declared.name or (path.absolute().parent.name if path.name == "interface.toml" else path.stem),
        "version": declared.version,
        "params": algorithm_params(declared.params, str(path)),
        "links": AlgorithmLinks(declared.code, declared.paper).check(f"{path}: algorithm"),
    }
    [section] = (section for kind in KINDS if (section := getattr(file, kind)) is not None)
    loaded: Interface = section.load(InterfaceFile(path, algorithm))
    return loaded
