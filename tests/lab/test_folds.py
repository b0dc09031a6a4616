"""`hate compare --folds`: against the formula of Nadeau and Bengio by hand, with scipy's t."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.analysis.transcripts import transcript
from tests.workshop import Workshop

CASES, FOLDS = 120, 6
FOLD = np.arange(CASES) % FOLDS
RNG = np.random.default_rng(1)
GOOD = {name: RNG.random(CASES) < share for name, share in (("a", 0.85), ("b", 0.7))}


def runs(shop: Workshop) -> list[Path]:
    columns = [{"fold": int(fold), "half": int(fold) % 2 if fold else None, "one": 1} for fold in FOLD]
    return [transcript(shop.folder / f"{name}.jsonl", good, columns=columns) for name, good in GOOD.items()]


def test_the_posterior_and_the_test_are_the_correlated_t(shop: Workshop) -> None:
    done = shop.call("compare", *runs(shop), "--folds", "fold", "--rope", "0.03", "--format", "json")
    found = done.json["folds"][0]
    d = np.array([(GOOD["a"][k::FOLDS].mean() - GOOD["b"][k::FOLDS].mean()) for k in range(FOLDS)])
    # A fold tests on a sixth and learns from five: 1/6 + 1/5.
    scale = np.sqrt((1 / FOLDS + 1 / (FOLDS - 1)) * d.var(ddof=1))
    assert (found["column"], found["folds"]) == ("fold", FOLDS)
    assert found["test_share"] == pytest.approx(1 / FOLDS)
    assert found["difference"] == pytest.approx(d.mean())
    assert found["differences"] == pytest.approx(d)
    assert found["p_value"] == pytest.approx(2 * stats.t.sf(abs(d.mean()) / scale, FOLDS - 1), rel=1e-9)
    assert found["a_better"] == pytest.approx(stats.t.sf((0.03 - d.mean()) / scale, FOLDS - 1), rel=1e-9)
    assert found["b_better"] == pytest.approx(stats.t.cdf((-0.03 - d.mean()) / scale, FOLDS - 1), rel=1e-9)
    assert found["a_better"] + found["equivalent"] + found["b_better"] == pytest.approx(1.0)


def test_repeated_folds_test_on_the_same_share(shop: Workshop) -> None:
    """Two rounds of three folds: every case twice, and each fold tests on a third."""
    ids = [f"c{i}" for i in range(30)] * 2
    columns = [{"fold": f"{i // 30}.{(i + i // 30 * (i % 7)) % 3}"} for i in range(60)]
    repeat = [1 + i // 30 for i in range(60)]
    paths = [
        transcript(shop.folder / f"{name}.jsonl", GOOD[name][:60], ids=ids, repeat=repeat, columns=columns)
        for name in GOOD
    ]
    found = shop.call("compare", *paths, "--folds", "fold", "--format", "json").json["folds"][0]
    assert found["folds"] == 6
    assert found["test_share"] == pytest.approx(1 / 3)


def test_folds_that_all_agree_are_no_proof(shop: Workshop) -> None:
    """One case of twenty in every fold: six coins fall on the same side in one of 2^5 experiments."""
    columns = [{"fold": int(fold)} for fold in FOLD]
    better = [transcript(shop.folder / "all.jsonl", [True] * CASES, columns=columns)]
    better.append(transcript(shop.folder / "most.jsonl", np.arange(CASES) >= FOLDS, columns=columns))
    found = shop.call("compare", *better, "--folds", "fold", "--format", "json").json["folds"][0]
    assert found["difference"] == pytest.approx(0.05)
    assert found["p_value"] == pytest.approx(2**-5)


def test_four_counts_have_no_folds(shop: Workshop) -> None:
    done = shop.call("compare", "--table", "58", "31", "9", "902", "--folds", "fold")
    assert done.status == 2
    assert done.err == "hate: four counts have no cases or columns; leave out --folds\n"


def test_the_report_says_what_it_rests_on(shop: Workshop) -> None:
    text = " ".join(shop.call("compare", *runs(shop), "--folds", "fold").out.split())
    assert "Over the folds" in text
    assert "6 folds by fold, each testing on 16.7 % of the cases: for other training data of this size" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--folds", "fould"), "--folds fould: no such column in these transcripts; did you mean 'fold'"),
        (("--folds", "half"), "--folds half: 20 cases have no value, and so no fold"),
        (("--folds", "one"), "--folds one: all cases are in one fold"),
        (("--folds", "fold", "--statistic", "tpr"), "--folds is about success; leave out --statistic"),
        (("--folds", "fold", "--unpaired"), "--unpaired matches no cases, so --folds has nothing to work on"),
    ],
)
def test_mistakes_are_a_line(shop: Workshop, words: tuple[str, ...], message: str) -> None:
    done = shop.call("compare", *runs(shop), *words)
    assert done.status == 2
    assert message in done.err
    assert done.err.count("\n") == 1
