"""Every measure where `hate rate` does not compute it: in sweeps, tuning, curves, reports and rankings."""

import json
from typing import Any

import pytest

from harness.measures import Reads, known_measures
from harness.tasks import TASKS
from tests.products.conftest import AllRuns
from tests.products.measures import Rated, chosen, decided, measure, one_of_a_kind, products, refusal, same
from tests.products.outputs import read_md
from tests.products.subjects import ALGORITHMS, SUBJECTS, Runs
from tests.workshop import Done, Workshop

pytestmark = pytest.mark.usefixtures("plugins")
NAMES = list(ALGORITHMS)


# The memory of a program is known if it is more than this process has used, which depends on the tests before.
NO_MEMORY = "has no memory: it needs programs in processes of their own"


def _answered(shop: Workshop, command: str, runs: Runs, statistic: str) -> Done | None:
    """What a command says of one setting; None if it refuses the measure, for the declared reason."""
    done, where = shop.call(*decided(command, runs), statistic), f"{runs.subject.name}, {statistic}, {command}"
    if (rule := refusal(command, statistic, runs.subject)) is not None:
        assert (done.status, done.out) == (2, ""), where
        assert rule.says in done.err, where
        return None
    if (command, statistic, done.status) == ("tune", "memory", 2):
        assert NO_MEMORY in done.err, where
        return None
    assert done.status == 0, f"{where}: {done.err}"
    return done


def _rated(shop: Workshop, rated: Rated, runs: Runs, statistic: str, done: Done) -> dict[str, Any] | None:
    """What `hate rate` says of the run; times and memory are those of the very run that a command made."""
    if measure(statistic, runs.subject).reads is not Reads.RESOURCES:
        return rated.of(shop, runs, statistic)[0]
    own = shop.call("rate", *done.json["transcripts"], "--statistic", statistic, "--format", "json")
    (found,) = own.json["transcripts"]
    measured: dict[str, Any] | None = found["measures"][statistic]
    return measured


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("name", "statistic"), products(chosen()))
def test_a_sweep_of_one_setting_has_the_number_of_its_run(
    shop: Workshop, all_runs: AllRuns, rated: Rated, name: str, statistic: str
) -> None:
    runs, where = all_runs.of(name), f"{name}, {statistic}, sweep"
    done = _answered(shop, "sweep", runs, statistic)
    if done is None:
        return
    expected = _rated(shop, rated, runs, statistic, done)
    # The rate is beside the counts, the estimate by design in `replication`.
    of_rate = {"name": "rate", "value": done.row["rate"], **done.row["replication"]}
    found = of_rate if statistic == "rate" else done.row["measure"]
    if expected is None:
        assert (statistic, found) == ("memory", None)
        assert NO_MEMORY in done.err
        return
    assert found["name"] == statistic
    assert same(found["value"], expected["estimate"]), f"{where}: {found['value']}, not {expected['estimate']}"
    for key in ("se", "interval"):
        assert found[key] == pytest.approx(expected[key], rel=1e-9), f"{where}: {key}"


@pytest.mark.parametrize("command", ["sweep", "tune"])
def test_what_is_refused_is_refused_before_anything_runs(shop: Workshop, command: str) -> None:
    shop.script()
    shop.interface("def answer(case, params):\n    open('asked', 'w').close()\n    return case.input\n")
    words = ["--on-test", "--goal"] if command == "tune" else ["--statistic"]
    for statistic, status in (("rank1", 2), ("pass@2", 2), ("nonsense", 2), ("tpr", 0)):
        done = shop.call(command, "toy", "--fresh", "--param", "threshold=0", *words, statistic)
        assert done.status == status, done.err
        assert (shop.folder / "asked").exists() == (status == 0), statistic


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("name", "statistic"), products(one_of_a_kind()))
def test_tuning_one_setting_has_the_number_of_its_run(
    shop: Workshop, all_runs: AllRuns, rated: Rated, name: str, statistic: str
) -> None:
    """The number alone: errors of tuning come from the linear form of the goal, which leads of many settings share."""
    runs, where = all_runs.of(name), f"{name}, {statistic}, tune"
    done = _answered(shop, "tune", runs, statistic)
    if done is None:
        return
    expected = (_rated(shop, rated, runs, statistic, done) or {})["estimate"]
    for found in (done.row["value"], done.json["winner"]["value"], done.json["default"]["value"]):
        assert same(found, expected), f"{where}: {found}, not {expected}"


# The subjects that have each curve; the others are refused.
CURVES = {
    "roc": ("label", "score", "rank", "mask"),
    "det": ("label", "score", "rank", "mask"),
    "pr": ("label", "score", "rank", "mask", "boxes"),
    "froc": ("boxes",),
    "cmc": ("rank",),
}
# Average precision over the objects of all classes is no measure: `ap` is the mean over classes.
NO_MEASURE = {("boxes", "average_precision")}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("command", CURVES)
@pytest.mark.parametrize("name", SUBJECTS)
def test_summaries_of_curves_are_measures(
    shop: Workshop, all_runs: AllRuns, rated: Rated, name: str, command: str
) -> None:
    runs = all_runs.of(name)
    done = shop.call(command, *runs.paths, "--format", "json", "--bands", "none")
    if name not in CURVES[command]:
        assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
        return
    assert done.status == 0, done.err
    for number, curve in enumerate(done.json["curves"]):
        found = _summaries(curve)
        assert found, f"{name}, {command}: no summary is a measure"
        for statistic, (value, se, interval) in found.items():
            if (name, statistic) in NO_MEASURE:
                continue
            where = f"{name}, {statistic}, {command}"
            expected = rated.of(shop, runs, statistic)[number]
            assert same(value, expected["estimate"]), f"{where}: {value}, not {expected['estimate']}"
            assert se is None or se == pytest.approx(expected["se"], rel=1e-9), where
            assert interval is None or interval == pytest.approx(expected["interval"], rel=1e-9), where


def _summaries(curve: Any) -> dict[str, tuple[Any, Any, Any]]:
    """The value, error and interval of what a curve says under the name of a measure, or under one of its own."""
    called = {name: name for name in known_measures()} | {"mean_recall": "froc"}
    found = {
        name: (curve[key], curve.get(f"{key}_se"), curve.get(f"{key}_interval"))
        for key, name in called.items()
        if curve.get(key) is not None
    }
    if curve.get("ranks"):
        rates = dict(zip(curve["ranks"], curve["rates"], strict=True))
        found |= {f"rank{rank}": (rates[rank], None, None) for rank in (1, 5)}
    return found


@pytest.mark.parametrize(("name", "statistic"), products({"mae": "value"}, one_of_a_kind()))
def test_a_report_shows_the_numbers(shop: Workshop, all_runs: AllRuns, rated: Rated, name: str, statistic: str) -> None:
    """In the ranking of several runs, and among the measures of one."""
    runs, where = all_runs.of(name), f"{name}, {statistic}, report"
    expected = [one["estimate"] for one in rated.of(shop, runs, statistic)]
    asked = ("--statistic", statistic, "--by", "group", "--cases", "0")
    assert shop.call("report", *runs.paths, *asked, "-o", "all.md").status == 0, where
    first, *rows = _rows(shop, "all.md", "name")[: len(NAMES) + 1]
    for row, value in zip(sorted(rows), expected, strict=True):
        assert _shows(row[first.index(statistic)], value), f"{where}: {row}, not {value}"
    of = measure(statistic, runs.subject)
    order = [row[0].removesuffix(" (self-reported)") for row in rows]
    best = sorted(NAMES, key=lambda one: -of.merit(expected[NAMES.index(one)]))
    assert order == best, f"{where}: {order}, not {best}"
    assert shop.call("report", runs.paths[0], *asked, "-o", "one.md").status == 0, where
    shown = {row[0]: row[1] for row in _rows(shop, "one.md", "measure")}
    words = statistic if of.words == statistic else f"{of.words} ({statistic})"
    assert _shows(shown[words], expected[0]), f"{where}: {shown[words]}, not {expected[0]}"


def _rows(shop: Workshop, page: str, first: str) -> list[list[str]]:
    """The rows of all tables of a page whose first column is called so, with their heads."""
    tables = read_md((shop.folder / page).read_text(encoding="utf-8"))
    return [row for table in tables if table.columns[0] == first for row in (table.columns, *table.rows)]


def _shows(text: str, value: float) -> bool:
    """Whether a text is the number, to the digits that it has; large numbers may be in other units."""
    number = float(text.replace(",", ""))
    return number == pytest.approx(value, rel=5.1e-4, abs=5.1e-5)


# The pages of a site take seconds.
RANKED = [one if one in ("value", "classes") else pytest.param(one, marks=pytest.mark.slow) for one in SUBJECTS]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", RANKED)
def test_a_site_ranks_by_the_numbers_of_rate(shop: Workshop, all_runs: AllRuns, rated: Rated, name: str) -> None:
    runs = all_runs.of(name)
    main = TASKS[runs.subject.task].main_measure
    done = shop.call("publish", runs.script.parent, *runs.paths, "--to", "site", "--pages")
    assert done.status == 0, done.err
    data = json.loads((shop.folder / f"site/data/{name}@1.0/ranking.json").read_text(encoding="utf-8"))
    assert data["measure"] == main
    expected = dict(zip(NAMES, rated.of(shop, runs, main), strict=True))
    merit = measure(main, runs.subject).merit
    assert [one["name"] for one in data["transcripts"]] == sorted(
        NAMES, key=lambda one: -merit(expected[one]["estimate"])
    )
    for one in data["transcripts"]:
        of_rate = expected[one["name"]]
        assert same(one["value"], of_rate["estimate"]), f"{name}, {main}, ranking: {one['value']}"
        assert [one["low"], one["high"]] == pytest.approx(of_rate["interval"], rel=1e-9), f"{name}, {main}, ranking"
