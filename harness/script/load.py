"""Load a test script: parse it, validate it, find the files that it names. Its cases are read later, with its data."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.errors import ScriptError
from harness.files.digest import digest
from harness.files.known_digests import known_sha256
from harness.files.mistakes import KeyLines, Mistakes, key_lines
from harness.files.toml import Key, key_location, read_toml, validate_rest
from harness.model import ErrorRule
from harness.options.entries import SECTIONS
from harness.params import Param, ParamType, nearest
from harness.script.expansion import ORIGINAL, Expansion
from harness.script.library import SUFFIX as SUFFIX
from harness.script.references import inside
from harness.script.schema import FORMAT, DataSection, ParamSection, ScriptFile, is_table, script_model, take_sections
from harness.tasks import find_task
from harness.tasks.task import Task, TaskRules


@dataclass(frozen=True)
class Script:
    """A valid test script; every file that it names exists."""

    path: Path
    file: ScriptFile
    # The table named after the task, such as [mask]; its keys belong to the task.
    settings: Mapping[str, Any] = field(default_factory=dict)
    # The section that makes several versions of every case; None if the cases are used as they are.
    expansion: Expansion | None = None
    # Why its inputs may name nothing outside its own data: it was downloaded, or is for others. Empty if they may.
    confined: str = ""

    @property
    def folder(self) -> Path:
        """The folder of the script, and of everything that it names."""
        return self.path.parent

    @property
    def name(self) -> str:
        return self.file.test.name

    @property
    def version(self) -> str:
        return self.file.test.version

    @property
    def is_blind(self) -> bool:
        """Whether the truth is kept at a site, which judges the answers."""
        return self.file.test.blind is not None

    @property
    def task(self) -> Task:
        """What is asked of an algorithm."""
        task = find_task(self.file.test.task)
        if task is None:
            raise ScriptError(f"{self.path}: task '{self.file.test.task}' is not known here")
        return task

    @property
    def rules(self) -> TaskRules:
        """How answers are judged, apart from the decision parameters."""
        tolerance = self.file.test.tolerance
        return TaskRules(
            larger_is_better=self.file.test.larger_is_better,
            relative_tolerance=tolerance is not None and tolerance.relative is not None,
            errors_refuse=self.file.test.errors is ErrorRule.REFUSE,
            settings=self.settings,
        )

    @cached_property
    def params(self) -> dict[str, Param]:
        """The parameters of the test: the task's decision parameters, with what the script changes and adds."""
        declared = {name: param for name, param in self.task.decisions.items() if name not in self.task.optional}
        if (tolerance := self.file.test.tolerance) is not None:
            limit = tolerance.absolute if tolerance.absolute is not None else tolerance.relative
            declared["tolerance"] = replace(declared["tolerance"], default=limit or 0.0)
        for name, section in self.file.params.items():
            declared[name] = _param(name, section)
        return declared

    @property
    def made(self) -> str:
        """The folder of the inputs that are made, in the cache and among the paths of data; empty if none are."""
        return "" if self.expansion is None else self.expansion.made

    @property
    def tables(self) -> list[str]:
        """The tables that the script names, relative to its folder."""
        weights = self.file.design.weights
        named = [self.file.cases.table, *(t.table for t in (self.file.train, self.file.gallery) if t is not None)]
        named.append(weights if isinstance(weights, str) and is_table(weights) else None)
        return list(dict.fromkeys(name for name in named if name is not None))

    @property
    def paths(self) -> list[Path]:
        """The script, its tables, and its data if that is beside it."""
        data = [self.data_path(section) for section in self.file.data.values() if section.path]
        return [self.path, *(self.folder / name for name in self.tables), *data]

    @cached_property
    def digest(self) -> str:
        """The identity of this test: the script and everything that it names."""
        return digest(self.file_digests)

    def digest_with(self, texts: Mapping[str, str]) -> str:
        """The identity of a part of this test: the conditions count as files named after their options."""
        more = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
        return digest({**self.file_digests, **more})

    @cached_property
    def file_digests(self) -> dict[str, str]:
        """The SHA-256 of the script and of everything that it names, by name; data has the one that is stated."""
        files = {name: known_sha256(self.folder / name) for name in (self.path.name, *self.tables)}
        for data in self.file.data.values():
            files[data.url or data.path or ""] = data.sha256 or known_sha256(self.data_path(data))
        if self.expansion is not None:
            files[f"[{self.expansion.name}]"] = hashlib.sha256(self.expansion.identity.encode()).hexdigest()
        return files

    def data_path(self, data: DataSection) -> Path:
        """The path of data in the script's folder."""
        return self.folder / (data.path or "")


def _param(name: str, section: ParamSection) -> Param:
    default = float(section.default) if section.type == "float" else section.default
    return Param(name, section.type, default, section.decision, section.help)


def load_script(path: Path) -> Script:
    """Load a script from its file, or raise a ScriptError with every mistake."""
    mistakes = Mistakes(str(path))
    script = read_script(path, mistakes).script
    mistakes.raise_if_any()
    return script


@dataclass(frozen=True)
class FaultyScript:
    """A script as far as it can be understood, and the keys that are wrong; none if it is valid."""

    script: Script
    wrong: frozenset[Key]

    def is_wrong(self, *keys: Key) -> bool:
        """Whether one of these keys is wrong, or the table that it is in, or anything in it."""
        return any(wrong[: len(key)] == key[: len(wrong)] for wrong in self.wrong for key in keys)

    @property
    def has_cases(self) -> bool:
        """Whether enough is right to check the cases too."""
        keys = (("test", "task"), ("test", "tolerance"), ("cases",), ("data",), ("gallery",))
        return not self.is_wrong(*keys, (self.script.file.test.task,), *((name,) for name in SECTIONS.names()))


# What a script must have; where one of these is wrong, the rest can still be checked with another value.
_STAND_INS: Mapping[Key, Any] = {
    ("format",): FORMAT,
    ("test",): {"name": "unknown", "version": "0", "synopsis": "", "task": "label"},
    ("test", "name"): "unknown",
    ("test", "version"): "0",
    ("test", "synopsis"): "",
    ("test", "task"): "label",
    ("cases",): {"case": []},
}


def read_script(path: Path, mistakes: Mistakes) -> FaultyScript:
    """A script, with all its mistakes added; a ScriptError if nothing in the file can be understood."""
    parsed, text = read_toml(path)
    # First of all: another format may differ in every other key.
    version = parsed.get("format", FORMAT)
    if type(version) is not int or version != FORMAT:
        raise ScriptError(f"{path}: format {version!r} is not known here, only {FORMAT}; a newer hate may read it")
    settings = take_settings(parsed)
    file, wrong = validate_rest(script_model(parsed, str(path)), parsed, text, mistakes, _STAND_INS)
    if file is None:
        mistakes.raise_if_any()
        raise ScriptError(f"{path}: not a test script")
    file, expansions = take_sections(file)
    if len(expansions) > 1:
        names = " and ".join(f"[{expansion.name}]" for expansion in expansions[:2])
        mistakes.add(f"{names} both make versions of every case; leave one of them out")
    expansion = next(iter(expansions), None)
    if expansion is not None and file.design.psu is None:
        file = file.model_copy(update={"design": file.design.model_copy(update={"psu": ORIGINAL})})
    faulty, lines = FaultyScript(Script(path, file, settings, expansion), wrong), key_lines(text)
    if not faulty.is_wrong(("test", "task")):
        _check_decisions(faulty.script, lines, mistakes)
        wrong |= _check_task(faulty, lines, mistakes)
        _check_expansion(faulty.script, lines, mistakes)
    unusable = _check_files(faulty.script, lines, mistakes)
    if ("design", "weights") in unusable:
        design = file.design.model_copy(update={"weights": "cases"})
        file = file.model_copy(update={"design": design})
        faulty = FaultyScript(replace(faulty.script, file=file), wrong)
    return FaultyScript(faulty.script, wrong | unusable)


def table_names(path: Path) -> list[str]:
    """The tables that a script names, also one with mistakes; none if it is not TOML."""
    try:
        parsed, _ = read_toml(path)
    except ScriptError:
        return []
    keys = (("cases", "table"), ("train", "table"), ("gallery", "table"), ("design", "weights"))
    sections = ((parsed.get(section), key) for section, key in keys)
    named = [section.get(key) for section, key in sections if isinstance(section, dict)]
    return [name for name in named if isinstance(name, str) and name and "\0" not in name]


def _check_decisions(script: Script, lines: KeyLines, mistakes: Mistakes) -> None:
    """Only a task can decide on recorded answers, so only its own parameters can be decision parameters."""
    for name, section in script.file.params.items():
        if text := _decision_mistake(script, name, section):
            mistakes.add(f"params.{name}: {text}", location=key_location(lines, ("params", name)))
    if script.file.test.tolerance is not None and "tolerance" in script.file.params:
        text = "params.tolerance: test.tolerance sets it too; leave one of them out"
        mistakes.add(text, location=key_location(lines, ("params", "tolerance")))


def take_settings(parsed: dict[str, Any]) -> dict[str, Any]:
    """Remove the table named after the task from what was parsed; only the task knows its keys."""
    test = parsed.get("test")
    name = test.get("task") if isinstance(test, dict) else None
    if not isinstance(name, str) or name in ScriptFile.model_fields or not isinstance(parsed.get(name), dict):
        return {}
    task = find_task(name)
    return parsed.pop(name) if task is not None and task.setting_keys else {}


def _check_task(faulty: FaultyScript, lines: KeyLines, mistakes: Mistakes) -> frozenset[Key]:
    """Check what the task itself requires of a script; the keys of its table that are wrong."""
    script = faulty.script
    task, sections = script.task, script.file.params
    reported = {f"params.{name}" for name, section in sections.items() if _decision_mistake(script, name, section)}
    declared = {name: _param(name, section) for name, section in sections.items()}
    required = task.script_mistakes(declared, has_gallery=script.file.gallery is not None)
    new = [(key, text) for key, text in required if key not in reported and not faulty.is_wrong(tuple(key.split(".")))]
    unknown = [key for key in script.settings if key not in task.setting_keys]
    settings = [(key, f"unknown key; {nearest(key, task.setting_keys)}") for key in unknown]
    settings += task.setting_mistakes(script.settings)
    for key, text in [*new, *((f"{task.name}.{key}", text) for key, text in settings)]:
        mistakes.add(f"{key}: {text}", location=key_location(lines, tuple(key.split("."))))
    return frozenset((task.name, *key.split(".")) for key, _ in settings)


def _decision_mistake(script: Script, name: str, section: ParamSection) -> str | None:
    decisions = script.task.decisions
    if name not in decisions:
        known = ", ".join(decisions)
        return (
            f"not a decision parameter of a {script.task.name} test; those are: {known}" if section.decision else None
        )
    if not section.decision:
        return f"a decision parameter of every {script.task.name} test; write decision = true"
    if section.type not in (ParamType.FLOAT, ParamType.INT):
        return 'a decision parameter is a number; write type = "float"'
    return None


def _check_files(script: Script, lines: KeyLines, mistakes: Mistakes) -> frozenset[Key]:
    """Check that every file that the script names exists inside its folder; the keys of those that do not."""
    unusable = set[Key]()
    named: list[tuple[tuple[str, ...], str | None]] = [(("cases", "table"), script.file.cases.table)]
    tables = (("train", script.file.train), ("gallery", script.file.gallery))
    named += [((key, "table"), table.table) for key, table in tables if table is not None]
    named += [(("data", name, "path"), data.path) for name, data in script.file.data.items()]
    weights = script.file.design.weights
    named += [(("design", "weights"), weights)] if isinstance(weights, str) and is_table(weights) else []
    for key, name in named:
        if name is None:
            continue
        is_data = key[0] == "data"
        try:
            path = inside(script.folder, name)
            # Reading from a named pipe would never end.
            if not (path.is_file() or (is_data and path.is_dir())):
                raise ScriptError(f"'{name}' is not a file")
            if path.samefile(script.path):
                raise ScriptError(f"'{name}' is the script itself; name another file")
            if not is_data and not is_table(name.lower()):
                raise ScriptError(f"'{name}': a table is a .csv, .tsv, .jsonl or .parquet file")
        except ScriptError as error:
            mistakes.add(f"{'.'.join(key)}: {error}", location=key_location(lines, key))
            unusable.add(key)
    return frozenset(unusable)


def _check_expansion(script: Script, lines: KeyLines, mistakes: Mistakes) -> None:
    """Check what a section that makes versions requires of the rest of a script."""
    if (expansion := script.expansion) is None:
        return
    wrong = list(expansion.script_mistakes(script))
    if expansion.made in script.file.data:
        wrong.append((f"data.{expansion.made}", f"the name is taken by [{expansion.name}]; choose another"))
    # Neither strata nor units may separate the versions of one original.
    splitting = {"id", *expansion.columns} | ({"expect", "truth"} if expansion.moves_truth(script.task) else set())
    design = script.file.design
    for key, columns in (("stratum", design.stratum), ("psu", design.psu)):
        named = [columns] if isinstance(columns, str) else columns or []
        if split := [name for name in named if name in splitting]:
            text = f"'{split[0]}' differs between the versions of one original, which are not independent"
            wrong.append((f"design.{key}", f"{text}; group by it with --by instead"))
    for key, text in wrong:
        mistakes.add(f"{key}: {text}", location=key_location(lines, tuple(key.split("."))))
