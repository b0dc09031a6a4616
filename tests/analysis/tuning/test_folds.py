"""Folds of the training data: every case is held out once, units stay together, classes are divided equally."""

from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from harness.errors import ScriptError
from harness.model import Case
from harness.script.cases import CaseSet, load_cases, training_cases
from harness.script.folds import TrainingMaterial, deal_folds, fold_scripts, training_material, write_folds
from harness.script.load import load_script
from tests.simulation import examples

SCRIPT = """\
format = 1
[test]
name = "toy"
version = "1.0"
synopsis = "a toy \\u00e9"
task = "{task}"
{keys}
[train]
table = "train.csv"
[cases]
table = "cases.csv"
{sections}
"""


def make(
    folder: Path, train: str, *, task: str = "label", keys: str = "", sections: str = "", cases: str = ""
) -> CaseSet:
    (folder / "train.csv").write_text(train)
    (folder / "cases.csv").write_text(cases or "id,input,expect,writer\n1,x,1,w\n")
    (folder / "toy.hate.toml").write_text(SCRIPT.format(task=task, keys=keys, sections=sections))
    return load_cases(load_script(folder / "toy.hate.toml"), {})


def folds_of(material: TrainingMaterial, folder: Path, folds: int, seed: int = 0) -> list[CaseSet]:
    target = folder / "folds"
    target.mkdir()
    write_folds(material, folds, seed, target)
    return [load_cases(load_script(path), {}) for path in fold_scripts(target, folds)]


LABELLED = "id,input,expect\n" + "".join(f"t{n},i{n},{n % 3}\n" for n in range(31))


def test_every_training_case_is_held_out_once_and_learned_from_otherwise(tmp_path: Path) -> None:
    found = folds_of(training_material(make(tmp_path, LABELLED)), tmp_path, 4)
    held = Counter(case.id for fold in found for case in fold if case.positive)
    assert held == {f"t{n}": 1 for n in range(31)}
    for fold in found:
        learned = {case.id for case in training_cases(fold.script, {})}
        assert learned == {f"t{n}" for n in range(31)} - {case.id for case in fold}


def test_every_fold_has_its_share_of_each_class(tmp_path: Path) -> None:
    for fold in folds_of(training_material(make(tmp_path, LABELLED)), tmp_path, 4):
        often = Counter(case.expect for case in fold if case.positive)
        assert all(2 <= often[label] <= 3 for label in "012")


def test_every_true_claim_gets_a_false_one(tmp_path: Path) -> None:
    found = folds_of(training_material(make(tmp_path, LABELLED)), tmp_path, 4)
    for fold in found:
        true = {case.id: case for case in fold if case.positive}
        false = [case for case in fold if not case.positive]
        assert len(true) == len(false)
        for case in false:
            of = true[case.columns["training_case"]]
            assert (case.input, case.truth) == (of.input, of.expect)
            assert case.expect != of.expect
            assert case.expect in "012"
        assert fold.psu is not None


def test_claims_of_the_training_table_are_used_unchanged(tmp_path: Path) -> None:
    rows = "id,input,expect,positive,truth\n" + "".join(f"t{n},i{n},{n % 3},{n % 2},{n % 5}\n" for n in range(20))
    found = folds_of(training_material(make(tmp_path, rows)), tmp_path, 2)
    held = {case.id: (case.expect, case.positive, case.truth) for fold in found for case in fold}
    assert held == {f"t{n}": (str(n % 3), n % 2 == 1, str(n % 5)) for n in range(20)}


def test_the_numbers_of_a_value_test_are_the_claims(tmp_path: Path) -> None:
    rows = "id,input,expect\n" + "".join(f"t{n},i{n},{n / 8}\n" for n in range(10))
    cases = make(tmp_path, rows, task="value", keys="tolerance = {relative = 0.5}", cases="id,input,expect\n1,x,1\n")
    held = []
    for fold in folds_of(training_material(cases), tmp_path, 5):
        assert all(case.positive for case in fold)
        held += [case.id for case in fold]
        assert fold.script.params["tolerance"].default == 0.5
        assert fold.script.rules == cases.script.rules
    # An error cannot be relative to 0, so that case is only used for training.
    assert sorted(held) == [f"t{n}" for n in range(1, 10)]


def test_a_program_sees_of_a_held_out_case_only_what_test_cases_have(tmp_path: Path) -> None:
    rows = "id,input,expect,writer,answer\n" + "".join(f"t{n},i{n},{n % 2},w{n % 4},{n % 2}\n" for n in range(12))
    for fold in folds_of(training_material(make(tmp_path, rows)), tmp_path, 3):
        assert {name for case in fold for name in case.columns} == {"writer", "training_case"}
        assert all("answer" in case.columns for case in training_cases(fold.script, {}))


@given(sizes=st.lists(st.integers(1, 6), min_size=5, max_size=20), folds=st.integers(2, 5), seed=st.integers(0, 5))
@examples(50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_units_stay_together(tmp_path: Path, sizes: list[int], folds: int, seed: int) -> None:
    writers = [f"w{unit}" for unit, size in enumerate(sizes) for _ in range(size)]
    rows = "id,input,expect,writer\n" + "".join(f"t{n},i{n},{n % 3},{w}\n" for n, w in enumerate(writers))
    material = training_material(make(tmp_path, rows, sections='[design]\nstratum = "truth"\npsu = "writer"'))
    assert material.psu == ["writer"]
    fold_of = deal_folds(material, folds, seed)
    assert len(set(zip(writers, fold_of, strict=True))) == len(sizes)
    assert set(fold_of) == set(range(folds))
    assert fold_of == deal_folds(material, folds, seed)


def test_the_design_is_that_of_the_test_if_the_training_table_has_its_columns(tmp_path: Path) -> None:
    rows = "id,input,expect,writer\n" + "".join(f"t{n},i{n},{n % 3},w{n % 6}\n" for n in range(12))
    design = '[design]\nstratum = "truth"\npsu = "writer"'
    material = training_material(make(tmp_path, rows, sections=design))
    assert (material.stratum, material.psu) == (["truth"], ["writer"])  # writer n % 6 has only class n % 3
    crossing = rows.replace("t0,i0,0", "t0,i0,1")
    material = training_material(make(tmp_path, crossing, sections=design))
    assert (material.stratum, material.psu) == ([], ["writer"])
    material = training_material(make(tmp_path, LABELLED, sections=design))
    assert (material.stratum, material.psu) == (["truth"], [])


def test_the_decision_rules_are_those_of_the_test(tmp_path: Path) -> None:
    sections = '[params.threshold]\ntype = "float"\ndefault = -1e-05\ndecision = true\nhelp = "\\"quoted\\" \\u007f"\n'
    sections += '[params.word]\ntype = "string"\ndefault = "a\\\\b\\n"\n'
    cases = make(
        tmp_path, LABELLED, task="score", keys='larger_is_better = false\nerrors = "refuse"', sections=sections
    )
    for fold in folds_of(training_material(cases), tmp_path, 2):
        assert fold.script.params == cases.script.params
        assert fold.script.rules == cases.script.rules
        assert fold.script.file.test.errors == "refuse"


def test_different_data_with_the_same_names_is_another_fold(tmp_path: Path) -> None:
    digests = []
    for content in ("one", "two"):
        (tmp_path / "data.txt").write_text(content)
        folder = tmp_path / content
        folder.mkdir()
        cases = make(tmp_path, LABELLED, sections='[data.d]\npath = "data.txt"')
        digests.append(folds_of(training_material(cases), folder, 2)[0].script.digest)
    assert digests[0] != digests[1]


def test_cases_without_a_label_are_only_used_for_training(tmp_path: Path) -> None:
    found = folds_of(training_material(make(tmp_path, LABELLED + "u,i,\n")), tmp_path, 2)
    assert all(case.id != "u" for fold in found for case in fold)
    assert any(case.id == "u" for fold in found for case in training_cases(fold.script, {}))


def test_ids_may_repeat_in_a_training_table(tmp_path: Path) -> None:
    found = folds_of(training_material(make(tmp_path, "id,input,expect\n" + "a,i,1\nb,i,2\n" * 4)), tmp_path, 2)
    assert sum(case.positive for fold in found for case in fold) == 8


@pytest.mark.parametrize(
    ("train", "folds", "message"),
    [
        ("id,input,expect\n", 2, "no training part to tune on; --on-test"),
        ("id,input,expect\na,i,\n", 2, "nothing to tune on"),
        ("id,input,expect\na,i,1\nb,i,2\n", 3, "2 units .* are too few for 3 folds"),
    ],
)
def test_what_cannot_be_divided_is_an_error(tmp_path: Path, train: str, folds: int, message: str) -> None:
    cases = make(tmp_path, train)
    with pytest.raises(ScriptError, match=message):
        deal_folds(training_material(cases), folds, 0)


def test_inputs_of_any_shape_are_kept(tmp_path: Path) -> None:
    rows = [{"id": str(n), "input": {"a": [n, None, "ü"]}, "expect": str(n % 2)} for n in range(6)]
    cases = make(tmp_path, LABELLED)
    (tmp_path / "train.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    text = (tmp_path / "toy.hate.toml").read_text().replace("train.csv", "train.jsonl")
    (tmp_path / "toy.hate.toml").write_text(text)
    cases = load_cases(load_script(tmp_path / "toy.hate.toml"), {})
    held: list[Case] = [case for fold in folds_of(training_material(cases), tmp_path, 2) for case in fold]
    assert {case.id: case.input for case in held if case.positive} == {str(row["id"]): row["input"] for row in rows}
