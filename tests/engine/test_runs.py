"""Runs that end well: workers, repeats, limits, error rules, and where the transcript goes."""

import hashlib
import json

import pytest

from tests.workshop import ECHO, Workshop, errors

# Crashes, invalid answers, refusals and good answers, by the number of the case.
MIXED = """\
import time
def answer(case, params):
    n = int(case.id[1:])
    time.sleep((7 * n) % 5 / 1000)
    if n % 7 == 3: raise ValueError(case.id)
    if n % 7 == 4: return object()
    if n % 7 == 5: return None
    return case.input, n / 2
"""


@pytest.mark.slow
def test_workers_do_not_change_the_records(shop: Workshop) -> None:
    """Design: records are in case order, whatever the number of workers."""
    shop.script(60)
    shop.interface(MIXED)
    alone = shop.run(output="one.jsonl")
    assert shop.run("-j", "2", output="two.jsonl") == alone
    assert shop.run("-j", "3", "--timeout", "60", output="three.jsonl.gz") == alone
    assert [record["id"] for record in alone] == [f"c{n}" for n in range(60)]


def test_more_workers_than_cases(toy: Workshop) -> None:
    assert toy.run("-j", "4", "--limit", "1")[0]["outcome"] == "TP"


def test_the_last_line_has_the_counts_and_the_digest(toy: Workshop) -> None:
    """Design: sha256 is over every byte before the last line."""
    toy.run("-j", "2")
    *before, last = (toy.folder / "out.jsonl").read_bytes().splitlines(keepends=True)
    end = json.loads(last)
    assert end["sha256"] == hashlib.sha256(b"".join(before)).hexdigest()
    assert {key: end[key] for key in ("tests", "TP", "TN", "FP", "FN", "ER")} == {
        "tests": 6, "TP": 3, "TN": 3, "FP": 0, "FN": 0, "ER": 0,
    }  # fmt: skip


def test_the_header_says_what_was_run(shop: Workshop) -> None:
    shop.script(sections='[design]\nstratum = "expect"\n', keys='errors = "refuse"')
    shop.interface("NAME = 'mine'\nVERSION = '2'\nPARAMS = {'k': 1}\n" + ECHO)
    shop.run("--param", "k=7", "--repeat", "2", "--limit", "3")
    header = shop.lines()[0]
    assert (header["hate"], header["format"]) == ("transcript", 1)
    assert header["test"]["name"] == "toy"
    assert header["test"]["cases"] == 6
    assert header["test"]["errors"] == "refuse"
    assert header["test"]["digest"].startswith("1:")
    assert header["algorithm"] == {"name": "mine", "version": "2"}
    assert header["interface"]["kind"] == "python"
    assert header["interface"]["sha256"] == hashlib.sha256((shop.folder / "interface.py").read_bytes()).hexdigest()
    assert header["params"] == {"threshold": 0.0, "k": 7}
    assert header["design"] == {"stratum": "expect"}
    assert (header["repeat"], header["limit"]) == (2, 3)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("rule", "outcomes"), [("failure", ["FN", "FP"]), ("refuse", ["FN", "TN"])])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_error_rules(rule: str, outcomes: list[str], jobs: str, shop: Workshop) -> None:
    """Design: a failure (FN, or FP for a negative case), or a refusal (FN, TN)."""
    shop.script(2, keys=f'errors = "{rule}"')
    shop.interface("def answer(case, params):\n    raise ValueError\n")
    records = shop.run("-j", jobs)
    assert [record["outcome"] for record in records] == outcomes
    assert set(errors(records).values()) == {"crash"}
    assert shop.lines()[-1]["ER"] == 2


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_test_that_ends_at_the_first_error(jobs: str, shop: Workshop) -> None:
    """Design: exit status 1 for an aborted run; what was finished is saved."""
    shop.script(6, keys='errors = "abort"')
    shop.interface("def answer(case, params):\n    if case.id == 'c2': raise ValueError('no')\n    return case.input\n")
    done = shop.call("run", "toy", "-o", "out.jsonl", "-j", jobs)
    assert done.status == 1
    assert "case c2: crash: ValueError: no" in done.err
    assert "out.jsonl" in done.err
    assert "--resume" in done.err
    assert any(line.get("id") == "c2" for line in shop.lines())
    assert "end" not in shop.lines()[-1]


def test_repeats_ask_each_case_several_times(shop: Workshop) -> None:
    shop.script(4)
    shop.interface("def answer(case, params):\n    return case.input if case.repeat != 2 else 'q'\n")
    done = shop.call("run", "toy", "-o", "out.jsonl", "--repeat", "3", "-j", "2", "--format", "json")
    records = shop.records()
    assert [(r["id"], r["repeat"]) for r in records] == [(f"c{n}", k) for n in range(4) for k in (1, 2, 3)]
    assert done.row["tests"] == 12
    assert done.row["TP"] == 4
    # Positive cases succeed two times in three, negative ones always: 10 of 12.
    assert done.json["repeats"]["rate"] == pytest.approx(10 / 12)
    assert done.json["repeats"]["runs"] == 3
    assert done.json["repeats"]["unanimous"] == pytest.approx(0.5)


def test_one_case_with_repeats(shop: Workshop) -> None:
    """One case is not enough for a variance: null, not NaN, in JSON."""
    shop.script(1)
    shop.interface()
    done = shop.call("run", "toy", "--repeat", "2", "--format", "json")
    assert done.status == 0
    assert done.json["repeats"]["rate"] == 1.0
    assert "NaN" not in done.out


def test_a_limit(toy: Workshop) -> None:
    assert [record["id"] for record in toy.run("--limit", "2")] == ["c0", "c1"]
    assert len(toy.run("--limit", "100", output="all.jsonl")) == 6


def test_a_program_sees_the_claim_only_in_score_tests(shop: Workshop) -> None:
    """docs/reference/interfaces.md: expect is the claim in score tests, and empty in tests that ask for it."""
    threshold = '[params.threshold]\ntype = "float"\ndefault = 1.0\ndecision = true\n'
    shop.interface("def answer(case, params):\n    return len(case.expect)\n")
    shop.script(2, task="score", sections=threshold)
    assert [r["score"] for r in shop.run("-j", "2")] == [2.0, 2.0]
    shop.script(rows="id,input,expect\nc0,a,5\n", task="value")
    assert shop.run("--force")[0]["actual"] == 0.0


def test_default_names_are_numbered(toy: Workshop) -> None:
    """Design: transcripts/TEST/ALGORITHM.jsonl, -2, -3 when it exists."""
    toy.interface("NAME = '../My algo: v/1'\n" + ECHO)
    for _ in range(3):
        assert toy.call("run", "toy").status == 0
    found = sorted(path.relative_to(toy.folder).as_posix() for path in toy.folder.rglob("*.jsonl"))
    assert found == [f"transcripts/toy/My_algo_v_1{number}.jsonl" for number in ("-2", "-3", "")]


def test_an_existing_file_is_not_overwritten(toy: Workshop) -> None:
    for name in ("out.jsonl", "out.jsonl.gz"):
        toy.run(output=name)
        before = (toy.folder / name).read_bytes()
        done = toy.call("run", "toy", "-o", name)
        assert done.status == 2
        assert done.err == f"hate: {name}: exists; --resume carries on with it, --force overwrites it\n"
        assert (toy.folder / name).read_bytes() == before
        toy.run("--force", "--limit", "1", output=name)
        assert len(toy.records(name)) == 1


def test_force_overwrites_nothing_if_the_program_does_not_start(toy: Workshop) -> None:
    toy.run()
    before = (toy.folder / "out.jsonl").read_bytes()
    toy.interface("def train(cases, params):\n    raise ValueError\n" + ECHO)
    assert toy.call("run", "toy", "-o", "out.jsonl", "--force").status == 2
    assert (toy.folder / "out.jsonl").read_bytes() == before


@pytest.mark.parametrize("words", [("-o", "toy"), ("-o", "toy", "--force"), ("-o", "interface.py/x.jsonl")])
def test_a_path_where_no_transcript_can_be_written(words: tuple[str, ...], toy: Workshop) -> None:
    done = toy.call("run", "toy", *words)
    assert done.status == 2
    assert words[1].partition("/")[0] in done.err
    assert done.err.count("\n") == 1


def test_a_file_where_the_folder_of_transcripts_should_be(toy: Workshop) -> None:
    toy.write("transcripts/toy", "in the way")
    done = toy.call("run", "toy")
    assert done.status == 2
    assert "transcripts/toy" in done.err
    assert done.err.count("\n") == 1


def test_peak_memory_of_a_stream_program(shop: Workshop) -> None:
    """Design: memory is the peak of the program, in bytes; a block of 100 MB must be seen."""
    shop.script(2)
    shop.stream("block = b'x' * 100_000_000\ntime.sleep(0.1)\nsay(id=id, label=given)", in_flight=1)
    shop.run()
    assert shop.lines()[2]["memory"] > 100_000_000


def test_wall_time_of_every_case(toy: Workshop) -> None:
    toy.interface("import time\ndef answer(case, params):\n    time.sleep(0.01)\n    return case.input\n")
    for words in ((), ("-j", "2")):
        toy.run(*words, "--force")
        assert all(line["seconds"] >= 0.01 for line in toy.lines()[1:-1])
