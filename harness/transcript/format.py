"""Transcript, format 1: the header and the last line. The records between them are `harness.model.Trial`."""

import hashlib
import platform
import sys
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from harness import __version__
from harness.errors import TranscriptError
from harness.model import Counts, ErrorRule, plain_text
from harness.plugins import Plugin
from harness.tasks import find_task, task_names
from harness.tasks.task import Task, TaskRules

FORMAT = 1
# The line of a record has at least that many bytes.
MIN_LINE_LENGTH = 24
# The value of a parameter in a text is cut at that many characters.
MAX_VALUE_LENGTH = 40
# The kind of interface of an imported transcript, before the name of the tool.
IMPORT = "import: "
# Weights that need no column of the cases.
PLAIN_WEIGHTS = ("cases", "equal")


class GalleryInfo(Struct, frozen=True):
    """The gallery of a rank test; `where` and `probes` are conditions if only a part was used."""

    images: int = 0
    identities: int = 0
    where: list[str] | UnsetType = UNSET
    probes: list[str] | UnsetType = UNSET


class TestInfo(Struct, frozen=True):
    """Which test was run, and how it decides."""

    name: str
    version: str
    digest: str
    task: str = "label"
    cases: int | None = None
    errors: str | UnsetType = UNSET
    larger_is_better: bool | UnsetType = UNSET
    relative_tolerance: bool | UnsetType = UNSET
    # The script's table that is named after the task.
    settings: dict[str, Any] | UnsetType = UNSET
    gallery: GalleryInfo | UnsetType = UNSET

    @property
    def rules(self) -> TaskRules:
        """How answers were judged, apart from the decision parameters; the gallery itself is not recorded."""
        return TaskRules(
            larger_is_better=self.larger_is_better is not False,
            relative_tolerance=self.relative_tolerance is True,
            errors_refuse=self.errors == ErrorRule.REFUSE,
            settings={} if isinstance(self.settings, UnsetType) else self.settings,
        )

    @property
    def main_measure(self) -> str:
        """The name of the measure that counts; the rate of a task that is not known here."""
        task = find_task(self.task)
        return "rate" if task is None else task.main_measure

    def find_task(self, source: str = "") -> Task:
        """The task; a TranscriptError if it is not known here. `source` is for the message."""
        task = find_task(self.task)
        if task is None:
            known = ", ".join(task_names())
            raise TranscriptError(f"{source or self.name}: task '{self.task}' is not known here; known: {known}")
        return task


class AlgorithmInfo(Struct, frozen=True):
    """Which algorithm was run."""

    name: str
    version: str = ""
    # Addresses of its code and of a paper about it.
    code: str | UnsetType = UNSET
    paper: str | UnsetType = UNSET


class GitInfo(Struct, frozen=True):
    """The commit of the folder that an interface is in; `dirty` if files were changed since."""

    commit: str
    dirty: bool = False


class InterfaceInfo(Struct, frozen=True):
    """How the algorithm was called, and the digest of the interface."""

    kind: str = ""
    sha256: str = ""
    # What the digest covers besides the interface file itself, relative to its folder.
    files: list[str] | UnsetType = UNSET


class PluginInfo(Struct, frozen=True):
    """A package that the task or the importer came from, and the entry point that named it."""

    package: str
    version: str = ""
    entry: str = ""

    @staticmethod
    def of(plugin: Plugin) -> "PluginInfo":
        """The entry for the header of a transcript."""
        return PluginInfo(plugin.package, plugin.version, f"{plugin.group}: {plugin.name}")


class ValueInfo(Struct, frozen=True, omit_defaults=True):
    """What is known of a value that records have; `larger_is_better` only if somebody has said."""

    larger_is_better: bool | None = None


class Header(Struct, frozen=True):
    """The first line: where a transcript came from."""

    hate: str
    format: int
    test: TestInfo
    algorithm: AlgorithmInfo
    interface: InterfaceInfo = InterfaceInfo()
    params: dict[str, Any] = {}
    # The defaults of the parameters; older transcripts and imported ones do not have them.
    defaults: dict[str, Any] | UnsetType = UNSET
    design: dict[str, Any] = {}
    repeat: int | UnsetType = UNSET
    limit: int | UnsetType = UNSET
    # Which fold of the training part was left out.
    train: dict[str, int] | UnsetType = UNSET
    # Which part of the test was run, if not all of it: `limit`, `without_fold`, or a section that makes versions of
    # every case, such as `vary`, which is false for the originals alone.
    extent: dict[str, Any] | UnsetType = UNSET
    # What was fused, and how: rule, sources, weights.
    fused: dict[str, Any] | UnsetType = UNSET
    # Other packages that were involved.
    plugins: list[PluginInfo] | UnsetType = UNSET
    # What the algorithm's programs were allowed: `memory` in bytes, `network` false.
    limits: dict[str, Any] | UnsetType = UNSET
    # What decided the outcomes of an import: the other tool's `metric`.
    decided: dict[str, str] | UnsetType = UNSET
    # What is known of the values of the records, by name.
    values: dict[str, ValueInfo] | UnsetType = UNSET
    # Where the algorithm ran: `process`, outside of the harness's own process, or `none`, inside it.
    isolation: str | UnsetType = UNSET
    # The commit of the interface's folder.
    git: GitInfo | UnsetType = UNSET
    # The CPU, and the versions of the libraries that the interface imports.
    cpu: str | UnsetType = UNSET
    versions: dict[str, str] | UnsetType = UNSET
    # Whether only answers are recorded, because the truth is kept at a site.
    blind: bool | UnsetType = UNSET
    harness: str = ""
    python: str = ""
    platform: str = ""
    started: str = ""

    @property
    def isolation_note(self) -> str:
        """Why others may not believe a run, and the remedy; empty if the algorithm was kept apart from the judge."""
        if self.isolation == "process":
            return ""
        where = "in the harness's own process" if self.isolation == "none" else "where its header does not say"
        return f"its code ran {where}, and may have seen or changed what was judged; run it with --isolate to share it"

    @property
    def is_imported(self) -> bool:
        """Whether another tool marked the answers."""
        return self.interface.kind.startswith(IMPORT)

    @property
    def counted(self) -> str:
        """What a count of records counts: a case has several with --repeat."""
        return "answers" if self.repeat else "cases"

    @property
    def metric(self) -> str | None:
        """The other tool's metric that decided the outcomes; None for a run, which the harness judged."""
        if not isinstance(self.decided, UnsetType):
            return self.decided.get("metric")
        # Older imports have it among the parameters, where a run may have one of its own.
        metric = self.params.get("metric") if self.is_imported else None
        return None if metric is None else str(metric)

    def direction(self, value: str) -> bool | None:
        """Whether more of a value of the records is better; None if nobody has said."""
        known = {} if isinstance(self.values, UnsetType) else self.values
        return known.get(value, ValueInfo()).larger_is_better

    @property
    def is_blind(self) -> bool:
        """Whether its records have no outcomes."""
        return self.blind is True

    @property
    def is_weighted(self) -> bool:
        """Whether the design has weights: rates are then not the shares of successes."""
        return bool(self.design.get("weights", "cases") != "cases")

    @property
    def weighs_cases(self) -> bool:
        """Whether the design takes the weight of each case from a column, not from its stratum."""
        weights = self.design.get("weights")
        return isinstance(weights, str) and weights not in PLAIN_WEIGHTS

    @property
    def part(self) -> dict[str, Any]:
        """The extent, also of transcripts older than that key; empty for the whole test."""
        if not isinstance(self.extent, UnsetType):
            return self.extent
        return extent(self.test.cases, self.limit, self.train)

    @property
    def originals_of(self) -> str:
        """The section that makes versions of every case, if the originals alone were run; empty otherwise."""
        return next((name for name, value in self.part.items() if value is False), "")

    @property
    def changed(self) -> dict[str, Any] | None:
        """The parameters that do not have their default; None if the defaults are not known."""
        if isinstance(self.defaults, UnsetType):
            return None
        return {name: value for name, value in self.params.items() if value != self.defaults.get(name, value)}


def unit_key(seed: int, unit: str) -> bytes:
    """Where a unit comes in the random order of a seed."""
    return hashlib.sha256(f"{seed}\0{unit}".encode()).digest()


def now() -> str:
    """The current time in the format of transcripts."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def new_header(
    test: TestInfo, algorithm: AlgorithmInfo, interface: InterfaceInfo, *, plugins: list[Plugin | None], **more: Any
) -> Header:
    """The header of a transcript that begins now, on this machine; `more` are its other keys."""
    used = dict.fromkeys(PluginInfo.of(plugin) for plugin in plugins if plugin is not None)
    return Header(
        hate="transcript",
        format=FORMAT,
        test=test,
        algorithm=algorithm,
        interface=interface,
        plugins=list(used) or UNSET,
        harness=__version__,
        python=platform.python_version(),
        platform=f"{sys.platform}-{platform.machine()}",
        started=now(),
        **more,
    )


def extent(
    cases: int | None, limit: int | UnsetType | None, train: dict[str, int] | UnsetType | None
) -> dict[str, Any]:
    """The part of a test that is run with a limit, or without a fold of the training part; empty for all of it."""
    part: dict[str, Any] = {}
    if isinstance(limit, int) and (cases is None or limit < cases):
        part["limit"] = limit
    return part | (train if isinstance(train, dict) else {})


class End(Struct, frozen=True):
    """The last line: the counts, and the digest of every byte before it."""

    end: bool
    tests: int = 0
    TP: int = 0
    TN: int = 0
    FP: int = 0
    FN: int = 0
    ER: int = 0
    sha256: str = ""
    finished: str = ""

    @property
    def counts(self) -> Counts:
        return Counts(self.TP, self.TN, self.FP, self.FN, self.ER)


def differences(ours: Header, theirs: Header) -> list[str]:
    """Why two headers are not of the same run: test, algorithm, interface, parameters or extent differ."""
    reasons = []
    # What says of which cases the run is.
    extents = dict.fromkeys(["limit", *(header.originals_of for header in (ours, theirs) if header.originals_of)])
    for key in ("test", "algorithm", "interface", "params", "repeat", *extents, "train", "plugins", "limits"):
        mine, other = (_comparable(header, key, extents) for header in (ours, theirs))
        if mine != other or (key == "params" and _kinds(mine) != _kinds(other)):
            reasons.append(f"{key} ({_first_difference(mine, other)})")
    # What is begun apart from the judge must be ended so: the header stands for all records.
    if theirs.isolation == "process" and ours.isolation == "none":
        reasons.append("isolation ('process' there, 'none' now; add --isolate)")
    return reasons


def _comparable(header: Header, key: str, extents: Collection[str]) -> Any:
    """A part of a header; a limit above the number of cases does not count."""
    if key in extents:
        return header.part.get(key)
    if key == "interface":
        return {"kind": header.interface.kind, "sha256": header.interface.sha256}
    if key == "train":
        return {name: value for name, value in header.part.items() if name not in extents} or None
    value = getattr(header, key)
    return None if value is UNSET else msgspec.to_builtins(value)


def _kinds(params: Mapping[str, Any]) -> dict[str, type]:
    """Of 1 and 1.0, one may be a number of features, and the other a share of them."""
    return {name: type(value) for name, value in params.items()}


def _first_difference(mine: Any, other: Any) -> str:
    if isinstance(mine, dict) and isinstance(other, dict):
        for key in [*mine, *other]:
            if mine.get(key) != other.get(key) or type(mine.get(key)) is not type(other.get(key)):
                return f"{key}: {other.get(key)!r} there, {mine.get(key)!r} now"
    return f"{other!r} there, {mine!r} now"


def changed_params(header: Header, usual: Header | None) -> dict[str, Any] | None:
    """The parameters that do not have their default; None if the defaults are not known.

    Older headers do not have the defaults; then it is those that differ from the usual run of the algorithm.
    """
    if header.changed is not None or usual is None:
        return header.changed
    return {name: value for name, value in header.params.items() if value != usual.params.get(name, value)}


def differing_params(params: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each run, the parameters that are not the same in all of them."""
    names = dict.fromkeys(name for run in params for name in run)
    varying = [name for name in names if any(_value(run, name) != _value(params[0], name) for run in params)]
    return [{name: run[name] for name in varying if name in run} for run in params]


def _value(params: Mapping[str, Any], name: str) -> tuple[bool, Any]:
    """A parameter's value; a missing parameter differs from one that is null."""
    return name in params, params.get(name)


def params_text(params: Mapping[str, Any]) -> str:
    """The parameters as text: bits=2, level=8."""
    texts = {name: "None" if value is None else plain_text(value) for name, value in params.items()}
    return ", ".join(
        f"{name}={text if len(text) <= MAX_VALUE_LENGTH else f'{text[: MAX_VALUE_LENGTH - 1]}…'}"
        for name, text in texts.items()
    )
