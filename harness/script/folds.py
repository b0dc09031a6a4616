"""Folds of a test's training part: an algorithm learns from all but one, and is tested on that one or on the test."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from harness.errors import ScriptError, UsageError
from harness.files.toml_text import toml_text
from harness.model import Case, PsuStrata
from harness.script.cases import CaseSet, training_cases
from harness.script.design import column_names, group_key
from harness.script.load import SUFFIX, Script

# The unit of the two claims about one training case, if the training table has no PSU.
ITEM = "training_case"
MAX_NAME_LENGTH = 80


@dataclass(frozen=True)
class TrainingMaterial:
    """The training part of a test, with inputs as a program gets them, and the design of its cases."""

    script: Script
    items: list[Case]
    # The columns of the test's own cases; of a held-out case, a program sees only these.
    shown: frozenset[str]
    stratum: list[str]
    psu: list[str]

    @property
    def has_claims(self) -> bool:
        """Whether the training table has false claims of its own."""
        return any(not item.positive for item in self.items)

    @property
    def labels(self) -> list[str]:
        """The classes that can be claimed."""
        return sorted({item.real_class for item in self.items if item.real_class})

    @property
    def makes_claims(self) -> bool:
        """Whether to add a false claim to every true one; without false claims, no threshold could be too low."""
        return not self.has_claims and self.script.task.claims_classes and len(self.labels) > 1


def training_material(cases: CaseSet) -> TrainingMaterial:
    """The material that a test has for tuning; a ScriptError if there is none, or it has no labels."""
    script = cases.script
    if script.file.gallery is not None:
        text = "a test with a gallery: held-out people would not be in it; --on-test tunes on the test's own cases"
        raise ScriptError(f"{script.path}: {text}")
    material = training_part(cases)
    if not material.items:
        raise ScriptError(f"{script.path}: no training part to tune on; --on-test tunes on the test's own cases")
    if not any(_can_be_held_out(script, item) for item in material.items):
        raise ScriptError(f"{script.path}: train: no case has a label in column expect, so there is nothing to tune on")
    return material


def training_part(cases: CaseSet) -> TrainingMaterial:
    """The material that a test has for learning, with or without labels."""
    script = cases.script
    items = [
        Case(item.id, cases.references.resolve(item.input), item.expect, item.positive, item.truth, item.columns)
        for item in training_cases(script, cases.data_paths)
    ]
    if len({item.id for item in items}) < len(items):
        items = [msgspec.structs.replace(item, id=f"{n}:{item.id}") for n, item in enumerate(items, 1)]
    shown = frozenset(next(iter(cases)).columns)
    # Two claims about one case share these, and nothing else.
    known = {"truth", "input", *shown.intersection(*(item.columns for item in items))}
    design = script.file.design
    declared = [column_names(columns or []) for columns in (design.stratum, design.psu)]
    stratum, psu = (names if set(names) <= known else [] for names in declared)
    return TrainingMaterial(script, items, shown, [] if _units_cross_strata(items, stratum, psu) else stratum, psu)


def _units_cross_strata(items: Sequence[Case], stratum: Sequence[str], psu: Sequence[str]) -> bool:
    """Whether a unit is in two strata, which a design must not have."""
    stratum_of, unit_of = group_key(stratum or None), group_key(psu or None)
    if stratum_of is None or unit_of is None:
        return False
    strata = PsuStrata()
    return any(strata.clash(unit_of(item), stratum_of(item)) for item in items)


def deal_folds(material: TrainingMaterial, folds: int, seed: int) -> list[int]:
    """The fold of every item: units stay together, and every fold has its share of each class."""
    unit_of = group_key(material.psu or None) or (lambda item: item.id)
    units: dict[str, list[int]] = defaultdict(list)
    for index, item in enumerate(material.items):
        units[unit_of(item)].append(index)
    if len(units) < folds:
        what = " and ".join(material.psu) or "training cases"
        raise ScriptError(f"{material.script.path}: {len(units):,} units ({what}) are too few for {folds} folds")
    # The numbers of a value test are not classes.
    claims_classes = material.script.task.claims_classes
    classes = [f"{item.positive} {item.real_class}" if claims_classes else "" for item in material.items]
    order = list(units.values())
    random.Random(seed).shuffle(order)  # noqa: S311 (folds, not secrets)
    # The largest first, class by class: the smallest fill the gaps.
    order.sort(key=lambda unit: (-len(unit), classes[unit[0]]))
    held: list[Counter[str]] = [Counter() for _ in range(folds)]
    sizes = [0] * folds
    fold_of = [0] * len(classes)
    for unit in order:
        counts = Counter(classes[index] for index in unit)
        fold = min(range(folds), key=lambda f: (sum(held[f][name] * n for name, n in counts.items()), sizes[f]))
        held[fold].update(counts)
        sizes[fold] += len(unit)
        for index in unit:
            fold_of[index] = fold
    return fold_of


def write_folds(material: TrainingMaterial, folds: int, seed: int, folder: Path) -> None:
    """Write a test for each fold into folders 1, 2, ...; all cases are positive, or pairs of true and false claims."""
    fold_of = deal_folds(material, folds, seed)
    claims = random.Random(seed + 1)  # noqa: S311 (claims, not secrets)
    labels = material.labels if material.makes_claims else []
    # A wrong class for each item, drawn at random from all others; None if no false claim is to be made.
    false = [
        claims.choice([label for label in labels if label != item.real_class]) if labels and item.real_class else None
        for item in material.items
    ]
    for fold in range(folds):
        fold_folder = folder / str(fold + 1)
        fold_folder.mkdir()
        held = [index for index, of in enumerate(fold_of) if of == fold]
        cases = [row for index in held for row in _cases(material, material.items[index], false[index])]
        _write(fold_folder / "cases.jsonl", cases)
        rest = (item for item, of in zip(material.items, fold_of, strict=True) if of != fold)
        _write(fold_folder / "train.jsonl", [_row(item, item.columns) for item in rest])
        name = f"{material.script.name[:MAX_NAME_LENGTH]}.fold-{fold + 1}-of-{folds}"
        (fold_folder / f"fold{SUFFIX}").write_text(_toml(material, name, seed), encoding="utf-8")


def fold_scripts(folder: Path, folds: int) -> list[Path]:
    """The scripts that `write_folds` wrote."""
    return [folder / str(fold) / f"fold{SUFFIX}" for fold in range(1, folds + 1)]


def _cases(material: TrainingMaterial, item: Case, false: str | None) -> Iterator[dict[str, Any]]:
    if not _can_be_held_out(material.script, item):
        return
    columns = {name: value for name, value in item.columns.items() if name in material.shown}
    if not material.psu:
        columns[ITEM] = item.id
    yield _row(item, columns)
    if false is not None:
        yield _row(Case(f"{item.id}:false", item.input, false, False, item.real_class), columns)


def _can_be_held_out(script: Script, item: Case) -> bool:
    """Whether a training case could be a case of the test; one without a label is only for learning."""
    if not item.expect:
        return not (item.positive and script.task.needs_expect)
    return script.task.case_mistake(item, script.rules) is None


def _row(item: Case, columns: Mapping[str, Any]) -> dict[str, Any]:
    fixed = {"id": item.id, "input": item.input, "expect": item.expect, "positive": item.positive, "truth": item.truth}
    return {**columns, **fixed}


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


def _toml(material: TrainingMaterial, name: str, seed: int) -> str:
    script = material.script
    test = script.file.test
    about: dict[str, Any] = {
        "name": name,
        "version": script.version,
        # The digest of the whole test, so that other data with the same names makes a different fold.
        "synopsis": f"held out of the training part of {script.digest}, seed {seed}",
        "task": test.task,
        "errors": test.errors.value,
    }
    if not test.larger_is_better:
        about["larger_is_better"] = False
    if test.tolerance is not None:
        kind = "absolute" if test.tolerance.absolute is not None else "relative"
        about["tolerance"] = {kind: float(getattr(test.tolerance, kind))}
    tables: dict[str, Any] = {
        "format": 1,
        "test": about,
        "train": {"table": "train.jsonl"},
        "cases": {"table": "cases.jsonl"},
        "design": {**({"stratum": material.stratum} if material.stratum else {}), "psu": material.psu or [ITEM]},
    }
    if script.settings:
        tables[test.task] = dict(script.settings)
    if script.file.params:
        tables["params"] = {
            name: {"type": param.type.value, "default": param.default, "decision": param.decision, "help": param.help}
            for name, param in script.file.params.items()
        }
    return toml_text(tables)


@dataclass(frozen=True)
class HeldOutFold:
    """One fold of several: the rows of the training table that are held out."""

    fold: int
    folds: int
    seed: int
    rows: frozenset[int]


def held_out_folds(cases: CaseSet, folds: int, seed: int) -> list[HeldOutFold]:
    """Hold out every fold in turn; units stay together, and every fold has its share of each class."""
    script = cases.script
    if script.file.train is None:
        raise UsageError(
            f"--train-folds {folds}: {script.name} has no training part ([train] in its script) to hold out a fold "
            "of; leave --train-folds out"
        )
    fold_of = deal_folds(training_part(cases), folds, seed)
    return [
        HeldOutFold(fold + 1, folds, seed, frozenset(index for index, of in enumerate(fold_of) if of == fold))
        for fold in range(folds)
    ]
