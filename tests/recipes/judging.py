"""Uses of what decides and counts: a task, a measure, an importer, a kind of [vary]."""

import csv
import io
import random
from collections.abc import Mapping
from difflib import SequenceMatcher

import pytest

from tests.recipes.recipe import JSON, ChangedPackage, Step
from tests.workshop import SCRIPT, Workshop


def words_cases(seed: int) -> list[tuple[str, str, bool]]:
    """What is said, what is expected, and whether that is the truth."""
    rng = random.Random(seed)
    return [("".join(rng.choices("abC", k=4)), "".join(rng.choices("abc", k=4)), n % 2 == 0) for n in range(30)]


def similarity(said: str, expect: str) -> float:
    return SequenceMatcher(None, said.casefold(), expect.casefold()).ratio()


def counts_at(cases: list[tuple[str, str, bool]], threshold: float) -> dict[str, int]:
    found = dict.fromkeys(("TP", "TN", "FP", "FN"), 0)
    for said, expect, positive in cases:
        accepted = similarity(said, expect) >= threshold
        found[("T" if accepted == positive else "F") + ("P" if accepted else "N")] += 1
    return found


def share_right(counts: Mapping[str, int]) -> float:
    right = counts["TP"] + counts["TN"]
    return right / (right + counts["FP"] + counts["FN"])


def use_task(shop: Workshop, package: ChangedPackage) -> None:
    """What accepts an answer at first also decides again, for every value of the threshold."""
    test, train = words_cases(1), words_cases(2)
    for name, cases in (("cases", test), ("train", train)):
        rows = "".join(f"{name}{n},{said},{expect},{truth}\n" for n, (said, expect, truth) in enumerate(cases))
        shop.write(f"drift/{name}.csv", "id,input,expect,positive\n" + rows)
    script = SCRIPT.format(task="text", keys="", sections='[train]\ntable = "train.csv"\n')
    shop.write("drift/drift.hate.toml", script.replace('"toy"', '"drift"'))
    shop.script(task="text", rows="id,input,expect,positive\n1,paris,Paris,\n2,pari,Paris,\n3,rome,Paris,false\n")
    shop.interface()
    shop.write("last.py", "def answer(case, params):\n    return None if case.id == 'cases2' else case.input[:-1]\n")
    thresholds = (0, 0.25, 0.5, 0.75, 1)
    listed = ",".join(map(str, thresholds))
    steps: dict[str, Step] = {
        "check": ("check", "toy", "drift"),
        "toy": ("sweep", "toy", "--param", "threshold=0.5,0.9,1", *JSON),
        "new": ("new", "script", "mine", "--task", "text"),
        "check new": ("check", "mine"),
        "run new": ("run", "mine", "-o", "mine.jsonl"),
        "describe": ("describe", "drift", *JSON),
        **{
            f"run {value}": ("run", "drift", "--param", f"threshold={value}", "-o", f"echo{value}.jsonl", *JSON)
            for value in thresholds
        },
        "sweep": ("sweep", "drift", "--param", f"threshold={listed}", *JSON),
        "run last": ("run", "drift", "--interface", "last.py", "-o", "last.jsonl", "--param", "threshold=0.5", *JSON),
        "check runs": ("check", "echo0.5.jsonl", "last.jsonl"),
        "rate": ("rate", "echo0.5.jsonl", *JSON),
        "compare": ("compare", "echo0.5.jsonl", "last.jsonl", *JSON),
        "roc": ("roc", "echo0.5.jsonl", "--points", "0", "--format", "csv"),
        "tune": ("tune", "drift", "--param", f"threshold={listed}", *JSON),
        "report": ("report", "echo0.5.jsonl", "last.jsonl", "-o", "report.html"),
    }
    done = package.do(steps)
    # 2 * 4 / (4 + 5) of the letters of pari and Paris match, and 2 * 1 / (4 + 5) of those of rome.
    assert [(row["TP"], row["TN"]) for row in done["toy"].json["rows"]] == [(2, 1), (1, 1), (1, 1)]
    assert done["describe"].json["task"] == "text"
    for value, swept in zip(thresholds, done["sweep"].json["rows"], strict=True):
        expected = counts_at(test, value)
        assert {name: swept[name] for name in expected} == expected, value
        assert {name: done[f"run {value}"].row[name] for name in expected} == expected, value
    rate, last = (share_right(counts) for counts in (counts_at(test, 0.5), done["run last"].row))
    assert rate != last
    assert done["rate"].json["transcripts"][0]["measures"]["rate"]["estimate"] == pytest.approx(rate)
    assert done["compare"].json["pairs"][0]["difference"] == pytest.approx(rate - last)
    points = list(csv.DictReader(io.StringIO(done["roc"].out)))
    assert len(points) > 3
    for point in points:
        expected = counts_at(test, float(point["threshold"]))
        assert float(point["tpr"]) == pytest.approx(expected["TP"] / 15)
        assert float(point["fpr"]) == pytest.approx(expected["FP"] / 15)
    shares = {value: share_right(counts_at(train, value)) for value in thresholds}
    best = done["tune"].json["winner"]
    assert shares[best["params"]["threshold"]] == pytest.approx(best["value"]) == max(shares.values())
    assert "last" in (shop.folder / "report.html").read_text(encoding="utf-8")


def use_measure(shop: Workshop, package: ChangedPackage) -> None:
    rows = "".join(f"{n},{(n * 7) % 10 / 10},a,{n % 3 > 0}\n" for n in range(20))
    sections = '[params.threshold]\ntype = "float"\ndefault = 0.5\ndecision = true\n'
    shop.script(
        task="score", keys="larger_is_better = true", sections=sections, rows=f"id,input,expect,positive\n{rows}"
    )
    shop.interface("def answer(case, params):\n    return float(case.input)\n")
    asked = {"_HATE_COMPLETE": "bash_complete", "COMP_WORDS": "hate rate wisard --statistic fd", "COMP_CWORD": "4"}
    both = ("--statistic", "fdr,precision", *JSON)
    done = package.do({
        "rate": ("rate", "wisard", *both),
        "fdr": ("compare", "wisard", "witch", "--statistic", "fdr", *JSON),
        "precision": ("compare", "wisard", "witch", "--statistic", "precision", *JSON),
        "tune": ("tune", "toy", "--on-test", "--goal", "fdr", "--param", "threshold=0,0.5,0.9", *JSON),
        **{f"help of {name}": (name, "--help") for name in ("rate", "compare", "tune")},
        "complete": f"import os\nos.environ |= {asked}\nfrom harness.cli.main import call\ncall([])",
    })  # fmt: skip
    found = done["rate"].json["transcripts"][0]
    own, precision = (found["measures"][name] for name in ("fdr", "precision"))
    assert own["estimate"] == pytest.approx(1 - precision["estimate"]) == pytest.approx(57 / (57 + 647))
    assert own["interval"] == pytest.approx([1 - limit for limit in reversed(precision["interval"])])
    one, other = (done[name].json["pairs"][0] for name in ("fdr", "precision"))
    assert one["replication"]["estimate"] == pytest.approx(-other["replication"]["estimate"])
    assert one["replication"]["se"] == pytest.approx(other["replication"]["se"])
    assert one["better"] == other["better"] is not None
    scores = [((n * 7) % 10 / 10, n % 3 > 0) for n in range(20)]
    false = {t: [not truth for score, truth in scores if score >= t] for t in (0, 0.5, 0.9)}
    least = min(sum(claims) / len(claims) for claims in false.values())
    assert done["tune"].json["winner"]["value"] == pytest.approx(least)
    assert all("fdr" in done[f"help of {name}"].out for name in ("rate", "compare", "tune"))
    assert done["complete"].out == "plain,fdr\n"


def use_importer(shop: Workshop, package: ChangedPackage) -> None:
    shop.write(
        "build.tap", "TAP version 14\n1..4\nok 1 - opens\nnot ok 2 - reads # slow\nok 3\n# note\nnot ok 4 - ends\n"
    )
    shop.write("empty.tap", "1..0\n")
    steps: dict[str, Step] = {
        "import": ("import", "build.tap", "-o", "build.jsonl", *JSON),
        "from": ("import", "build.tap", "--from", "tap", "-o", "named.jsonl", *JSON),
        "rate": ("rate", "build.jsonl", *JSON),
        "empty": ("import", "empty.tap"),
    }
    done = package.do(steps, refused=["empty"])
    row = done["import"].row
    assert (row["algorithm"], row["TP"], row["FN"]) == ("build", 2, 2)
    assert [record["id"] for record in shop.records("build.jsonl")] == ["opens", "reads", "3", "ends"]
    assert shop.records("named.jsonl") == shop.records("build.jsonl")
    assert done["rate"].json["transcripts"][0]["measures"]["rate"]["estimate"] == 0.5
    assert "no line begins with 'ok'" in done["empty"].err


def use_vary(shop: Workshop, package: ChangedPackage) -> None:
    pixels = [0, 63, 64, 127, 128, 191, 192, 255]
    shop.write("toy/images/1.pgm", b"P5\n4 2\n255\n" + bytes(pixels))
    sections = '[data.images]\npath = "images"\n[vary.levels]\nkind = "posterise"\nvalues = [2, 4, 256]\n'
    shop.script(sections=sections, rows="id,input,expect\n1,{images}/1.pgm,x\n")
    shop.interface(
        "from pathlib import Path\n"
        "def answer(case, params):\n    return ' '.join(map(str, Path(case.input).read_bytes()[-8:]))\n"
    )
    changed = sections.replace("256]", "257]")
    shop.write("wrong/wrong.hate.toml", SCRIPT.format(task="label", keys="", sections=changed))
    shop.write("wrong/cases.csv", "id,input,expect\n1,{images}/1.pgm,x\n")
    done = package.do(
        {"run": ("run", "toy", "-o", "out.jsonl"), "describe": ("describe", "toy"), "wrong": ("check", "wrong")},
        refused=["wrong"],
    )
    answers = {record["columns"]["levels"]: record["actual"] for record in shop.records()}
    assert answers == {
        2: "0 0 0 0 255 255 255 255", 4: "0 0 85 85 170 170 255 255", 256: " ".join(map(str, pixels)),
    }  # fmt: skip
    assert "posterise" in done["describe"].out
    assert "257 is not from 2 to 256" in done["wrong"].out + done["wrong"].err
