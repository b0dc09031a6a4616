"""The comparison by groups, and the cases that distinguish runs: parts that add up to the whole, loops, invariances."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.groups import groups_of, several_groups
from harness.analysis.item_analysis import discrimination, ranks_of
from harness.analysis.rate import distinct_groups
from harness.errors import UsageError
from harness.files.conditions import number, numbers
from harness.stats.differences import paired_difference
from harness.stats.paired import PairTable, mcnemar
from harness.stats.rates import wilson
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import make_sample
from harness.stats.replication.statistic import difference
from tests.analysis.score_runs import World, compare_files
from tests.analysis.transcripts import aligned, transcript


def test_groups_add_up_to_the_whole(tmp_path: Path) -> None:
    found = compare_files(*World(seed=1).runs(tmp_path), by="noise:4")
    assert found.by is not None
    n = found.aligned.n
    assert sum(group.cases for group in found.by.groups) == n
    for k, pair in enumerate(found.pairs):
        parts = [group.cases * one.value for group in found.by.groups if (one := group.pairs[k])]
        assert sum(parts) / n == pytest.approx(pair.difference)
    for k, run in enumerate(found.runs):
        assert sum(g.cases * v.value for g in found.by.groups if (v := g.runs[k])) / n == pytest.approx(run.rate)


def test_a_stratum_as_a_group_is_a_sample_of_its_own(tmp_path: Path) -> None:
    """Strata are independent: the others affect neither a stratum's error nor its degrees of freedom."""
    world = World(strata=3, size=10, seed=2, units=7)
    found = compare_files(*world.runs(tmp_path, (1.5, 1.0)), by="stratum")
    assert found.by is not None
    for place, group in enumerate(found.by.groups):
        inside = world.stratum == place
        a, b = found.aligned.success[:, inside]
        alone = make_estimate(
            make_sample(int(inside.sum()), units=world.unit[inside]), difference(a, b), Replication(method="linearised")
        )
        gap = group.pairs[0]
        assert gap is not None
        assert gap.interval is not None
        assert alone.interval is not None
        assert (gap.value, gap.p_value) == pytest.approx((alone.value, alone.p_value))
        assert (gap.interval.low, gap.interval.high) == pytest.approx((alone.interval.low, alone.interval.high))


def test_without_a_design_groups_are_mcnemars_and_newcombes(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    days = [{"day": str(d)} for d in rng.integers(0, 3, 90)]
    paths = [transcript(tmp_path / f"{k}.jsonl", rng.random(90) < 0.7, columns=days) for k in "ab"]
    found = compare_files(*paths, by="day")
    assert found.by is not None
    for group in found.by.groups:
        inside = np.array([day["day"] == group.label for day in days])
        a, b = found.aligned.success[:, inside]
        table, gap, value = PairTable.of(a, b), group.pairs[0], group.runs[0]
        assert gap is not None
        assert value is not None
        assert (gap.interval, gap.p_value) == (paired_difference(table).interval, mcnemar(table).p_exact)
        assert value.interval == wilson(int(a.sum()), int(inside.sum()))


def test_holm_is_over_all_groups_and_pairs(tmp_path: Path) -> None:
    found = compare_files(*World(seed=4).runs(tmp_path), by="noise:3")
    assert found.by is not None
    gaps = [gap for group in found.by.groups for gap in group.pairs if gap]
    smallest = min(gaps, key=lambda gap: gap.p_value or 0.0)
    assert smallest.p_value is not None
    assert smallest.p_adjusted == pytest.approx(min(1.0, len(gaps) * smallest.p_value))


@pytest.mark.slow
def test_a_difference_that_changes_sign_is_found_and_a_constant_one_is_not(tmp_path: Path) -> None:
    """In 60 experiments without any interaction Wald's test errs about 3 times: at most 9 has a chance of 99.8 %."""
    rng = np.random.default_rng(5)

    def p_value(turn: float) -> float:
        day = np.arange(400) % 2
        paths = []
        for k, sign in (("a", 1), ("b", -1)):
            good = rng.random(400) < 0.6 + sign * turn * np.where(day == 1, 1, -1)
            paths.append(transcript(tmp_path / f"{k}.jsonl", good, columns=[{"day": str(d)} for d in day]))
        found = compare_files(*paths, by="day")
        assert found.by is not None
        assert found.by.interactions[0] is not None
        assert found.by.interactions[0].p_value is not None
        return found.by.interactions[0].p_value

    assert p_value(0.2) < 1e-4
    assert sum(p_value(0.0) < 0.05 for _ in range(60)) <= 9


def test_a_group_of_one_unit_has_values_and_no_intervals(tmp_path: Path) -> None:
    world = World(strata=4, size=3, seed=6)
    found = compare_files(*world.runs(tmp_path), by="psu")
    assert found.by is not None
    assert all(value is not None and value.interval is None for group in found.by.groups for value in group.runs)
    assert all(gap is not None and gap.p_adjusted is None for group in found.by.groups for gap in group.pairs)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("statistic", ["tpr", "f1", "auc", "eer"])
def test_groups_by_another_statistic(tmp_path: Path, statistic: str) -> None:
    """A group has the value of the cases in it."""
    world = World(strata=20, seed=7)
    found = compare_files(*world.runs(tmp_path), by="noise=20", statistic=statistic)
    assert found.by is not None
    noise = [f"{float(v) >= 20}" for v in np.round(np.random.default_rng([7, 99]).uniform(0, 40, world.n), 2)]
    high = np.array([v == "True" for v in noise])
    folder = tmp_path / "part"
    folder.mkdir()
    parts = [
        transcript(folder / f"{k}.jsonl", ((s >= 0.5) == world.positive)[high], positive=world.positive[high].tolist(),
                   score=s[high].tolist(), test={"task": "score"})
        for k, s in zip("abc", (world.scores(i, lift) for i, lift in enumerate((1.5, 1.0, 0.5))), strict=True)
    ]  # fmt: skip
    alone = compare_files(*parts, statistic=statistic)
    assert [group.label for group in found.by.groups] == ["below 20", "20 and above"]
    values = [value.value for value in found.by.groups[1].runs if value]
    assert values == pytest.approx([run.value for run in alone.runs])


def test_groups_without_positives_have_no_true_positive_rate(tmp_path: Path) -> None:
    found = compare_files(*World().runs(tmp_path), by="positive", statistic="tpr")
    assert found.by is not None
    assert [[value is None for value in group.runs] for group in found.by.groups] == [[True] * 3, [False] * 3]


def columns(folder: Path, values: list[object], name: str = "v") -> Path:
    return transcript(
        folder / "a.jsonl", [True] * len(values), columns=[{} if v is None else {name: v} for v in values]
    )


@pytest.mark.parametrize(("values", "by", "labels"), [
    (["b", "a", "b"], "v", ["a", "b"]),
    (["10", "9", "x"], "v", ["9", "10", "x"]),
    ([1, 2, None], "v", ["1", "2", "(none)"]),
    ([1, 2, 3, 4], "v:2", ["1 to 2", "3 to 4"]),
    ([1, 1, 1, 2], "v:2", ["1", "2"]),
    ([5, 0.5, 10, 20, None], "v=0,10,20", ["0 to below 10", "10 to below 20", "20 and above", "(none)"]),
    ([-1, 3], "v=0", ["below 0", "0 and above"]),
])  # fmt: skip
def test_values_and_bins(tmp_path: Path, values: list[object], by: str, labels: list[str]) -> None:
    found = groups_of(aligned(columns(tmp_path, values)), by)
    assert found.labels == labels
    assert sorted(set(found.codes.tolist())) == list(range(len(labels)))


def test_quantile_bins_hold_equal_numbers(tmp_path: Path) -> None:
    values: list[object] = np.random.default_rng(8).permutation(100).tolist()
    found = groups_of(aligned(columns(tmp_path, values)), "v:5")
    assert np.bincount(found.codes).tolist() == [20] * 5


def test_a_column_may_have_a_colon_in_its_name(tmp_path: Path) -> None:
    assert groups_of(aligned(columns(tmp_path, ["x", "y"], name="v:2")), "v:2").labels == ["x", "y"]


@pytest.mark.parametrize(("values", "by", "message"), [
    ([1, 2], "w", "no such column .* v"), ([1, 2], "w:3", "no such column"), (["x", "y"], "v:2", "'x' is not a number"),
    ([1, 2], "v:1", "the number of bins must be from 2 to 60"),
    ([1, 2], "v=2,1", "increasing numbers"), ([1, 2], "v=a", "increasing numbers"),
    (list(range(99)), "v", "99 values .* v:5"),
    ([1, 2], "v=", "increasing numbers"),
])  # fmt: skip
def test_what_cannot_be_grouped(tmp_path: Path, values: list[object], by: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        groups_of(aligned(columns(tmp_path, values)), by)


def test_all_cases_may_be_one_group(tmp_path: Path) -> None:
    found = groups_of(aligned(columns(tmp_path, [1, 1])), "v")
    assert (found.labels, found.codes.tolist()) == (["1"], [0, 0])
    with pytest.raises(UsageError, match="--by v: all cases have the same value, '1'"):
        several_groups(aligned(columns(tmp_path, [1, 1])), "v")


def test_discrimination_is_the_correlation_with_the_rest() -> None:
    success = np.random.default_rng(9).random((7, 40)) < 0.6
    found = discrimination(success)
    for j in range(40):
        rest = np.delete(success, j, axis=1).sum(axis=1)
        if success[:, j].std() > 0 and rest.std() > 0:
            assert found[j] == pytest.approx(np.corrcoef(success[:, j], rest)[0, 1])
        else:
            assert np.isnan(found[j])


def test_cases_that_all_or_none_solve_change_nothing() -> None:
    success = np.random.default_rng(10).random((5, 30)) < 0.5
    more = np.hstack([success, np.ones((5, 8), bool), np.zeros((5, 4), bool)])
    np.testing.assert_allclose(discrimination(more)[:30], discrimination(success))
    assert np.isnan(discrimination(more)[30:]).all()


def test_two_runs_cannot_tell_how_well_a_case_discriminates() -> None:
    assert np.isnan(discrimination(np.array([[True, False], [False, True]]))).all()


def test_items_are_counted_and_sorted(tmp_path: Path) -> None:
    rows = {"a": [1, 1, 0, 1, 1], "b": [1, 1, 0, 1, 0], "c": [1, 0, 0, 0, 1]}
    paths = [transcript(tmp_path / f"{k}.jsonl", [bool(v) for v in row]) for k, row in rows.items()]
    found = compare_files(*paths, items=True)
    assert found.items is not None
    assert (found.items.all_solve, found.items.none_solves) == (1, 1)
    assert {(item.id, item.solved) for item in found.items.cases} == {("c00001", 2), ("c00003", 2), ("c00004", 2)}
    powers = [item.discrimination for item in found.items.cases]
    assert powers == sorted(powers, key=lambda power: -(power if power is not None else -2.0))


def test_a_run_that_is_better_on_every_case_is_always_first(tmp_path: Path) -> None:
    good = np.random.default_rng(11).random(60) < 0.5
    paths = [transcript(tmp_path / f"{k}.jsonl", np.ones(60, bool) if k == "a" else good) for k in "abc"]
    found = compare_files(*paths, items=True)
    assert found.items is not None
    first, *others = found.items.ranks
    assert (first.rank, first.interval, first.first) == (1, (1, 1), 1.0)
    # b and c are the same: they share a place in every draw.
    assert [(one.rank, one.interval, one.first) for one in others] == [(2, (2, 2), 0.0)] * 2


def test_the_share_first_is_that_of_a_loop_over_draws(tmp_path: Path) -> None:
    from harness.stats.replication.resampling import rescaled_bootstrap

    world = World(seed=12)
    found = compare_files(*world.runs(tmp_path, (1.2, 1.1, 1.0)), items=True, plan=Replication(seed=5))
    assert found.items is not None
    sample, shares = found.sampling.sample, np.zeros(3)
    for block in rescaled_bootstrap(sample, rng=np.random.default_rng(5), replicates=1000).weights():
        for factors in block:
            weights = factors[sample.unit_of_case]
            rates = np.round([(weights * run).sum() / weights.sum() for run in found.aligned.success], 12)
            shares += (rates == rates.max()) / (rates == rates.max()).sum()
    assert [one.first for one in found.items.ranks] == pytest.approx((shares / 1000).tolist())
    assert sum(one.first for one in found.items.ranks) == pytest.approx(1.0)
    assert (found.items.draws, found.items.seed) == (1000, 5)


def test_a_rank_counts_the_better_runs() -> None:
    assert ranks_of(np.array([[0.5, 0.9, 0.5, 0.1], [1.0, 1.0, 1.0, 1.0]])).tolist() == [[2, 1, 2, 4], [1, 1, 1, 1]]


def test_a_smaller_error_is_a_better_rank(tmp_path: Path) -> None:
    paths = World(strata=30, seed=13).runs(tmp_path, (3.0, 1.0, 0.0))
    for statistic in ("fnr", "auc"):
        found = compare_files(*paths, items=True, statistic=statistic)
        assert found.items is not None
        assert [one.rank for one in found.items.ranks] == [1, 2, 3]


def test_draws_without_the_statistic_are_left_out(tmp_path: Path) -> None:
    """Two positives in ten units: some draws have none of them, and no true positive rate."""
    positive = [i < 2 for i in range(10)]
    paths = [
        transcript(tmp_path / f"{k}.jsonl", [k == "a" or i > 0 for i in range(10)], positive=positive) for k in "ab"
    ]
    found = compare_files(*paths, items=True, statistic="tpr")
    assert found.items is not None
    assert 100 < found.items.draws < 1000
    assert [one.rank for one in found.items.ranks] == [1, 2]


TEXTS = ["1", " -2.5", "+.5e3 ", "1e999", "nan", "1_0", "\u0663", "", "x", "1\0", "7\n8"]


@given(st.lists(st.sampled_from(TEXTS), max_size=4))
def test_many_texts_are_numbers_as_each_is_by_itself(texts: list[str]) -> None:
    """Up to the first that is none."""
    each = [number(text) for text in texts]
    stop = each.index(None) + 1 if None in each else len(each)
    assert numbers(texts) == each[:stop]


def test_columns_that_group_the_cases_alike_count_once(tmp_path: Path) -> None:
    """By other labels in another order; and a column of many numbers is put into bins."""
    many = [str(value) for value in np.random.default_rng(0).permutation(100)]
    own = {"same": ["b", "a"] * 50, "other": ["x", "x", "y", "y"] * 25, "many": many, "texts": [f"t{i}" for i in many]}
    own["v"] = ["x", "y"] * 50
    columns = [{name: values[i] for name, values in own.items()} for i in range(100)]
    runs = aligned(transcript(tmp_path / "a.jsonl", [True, False, False, True] * 25, columns=columns))
    found = distinct_groups(runs, ["v", "same", "other", "many", "texts", "nowhere"], apart=None)
    assert {by: len(groups.labels) for by, groups in found.items()} == {"v": 2, "other": 2, "many:5": 5}
