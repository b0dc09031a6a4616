"""Many cases in flight: whatever a case does to its worker, only that case has an error, and each case runs once."""

import random
from collections import Counter

import pytest

from tests.workshop import Workshop, errors

# What a case does, and the error that it gets; none if it is answered after all.
ACTS: dict[str, tuple[str, str | None]] = {
    "exits": ("os._exit(3)", "crash"),
    "is killed": ("os.kill(os.getpid(), 9)", "crash"),
    "raises": ("raise ValueError('no')", "crash"),
    "leaves Python": ("raise SystemExit(0)", "crash"),
    "closes all files": ("os.closerange(3, 256)", "crash"),
    "closes its pipes and goes on": ("os.closerange(0, 256); time.sleep(1000)", "crash"),
    "writes among the answers": ("os.write(answers(), b'hello\\n')", "answer"),
    "answers nonsense": ("return object()", "answer"),
    "hangs": ("time.sleep(1000)", "timeout"),
    "prints": ("print('x' * 300_000, flush=True)", None),
    "floods": ("os.write(1, b'x' * 300_000); os.write(2, b'x' * 300_000)", None),
    "is slow": ("time.sleep(0.03)", None),
}
COUNT = 300
HEAD = """\
import os, time
LOG = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def answers():
    # The pipe of the protocol: the last one that was opened before this file was.
    return max(fd for fd in range(3, LOG) if os.path.realpath(f"/proc/self/fd/{fd}").startswith("/proc"))
def act(case, params):
    os.write(LOG, f"{case.id} {case.repeat}\\n".encode())
"""
SINGLE = "def answer(case, params):\n    found = act(case, params)\n    return case.input if found is None else found\n"
BATCH = (
    "BATCH = 4\ndef answer_batch(cases, params):\n"
    "    return [c.input if (found := act(c, params)) is None else found for c in cases]\n"
)


def hostile(seed: int, acts: list[str]) -> tuple[str, dict[str, str]]:
    """An interface in which some cases act as said, and the errors that they should have."""
    cases = random.Random(seed).sample(range(COUNT), len(acts))
    lines = [f"    if case.id == 'c{n}':\n        {ACTS[act][0]}\n" for n, act in zip(cases, acts, strict=True)]
    kinds = {f"c{n}": ACTS[act][1] for n, act in zip(cases, acts, strict=True)}
    return HEAD + "".join(lines), {case: kind for case, kind in kinds.items() if kind is not None}


def wrong_answers(records: list[dict[str, object]], guilty: dict[str, str]) -> list[object]:
    """The cases that are not guilty and were not answered with their input."""
    answers = {record["id"]: record.get("actual") for record in records if record["id"] not in guilty}
    return [case for case, actual in answers.items() if actual != f"x{str(case)[1:]}"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("words", [("--timeout", "1.5"), ("-j", "2", "--timeout", "1.5")], ids=["one", "two"])
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_only_the_guilty_have_errors_and_every_case_runs_once(
    seed: int, words: tuple[str, ...], shop: Workshop
) -> None:
    """A worker answers in order and at once, so what it works on is the oldest case without an answer."""
    shop.script(COUNT)
    text, guilty = hostile(seed, [act for act in ACTS if act != "closes all files"])
    shop.interface(text + SINGLE)
    records = shop.run(*words)
    assert errors(records) == guilty
    assert wrong_answers(records, guilty) == []
    calls = Counter((shop.folder / "log").read_text().split("\n")[:-1])
    assert calls == Counter({f"c{n} 1": 1 for n in range(COUNT)})


def test_a_case_that_closes_the_pipe_of_the_answers(shop: Workshop) -> None:
    """Its log is closed too, so its calls cannot be counted."""
    shop.script(COUNT)
    text, guilty = hostile(1, ["closes all files"] * 3)
    shop.interface(text.replace("os.write(LOG", "# ") + SINGLE)
    records = shop.run("-j", "2")
    assert errors(records) == guilty
    assert wrong_answers(records, guilty) == []


@pytest.mark.slow
def test_a_repeated_case_is_blamed_for_the_turn_that_failed(shop: Workshop) -> None:
    """Two turns of a case have the same id, and are in flight together."""
    shop.script(60)
    shop.interface(HEAD + "    if case.id in ('c7', 'c30') and case.repeat == 2:\n        os._exit(1)\n" + SINGLE)
    records = shop.run("-j", "2", "--repeat", "3")
    assert [(r["id"], r["repeat"]) for r in records if "error" in r] == [("c7", 2), ("c30", 2)]
    calls = Counter((shop.folder / "log").read_text().split("\n")[:-1])
    assert calls == Counter({f"c{n} {turn}": 1 for n in range(60) for turn in (1, 2, 3)})


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_in_a_batch_only_the_guilty_have_errors(jobs: str, shop: Workshop) -> None:
    """Any case of the oldest batch may be to blame: those are asked again, one at a time."""
    shop.script(COUNT)
    text, guilty = hostile(4, ["exits", "is killed", "hangs", "raises", "prints"])
    shop.interface(text + BATCH)
    records = shop.run("--timeout", "0.5", "-j", jobs)
    assert errors(records) == guilty
    assert wrong_answers(records, guilty) == []


@pytest.mark.slow
def test_a_worker_that_is_killed_from_outside_costs_one_case(shop: Workshop) -> None:
    """As the kernel does when memory is short."""
    shop.script(COUNT)
    shop.interface(
        "import os, pathlib, signal, subprocess\ndef answer(case, params):\n    if case.id == 'c150':\n"
        "        subprocess.run(['sh', '-c', f'kill -9 {os.getpid()}; sleep 1'])\n    return case.input\n"
    )
    for words in ((), ("-j", "2")):
        records = shop.run("--timeout", "60", *words, "--force")
        assert errors(records) == {"c150": "crash"}
        assert wrong_answers(records, {"c150": "crash"}) == []


def test_one_error_ends_a_test_that_says_so(shop: Workshop) -> None:
    """Design: errors = "abort" ends the run; what was answered before is on disk, and can be resumed."""
    shop.script(COUNT, keys='errors = "abort"')
    shop.interface(
        "import os\ndef answer(case, params):\n    if case.id == 'c200' and not os.path.exists('mended'):\n"
        "        os._exit(1)\n    return case.input\n"
    )
    done = shop.call("run", "toy", "-o", "out.jsonl", "-j", "2")
    assert done.status == 1
    assert "case c200: crash" in done.err
    assert shop.left_running() == []
    (shop.folder / "mended").touch()
    assert wrong_answers(shop.run("--resume", "-j", "2"), {"c200": ""}) == []


def test_slow_cases_among_quick_ones_are_spread_over_the_workers(shop: Workshop) -> None:
    """A worker that has seen a slow case is not given many at once, as quick as the others were."""
    shop.script(COUNT)
    shop.interface(
        "import os, time\nLOG = os.open('log', os.O_WRONLY | os.O_CREAT | os.O_APPEND)\ndef answer(case, params):\n"
        "    if case.id.endswith('7'):\n        time.sleep(0.03)\n        os.write(LOG, f'{os.getpid()}\\n'.encode())\n"
        "    return case.input\n"
    )
    shop.run("-j", "2")
    first, second = Counter((shop.folder / "log").read_text().split()).values()
    assert first + second == COUNT // 10
    assert min(first, second) >= COUNT // 40
