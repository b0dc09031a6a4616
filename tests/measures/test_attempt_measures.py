"""pass@k and majority@k on the command line: from --repeat, and between runs with different numbers of answers."""

from math import comb
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.transcripts import transcript
from tests.workshop import Workshop


def run(shop: Workshop, name: str, answers: int, seed: int) -> tuple[Path, np.ndarray]:
    """40 cases with their own chance of success; wrong answers are spread over three labels."""
    rng = np.random.default_rng(seed)
    good = rng.random((40, answers)) < np.linspace(0.1, 0.9, 40)[:, None]
    labels = np.where(good, "right", rng.choice(["x", "y", "z"], good.shape))
    path = transcript(
        shop.folder / f"{name}.jsonl",
        good.ravel(),
        ids=[f"c{case}" for case in range(40) for _ in range(answers)],
        repeat=[turn + 1 for _ in range(40) for turn in range(answers)],
        actual=labels.ravel().tolist(),
        expect=["right"] * good.size,
    )
    return path, good


def values(shop: Workshop, path: Path, *names: str) -> dict[str, dict[str, float]]:
    done = shop.call("rate", path, "--statistic", ",".join(names), "--format", "json")
    assert done.status == 0, done.err
    found: dict[str, dict[str, float]] = done.json["transcripts"][0]["measures"]
    return found


def test_pass_at_k_is_the_mean_over_cases(shop: Workshop) -> None:
    path, good = run(shop, "a", 6, 1)
    found = values(shop, path, "rate", "pass@1", "pass@3")
    expected = np.mean([1 - comb(6 - right, 3) / comb(6, 3) for right in good.sum(axis=1).tolist()])
    assert found["pass@3"]["estimate"] == pytest.approx(expected)
    assert found["pass@1"]["interval"] == pytest.approx(found["rate"]["interval"])


def test_its_error_is_that_of_the_cases(shop: Workshop) -> None:
    path, good = run(shop, "a", 6, 2)
    by_case = np.array([1 - comb(6 - right, 3) / comb(6, 3) for right in good.sum(axis=1).tolist()])
    assert values(shop, path, "pass@3")["pass@3"]["se"] == pytest.approx(by_case.std(ddof=1) / np.sqrt(40))


def test_the_majority_of_all_answers_is_the_vote(shop: Workshop) -> None:
    path, good = run(shop, "a", 5, 3)
    rng = np.random.default_rng(3)
    rng.random((40, 5))
    labels = np.where(good, "right", rng.choice(["x", "y", "z"], good.shape))
    won = []
    for row in labels.tolist():
        counts = {label: row.count(label) for label in row}
        most = [label for label, count in counts.items() if count == max(counts.values())]
        won.append(("right" in most) / len(most))
    assert values(shop, path, "majority@5")["majority@5"]["estimate"] == pytest.approx(np.mean(won))


def test_runs_with_different_numbers_of_answers_are_compared(shop: Workshop) -> None:
    """Matching repeats the answers of a run that has fewer; pass@k is of those that were given."""
    (a, good_a), (b, good_b) = run(shop, "a", 6, 4), run(shop, "b", 4, 5)
    found = shop.call("compare", a, b, "--statistic", "pass@2", "--format", "json").json
    expected = [
        np.mean([1 - comb(n - right, 2) / comb(n, 2) for right in good.sum(axis=1).tolist()])
        for good, n in ((good_a, 6), (good_b, 4))
    ]
    assert [one["replication"]["estimate"] for one in found["transcripts"]] == pytest.approx(expected)


def test_too_few_answers_are_a_line(shop: Workshop) -> None:
    path, _ = run(shop, "a", 2, 6)
    done = shop.call("rate", path, "--statistic", "pass@5")
    assert done.status == 2
    assert "a case has only 2 answers; it takes 5 for each (run with --repeat 5 or more)" in done.err
