"""`hate import --fold`: logs with different seeds as repeated answers."""

import json
from math import comb
from pathlib import Path

import numpy as np
import pytest

from tests.transcript.imports import refused
from tests.workshop import Workshop


def _table(shop: Workshop, name: str, right: list[int], ids: str = "abcd") -> Path:
    rows = "".join(f"{case},{mark}\n" for case, mark in zip(ids, right, strict=True))
    return shop.write(name, f"id,success\n{rows}")


def _logs(shop: Workshop) -> list[Path]:
    marks = ([1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0])
    return [_table(shop, f"seed{number}.csv", right) for number, right in enumerate(marks, 1)]


def test_each_log_gives_one_answer_to_each_case(shop: Workshop) -> None:
    done = shop.call("import", *_logs(shop), "--fold", "--algorithm", "model", "-o", "all.jsonl")
    assert done.status == 0, done.err
    assert "3 logs were folded into one transcript" in done.err
    header, *records, _ = shop.lines("all.jsonl")
    assert (header["repeat"], header["test"]["cases"], header["algorithm"]["name"]) == (3, 4, "model")
    assert [(one["id"], one["repeat"], one["outcome"]) for one in records[:6]] == [
        ("a", 1, "TP"), ("a", 2, "TP"), ("a", 3, "TP"), ("b", 1, "FN"), ("b", 2, "TP"), ("b", 3, "FN"),
    ]  # fmt: skip
    assert shop.call("check", "all.jsonl").status == 0
    found = shop.call("rate", "all.jsonl", "--statistic", "pass@2", "--format", "json").json["transcripts"][0]
    expected = np.mean([1 - comb(3 - right, 2) / comb(3, 2) for right in (3, 1, 1, 0)])
    assert found["value"] == pytest.approx(expected)
    assert found["replication"]["units"] == 4


def test_the_order_of_cases_may_differ_and_repeats_within_a_log_count(shop: Workshop) -> None:
    first = shop.write("one.csv", "id,turn,success\na,1,1\na,2,0\nb,1,0\nb,2,0\n")
    second = shop.write("two.csv", "id,turn,success\nb,1,1\nb,2,1\na,1,1\na,2,1\n")
    words = ["--fold", "--algorithm", "model", "--repeat", "turn", "--success", "success", "-o", "all.jsonl"]
    assert shop.call("import", first, second, *words).status == 0
    records = shop.records("all.jsonl")
    assert [(one["id"], one["repeat"], one["outcome"]) for one in records] == [
        ("a", 1, "TP"), ("a", 2, "FN"), ("a", 3, "TP"), ("a", 4, "TP"),
        ("b", 1, "FN"), ("b", 2, "FN"), ("b", 3, "TP"), ("b", 4, "TP"),
    ]  # fmt: skip


def test_logs_of_inspect_ai_fold_by_their_model(shop: Workshop) -> None:
    """The logs have the same model and differ in their seed."""
    paths = []
    for seed in (1, 2):
        log = {
            "version": 2, "status": "success",
            "eval": {"task": "sums", "task_version": 0, "model": "mock/one", "dataset": {"samples": 2},
                     "model_generate_config": {"seed": seed}, "config": {"epochs": 1}},
            "samples": [
                {"id": number, "epoch": 1, "input": "?", "target": "4", "messages": [],
                 "output": {"completion": "4"}, "scores": {"match": {"value": "C" if number == seed else "I"}}}
                for number in (1, 2)
            ],
        }  # fmt: skip
        paths.append(shop.write(f"{seed}.json", json.dumps(log)))
    done = shop.call("import", *paths, "--fold", "-o", "all.jsonl")
    assert done.status == 0, done.err
    assert [(r["id"], r["repeat"], r["outcome"]) for r in shop.records("all.jsonl")] == [
        ("1", 1, "TP"), ("1", 2, "FN"), ("2", 1, "FN"), ("2", 2, "TP"),
    ]  # fmt: skip


def test_disagreement_is_told_in_a_line(shop: Workshop) -> None:
    first, second, _ = _logs(shop)
    fewer = _table(shop, "fewer.csv", [1, 0], "ab")
    more = _table(shop, "more.csv", [1, 0, 1, 0, 1], "abcde")
    true = [shop.write(f"{name}.csv", f"id,y_true,y_pred\n1,x,x\n2,{name},x\n") for name in "yz"]
    report = shop.write("m.json", json.dumps(dict.fromkeys("abcd", True)))
    named = ["--fold", "--algorithm", "model"]
    mistakes: list[tuple[list[str | Path], str]] = [
        ([first, "--fold"], "name at least two"),
        ([first, first, *named], "a file is named twice"),
        ([first, second, "--fold"], "1 of 2 logs are of 'seed1'"),
        ([first, fewer, *named], "fewer.csv lacks case 'c' of seed1.csv and 1 more differ"),
        ([first, more, *named], "seed1.csv lacks case 'e' of more.csv; fold logs of the same cases"),
        ([*true, *named], "case '2' has another right answer in z.csv than in y.csv"),
        ([first, report, *named], "m.json has another tool than seed1.csv: 'a mapping of ids', not 'a table'"),
    ]
    for words, message in mistakes:
        assert message in refused(shop, *words).replace(f"{shop.folder}/", "")
    done = shop.call("import", first, fewer, *named, "--partial", "-o", "part.jsonl")
    assert done.status == 0, done.err
    assert len(shop.records("part.jsonl")) == 6
