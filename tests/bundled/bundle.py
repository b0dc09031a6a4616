"""The bundled scripts as plain files, read without the harness."""

import csv
import importlib.util
import tomllib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "test_scripts"
INTERFACES = ROOT / "interfaces"
EXAMPLES = INTERFACES / "examples"
TRANSCRIPTS = ROOT / "transcripts"
ARCHIVES = {"hdigits": "digits.zip", "blank": "blank.zip"}
CLASSIFIERS = ("wisard", "warlock", "witch")

Row = dict[str, str]


@dataclass(frozen=True)
class VisibleCase:
    """What an interface sees of a case: the label of a training case, never that of a test case."""

    id: str
    input: str
    expect: str = ""


@dataclass(frozen=True)
class Bundle:
    """A bundled script with its images unpacked."""

    train: list[VisibleCase]
    cases: list[Row]

    def visible_cases(self) -> list[VisibleCase]:
        return [VisibleCase(row["id"], row["input"]) for row in self.cases]


def read_script(name: str) -> dict[str, Any]:
    return tomllib.loads((SCRIPTS / name / f"{name}.hate.toml").read_text(encoding="utf-8"))


def table(name: str, file: str) -> list[Row]:
    with (SCRIPTS / name / file).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def members(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def unpack(name: str, into: Path) -> Bundle:
    with zipfile.ZipFile(SCRIPTS / name / ARCHIVES[name]) as archive:
        archive.extractall(into)

    def with_path(row: Row) -> Row:
        return row | {"input": row["input"].replace("{images}", str(into))}

    train = [VisibleCase(**with_path(row)) for row in table(name, "train.csv")]
    return Bundle(train, [with_path(row) for row in table(name, "cases.csv")])


def pixels(content: bytes) -> npt.NDArray[np.int64]:
    return np.frombuffer(content[-64:], np.uint8).astype(np.int64)


def load(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"bundled_{folder.name}", folder / "interface.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def outcome(case: Row, label: str | None) -> str:
    """The outcome at threshold 0, by the definition in the design."""
    accepted = label is not None and (label == case["expect"] or not case["expect"])
    if case["positive"] == "true":
        return "TP" if accepted else "FN"
    return "FP" if accepted else "TN"


def tally(cases: list[Row], labels: Mapping[str, str | None]) -> dict[str, int]:
    counts = dict.fromkeys(("TP", "TN", "FP", "FN"), 0)
    for case in cases:
        counts[outcome(case, labels[case["id"]])] += 1
    return counts


def best(scores: Mapping[str, float]) -> tuple[str, float]:
    """The best label and its lead over the second; ties go to the first."""
    label = max(scores, key=lambda name: scores[name])
    return label, scores[label] - max(score for name, score in scores.items() if name != label)
