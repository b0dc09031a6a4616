"""Uses of what asks programs: an interface kind, a way to run cases."""

from typing import Any

from tests.recipes.recipe import JSON, ChangedPackage
from tests.workshop import Workshop


def by_id(record: dict[str, Any]) -> str:
    return str(record["id"])


def use_interface(shop: Workshop, package: ChangedPackage) -> None:
    shop.toml('[algorithm]\nname = "seven"\ncode = "https://example.org/seven"\n[constant]\nanswer = "7"\n')
    shop.interface('NAME = "seven"\ndef answer(case, params):\n    return "7"\n').rename(shop.folder / "seven.py")
    shop.write("wrong/interface.toml", "[constant]\nanswer = 7\n")
    shop.write("both/interface.toml", '[constant]\nanswer = "7"\n[stream]\nargv = ["sh"]\n')
    part = ("run", "hdigits", "--limit", "60", *JSON)
    ways = {"plain": (), "jobs": ("-j", "2"), "timeout": ("--timeout", "9")}
    done = package.do({
        "check": ("check", "interface.toml"),
        "expected": (*part, "--interface", "seven.py", "-o", "expected.jsonl"),
        **{name: (*part, "-o", f"{name}.jsonl", *words) for name, words in ways.items()},
        "all": ("run", "hdigits", "--param", "threshold=0", "-o", "all.jsonl", *JSON),
        "compare": ("compare", "expected.jsonl", "plain.jsonl", *JSON),
        "wrong": ("check", "wrong/interface.toml"),
        "both": ("run", "hdigits", "--interface", "both"),
    }, refused=["wrong", "both"])  # fmt: skip
    for name in ways:
        assert done[name].row == done["expected"].row
        assert sorted(shop.records(f"{name}.jsonl"), key=by_id) == sorted(shop.records("expected.jsonl"), key=by_id)
    header = shop.lines("plain.jsonl")[0]
    assert (header["interface"]["kind"], header["algorithm"]["name"]) == ("constant", "seven")
    assert done["compare"].json["pairs"][0]["difference"] == 0
    assert "answer" in done["wrong"].out + done["wrong"].err
    assert "[constant]" in done["both"].err
    accepted = [record["positive"] for record in shop.records("all.jsonl") if record["expect"] == "7"]
    tp, fp = accepted.count(True), accepted.count(False)
    assert [done["all"].row[name] for name in ("TP", "FP", "FN", "TN")] == [tp, fp, 717 - tp, 717 - fp]
    assert min(tp, fp) > 0


def use_way_to_run(shop: Workshop, package: ChangedPackage) -> None:
    shop.script()
    began = "import time\nBEGAN = time.monotonic()\n"
    shop.interface(f"{began}def answer(case, params):\n    return (case.input, time.monotonic() - BEGAN)\n")
    shop.write("echo.py", "def answer(case, params):\n    return case.input\n")
    echo = ("run", "toy", "--interface", "echo.py")
    done = package.do({
        "timed": ("run", "toy", "--pace", "50", "-o", "timed.jsonl"),
        "own process": (*echo, "--pace", "50", "--timeout", "9", "-o", "paced.jsonl"),
        "plain": (*echo, "-o", "plain.jsonl"),
        "python": "import harness\nprint(harness.run('toy', 'echo.py', pace=1000).counts)",
        "jobs": (*echo, "--pace", "50", "-j", "2"),
        "zero": (*echo, "--pace", "0"),
        **{f"help of {name}": (name, "--help") for name in ("run", "sweep", "tune", "test", "roc")},
    }, refused=["jobs", "zero"])  # fmt: skip
    # However late an answer is on a busy machine, none comes before its turn.
    times = [record["score"] for record in shop.records("timed.jsonl")]
    assert all(seconds >= 0.99 * place / 50 for place, seconds in enumerate(times))
    assert shop.records("paced.jsonl") == shop.records("plain.jsonl")
    assert "TP=3" in done["python"].out
    assert "--pace is for one program" in done["jobs"].err
    assert all("--pace" in one.out for name, one in done.items() if name.startswith("help of"))
