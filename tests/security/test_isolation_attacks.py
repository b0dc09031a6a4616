"""An algorithm that cheats: in a process of its own it finds no claim, and nobody to bribe."""

import json
import os
import textwrap

import pytest

import harness
from harness.api.runs import load_test
from harness.errors import UsageError
from harness.site.audit import audit
from tests.workshop import Workshop, wait_until

# Looks through the callers of its function, and through all objects, for what the case claims.
FRAMES = """\
import gc, sys

def answer(case, params):
    frame = sys._getframe(1)
    while frame is not None:
        for value in [*frame.f_locals.values(), *frame.f_globals.values()]:
            claim = found(value, case.id)
            if claim:
                return claim
        frame = frame.f_back
    for value in gc.get_objects():
        claim = found(value, case.id)
        if claim:
            return claim
    return "nothing"

def found(value, id):
    try:
        return claim_in(value, id)
    except Exception:
        return None

def claim_in(value, id):
    if type(value).__name__ == "Case" and value.id == id and value.positive:
        return value.expect
    if type(value) is dict:
        for one in list(value.values()):
            if type(one).__name__ == "Case" and one.id == id and one.positive:
                return one.expect
    pending = getattr(value, "pending", None)
    return claim_in(pending, id) if type(pending) is dict else None
"""

# Makes every answer right, when it is imported.
PATCH = """\
import harness.tasks.label as label
label.LabelTask.acceptance = lambda self, rules, params: lambda case, answer: case.positive

def answer(case, params):
    return "nothing"
"""

# The same, when it is asked.
LATE_PATCH = """\
import gc

def answer(case, params):
    for one in gc.get_objects():
        if type(one).__name__ == "Judge":
            one._accepts = lambda case, answer: case.positive
    return "nothing"
"""

# Looks for the claim in what the harness handed to the process.
SEARCH = """\
import gc, os, sys

def answer(case, params):
    claim = "x" + case.id[1:] + "secret"
    seen = [str(sys.argv), str(dict(os.environ)), repr(case)]
    seen += [repr(one)[:2000] for one in gc.get_objects() if type(one).__name__ in ("Case", "Question", "dict")]
    own = "+ case.id[1:] +"
    return "seen" if any(claim in text and own not in text for text in seen) else "unseen"
"""


def counts(shop: Workshop, *words: str) -> tuple[int, int]:
    """TP and TN of a run of 6 cases, 3 of them positive."""
    call = shop.call if "--isolate" in words else shop.hate  # an attack inside would be one on the tests
    done = call("run", "toy", "-o", "out.jsonl", "--force", "--format", "json", *words)
    assert done.status == 0, done.err
    return done.row["TP"], done.row["TN"]


@pytest.mark.slow
@pytest.mark.parametrize("attack", [FRAMES, PATCH, LATE_PATCH], ids=["frames", "patch", "late patch"])
def test_cheating_pays_only_inside(shop: Workshop, attack: str) -> None:
    """In the harness's own process each attack wins all cases; otherwise they would show nothing here."""
    shop.script()
    shop.interface(attack)
    assert counts(shop) == (3, 3)
    assert counts(shop, "--isolate") == (0, 3)
    assert counts(shop, "--isolate", "-j", "2", "--timeout", "20") == (0, 3)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("attack", [PATCH, LATE_PATCH], ids=["patch", "late patch"])
def test_outcomes_of_a_patched_judge_are_found(shop: Workshop, attack: str) -> None:
    """Inside, a judge can be patched; its outcomes still contradict the recorded answers."""
    shop.script()
    shop.interface(attack)
    assert counts(shop) == (3, 3)
    done = shop.call("check", "out.jsonl")
    assert done.status == 1
    assert "out.jsonl:2: case 'c0': outcome TP, but the answer 'nothing' to the true claim 'x0' is FN" in done.out


def test_a_worker_never_sees_the_claim(shop: Workshop) -> None:
    rows = "id,input,expect,positive\n" + "".join(f"c{n},i{n},x{n}secret,true\n" for n in range(4))
    shop.script(rows=rows)
    shop.interface(SEARCH)
    shop.call("run", "toy", "-o", "out.jsonl", "--isolate")
    assert {one["actual"] for one in shop.records()} == {"unseen"}


def test_a_claim_that_a_score_test_shows_is_shown(shop: Workshop) -> None:
    shop.script(task="score", sections="[params.threshold]\ntype = 'float'\ndefault = 0.5\ndecision = true\n")
    shop.interface("def answer(case, params):\n    return float(case.expect == case.input)\n")
    inside = shop.run(output="a.jsonl")
    assert shop.run("--isolate", output="b.jsonl") == inside


EVERYTHING = """\
NAME = "best"
VERSION = 3
PARAMS = {"size": 2, "rate": 1.0, "word": "a", "on": True}

class Interface:
    BATCH = 4
    def train(self, cases, params):
        self.known = {case.input: case.expect for case in cases}
    def answer_batch(self, cases, params):
        return [self.known.get(case.input, case.input) + params["word"][1:] for case in cases]
    def close(self):
        pass
"""


def test_a_run_is_the_same_outside(shop: Workshop) -> None:
    """Name, version, parameters, batches, training: what a worker says about an interface is what loading it says."""
    shop.script(30, sections='[train]\ntable = "train.csv"\n')
    shop.write("toy/train.csv", "id,input,expect\nt1,x3,y3\nt2,x4,z\n")
    shop.interface(EVERYTHING)
    shop.run("--param", "size=7", output="a.jsonl")
    shop.run("--param", "size=7", "--isolate", output="b.jsonl")
    assert shop.records("a.jsonl") == shop.records("b.jsonl")
    inside, outside = shop.lines("a.jsonl")[0], shop.lines("b.jsonl")[0]
    assert (inside.pop("isolation"), outside.pop("isolation")) == ("none", "process")
    del inside["started"], outside["started"]
    assert inside == outside
    assert outside["algorithm"] == {"name": "best", "version": "3"}
    assert outside["params"] == {"threshold": 0.0, "size": 7, "rate": 1.0, "word": "a", "on": True}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def answer(case):\n    return 1\n", "interface.py: answer(case) does not take (case, params)"),
        ("def answer(case, params)\n", "interface.py:1: expected ':'"),
        ("import nowhere_to_be_found\n", "interface.py: cannot import: ModuleNotFoundError: No module named"),
        ("x = 1\n", "interface.py: no function answer(case, params); `hate new interface` writes an example"),
        ("import os\nos._exit(7)\n", "interface.py: exit status 7 before it could be checked"),
        ("PARAMS = {'a': [1]}\ndef answer(case, params):\n    return 1\n", "parameter a: default [1] is not a finite"),
    ],
)  # fmt: skip
def test_mistakes_are_reported_as_they_are_inside(shop: Workshop, text: str, words: str) -> None:
    shop.script()
    shop.interface(text)
    done = shop.call("run", "toy", "--isolate")
    assert (done.status, len(done.err.splitlines())) == (2, 1)
    assert words in done.err
    if "_exit" not in text:
        assert shop.call("run", "toy").err.replace(f"{shop.folder}/", "") == done.err


@pytest.mark.slow
def test_a_crash_and_a_slow_case_cost_only_themselves(shop: Workshop) -> None:
    """Quick answers are sent many at a time; that must not blur who is to blame."""
    shop.script(400)
    shop.interface(
        textwrap.dedent("""\
        import os
        def answer(case, params):
            if case.id in ("c123", "c124", "c399"):
                os._exit(3)
            return case.input
        """)
    )
    records = shop.run("--isolate")
    assert [one["id"] for one in records if "error" in one] == ["c123", "c124", "c399"]
    assert [one["actual"] for one in records if "error" not in one] == [
        f"x{n}" for n in range(400) if n not in (123, 124, 399)
    ]
    assert not shop.left_running()


@pytest.mark.slow
def test_answers_do_not_wait_for_a_slow_case(shop: Workshop) -> None:
    """What was answered is on disk although a later case never ends."""
    shop.script(50)
    shop.interface("import time\ndef answer(case, params):\n    time.sleep(600 * (case.id == 'c9'))\n    return '1'\n")
    process = shop.start("run", "toy", "-o", "out.jsonl", "--isolate")
    path = shop.folder / "out.jsonl"
    try:
        wait_until("nine records", lambda: path.exists() and path.read_bytes().count(b"\n") >= 10, process)
    finally:
        process.terminate()
        process.communicate()
    assert not shop.left_running()


def test_an_object_cannot_be_kept_apart(shop: Workshop) -> None:
    path = shop.script()
    with pytest.raises(UsageError, match=r"function is an object of this program; put it into a file interface\.py"):
        harness.run(path, lambda case, params: case.input, name="f", isolate=True)


@pytest.mark.parametrize(
    ("toml", "isolation"),
    [
        (f'[command]\nargv = ["{os.path.realpath("/bin/echo")}", "{{input}}"]\n', "process"),
        ('[scores]\ntable = "answers.csv"\n', "process"),
        ("", "none"),
    ],
)
def test_the_header_says_where_the_algorithm_ran(shop: Workshop, toml: str, isolation: str) -> None:
    shop.script()
    shop.write("answers.csv", "id,label\n" + "".join(f"c{n},x{n}\n" for n in range(6)))
    if toml:
        shop.toml(toml)
    else:
        shop.interface()
    shop.run("-j", "2")
    assert shop.lines()[0]["isolation"] == isolation


def test_a_site_asks_for_isolation(shop: Workshop) -> None:
    """A folder is its owner's: publishing there is a matter of a warning."""
    path = shop.script()
    shop.interface()
    shop.run(output="inside.jsonl")
    shop.run("--isolate", output="outside.jsonl")
    done = shop.call("publish", path, "inside.jsonl", "outside.jsonl", "--to", "site")
    assert done.status == 0, done.err
    (note,) = [line for line in done.err.splitlines() if "jsonl" in line]
    assert note.startswith("inside.jsonl: its code ran in the harness's own process")
    assert note.endswith("run it with --isolate to share it")


def test_isolated_records_are_audited_like_others(shop: Workshop) -> None:
    shop.script()
    shop.interface()
    shop.run("--isolate")
    assert audit(shop.folder / "out.jsonl", load_test("toy")).mistakes.shown == []
    assert json.loads((shop.folder / "out.jsonl").read_text(encoding="utf-8").splitlines()[1])["memory"] > 1 << 20


@pytest.mark.slow
def test_a_run_begun_apart_is_not_ended_inside(shop: Workshop) -> None:
    """The header would say `process` of records that were made in the harness's own process."""
    shop.script()
    shop.interface()
    shop.run("--isolate")
    whole = (shop.folder / "out.jsonl").read_text(encoding="utf-8")
    shop.write("out.jsonl", "".join(whole.splitlines(keepends=True)[:4]))
    done = shop.call("run", "toy", "-o", "out.jsonl", "--resume")
    assert done.status == 2
    assert "from a different run: isolation ('process' there, 'none' now; add --isolate)" in done.err
    assert len(shop.run("--isolate", "--resume")) == 6
