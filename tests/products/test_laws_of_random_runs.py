"""The laws again, on runs that nobody chose: random outcomes, scores with ties, units of any size, weights.

Two answers are the same number by number, or both are refused in the same words.
"""

import json
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import harness
from harness.api.result import Result
from harness.errors import HateError
from tests.analysis.transcripts import transcript
from tests.products.laws import differences, forwards

pytestmark = pytest.mark.slow
T = TypeVar("T")
# Of every kind: a share of all cases, shares of some, formulas, an area, a mean of a recorded number.
MEASURES = ("rate", "tpr", "precision", "mcc", "cost:fp=5,fn=1", "auc", "eer", "blur")
DESIGNS: dict[str, dict[str, str]] = {
    "both": {"stratum": "s", "psu": "u"},
    "units": {"stratum": "none", "psu": "u"},
    "strata": {"stratum": "s", "psu": "none"},
    "cases": {"stratum": "none", "psu": "none"},
    "weights": {"stratum": "s", "psu": "u", "weights": "w"},
}
RENAMED = re.compile(re.escape(json.dumps(forwards("X")).strip('"')).replace("X", r"(\w+)"))


@dataclass(frozen=True)
class Cases:
    """Cases, with the answers of two runs; everything is by case."""

    ids: tuple[str, ...]
    positive: tuple[bool, ...]
    success: tuple[tuple[bool, ...], tuple[bool, ...]]
    score: tuple[tuple[float, ...], tuple[float, ...]]
    stratum: tuple[str, ...]
    unit: tuple[str, ...]
    weight: tuple[float, ...]

    def permuted(self, order: list[int]) -> "Cases":
        """The same in another order."""

        def moved(values: tuple[T, ...]) -> tuple[T, ...]:
            return tuple(values[place] for place in order)

        return Cases(
            moved(self.ids), moved(self.positive), (moved(self.success[0]), moved(self.success[1])),
            (moved(self.score[0]), moved(self.score[1])), moved(self.stratum), moved(self.unit), moved(self.weight),
        )  # fmt: skip

    def write(self, folder: Path) -> list[Path]:
        """Two transcripts."""
        folder.mkdir()
        columns = [{"s": s, "u": u, "w": str(w)} for s, u, w in zip(self.stratum, self.unit, self.weight, strict=True)]
        return [
            transcript(
                folder / f"{name}.jsonl", self.success[run], ids=self.ids, positive=self.positive,
                test={"task": "score", "larger_is_better": True}, columns=columns, score=self.score[run],
                values=[{"blur": one * one} for one in self.score[run]],
            )
            for run, name in enumerate(("ann", "bob"))
        ]  # fmt: skip


@st.composite
def cases(draw: st.DrawFn) -> Cases:
    units = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4)), min_size=2, max_size=9))
    where = [(f"s{stratum}", f"u{number}") for number, (stratum, size) in enumerate(units) for _ in range(size)]
    n = len(where)

    def each(values: st.SearchStrategy[Any]) -> Any:
        return tuple(draw(st.lists(values, min_size=n, max_size=n)))

    return Cases(
        ids=tuple(f"c{number:02d}" for number in range(n)),
        positive=each(st.booleans()),
        success=(each(st.booleans()), each(st.booleans())),
        score=(each(st.sampled_from((0.1, 0.3, 0.5, 0.9))), each(st.sampled_from((0.1, 0.3, 0.5, 0.9)))),
        stratum=tuple(stratum for stratum, _ in where),
        unit=tuple(unit for _, unit in where),
        weight=each(st.sampled_from((0.5, 1.0, 2.0))),
    )


def asked(paths: list[Path], **options: str) -> Any:
    """What `compare` and `rate` say, as data, or the words of the refusal."""
    found: dict[str, Any] = {}
    measure = options.pop("statistic")
    commands: dict[str, Callable[..., Result]] = {"compare": harness.compare, "rate": harness.rate}
    for name, command in commands.items():
        try:
            found[name] = command(paths, statistic=measure, **options).to_dict()
        except HateError as error:
            found[name] = str(error)
    return found


def held(one: Cases, other: Cases, design: str, measure: str) -> None:
    """Two sets of cases are answered alike, but for the names in the answers."""
    answers = []
    for runs in (one, other):
        with tempfile.TemporaryDirectory() as folder:
            text = json.dumps(asked(runs.write(Path(folder) / "runs"), **DESIGNS[design], statistic=measure))
        answers.append(json.loads(RENAMED.sub(r"\1", text.replace(folder, ""))))
    assert list(differences(answers[0], answers[1])) == []


# They are small as they are; to find smaller ones takes minutes.
as_drawn = settings(phases=(Phase.explicit, Phase.generate), max_examples=20)
several = pytest.mark.parametrize("design", DESIGNS)
a_measure = st.sampled_from(MEASURES)


@several
@as_drawn
@given(runs=cases(), measure=a_measure, data=st.data())
def test_the_order_of_records_does_not_matter(design: str, runs: Cases, measure: str, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(runs.ids))))
    held(runs, runs.permuted(list(order)), design, measure)


@several
@as_drawn
@given(runs=cases(), measure=a_measure)
def test_names_do_not_matter(design: str, runs: Cases, measure: str) -> None:
    ids, stratum, unit = (tuple(map(forwards, labels)) for labels in (runs.ids, runs.stratum, runs.unit))
    held(runs, replace(runs, ids=ids, stratum=stratum, unit=unit), design, measure)


@as_drawn
@given(runs=cases(), measure=a_measure)
def test_only_ratios_of_weights_matter(runs: Cases, measure: str) -> None:
    held(runs, replace(runs, weight=tuple(8 * one for one in runs.weight)), "weights", measure)


@several
@as_drawn
@given(runs=cases(), measure=a_measure)
def test_two_runs_change_places(design: str, runs: Cases, measure: str) -> None:
    """The difference changes its sign, and its error and p-value stay."""
    with tempfile.TemporaryDirectory() as folder:
        ann, bob = runs.write(Path(folder) / "runs")
        one, other = (asked(pair, **DESIGNS[design], statistic=measure)["compare"] for pair in ([ann, bob], [bob, ann]))
    if isinstance(one, str):
        assert isinstance(other, str)
        return
    (mine,), (yours,) = one["pairs"], other["pairs"]
    assert mine["better"] == yours["better"]
    assert mine["n_sf"] == yours["n_fs"]
    if mine["replication"] is None:
        assert yours["replication"] is None
        return
    same = ("se", "df", "p_value", "p_adjusted", "design_effect", "icc")
    one, other = mine["replication"], yours["replication"]
    assert list(differences([one[key] for key in same], [other[key] for key in same])) == []
    assert list(differences([one["estimate"]], negated([other["estimate"]]))) == []
    assert list(differences(one["interval"], negated(other["interval"]))) == []


def negated(numbers: list[float | None] | None) -> list[float | None] | None:
    """The same on the other side of zero; what is unknown or infinite is null."""
    return None if numbers is None else [None if one is None else -one for one in reversed(numbers)]
