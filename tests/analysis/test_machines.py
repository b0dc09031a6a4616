"""Times and memory of runs on different machines, or on nobody knows which: it is said wherever they are compared."""

import itertools
import json
from pathlib import Path

import pytest

import harness
from tests.workshop import Workshop

KINDS = {
    "one machine": ("Fast 9000", "Fast 9000", ""),
    "two machines": (
        "Fast 9000",
        "Slow 1",
        "a ran on Fast 9000 (linux-x86_64), b ran on Slow 1 (linux-x86_64): a difference",
    ),
    "one unknown": ("Fast 9000", None, "It is not known on which machine b ran: a difference"),
    "both unknown": (None, None, "It is not known on which machine a and b ran: a difference"),
}
SENTENCE = "in time or memory may be the machines', not the algorithms'."


def timed(path: Path, cpu: str | None, seconds: float) -> None:
    header = {
        "hate": "transcript", "format": 1, "test": {"name": "toy", "version": "1.0", "digest": "1:00", "task": "label"},
        "algorithm": {"name": path.stem}, "platform": "linux-x86_64", **({} if cpu is None else {"cpu": cpu}),
    }  # fmt: skip
    records = [
        {"id": f"c{n}", "outcome": "TP" if n % 5 else "FN", "positive": True, "seconds": seconds * (1 + n % 7 / 10),
         "memory": 1000 + n}
        for n in range(40)
    ]  # fmt: skip
    end = {"end": True, "tests": 40, "TP": 32, "TN": 0, "FP": 0, "FN": 8, "ER": 0}
    path.write_text("".join(json.dumps(line) + "\n" for line in [header, *records, end]))


def text_of(shop: Workshop, *words: str) -> str:
    done = shop.call(*words)
    assert done.status == 0, done.err
    return " ".join(done.out.split())


@pytest.mark.parametrize("kind", KINDS)
def test_verdicts_about_time_and_memory_say_whose_machines_they_are(kind: str, shop: Workshop) -> None:
    *cpus, said = KINDS[kind]
    for name, cpu, seconds in zip("ab", cpus, (0.01, 0.02), strict=True):
        timed(shop.folder / f"{name}.jsonl", cpu, seconds)
    for measure, more in itertools.product(("seconds", "memory"), ([], ["--unpaired"])):
        text = text_of(shop, "compare", "a.jsonl", "b.jsonl", "--statistic", measure, *more)
        verdicts = text.split("Verdicts")[1].split("Each by itself")[0]
        assert (SENTENCE in verdicts) is bool(said), verdicts
        assert said in verdicts
    found = harness.compare(["a.jsonl", "b.jsonl"], statistic="seconds").to_dict()
    assert any(said in line for line in found["cautions"]) if said else "cautions" not in found


@pytest.mark.parametrize("kind", KINDS)
def test_tables_with_times_side_by_side_say_it_too(kind: str, shop: Workshop) -> None:
    *cpus, said = KINDS[kind]
    for name, cpu, seconds in zip("ab", cpus, (0.01, 0.02), strict=True):
        timed(shop.folder / f"{name}.jsonl", cpu, seconds)
    compared = text_of(shop, "compare", "a.jsonl", "b.jsonl")
    assert (SENTENCE in compared.split("per case", 1)[1]) is bool(said)
    assert SENTENCE not in compared.split("Each by itself")[0]  # the verdict is about success
    assert (SENTENCE in text_of(shop, "rate", "a.jsonl", "b.jsonl")) is bool(said)
    rated = harness.rate(["a.jsonl", "b.jsonl"]).to_dict()
    assert any(said in line for line in rated["cautions"]) if said else "cautions" not in rated
    assert SENTENCE not in text_of(shop, "rate", "a.jsonl")
    assert SENTENCE not in text_of(shop, "rate", "a.jsonl", "b.jsonl", "--statistic", "rate")
    assert shop.call("report", "a.jsonl", "b.jsonl", "-o", "page.md").status == 0
    assert (SENTENCE in " ".join((shop.folder / "page.md").read_text().split())) is bool(said)
