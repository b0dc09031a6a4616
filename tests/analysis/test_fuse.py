"""`hate fuse`: several transcripts as one, by votes, means, and weights that were learnt elsewhere."""

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import harness
from harness.options import declared_options
from harness.options.comparing import FuseOptions, FusionRule
from harness.stats.arrays import BoolArray, FloatArray
from tests.analysis.transcripts import transcript
from tests.workshop import Workshop

SCORE = {"task": "score"}


def _scored(
    path: Path, scores: FloatArray, positive: BoolArray, *, threshold: float = 0.0, distance: bool = False, **more: Any
) -> Path:
    """A run of a score test."""
    accepted = scores <= threshold if distance else scores >= threshold
    test = SCORE | more.pop("test", {}) | ({"larger_is_better": False} if distance else {})
    return transcript(
        path, accepted == positive, positive=positive.tolist(), test=test, params={"threshold": threshold},
        score=scores.tolist(), actual=scores.tolist(), **more,
    )  # fmt: skip


def _labelled(path: Path, answers: list[str | None], *, leads: list[float] | None = None, claims: str = "aabb") -> Path:
    """A run of a label test whose last case is negative."""
    n = len(answers)
    positive = [True] * (n - 1) + [False]
    good = [(answer == claim) == sign for answer, claim, sign in zip(answers, claims, positive, strict=True)]
    more: dict[str, Any] = {} if leads is None else {"score": leads}
    return transcript(
        path, good, positive=positive, actual=answers, expect=list(claims), truth=[*claims[:-1], "a"],
        params={"threshold": 0.0}, **more,
    )  # fmt: skip


def _two(folder: Path, seed: int = 0, n: int = 120, prefix: str = "", **more: Any) -> list[Path]:
    """Two programs that see different halves of what there is to see; three cases to a unit."""
    rng = np.random.default_rng(seed)
    positive = np.arange(n) % 2 == 0
    more |= {"ids": [f"{prefix}c{i}" for i in range(n)], "psu": [f"{prefix}u{i // 3}" for i in range(n)]}
    scales = {"a": (1.0, 0.0), "b": (50.0, 300.0)}
    return [
        _scored(
            folder / f"{prefix}{name}.jsonl", at + scale * (positive * 1.5 - 0.75 + rng.normal(size=n)), positive,
            threshold=at, name=name, design={"psu": "subject"}, **more,
        )
        for name, (scale, at) in scales.items()
    ]  # fmt: skip


def _answers(path: Path) -> list[tuple[Any, Any, str]]:
    _, *records, _ = [json.loads(line) for line in path.read_text().splitlines()]
    return [(record.get("actual"), record.get("score"), record["outcome"]) for record in records]


def test_the_majority_of_labels_wins_and_a_tie_is_a_refusal(shop: Workshop) -> None:
    files = [
        _labelled(shop.folder / "x.jsonl", ["a", "a", "b", "b"]),
        _labelled(shop.folder / "y.jsonl", ["a", "b", None, "b"]),
        _labelled(shop.folder / "z.jsonl", ["b", "c", None, "a"]),
    ]
    assert shop.call("fuse", *files, "-o", "vote.jsonl").status == 0
    third = pytest.approx(1 / 3)
    assert _answers(shop.folder / "vote.jsonl") == [
        ("a", third, "TP"), (None, None, "FN"), (None, None, "FN"), ("b", third, "FP"),
    ]  # fmt: skip
    assert shop.call("fuse", *files, "-o", "first.jsonl", "--ties", "first").status == 0
    # In the third case two of three refuse, which is a majority, not a tie.
    assert [answer for answer, _, _ in _answers(shop.folder / "first.jsonl")] == ["a", "a", None, "b"]


def test_an_answer_below_its_own_threshold_is_a_vote_to_refuse(shop: Workshop) -> None:
    x = _labelled(shop.folder / "x.jsonl", ["a", "a", "b", "a"])
    y = transcript(
        shop.folder / "y.jsonl", [True, False, True, True], positive=[True, True, True, False], expect=list("aabb"),
        actual=["a", "a", "b", "a"], score=[3.0, 1.0, 2.0, 9.0], params={"threshold": 2.0},
    )  # fmt: skip
    assert shop.call("fuse", x, y, "-o", "both.jsonl").status == 0
    assert [outcome for _, _, outcome in _answers(shop.folder / "both.jsonl")] == ["TP", "FN", "TP", "TN"]


def test_leads_of_labels_are_added_on_a_common_scale(shop: Workshop) -> None:
    """Medians 2 and 10: a leads b by (4/2 - 10/10)/2 in the second case, b leads by (40/10 - 2/2)/2 in the third."""
    x = _labelled(shop.folder / "x.jsonl", ["a", "a", "a", "a"], leads=[2.0, 4.0, 2.0, 2.0])
    y = _labelled(shop.folder / "y.jsonl", ["a", "b", "b", "b"], leads=[10.0, 10.0, 40.0, 10.0])
    assert shop.call("fuse", x, y, "--rule", "mean", "-o", "both.jsonl").status == 0
    assert _answers(shop.folder / "both.jsonl") == [
        ("a", 1.0, "TP"),
        ("a", 0.5, "TP"),
        ("b", 1.5, "TP"),
        (None, None, "TN"),
    ]


@pytest.mark.parametrize("distance", [False, True])
def test_votes_on_claims(shop: Workshop, distance: bool) -> None:
    positive = np.array([True, True, True, False])
    sign = -1 if distance else 1
    scores = np.array([[1.0, 1, -1, 1], [1.0, -1, 1, 1], [1.0, -1, -1, -1]]) * sign
    files = [
        _scored(shop.folder / f"{i}.jsonl", row, positive, distance=distance, name=f"p{i}")
        for i, row in enumerate(scores)
    ]
    assert shop.call("fuse", *files, "-o", "three.jsonl").status == 0
    assert [outcome for _, _, outcome in _answers(shop.folder / "three.jsonl")] == ["TP", "FN", "FN", "FP"]
    assert shop.call("fuse", *files[:2], "-o", "two.jsonl").status == 0
    assert [outcome for _, _, outcome in _answers(shop.folder / "two.jsonl")] == ["TP", "FN", "FN", "FP"]
    assert shop.call("fuse", *files[:2], "-o", "first.jsonl", "--ties", "first").status == 0
    assert [outcome for _, _, outcome in _answers(shop.folder / "first.jsonl")] == ["TP", "TP", "FN", "FP"]


def test_the_mean_of_normalised_scores_and_of_thresholds(shop: Workshop) -> None:
    files = _two(shop.folder)
    assert shop.call("fuse", *files, "--rule", "mean", "-o", "both.jsonl").status == 0
    columns = [harness.read(file).columns.score for file in files]
    middles = [np.median(score) for score in columns]
    spreads = [1.482602218505602 * np.median(np.abs(s - m)) for s, m in zip(columns, middles, strict=True)]
    expected = np.mean([(s - m) / d for s, m, d in zip(columns, middles, spreads, strict=True)], axis=0)
    both = harness.read(shop.folder / "both.jsonl")
    np.testing.assert_allclose(both.columns.score, expected, rtol=1e-12)
    threshold = np.mean([(at - m) / d for at, m, d in zip((0, 300), middles, spreads, strict=True)])
    assert both.header.params["threshold"] == pytest.approx(threshold)
    accepted = np.isin([str(trial.outcome) for trial in both], ["TP", "FP"])
    np.testing.assert_array_equal(accepted, expected >= both.header.params["threshold"])


@pytest.mark.sampled(9)
@pytest.mark.parametrize("rule", [rule for rule in FusionRule if rule != FusionRule.LOGISTIC])
@pytest.mark.parametrize("count", [2, 3, 5, 8, 12, 13])
@pytest.mark.parametrize("labelled", [False, True], ids=["scores", "labels"])
def test_runs_that_are_the_same_are_fused_into_that_run(
    shop: Workshop, rule: FusionRule, count: int, labelled: bool
) -> None:
    """Many scores are at the threshold; so is a bare majority of a vote. No sum may fall short by its rounding."""
    for threshold in (0.1, 0.3, 0.6, 0.7):
        scores = np.round(np.random.default_rng(count).integers(1, 10, 40) / 10, 1)
        accepted, folder = scores >= threshold, shop.folder / f"{threshold}"
        folder.mkdir()
        labels = {"actual": ["a"] * 40, "expect": ["a"] * 40, "truth": ["a"] * 40, "score": scores.tolist()}
        votes = count // 2 + 1 if rule == FusionRule.MAJORITY else count
        runs = [
            transcript(folder / f"{number}.jsonl", accepted, params={"threshold": threshold}, **labels)
            if labelled
            else _scored(folder / f"{number}.jsonl", scores * (number < votes), accepted | True, threshold=threshold)
            for number in range(count)
        ]
        assert shop.call("fuse", *runs, "--rule", rule, "-o", folder / "fused.jsonl").status == 0
        fused = [outcome == "TP" for _, _, outcome in _answers(folder / "fused.jsonl")]
        assert fused == accepted.tolist()


def test_folds_learn_without_the_unit_that_they_fuse(shop: Workshop) -> None:
    """Each fold's scores are the log-odds of scikit-learn's model of all the other folds."""
    files = _two(shop.folder)
    assert shop.call("fuse", *files, "--rule", "logistic", "--folds", "4", "-o", "both.jsonl").status == 0
    both = harness.read(shop.folder / "both.jsonl")
    models = both.header.fused["models"]  # type: ignore[index]
    numbers = np.stack([harness.read(file).columns.score for file in files], axis=1)
    positive, units = both.columns.positive, both.columns.psu.codes
    odds = np.stack([model["intercept"] + numbers @ model["weights"] for model in models])
    own = np.argmin(np.abs(odds - both.columns.score), axis=0)
    np.testing.assert_allclose(odds[own, np.arange(len(own))], both.columns.score, atol=1e-9)
    scaled = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    for fold in range(4):
        inside = own == fold
        assert not set(units[inside]) & set(units[~inside])
        model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12).fit(
            scaled[~inside], positive[~inside]
        )
        np.testing.assert_allclose(model.decision_function(scaled[inside]), both.columns.score[inside], rtol=1e-5)


def test_weights_from_other_cases(shop: Workshop) -> None:
    files, train = _two(shop.folder), _two(shop.folder, 5, prefix="t", test={"name": "other"})
    learn = [word for file in train for word in ("--learn", file)]
    done = shop.call("fuse", *files, "--rule", "logistic", *learn, "-o", "both.jsonl")
    assert done.status == 0, done.err
    numbers, others = (np.stack([harness.read(file).columns.score for file in part], axis=1) for part in (files, train))
    scale = others.std(axis=0)
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    model.fit(others / scale, harness.read(train[0]).columns.positive)
    fused = harness.read(shop.folder / "both.jsonl")
    np.testing.assert_allclose(fused.columns.score, model.decision_function(numbers / scale), rtol=1e-5, atol=1e-7)
    assert [one["name"] for one in fused.header.fused["learn"]] == ["a", "b"]  # type: ignore[index]


def test_a_fused_run_is_compared_like_any_other(shop: Workshop) -> None:
    files = _two(shop.folder, n=300)
    done = shop.call("fuse", *files, "--rule", "logistic", "--folds", "10", "-o", "both.jsonl", "--format", "json")
    assert done.json["transcripts"] == ["both.jsonl"]
    header = shop.lines("both.jsonl")[0]
    assert header["algorithm"]["name"] == "a+b"
    assert header["interface"]["kind"] == "fuse: logistic"
    assert header["fused"]["rule"] == "logistic"
    assert [(one["name"], one["sha256"]) for one in header["fused"]["sources"]] == [
        (name, hashlib.sha256(file.read_bytes()).hexdigest()) for name, file in zip("ab", files, strict=True)
    ]
    found = shop.call("compare", "both.jsonl", *files, "--format", "json").json
    assert [run["name"] for run in found["transcripts"]] == ["a+b", "a", "b"]
    assert all(found["transcripts"][0]["rate"] > run["rate"] for run in found["transcripts"][1:])
    assert found["transcripts"][0]["replication"]["psu"] == "subject"
    assert shop.call("check", "both.jsonl").status == 0


def test_labels_are_weighted_by_how_often_their_programs_were_right(shop: Workshop) -> None:
    """One program is nearly always right, two are wrong together: the vote follows the two, the weights the one."""
    rng = np.random.default_rng(3)
    n = 200
    real = rng.choice(list("abcd"), n)
    wrong = np.array([chr((ord(c) - 97 + 1) % 4 + 97) for c in real])
    good = np.where(rng.random(n) < 0.9, real, wrong)
    poor = np.where(rng.random(n) < 0.45, real, wrong)
    files = [
        transcript(
            shop.folder / f"{name}.jsonl", answers == real, actual=answers.tolist(), expect=real.tolist(),
            params={"threshold": 0.0},
        )
        for name, answers in (("good", good), ("poor", poor), ("copy", poor))
    ]  # fmt: skip
    rates: dict[str, float] = {}
    settings: list[tuple[Literal["majority", "logistic"], int | None]] = [("majority", None), ("logistic", 5)]
    for rule, folds in settings:
        fused = harness.fuse([*files], rule=rule, folds=folds, output=shop.folder / f"{rule}.jsonl")
        rates[rule] = fused.counts.rate
    assert rates["majority"] == np.mean(poor == real)
    assert rates["logistic"] == np.mean(good == real)


def test_refusals_and_errors(shop: Workshop) -> None:
    """A refusal of one program is its worst score; what all fail on is an error."""
    positive = [True, False, True, False, True]
    first = transcript(
        shop.folder / "x.jsonl", [True, True, True, False, False], positive=positive, test=SCORE,
        params={"threshold": 0.0}, score=[3.0, -1.0, 2.0, None, None], actual=[3.0, -1.0, 2.0, None, None],
        error=[None, None, None, "crash", "timeout"], message=["", "", "", "boom", "late"],
    )  # fmt: skip
    second = transcript(
        shop.folder / "y.jsonl", [True, True, False, False, False], positive=positive, test=SCORE,
        params={"threshold": 0.0}, score=[1.0, -2.0, None, 1.0, None], actual=[1.0, -2.0, None, 1.0, None],
        error=[None, None, None, None, "crash"],
    )  # fmt: skip
    assert shop.call("fuse", first, second, "--rule", "ranks", "-o", "both.jsonl").status == 0
    _, *records, _ = shop.lines("both.jsonl")
    # Ranks 5/6, 1/6, 1/2 and the worst, 1/6; 1/2 (two equal scores), 1/6 and the worst.
    assert [record.get("score") for record in records[:4]] == pytest.approx(
        [(5 / 6 + 2 / 3) / 2, 1 / 6, (1 / 2 + 1 / 6) / 2, (1 / 6 + 2 / 3) / 2]
    )
    assert (records[4]["error"], records[4]["outcome"]) == ("timeout", "FN")
    assert records[4]["message"] == "every run has an error; the first: late"


def test_mistakes_are_told_in_a_line(shop: Workshop) -> None:
    files = _two(shop.folder)
    rank = [transcript(shop.folder / f"r{i}.jsonl", [True, False], test={"task": "rank"}) for i in "12"]
    answers: dict[str, Any] = {"actual": ["x", "y"], "expect": ["x", "z"]}
    judged = [transcript(shop.folder / f"j{i}.jsonl", [True, True], **answers) for i in "12"]
    bare = [_labelled(shop.folder / f"{name}.jsonl", ["a", "a", "b", "b"]) for name in "xy"]
    other = _two(shop.folder, 5, prefix="t", test={"name": "other"})
    for words, message in (
        ([files[0]], "one transcript is nothing to fuse"),
        ([*files, "--rule", "logistic"], "either --learn FILE for each transcript, in their order, or --folds 10"),
        ([*files, "--folds", "5"], "--rule majority learns nothing"),
        ([*files, "--rule", "logistic", "--folds", "41"], "41 folds of 40 units; give from 2 to 40"),
        ([*files, "--rule", "logistic", "--learn", files[0]], "1 transcripts to learn from, 2 to fuse"),
        (
            [*files, "--rule", "logistic", "--learn", files[0], "--learn", files[1]],
            "case 'c0' is among those to be fused",
        ),
        (
            [*files, "--rule", "logistic", "--learn", other[1], "--learn", other[0]],
            "of b, where a.jsonl is of a; name them in one order",
        ),
        (rank, "answers of task 'rank' are neither labels nor scores of a claim"),
        (judged, "the outcome of case 'c00001' does not follow from its answer"),
        ([*bare, "--rule", "mean"], "no score in the answer to case 'c00000'; --rule majority needs none"),
    ):
        done = shop.call("fuse", *words, "-o", "out.jsonl")
        assert (done.status, done.err.count("\n")) == (2, 1), done.err
        assert message in done.err.replace(f"{shop.folder}/", "")
        assert not (shop.folder / "out.jsonl").exists()


def test_answers_that_were_repeated_are_fused_one_by_one(shop: Workshop) -> None:
    shop.script()
    shop.interface(
        "N = 0\n\ndef answer(case, params):\n    global N\n    N += 1\n    return case.input if N % 3 else 'no'\n"
    )
    for name in ("x", "y"):
        assert shop.call("run", "toy", "--repeat", "2", "-o", f"{name}.jsonl").status == 0
    assert shop.call("fuse", "x.jsonl", "y.jsonl", "-o", "both.jsonl").status == 0
    assert shop.records("both.jsonl") == [
        {**record, **({"score": 1.0} if "actual" in record else {})} for record in shop.records("x.jsonl")
    ]
    assert shop.lines("both.jsonl")[0]["repeat"] == 2
    once = shop.call("run", "toy", "-o", "once.jsonl")
    assert once.status == 0
    assert "equally many answers" in shop.call("fuse", "x.jsonl", "once.jsonl", "-o", "no.jsonl").err


@pytest.mark.slow
def test_one_may_come_from_standard_input(shop: Workshop) -> None:
    a, b = _two(shop.folder)
    done = shop.hate("fuse", a, "-", "--rule", "mean", "-o", "out.jsonl", input=b.read_text())
    assert done.status == 0, done.err
    assert shop.call("fuse", a, b, "--rule", "mean", "-o", "files.jsonl").status == 0
    assert shop.records("out.jsonl") == shop.records("files.jsonl")
    sources = shop.lines("out.jsonl")[0]["fused"]["sources"]
    assert sources[1]["sha256"] == hashlib.sha256(b.read_bytes()).hexdigest()


def test_an_existing_file_is_kept(shop: Workshop) -> None:
    files = _two(shop.folder)
    before = files[0].read_bytes()
    assert "this command reads that file" in shop.call("fuse", *files, "-o", files[0]).err
    assert files[0].read_bytes() == before
    there = shop.write("there.jsonl", before)
    assert shop.call("fuse", *files, "-o", there).err.endswith("exists; --force overwrites it\n")
    assert there.read_bytes() == before
    done = shop.call("fuse", *files, "--format", "json")
    assert done.json["transcripts"] == ["transcripts/toy/a_b.jsonl"]


def test_the_rules_of_the_option_are_all_rules() -> None:
    (rule,) = [one for one in declared_options(FuseOptions) if one.name == "rule"]
    assert tuple(map(str, FusionRule)) == tuple(map(str, rule.choices)) == ("majority", "mean", "ranks", "logistic")


def test_an_incomplete_run_is_refused_with_a_remedy_that_fuse_has(shop: Workshop) -> None:
    whole, part = shop.folder / "whole.jsonl", shop.folder / "part.jsonl"
    transcript(whole, [True] * 4)
    transcript(part, [True] * 4, complete=False)
    for words in ([whole, part], [part, whole]):
        done = shop.call("fuse", *words, "-o", "both.jsonl")
        assert (done.status, done.out) == (2, "")
        assert "part.jsonl: incomplete; finish it with --resume first\n" in done.err
        assert "--partial" not in done.err
