"""Permuted experiments against full enumeration and slow references."""

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from harness.errors import DataError, UsageError
from harness.lab.permute.analysis import exchangeable, permuted_rates
from harness.lab.permute.command import PermuteOptions
from harness.lab.permute.report import plot_permutation
from harness.lab.permute.statistics import ImagePairs, draw_pairs, percentile_interval, permute, share_not_better
from harness.matrices.matrix import Labels, Matrix
from harness.options import PictureOptions
from tests.matrices.matrix_files import slow_rank
from tests.matrices.virtual import people_matrix

# Table 6b of the paper: the pattern of a balanced sample, gallery image first.
TABLE_6B = [(0, 2), (0, 3), (1, 2), (1, 3), (2, 0), (2, 1), (3, 0), (3, 1)]


def enumerate_draws(matrix: Matrix, choices: ImagePairs, rank: int) -> Counter[int]:
    """How many people are found, over every combination of pairs, one comparison at a time."""
    counts: Counter[int] = Counter()
    people = matrix.columns.column("subject")
    sign = 1 if matrix.larger_is_better else -1
    for pairs in product(*(range(*choices.starts[i : i + 2]) for i in range(choices.people))):
        gallery = choices.columns[list(pairs)]
        ranks = [
            slow_rank(sign * matrix.scores[choices.rows[p]][gallery], people[choices.columns[p]], list(people[gallery]))
            for p in pairs
        ]
        counts[sum(found <= rank for found in ranks)] += 1
    return counts


@pytest.mark.parametrize("rule", [PermuteOptions(), PermuteOptions(differ=("day",)), PermuteOptions(agree=("day",))])
@pytest.mark.parametrize("larger", [True, False])
def test_agrees_with_full_enumeration(rule: PermuteOptions, larger: bool) -> None:
    full = people_matrix(3, 4, seed=5)
    matrix = Matrix("m", full.scores if larger else -full.scores, full.rows, full.columns, larger)
    truth = enumerate_draws(matrix, exchangeable(matrix, rule)[0], 1)
    total = sum(truth.values())
    options = replace(rule, experiments=40_000, ranks=3, sampling="unbalanced", seed=1)
    found = permuted_rates([matrix], options).permuted.identified[:, 0, 0]
    for count in range(4):
        share = truth[count] / total
        # Five standard errors of a share of 40,000 draws.
        assert abs(np.mean(found == count) - share) <= 5 * np.sqrt(share * (1 - share) / 40_000) + 1e-12


def test_balanced_draws_are_those_of_table_6b() -> None:
    matrix = people_matrix(16, 4)
    choices, _ = exchangeable(matrix, PermuteOptions(differ=("day",)))
    first = choices.rows[:8] % 4, choices.columns[:8] % 4
    assert sorted(zip(*(part.tolist() for part in first[::-1]), strict=True)) == TABLE_6B
    drawn = np.concatenate(list(draw_pairs(choices, 500, rng=np.random.default_rng(0))))
    taken = (drawn - choices.starts[:-1])[:, :, None] == np.arange(8)
    assert (taken.sum(axis=1) == 2).all()  # all eight pairs equally often in each of the experiments
    # ... and each person has each of them equally often: 500 draws of a share of 1/8.
    assert abs(taken.mean(axis=0) - 1 / 8).max() < 5 * np.sqrt(7 / 64 / 500)


def test_balance_favours_no_pair_if_people_are_not_a_multiple() -> None:
    choices, _ = exchangeable(people_matrix(3, 4), PermuteOptions(differ=("day",)))
    drawn = np.concatenate(list(draw_pairs(choices, 8000, rng=np.random.default_rng(0)))) - choices.starts[:-1]
    shares = np.bincount(drawn.ravel(), minlength=8) / drawn.size
    assert abs(shares - 1 / 8).max() < 5 * np.sqrt(7 / 64 / drawn.size)
    assert all(len(set(row)) == 3 for row in drawn.tolist())


def test_draws_depend_only_on_the_seed_and_not_on_blocks_or_other_algorithms() -> None:
    a, b = people_matrix(10, 4, name="a"), people_matrix(10, 4, seed=3, name="b")
    choices, _ = exchangeable(a, PermuteOptions())
    for balanced in (True, False):
        whole, parts = (
            np.concatenate(list(draw_pairs(choices, 100, rng=np.random.default_rng(7), balanced=balanced, step=step)))
            for step in (100, 7)
        )
        assert (whole == parts).all()
    options = PermuteOptions(experiments=300, ranks=5, seed=7)
    alone, together = permuted_rates([a], options), permuted_rates([b, a], options)
    assert (alone.permuted.identified[:, 0] == together.permuted.identified[:, 1]).all()
    other = permuted_rates([a], PermuteOptions(experiments=300, ranks=5, seed=8))
    assert (alone.permuted.identified != other.permuted.identified).any()


def test_differences_are_of_the_same_draws_and_never_have_p_zero() -> None:
    good, bad = people_matrix(12, 3, noise=0.2, name="good"), people_matrix(12, 3, noise=6.0, name="bad")
    found = permuted_rates([good, bad], PermuteOptions(experiments=99, ranks=2))
    pair = found.pairs[0]
    assert pair.b_better == 0
    assert pair.a_better == 99
    assert pair.p_not_better == pytest.approx(1 / 100)
    assert pair.p_b_not_better == 1
    assert pair.difference == pytest.approx(found.rates[0][0].mean - found.rates[1][0].mean)
    twice = permuted_rates([good, good], PermuteOptions(experiments=99, ranks=2))
    assert twice.names == ["good", "good-2"]
    assert twice.pairs[0].ties == 99
    assert twice.pairs[0].p_not_better == 1


def test_share_not_better_counts_ties_as_the_paper_does() -> None:
    # Section 7.5: D1 is equal to or less than zero 35 times in 10,000.
    differences = np.concatenate([np.zeros(10), -np.ones(25), np.ones(9965)])
    assert share_not_better(differences) == pytest.approx(36 / 10_001)


def test_percentile_interval_leaves_out_a_fortieth_at_each_end() -> None:
    values = np.arange(1000.0)
    interval = percentile_interval(values)
    assert (interval.low, interval.high) == (25.0, 974.0)
    assert np.mean(values <= interval.low) > 0.025 >= np.mean(values < interval.low)


def test_ties_count_against_the_right_person() -> None:
    labels = Labels({"id": ["a1", "a2", "b1", "b2"], "subject": ["a", "a", "b", "b"]})
    matrix = Matrix("flat", np.ones((4, 4)), labels, labels)
    found = permuted_rates([matrix], PermuteOptions(experiments=20, ranks=2))
    assert found.rates[0][0].mean == 0
    assert found.rates[0][1].mean == 1


def test_counting_bits_without_numpys_bitwise_count(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = people_matrix(40, 4)
    options = PermuteOptions(experiments=50)
    expected = permuted_rates([matrix], options).permuted.identified
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    assert (permuted_rates([matrix], options).permuted.identified == expected).all()


def test_matrices_are_matched_by_their_ids() -> None:
    matrix = people_matrix(8, 3, name="m")
    order = np.random.default_rng(0).permutation(24)
    shuffled = Matrix("s", matrix.scores[order][:, order], matrix.rows.take(order), matrix.columns.take(order))
    found = permuted_rates([matrix, shuffled], PermuteOptions(experiments=50, ranks=3))
    assert (found.permuted.identified[:, 0] == found.permuted.identified[:, 1]).all()
    with pytest.raises(DataError, match="fewer: its rows have no 'p000_0', which m has"):
        permuted_rates([matrix, Matrix("fewer", *_part(matrix, 1))], PermuteOptions())
    with pytest.raises(DataError, match="m: its rows are more than those of fewer"):
        permuted_rates([Matrix("fewer", *_part(matrix, 1)), matrix], PermuteOptions())


def _part(matrix: Matrix, start: int) -> tuple[np.ndarray, Labels, Labels]:
    at = np.arange(start, len(matrix.rows))
    return matrix.scores[start:, start:], matrix.rows.take(at), matrix.columns.take(at)


def test_people_without_a_pair_are_left_out_and_named() -> None:
    matrix = people_matrix(5, 3)
    kept = np.array([i for i in range(15) if i not in (3, 4)])  # p001 has one image left
    chosen = matrix.take(kept, kept)
    found = permuted_rates([chosen], PermuteOptions(experiments=10, ranks=2))
    assert found.left_out == ["p001"]
    assert found.permuted.people == 4
    with pytest.raises(UsageError, match=r"that leaves 0 of .* people, and two are needed"):
        permuted_rates([matrix], PermuteOptions(differ=("subject",)))
    with pytest.raises(UsageError, match="a gallery has only 5 people"):
        permuted_rates([matrix], PermuteOptions(ranks=10))
    assert len(permuted_rates([matrix], PermuteOptions(experiments=10)).rates[0]) == 5
    with pytest.raises(UsageError, match=r"no column 'dya'.*day"):
        permuted_rates([matrix], PermuteOptions(differ=("dya",)))


def test_a_score_that_is_not_a_number_is_refused() -> None:
    matrix = people_matrix(5, 3)
    scores = matrix.scores.copy()
    scores[3, 7] = np.nan
    with pytest.raises(DataError, match="not a number"):
        permuted_rates([Matrix("m", scores, matrix.rows, matrix.columns)], PermuteOptions(ranks=2))


def test_an_image_needs_no_score_against_itself() -> None:
    matrix = people_matrix(6, 3)
    scores = matrix.scores.copy()
    np.fill_diagonal(scores, np.nan)
    options = PermuteOptions(experiments=50, ranks=3)
    found = permuted_rates([matrix, Matrix("blank", scores, matrix.rows, matrix.columns)], options)
    assert (found.permuted.identified[:, 0] == found.permuted.identified[:, 1]).all()


def test_nothing_to_draw_is_refused() -> None:
    none = np.empty(0, np.intp)
    with pytest.raises(ValueError, match="no pair"):
        permute(
            [np.ones((1, 1))],
            ImagePairs(none, none, np.array([0]), none),
            larger_is_better=[True],
            rng=np.random.default_rng(0),
        )


def test_bars_of_all_panels_are_equally_wide() -> None:
    """Neighbouring points of every histogram are as many people apart."""
    options = PermuteOptions(experiments=400)
    matrices = [people_matrix(20, 4, noise=noise, seed=4, name=name) for noise, name in ((0.6, "a"), (2.0, "b"))]
    result, other = (permuted_rates(matrices, replace(options, sampling=one)) for one in ("balanced", "unbalanced"))
    page = plot_permutation(result, other, PictureOptions(), None)
    histograms = [line for sheet in (page.panels[0], *page.panels[2:]) for line in sheet.lines[:2]]
    positions = [np.asarray(line.get_xdata(), dtype=np.float64) for line in histograms]
    widths = {round(float(step), 9) for x in positions if x.size > 2 for step in np.diff(x)}
    assert len(widths) == 1
