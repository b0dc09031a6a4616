"""The registry of measures: one entry makes a measure known to every command."""

import click
import numpy as np
import pytest
from sklearn.metrics import jaccard_score

from harness.cli.compare import compare_command, rate_command
from harness.cli.sweep import tune_command
from harness.errors import UsageError
from harness.measures import MEASURES, Measure, Reads, find_measure, goals, known_measures, measures_for_help
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.sample import make_sample
from harness.tasks import TASKS
from harness.transcript import format as transcript_format
from tests.analysis.numbers import numbers
from tests.analysis.score_runs import World
from tests.analysis.transcripts import aligned, transcript
from tests.boxes import random_scenes, records_of
from tests.products.measures import CSI
from tests.workshop import Workshop


def test_each_task_says_what_counts() -> None:
    """The test's measure: boxes ap, masks iou, others rate; of a task that is not installed, the rate."""
    counts = {name: transcript_format.TestInfo("t", "1", "", task=name).main_measure for name in [*TASKS, "unheard-of"]}
    rate = dict.fromkeys(("label", "score", "rank", "value", "unheard-of"), "rate")
    assert counts == rate | {"mask": "iou", "boxes": "ap"}
    for name, task in TASKS.items():
        assert find_measure(task.main_measure).name in (*task.measures, "rate"), name


@pytest.fixture
def toy_measure(monkeypatch: pytest.MonkeyPatch) -> Measure:
    monkeypatch.setitem(MEASURES, "csi", CSI)
    return CSI


@pytest.mark.usefixtures("toy_measure")
def test_a_new_measure_is_compared_rated_and_broken_down(shop: Workshop) -> None:
    world = World(seed=1)
    paths = world.runs(shop.folder, (1.5, 1.0))
    expected = [jaccard_score(world.positive, world.scores(k, lift) >= 0.5) for k, lift in enumerate((1.5, 1.0))]
    compared = shop.call("compare", *paths, "--statistic", "csi", "--format", "json").json
    rated = shop.call("rate", *paths, "--statistic", "csi,rate", "--format", "json").json
    assert compared["statistic"] == "csi"
    assert [one["value"] for one in compared["transcripts"]] == pytest.approx(expected)
    assert [one["measures"]["csi"]["estimate"] for one in rated["transcripts"]] == pytest.approx(expected)
    assert compared["transcripts"][0]["replication"]["interval"] == pytest.approx(
        rated["transcripts"][0]["measures"]["csi"]["interval"], abs=1e-12
    )
    pair = compared["pairs"][0]["replication"]
    assert pair["estimate"] == pytest.approx(expected[0] - expected[1])
    # Operating points, groups, ranks, a margin and different inputs need nothing more from the measure.
    for words in (["--at", "eer"], ["--by", "noise:2"], ["--items"], ["--margin", "0.1"], ["--unpaired"],
                  ["--unpaired", "--by", "noise=20"], ["--multiplicity", "max-t"]):  # fmt: skip
        done = shop.call("compare", *paths, "--statistic", "csi", *words)
        assert done.status == 0, done.err
        assert "critical success index" in done.out
    by = shop.call("rate", paths[0], "--statistic", "csi", "--by", "noise=20", "--format", "json").json["by"]
    noise = np.round(np.random.default_rng([1, 99]).uniform(0, 40, world.n), 2)
    for group, inside in zip(by["groups"], (noise < 20, noise >= 20), strict=True):
        own = jaccard_score(world.positive[inside], (world.scores(0, 1.5) >= 0.5)[inside])
        assert group["runs"][0]["estimate"] == pytest.approx(own)


@pytest.mark.usefixtures("toy_measure")
def test_a_new_measure_is_a_goal(shop: Workshop) -> None:
    shop.script(
        rows="id,input,expect,positive\n"
        + "".join(f"c{n},{n},{'y' if n % 2 else 'x'},{'false' if n % 2 else 'true'}\n" for n in range(20))
    )
    # Always the claim, with scores that say nothing about whether it is true.
    shop.interface(
        "def answer(case, params):\n    n = int(case.input)\n    return ('yx'[n % 2 == 0], n * 7 % 20 / 2)\n"
    )
    done = shop.call("tune", "toy", "--param", "threshold=0:9:1", "--goal", "csi", "--on-test", "--format", "json")
    assert done.status == 0, done.err
    found = done.json
    assert found["goal"] == "csi"
    for row in found["rows"]:
        below = row["TP"] + row["FN"] + row["FP"]
        assert row["value"] == pytest.approx(row["TP"] / below)
    assert found["winner"]["value"] == max(row["value"] for row in found["rows"])
    assert "csi" in goals()


@pytest.mark.usefixtures("toy_measure")
def test_a_new_measure_is_offered_to_the_shell_and_in_messages() -> None:
    for command, name in ((compare_command, "statistic"), (rate_command, "statistic"), (tune_command, "goal")):
        (option,) = [param for param in command.params if param.name == name]
        offered = [item.value for item in option.shell_complete(click.Context(command), "cs")]
        assert offered == ["csi"], name
    assert "csi" in measures_for_help()
    with pytest.raises(UsageError, match="did you mean 'csi'"):
        find_measure("cis")


def test_every_measure_says_what_it_is(shop: Workshop) -> None:
    """Names and words are unique, values lie within the bounds, and the direction is right."""
    world = World(seed=2)
    # Probabilities, which all measures of scores can read.
    scores = 1 / (1 + np.exp(-world.scores(0)))
    path = world.write(shop.folder / "a.jsonl", scores, seconds=[0.1] * world.n, memory=[5] * world.n)
    runs = aligned(path)
    assert [measure.name for measure in known_measures().values()] == list(known_measures())
    assert len({measure.words for measure in known_measures().values()}) == len(known_measures())
    worse = {name for name, measure in known_measures().items() if not measure.larger_is_better}
    errors = {"fpr", "fnr", "eer", "hter", "cllr", "min_cllr", "brier", "ece", "mae", "rmse", "bias"}
    errors |= {"fppi", "missed", "spurious", "pixel_fpr"}
    assert worse == errors | {"seconds", "memory"}
    sample = make_sample(world.n, strata=world.stratum, units=world.unit)
    truth = np.linspace(1, 9, world.n)
    of_numbers = aligned(numbers(shop.folder / "b.jsonl", truth, truth + world.scores(0)))
    records = records_of(random_scenes(1, images=world.n))
    of_boxes = aligned(transcript(shop.folder / "c.jsonl", [True] * world.n, test={"task": "boxes"}, boxes=records))
    classes = [[1, 0, 4], [0, 0, 9]]
    pixels = [{"TP": n, "TN": 9, "FP": 3, "FN": 4, "confusion": [[1, 1, n], *classes]} for n in range(world.n)]
    of_pixels = aligned(transcript(shop.folder / "d.jsonl", [True] * world.n, test={"task": "mask"}, pixels=pixels))
    special = {Reads.NUMBERS: of_numbers, Reads.BOXES: of_boxes, Reads.PIXELS: of_pixels}
    for measure in known_measures().values():
        of = special.get(measure.reads, runs)
        one = make_estimates(sample, measure.statistic(of, [(0, None)])).estimate(0)
        assert measure.bounds[0] <= one.value <= measure.bounds[1]
        assert measure.better(0.3, 0.2) is measure.larger_is_better
        if measure.of_totals is not None:
            assert measure.reads is Reads.OUTCOME
            counts = runs.counts[0]
            totals = np.array([counts.TP, counts.FN, counts.FP, counts.TN], dtype=np.float64)
            assert float(measure.of_totals(totals)) == pytest.approx(one.value)


def test_a_number_of_the_records_may_have_the_name_of_a_measure(shop: Workshop) -> None:
    """The number is then called values.NAME, and the measure keeps its name."""
    values = [{"rate": i / 10, "blur": i} for i in range(8)]
    path = transcript(shop.folder / "a.jsonl", [i % 2 == 0 for i in range(8)], values=values)
    found = shop.call("rate", path, "--format", "json").json["transcripts"][0]["measures"]
    assert found["rate"]["estimate"] == 0.5
    assert found["values.rate"]["estimate"] == pytest.approx(0.35)
    assert found["blur"]["estimate"] == pytest.approx(3.5)
    assert set(found) >= {"rate", "values.rate", "blur"}


@pytest.mark.parametrize(("name", "message"), [
    ("rank0", "no such measure"), ("rank", "no such measure"), ("Rate", "did you mean 'rate'"), ("", "no such measure"),
    ("cost:fp=1,fp=2,fn=x", "'x' is not a number"), ("cost:fp=inf", "numbers of 0 or more"),
    ("cost:tp=1", "write cost"), ("values.blur", "no such measure"),
])  # fmt: skip
def test_what_is_not_a_measure_is_refused(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find_measure(name)


def test_measures_with_a_number_in_their_name() -> None:
    assert find_measure("rank7").words == "rate at rank 7"
    assert find_measure("cost").name == "cost:fp=1,fn=1"
    cost = find_measure("cost:fp=10,fn=2.5")
    assert (cost.name, cost.bounds, cost.larger_is_better) == ("cost:fp=10,fn=2.5", (0.0, 10.0), False)
    assert [find_measure(name, ["blur"]).name for name in ("blur", "values.blur")] == ["blur", "values.blur"]
