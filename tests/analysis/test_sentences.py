"""What a comparison says in words: each sentence when it is true, and only then."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from harness.analysis.comparison import Comparison
from harness.report.blocks import Paragraphs
from harness.report.comparison import comparison_blocks
from harness.report.comparison_details import tutorial_lines
from harness.report.verdicts import pair_verdict
from harness.stats.multiplicity import Multiplicity
from harness.stats.replication.method import Replication
from tests.analysis.score_runs import World, compare_files
from tests.analysis.transcripts import clustered, figure_5, transcript
from tests.workshop import Workshop


def compare_successes(
    folder: Path,
    *runs: Sequence[bool] | np.ndarray[Any, np.dtype[np.bool_]],
    plan: Replication | None = None,
    **fields: Any,
) -> Comparison:
    """Runs a, b, ... with the same fields; `design` is the header's."""
    paths = [transcript(folder / f"{'abcdef'[k]}.jsonl", good, **fields) for k, good in enumerate(runs)]
    return compare_files(*paths, plan=plan)


def verdicts(found: Comparison) -> str:
    """The verdicts of the first pair."""
    return " ".join(pair_verdict(found, found.pairs[0]))


def documents(count: int, size: int) -> dict[str, Any]:
    return {"psu": [f"d{i // size}" for i in range(count * size)], "design": {"psu": "document"}}


def test_nothing_is_said_about_pairs_that_were_not_compared(shop: Workshop) -> None:
    """--baseline: no letters and no groups, which would join runs that were never compared."""
    paths = figure_5(shop.folder)
    found = shop.call("compare", *paths, "--baseline", "wisard", "--format", "json").json
    assert (found["groups"], [run["letters"] for run in found["transcripts"]]) == ([], ["", "", ""])
    assert len(found["pairs"]) == 2
    alone, together = (shop.call("compare", *paths, *words).out for words in (["--baseline", "wisard"], []))
    assert "letter" not in alone
    assert "Algorithms that share a letter cannot be told apart." in together


def test_weights_that_turn_the_difference_around_are_named(shop: Workshop) -> None:
    """Cases on which b alone is right are few, and count much: McNemar's test, which counts each once, has a ahead."""
    columns = [{"weight": "50" if case < 20 else "1"} for case in range(200)]
    good = np.arange(200) >= 20
    good[:4] = True
    found = compare_successes(shop.folder, good, ~good, columns=columns, design={"weights": "weight"})
    text = verdicts(found)
    assert text.startswith("b is better than a")
    assert "McNemar's test finds a difference (p < 0.0001), the jackknife one in the opposite direction (p" in text
    assert "It counts each of them once, and leaves the weights (weight) out." in text


@pytest.mark.parametrize(("units", "alike"), [(True, True), (False, False)])
def test_cases_of_a_unit_are_called_alike_if_they_are(tmp_path: Path, units: bool, alike: bool) -> None:
    """Differences that go together within documents, and differences that cancel there (a negative correlation)."""
    if alike:
        a = np.repeat([True, True, True, True, True, False, False, False], 40)
        found = compare_successes(tmp_path, a, ~a, **documents(8, 40))
    else:
        # In every document A is better on three cases and B on two, except in two documents.
        a = np.tile([True, True, True, False, False, True], 16)
        b = np.tile([False, False, False, True, True, True], 16)
        b[[0, 6]] = True
        found = compare_successes(tmp_path, a, b, **documents(16, 6))
    text, one = verdicts(found), found.pairs[0].estimate
    assert one is not None
    assert one.icc is not None
    assert (one.icc > 0) is alike
    assert "Believe the jackknife" in text
    assert (f"the cases of one are alike (intraclass correlation {one.icc:.2f})" in text) is alike
    assert (
        f"the cases of one are no more alike than any others (intraclass correlation {one.icc:.2f})" in text
    ) is not alike


def test_a_variance_like_that_of_independent_cases_explains_nothing(tmp_path: Path) -> None:
    """Each case a unit: it is the t test that disagrees with the exact one, not the variance."""
    a, b = [True] * 10, [False] * 5 + [True] * 5
    found = compare_successes(tmp_path, a, b, **documents(10, 1))
    text, one = verdicts(found), found.pairs[0].estimate
    assert one is not None
    assert one.design_effect == pytest.approx(1.0)
    assert "Believe the jackknife" in text
    assert "times that of independent cases" not in text
    assert "9 degrees of freedom; the variance itself is that of independent cases" in text
    assert "adjusted for the design effect" not in text


def test_a_variance_that_differs_is_reported_with_its_effect(tmp_path: Path) -> None:
    a = np.repeat([True, True, True, True, True, False, False, False], 40)
    found = compare_successes(tmp_path, a, ~a, **documents(8, 40))
    text, pair = verdicts(found), found.pairs[0]
    assert pair.estimate is not None
    effect = pair.estimate.design_effect
    assert effect is not None
    wrong = 2 * stats.norm.sf(1.959963984540054 / math.sqrt(effect))
    assert f"The variance is {effect:.2f} times that of independent cases" in text
    assert f" {wrong * 100:.1f} % of the time" in text
    # McNemar's z over the root of the design effect.
    assert f"McNemar's test adjusted for the design effect: z = {pair.z / math.sqrt(effect):.3f}" in text


def test_no_design_effect_is_used_if_none_is_known(tmp_path: Path) -> None:
    """A right and B wrong everywhere: independent cases would not vary either. Three documents have p = 2 / 2^3."""
    found = compare_successes(tmp_path, [True] * 30, [False] * 30, **documents(3, 10))
    text, pair = verdicts(found), found.pairs[0]
    assert pair.estimate is not None
    assert (pair.design_effect, pair.estimate.design_effect) == (None, None)
    assert pair.estimate.p_value == pair.estimate.p_sign_flip == 0.25
    assert pair.p_adjusted < 1e-6
    assert "Believe the jackknife" in text
    assert "adjusted for the design effect" not in text
    assert "the variance itself is that of independent cases" not in text
    assert "The units do not vary, so only their number counts." in text
    assert text.startswith("a and b cannot be told apart for new documents: 3 units do not show how much")


def test_units_are_called_too_few_and_not_their_cases(tmp_path: Path) -> None:
    """Two documents of two cases: the documents are too few."""
    found = compare_successes(tmp_path, [True, True, True, False], [False, True, False, True], **documents(2, 2))
    assert "2 units (document) are too few to show any difference" in verdicts(found)
    assert "cases are too few" not in verdicts(found)
    bare = compare_successes(tmp_path, [True, False, True], [False, True, True])
    assert "3 cases are too few to show any difference" in verdicts(bare)


def test_all_right_is_better_than_all_wrong(tmp_path: Path) -> None:
    """1.000 against 0.000 in ten documents: nothing varies, and 2 of the 2^10 ways to swap them are as far apart."""
    found = compare_successes(tmp_path, [True] * 40, [False] * 40, **documents(10, 4))
    text, one = verdicts(found), found.pairs[0].estimate
    assert one is not None
    assert one.p_value == 2 / 2**10
    assert text.startswith("a is better than b by ")
    assert found.groups == [["a"], ["b"]]
    # That interval does not come from a method of replication.
    assert "(95 % interval of 10 units that do not vary, for new documents)" in text
    assert "jackknife" not in text


@pytest.mark.parametrize("strata", [True, False])
def test_a_perfect_curve_is_better_than_chance(tmp_path: Path, strata: bool) -> None:
    """AUC 1.0 against 0.5, neither of which varies."""
    world = World(strata=10, size=4)
    perfect, blind = np.where(world.positive, 1.0, 0.0), np.zeros(world.n)
    paths = [world.write(tmp_path / f"{k}.jsonl", scores) for k, scores in (("a", perfect), ("b", blind))]
    found = compare_files(*paths, statistic="auc", stratum=None if strata else "none")
    assert [run.value for run in found.runs] == [1.0, 0.5]
    text = verdicts(found)
    assert text.startswith("a is better than b in area under the ROC curve by ")
    assert "(95 % interval of 20 units that do not vary, " in text


def test_a_design_without_an_error_leaves_the_verdict_open(tmp_path: Path) -> None:
    """One unit with a weight in each stratum: no degree of freedom, however many cases there are."""
    n, strata = 120, 6
    b = np.arange(n) % 4 > 0
    stratum = np.arange(n) // (n // strata)
    psu = np.arange(n) // (n // strata // 2)
    fields: dict[str, Any] = {
        "stratum": [f"s{s}" for s in stratum], "psu": [f"u{u}" for u in psu],
        "columns": [{"w": int(u % 2)} for u in psu], "design": {"stratum": "s", "psu": "u", "weights": "w"},
    }  # fmt: skip
    found = compare_successes(tmp_path, np.ones(n, dtype=bool), b, **fields)
    pair = found.pairs[0]
    assert pair.estimate is not None
    assert (pair.estimate.df, pair.estimate.interval, pair.estimate.p_value) == (0, None, None)
    assert pair.p_adjusted < 1e-6
    assert pair.p_decisive == 1.0
    assert found.groups == [["a", "b"]]
    assert verdicts(found).startswith(
        "a and b cannot be told apart for these strata (s) and new us: 12 units do not show"
    )


def test_few_units_give_no_verdict(tmp_path: Path) -> None:
    """The same in four documents: 2 of 2^4 ways are as far apart, p = 0.125."""
    found = compare_successes(tmp_path, [True] * 16, [False] * 16, **documents(4, 4))
    assert found.pairs[0].estimate is not None
    assert found.pairs[0].estimate.p_value == 0.125
    assert verdicts(found).startswith("a and b cannot be told apart for new documents")


def test_a_lead_is_never_by_nothing(tmp_path: Path) -> None:
    """Six failures of 4,000 against none: a significant lead is more than 0.0 points."""
    n = 4000
    b = np.ones(n, dtype=bool)
    b[:6] = False
    found = compare_successes(tmp_path, np.ones(n, dtype=bool), b, **documents(n, 1))
    text, one = verdicts(found), found.pairs[0].estimate
    assert one is not None
    assert one.interval is not None
    assert 0 < one.interval.low < 0.0005
    assert "by 0.0 " not in text
    shown = float(text.split(" by ")[1].split()[0])
    assert shown == pytest.approx(one.interval.low * 100, abs=0.005)
    assert shown > 0


def test_if_the_interval_contains_zero_no_smallest_lead_is_claimed(tmp_path: Path) -> None:
    """One more case in each of twelve documents of a hundred: significant by the exact test, but it may be 0."""
    b = np.arange(1200) % 100 > 0
    found = compare_successes(tmp_path, np.ones(1200, dtype=bool), b, **documents(12, 100))
    one = found.pairs[0].estimate
    assert one is not None
    assert one.interval is not None
    assert one.interval.low <= 0 < one.value < one.interval.high
    assert one.p_value == 2 / 2**12
    text = verdicts(found)
    assert text.startswith(f"a is better than b (p = 0.0005), by at most {one.interval.high * 100:.1f} points (")


def test_coin_flips_are_not_complementary(tmp_path: Path) -> None:
    """Two unrelated algorithms reach 1 - (1 - a)(1 - b) together; only more than that is called complementary."""
    rng = np.random.default_rng(1)
    a, b = rng.random(2000) < 0.6, rng.random(2000) < 0.6
    text = verdicts(compare_successes(tmp_path, a, b))
    unrelated = 1 - (1 - a.mean()) * (1 - b.mean())
    assert "complementary" not in text
    assert f"would give {(a | b).mean():.4f}; with two unrelated algorithms of these rates, {unrelated:.4f}." in text
    apart = np.arange(2000) % 2 == 0
    text = verdicts(compare_successes(tmp_path, apart, ~apart))
    assert "They are complementary: each succeeds on many cases where the other fails (1,000 and 1,000)" in text
    assert "would give 1.0000; with two unrelated algorithms of these rates, 0.7500." in text
    alike = np.where(rng.random(2000) < 0.2, ~a, a)
    assert "complementary" not in verdicts(compare_successes(tmp_path, a, alike))


def test_sentences_that_assume_independent_cases_say_so_if_a_psu_is_known(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    a, b, close = rng.random(200) < 0.9, rng.random(200) < 0.5, rng.random(200) < 0.88
    for worse in (b, close):
        with_psu, without = (compare_successes(tmp_path, a, worse, **more) for more in (documents(50, 4), {}))
        strata = compare_successes(tmp_path, a, worse, stratum=[str(i % 5) for i in range(200)])
        lines = tutorial_lines(with_psu, with_psu.pairs[0])[1:]
        assert lines
        assert all(line.endswith(", if cases were independent") for line in lines)
        for found in (without, strata):
            assert not any("independent" in line for line in tutorial_lines(found, found.pairs[0]))


@pytest.mark.parametrize(("units", "confidence", "runs"), [(2, 0.95, 2), (12, 0.95, 2), (12, 0.99, 2), (12, 0.95, 3)])
def test_the_detectable_difference_depends_on_df_correction_and_confidence(
    tmp_path: Path, units: int, confidence: float, runs: int
) -> None:
    """The difference that a t test with this error detects four times in five: the normal power at every variance."""
    rng = np.random.default_rng(3)
    good = [rng.random(units * 500) < 0.8 for _ in range(runs)]
    found = compare_successes(tmp_path, *good, plan=Replication(confidence=confidence), **documents(units, 500))
    pair, one = found.pairs[0], found.pairs[0].estimate
    assert one is not None
    assert pair.p_decisive > found.alpha
    text = pair_verdict(found, pair)[0]
    missed = float(text.split("a difference below ")[1].split()[0]) / 100
    df = units - 1
    critical = stats.t.isf((1 - confidence) / len(found.pairs) / 2, df)
    # Of a chi-squared variance, in steps of equal probability.
    roots = np.sqrt(stats.chi2.ppf((np.arange(20_000) + 0.5) / 20_000, df) / df)

    def power(shift: float) -> float:
        far = stats.norm.sf(critical * roots - shift / one.se) + stats.norm.cdf(-critical * roots - shift / one.se)
        return float(far.mean())

    assert power(missed - 0.0006) < 0.8 < power(missed + 0.0006)
    assert ("at the level of the strictest of 3 tests" in text) is (runs == 3)


def lines_of(found: Comparison) -> str:
    return " ".join(text for block in comparison_blocks(found) if isinstance(block, Paragraphs) for text in block.texts)


def test_the_output_says_what_is_corrected_for_many_pairs(tmp_path: Path) -> None:
    paths = [*clustered(tmp_path, 4, strata=4, units=4, size=3)]
    third = transcript(tmp_path / "c.jsonl", [i % 3 > 0 for i in range(48)])
    for method, words in (
        (Multiplicity.HOLM, "Verdicts are corrected for 3 pairs (Holm); intervals are not"),
        (Multiplicity.HOCHBERG, "Verdicts are corrected for 3 pairs (Hochberg); intervals are not"),
        (Multiplicity.BH, "Verdicts are corrected for 3 pairs (Benjamini and Hochberg); intervals are not"),
        (
            Multiplicity.MAX_T,
            "p max-t and the intervals of differences by design hold for all 3 pairs at once (max-t).",
        ),
    ):
        assert words in lines_of(compare_files(*paths, third, multiplicity=method))
    dunnett = compare_files(*paths, third, multiplicity=Multiplicity.MAX_T, baseline="a")
    assert (
        "p max-t and the intervals of differences by design hold for both pairs at once (Dunnett's test)."
        in lines_of(dunnett)
    )
    assert "corrected for" not in lines_of(compare_files(*paths))


def test_without_a_design_no_replication_method_is_named(tmp_path: Path) -> None:
    good = np.arange(60) % 10 > 0
    text = verdicts(compare_successes(tmp_path, good, np.arange(60) % 2 == 0))
    assert "(Newcombe 95 % interval, for new cases, taken as independent)" in text
