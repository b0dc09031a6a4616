"""Score files of verification, lists of trials, and TREC runs: what is read, and what is refused."""

import gzip

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, ndcg_score

from tests.transcript.imports import import_one, outcomes, refused
from tests.workshop import Workshop

FOUR = """\
ann ann ann/1 2.5
ann bob bob/1 -1.0
bob ann ann/1 0.5
bob bob bob/1 nan
"""
TRIALS = "m1 s1 2.5\nm1 s2 -1\nm2 s1 0.5\n"
KEY = "m1 s1 target\nm1 s2 nontarget\nm2 s1 nontarget\nm2 s2 target\n"


def test_four_columns(shop: Workshop) -> None:
    path = shop.write("eval-scores.txt", FOUR)
    header, records = import_one(shop, path, "--success-at", "0", "--psu", "claimed")
    assert outcomes(records) == {"ann/ann/1": "TP", "ann/bob/1": "TN", "bob/ann/1": "FP", "bob/bob/1": "FN"}
    assert (header["test"]["task"], header["params"]["threshold"]) == ("score", 0.0)
    assert header["interface"]["kind"] == "import: four-column scores"
    assert header["design"] == {"psu": "claimed"}
    assert records["bob/ann/1"]["columns"] == {"claimed": "bob", "real": "ann"}
    assert records["bob/ann/1"]["score"] == 0.5
    assert "score" not in records["bob/bob/1"]
    assert header["algorithm"]["name"] == "eval-scores"


def test_another_truth_is_another_test(shop: Workshop) -> None:
    digests = set()
    for number, text in enumerate((FOUR, FOUR.replace("bob ann ann/1", "bob bob ann/1"))):
        header, _ = import_one(shop, shop.write(f"{number}.txt", text), "--success-at", "0")
        digests.add(header["test"]["digest"])
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("trials", "key"),
    [
        (TRIALS, KEY),
        ("modelid\tsegmentid\tLLR\n" + TRIALS.replace(" ", "\t"), "modelid segmentid targettype\n" + KEY),
        (TRIALS, "1 m1 s1\n0 m1 s2\n0 m2 s1\n1 m2 s2\n"),
    ],
)
def test_trials_with_a_key(shop: Workshop, trials: str, key: str) -> None:
    path = shop.write("plda.txt", trials)
    _, records = import_one(shop, path, "--key", shop.write("key.txt", key), "--success-at", "0")
    assert outcomes(records) == {"m1/s1": "TP", "m1/s2": "TN", "m2/s1": "FP", "m2/s2": "FN"}
    assert records["m2/s1"]["columns"] == {"model": "m2", "segment": "s1"}
    done = shop.call("import", path, "--key", "key.txt", "--success-at", "0")
    assert "1 of 4 trials have no score; each counts as a refusal" in done.err


def test_trials_that_say_their_kind_themselves(shop: Workshop) -> None:
    path = shop.write("plda.txt", "m1 s1 target 2\nm1 s2 nontarget 1\nm2 s1 nontarget -1\n")
    _, records = import_one(shop, path, "--success-at", "0")
    assert outcomes(records) == {"m1/s1": "TP", "m1/s2": "FP", "m2/s1": "TN"}


def _trec(shop: Workshop, seed: int = 0) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judgements and scores of three topics of 20 documents, without equal scores."""
    rng = np.random.default_rng(seed)
    judged = {f"t{t}": {f"d{d}": int(rng.integers(0, 3)) for d in range(20)} for t in range(3)}
    scores = {t: {d: float(rng.normal()) for d in docs} for t, docs in judged.items()}
    run = [f"{t} Q0 {d} {i} {s!r} bm25" for t, docs in scores.items() for i, (d, s) in enumerate(docs.items())]
    shop.write("a.run", "\n".join(run) + "\n")
    shop.write("qrels", "".join(f"{t} 0 {d} {gain}\n" for t, docs in judged.items() for d, gain in docs.items()))
    return judged, scores


def test_measures_of_a_trec_run_are_those_of_scikit_learn(shop: Workshop) -> None:
    judged, scores = _trec(shop)
    header, records = import_one(shop, "a.run", "--key", "qrels")
    assert header["algorithm"]["name"] == "bm25"
    for topic, documents in judged.items():
        gains, given = (np.array([of[d] for d in documents], float) for of in (documents, scores[topic]))
        values = records[topic]["values"]
        assert values["map"] == pytest.approx(average_precision_score(gains > 0, given), abs=1e-12)
        assert values["ndcg_10"] == pytest.approx(ndcg_score([gains], [given], k=10), abs=1e-12)
        order = np.argsort(-given)
        assert values["p_10"] == pytest.approx((gains[order][:10] > 0).mean())
        assert values["rr"] == pytest.approx(1 / (1 + np.argmax(gains[order] > 0)))
        assert values["recall"] == 1
        assert records[topic]["outcome"] == ("TP" if gains[order][0] > 0 else "FN")


def test_trec_runs_are_compared_by_average_precision(shop: Workshop) -> None:
    for seed, name in ((0, "a.jsonl"), (1, "b.jsonl")):
        _trec(shop, 0)
        run = (shop.folder / "a.run").read_text()
        if seed:
            run = run.replace("bm25", "worse").replace("t0 Q0 d1 ", "t0 Q0 unjudged ")
        shop.write("a.run", run)
        assert shop.call("import", "a.run", "--key", "qrels", "-o", name).status == 0
    found = shop.call("compare", "a.jsonl", "b.jsonl", "--statistic", "map", "--format", "json").json
    assert found["statistic"] == "map"


def test_equal_scores_missing_topics_and_unjudged_documents(shop: Workshop) -> None:
    """Of equal scores trec_eval takes the last name first; what was not judged is not relevant."""
    shop.write("a.run", "1 Q0 x 1 5 me\n1 Q0 y 2 5 me\n1 Q0 new 3 4 me\n1 Q0 z 4 3 me\n9 Q0 x 1 1 me\n")
    shop.write("qrels", "1 0 x 0\n1 0 y 1\n1 0 z 2\n2 0 x 1\n3 0 x 0\n")
    _, records = import_one(shop, "a.run", "--key", "qrels")
    assert set(records) == {"1", "2"}
    assert records["1"]["values"]["map"] == pytest.approx((1 + 2 / 4) / 2)
    ideal = 2 + 1 / np.log2(3)
    assert records["1"]["values"]["ndcg_10"] == pytest.approx((1 + 2 / np.log2(5)) / ideal)
    assert (records["1"]["actual"], records["2"]["outcome"]) == ("y", "FN")
    assert set(records["2"]["values"].values()) == {0}
    done = shop.call("import", "a.run", "--key", "qrels")
    for part in (
        "1 of 2 topics have no document",
        "1 topics without a relevant",
        "1 topics of this run were not judged",
    ):
        assert part in done.err


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        (FOUR, [], "scores need --success-at X"),
        (FOUR + "ann bob x\n", ["--success-at", "0"], "line 5: 3 fields, expected claimed real label score"),
        (FOUR + "ann bob x inf\n", ["--success-at", "0"], "score 'inf' is not a finite number"),
        ("ann bob x 1\n", ["--success-at", "0"], "no genuine trial"),
        (FOUR + "ann ann ann/1 2.5\n", ["--success-at", "0"], "id 'ann/ann/1' appears twice"),
        (FOUR, ["--success-at", "0", "--key", "key"], "--key is for lists of trials and TREC runs"),
        (TRIALS, ["--success-at", "0"], "name the list of trials with --key"),
        (TRIALS + "m9 s9 1\n", ["--success-at", "0", "--key", "key"], "line 4: 'm9 s9' is not in the list that --key"),
        (TRIALS, ["--success-at", "0", "--key", "bad"], "--key bad: line 1: expected model, segment and target"),
        (TRIALS, ["--success-at", "0", "--key", "none"], "No such file"),
        ("1 Q0 x 1 5 me\n", [], "name them with --key QRELS"),
        ("1 Q0 x 1 5 me\n", ["--key", "bad"], "--key bad: line 1: expected topic 0 document relevance"),
        ("1 Q0 x 1 5 me\n", ["--key", "qrels"], "no topic of this run is judged in qrels"),
        ("1 Q0 x 1 5 me\n1 Q0 x 2 4 me\n", ["--key", "qrels"], "document 'x' appears twice for topic 1"),
        ("5 0 x 1\n5 0 y 0\n", ["--success-at", "0"], "judgements of relevance, not results"),
    ],
)
def test_mistakes(shop: Workshop, text: str, words: list[str], message: str) -> None:
    shop.write("key", "m1 s1 target\nm1 s2 nontarget\nm2 s1 nontarget\n")
    shop.write("bad", "m1 s1\n")
    shop.write("qrels", "7 0 x 1\n")
    assert message in refused(shop, shop.write("in.txt", text), *words)


@pytest.mark.parametrize("text", ["id y_true y_pred\n1 a a\n", "a b c d\n", "1, 2, 3\n"])
def test_other_texts_are_not_taken_for_scores(shop: Workshop, text: str) -> None:
    assert "in.txt" in refused(shop, shop.write("in.txt", text))
    assert "score" not in refused(shop, shop.write("in.txt", text)).partition(";")[0]


def numbered(label: str) -> str:
    """400 comparisons of 20 people with each other, well separated; the third field is made of i and j."""
    pairs = [(i, j) for i in range(20) for j in range(20)]
    fields = [(f"p{i}", f"p{j}", label.format(i=i, j=j, odd=(i + j) % 2), 5.0 * (i == j) + i / 100) for i, j in pairs]
    return "".join(f"{claimed} {real} {third} {score}\n" for claimed, real, third, score in fields)


def test_labels_of_0_and_1_are_not_taken_for_kinds_of_trials(shop: Workshop) -> None:
    path = shop.write("scores.txt", numbered("{odd}"))
    done = shop.call("import", path, "--success-at", "2.5")
    assert done.status == 2
    assert "--from scores (claimed real label score" in done.err
    assert "--from trials (model segment target score)" in done.err
    assert len(done.err.splitlines()) == 1
    _, records = import_one(shop, path, "--success-at", "2.5", "--from", "scores")
    assert [list(outcomes(records).values()).count(one) for one in ("TP", "TN", "FP", "FN")] == [20, 380, 0, 0]
    _, records = import_one(shop, path, "--success-at", "2.5", "--from", "trials")
    assert sum(record["positive"] for record in records.values()) == 200


@pytest.mark.parametrize("packed", [False, True])
def test_the_whole_file_says_what_its_third_column_is(shop: Workshop, packed: bool) -> None:
    # The first lines have 0 and 1, as a list of trials may have; a later one has 2.
    path = shop.write("scores.txt", numbered("{j}"))
    if packed:
        plain, path = path, shop.folder / "scores.txt.gz"
        path.write_bytes(gzip.compress(plain.read_bytes()))
    header, records = import_one(shop, path, "--success-at", "2.5")
    assert header["interface"]["kind"] == "import: four-column scores"
    assert records["p3/4"]["columns"] == {"claimed": "p3", "real": "p4"}


def test_figures_that_agree_with_the_identities_are_kinds_of_trials(shop: Workshop) -> None:
    text = "".join(f"p{i} p{j} {int(i == j)} {i + j}\n" for i in range(4) for j in range(4))
    header, records = import_one(shop, shop.write("trials.txt", text), "--success-at", "2.5")
    assert header["interface"]["kind"] == "import: a list of trials"
    assert records["p1/p1"]["positive"]
    assert not records["p1/p2"]["positive"]


def test_figures_of_other_names_are_kinds_of_trials(shop: Workshop) -> None:
    _, records = import_one(shop, shop.write("t.txt", "m1 s1 1 2\nm1 s2 0 1\nm2 s1 0 3\n"), "--success-at", "2")
    assert outcomes(records) == {"m1/s1": "TP", "m1/s2": "TN", "m2/s1": "FP"}


def test_a_label_that_is_always_the_same_is_a_label(shop: Workshop) -> None:
    header, _ = import_one(shop, shop.write("scores.txt", numbered("1")), "--success-at", "2.5")
    assert header["interface"]["kind"] == "import: four-column scores"


def test_a_key_decides_what_figures_do_not(shop: Workshop) -> None:
    path = shop.write("scores.txt", "a a 0 1\na b 1 2\nb b 1 3\nb a 0 4\n")
    key = shop.write("key.txt", "a a target\na b nontarget\nb b target\nb a nontarget\n")
    _, records = import_one(shop, path, "--success-at", "2", "--key", key)
    assert outcomes(records) == {"a/a": "FN", "a/b": "FP", "b/b": "TP", "b/a": "FP"}
