"""`hate sweep`: the rows are those of separate runs, and only what is new is run."""

import csv
import io
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.workshop import Workshop, wait_until

# Leaves a mark for every question that it answers; `step` changes the answers, `threshold` only how they are judged.
COUNTING = """\
import os
NAME = "counting"
PARAMS = {"step": 1, "word": "x"}
LOG = os.open("calls.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def answer(case, params):
    os.write(LOG, b".")
    number = int(case.input)
    return (case.columns["claim"] if number % 3 else "z", float(number * params["step"] % 7))
"""
ROWS = "".join(f"c{n},{n},l{n % 4},{'false' if n % 2 else 'true'},l{n % 4}\n" for n in range(12))


@pytest.fixture
def counting(shop: Workshop) -> Workshop:
    shop.script(rows="id,input,expect,positive,claim\n" + ROWS)
    shop.interface(COUNTING)
    return shop


def calls(shop: Workshop) -> int:
    """Questions answered since the last call."""
    log = shop.folder / "calls.log"
    found = log.stat().st_size if log.exists() else 0
    os.truncate(log, 0)
    return found


def sweep(shop: Workshop, *words: str) -> dict[str, Any]:
    done = shop.call("sweep", "toy", "--format", "json", *words)
    assert done.status == 0, done.err
    found: dict[str, Any] = done.json
    return found


def test_every_row_is_that_of_a_separate_run(counting: Workshop) -> None:
    found = sweep(counting, "--param", "step=1,2", "--param", "threshold=-1,0,2.5,6,7")
    assert calls(counting) == 24
    assert len(found["transcripts"]) == 2
    assert len(found["rows"]) == 10
    for number, row in enumerate(found["rows"]):
        assert row["params"] == {"threshold": [-1, 0, 2.5, 6, 7][number % 5], "step": number // 5 + 1, "word": "x"}
        params = [f"{name}={value}" for name, value in row["params"].items()]
        words = [word for param in params for word in ("--param", param)]
        done = counting.call("run", "toy", "--format", "json", "-o", f"{number}.jsonl", *words)
        assert done.row == row


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("design", "repeat"), [
    ('stratum = "claim"', 1), ('psu = "claim"', 1), ('stratum = "expect"\nweights = "equal"', 1), ('weights = "w"', 1),
    ("", 3), ('psu = "claim"', 2),
])  # fmt: skip
def test_every_row_has_the_error_of_a_separate_run(shop: Workshop, design: str, repeat: int) -> None:
    """By the design, at every threshold and every setting; several answers to a case are one unit."""
    rows = [f"c{n},{n},l{n % 4},{'false' if n % 2 else 'true'},l{n % 4},{n % 3 + 1}" for n in range(24)]
    sections = f"[design]\n{design}\n" if design else ""
    shop.script(rows="\n".join(["id,input,expect,positive,claim,w", *rows, ""]), sections=sections)
    shop.interface(COUNTING)
    found = sweep(shop, "--param", "step=1,2", "--param", "threshold=0,2.5,6", "--repeat", str(repeat))["rows"]
    assert len(found) == 6
    assert len({row["replication"]["estimate"] for row in found}) > 2
    for number, row in enumerate(found):
        words = [word for name in ("step", "threshold") for word in ("--param", f"{name}={row['params'][name]}")]
        words += ["--repeat", str(repeat), "-o", f"{number}.jsonl"]
        one, own = shop.call("run", "toy", "--format", "json", *words).row["replication"], row["replication"]
        for key in ("estimate", "se", "df"):
            assert own[key] == pytest.approx(one[key], rel=1e-12, abs=1e-12)
        assert own["interval"] == pytest.approx(one["interval"], rel=1e-12, abs=1e-12)
        assert (own["units"], own["psu"], own["stratum"]) == (one["units"], one["psu"], one["stratum"])


def test_what_is_known_is_not_run_again(counting: Workshop) -> None:
    first = sweep(counting, "--param", "step=1,2", "--param", "threshold=0,1")
    assert calls(counting) == 24
    done = counting.call("sweep", "toy", "--param", "step=2,3", "--param", "threshold=0,1", "--format", "json")
    assert calls(counting) == 12
    assert "from the cache: 1 of 2 runs, made " in done.err
    assert "; --fresh runs everything again" in done.err
    assert done.json["rows"][:2] == first["rows"][2:]
    sweep(counting, "--param", "step=2,3", "--fresh")
    assert calls(counting) == 24


@pytest.mark.parametrize(
    "change",
    [["--limit", "5"], ["--repeat", "2"], ["--timeout", "50"]],
    ids=["limit", "repeat", "time limit"],
)
def test_what_changes_the_answers_is_run_again(counting: Workshop, change: list[str]) -> None:
    sweep(counting, "--param", "threshold=0,1")
    assert calls(counting) == 12
    sweep(counting, "--param", "threshold=0,1", *change)
    assert calls(counting) == {"--limit": 5, "--repeat": 24, "--timeout": 12}[change[0]]


def test_another_interface_or_another_test_is_run_again(counting: Workshop) -> None:
    sweep(counting, "--param", "threshold=0")
    calls(counting)
    counting.interface(COUNTING + "# changed\n")
    sweep(counting, "--param", "threshold=0")
    assert calls(counting) == 12
    counting.script(rows="id,input,expect,positive,claim\n" + ROWS + "new,99,l1,true,l1\n")
    sweep(counting, "--param", "threshold=0")
    assert calls(counting) == 13


def test_settings_do_not_see_the_state_of_earlier_ones(shop: Workshop) -> None:
    shop.script(4, rows="id,input,expect\na,1,1\nb,1,1\nc,1,1\nd,1,1\n")
    shop.interface(
        "PARAMS = {'says': 1}\nSAYS = []\ndef answer(case, params):\n"
        "    SAYS.append(params['says'])\n    return str(SAYS[0])\n"
    )
    rows = sweep(shop, "--param", "says=1,2,1")["rows"]
    assert [row["TP"] for row in rows] == [4, 0, 4]


@pytest.mark.slow
def test_a_killed_sweep_carries_on(counting: Workshop) -> None:
    counting.interface(COUNTING.replace("    number", "    import time\n    time.sleep(0.02)\n    number", 1))
    words = ("sweep", "toy", "--param", "step=1,2,3", "--format", "json")
    log = counting.folder / "calls.log"
    running = counting.start(*words)
    wait_until("the second run", lambda: log.exists() and log.stat().st_size > 15)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    running.communicate()
    assert counting.left_running() == []
    before = calls(counting)
    done = counting.hate(*words)
    assert done.status == 0, done.err
    after = calls(counting)
    # Questions in flight when it was killed are asked again: the worker reads a few questions ahead.
    assert 36 <= before + after <= 36 + 3
    fresh = counting.hate(*words, "--fresh")
    assert fresh.json["rows"] == done.json["rows"]


@pytest.mark.slow
def test_two_sweeps_at_once_run_everything_once(counting: Workshop) -> None:
    counting.interface(COUNTING.replace("    number", "    import time\n    time.sleep(0.02)\n    number", 1))
    both = [counting.start("sweep", "toy", "--param", "threshold=0,1,2") for _ in range(2)]
    outputs = [running.communicate() for running in both]
    assert [running.returncode for running in both] == [0, 0], outputs
    assert outputs[0][0] == outputs[1][0]
    assert calls(counting) == 12


def test_a_cache_that_cannot_be_written_is_named(counting: Workshop, cache: Path) -> None:
    (cache / "hate").mkdir(parents=True)
    (cache / "hate" / "runs").write_text("in the way")
    done = counting.call("sweep", "toy", "--param", "threshold=0")
    assert done.status == 2
    assert "set XDG_CACHE_HOME" in done.err


@pytest.mark.slow
def test_an_interrupted_sweep_says_how_to_carry_on(counting: Workshop) -> None:
    counting.interface(COUNTING.replace("    number", "    import time\n    time.sleep(0.02)\n    number", 1))
    log = counting.folder / "calls.log"
    running = counting.start("sweep", "toy", "--param", "step=1,2,3")
    wait_until("the second run", lambda: log.exists() and log.stat().st_size > 15)
    running.send_signal(signal.SIGTERM)
    _, err = running.communicate()
    assert running.returncode == 143
    assert "1 of 3 runs are finished and kept; the same command carries on" in err


def test_damage_in_the_cache_is_named_with_its_remedy(counting: Workshop) -> None:
    (path,) = sweep(counting, "--param", "threshold=0")["transcripts"]
    Path(path).write_bytes(Path(path).read_bytes().replace(b'"TP"', b'"FN"', 1))
    done = counting.call("sweep", "toy", "--param", "threshold=0")
    assert done.status == 2
    assert "changed or damaged; --fresh runs it again" in done.err
    assert counting.call("sweep", "toy", "--param", "threshold=0", "--fresh").status == 0
    assert counting.call("sweep", "toy", "--param", "threshold=0").status == 0


def test_a_damaged_part_of_a_run_is_made_again(counting: Workshop) -> None:
    (path,) = sweep(counting, "--param", "threshold=0")["transcripts"]
    Path(path).rename(Path(path).with_suffix(".part.jsonl"))
    Path(path).with_suffix(".part.jsonl").write_text("rubbish\n")
    calls(counting)
    assert sweep(counting, "--param", "threshold=0")["rows"][0]["tests"] == 12
    assert calls(counting) == 12


def test_plain_columns_are_for_gnuplot(counting: Workshop) -> None:
    done = counting.call("sweep", "toy", "--param", "threshold=-1,0.001,1e-7", "--param", "word=a b,=c")
    header, *rows = done.out.splitlines()
    assert header.split() == ["#", "threshold", "word", "tests", "TP", "TN", "FP", "FN", "ER"]
    assert [row.split()[:3] for row in rows] == [
        [value, word, "12"] for value in ("-1", "0.001", "1e-07") for word in ("a_b", "=c")
    ]


def test_numbers_stay_numbers_in_a_spreadsheet(counting: Workshop) -> None:
    done = counting.call("sweep", "toy", "--param", "threshold=-1,0.5", "--param", "word==c", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["threshold"] for row in rows] == ["-1", "0.5"]
    assert [row["word"] for row in rows] == ["'=c", "'=c"]


@pytest.mark.parametrize("style", ["table", "plain", "csv", "tex", "md"])
def test_every_format_has_every_row(counting: Workshop, style: str) -> None:
    done = counting.call("sweep", "toy", "--param", "threshold=0:2:0.25", "--format", style)
    assert done.status == 0
    assert all(value in done.out for value in ("0.25", "0.5", "0.75", "1.25", "1.75"))


def test_the_tutorials_command_prints_five_rows(counting: Workshop) -> None:
    done = counting.call("-mode", "roc", "-param", "threshold=0,1,2,3,4", "toy")
    rows = [line.split() for line in done.out.splitlines() if not line.startswith("#")]
    assert [row[0] for row in rows] == ["0", "1", "2", "3", "4"]


@pytest.mark.slow
def test_samples_are_reproducible_and_reported(counting: Workshop) -> None:
    for option in ("--sample", "--latin"):
        words = ["--param", "step=1:9:1", "--param", "threshold=0:6:1", option, "4", "--seed", "3"]
        first, second = sweep(counting, *words), sweep(counting, *words)
        assert first == second
        assert len(first["rows"]) == 4
        done = counting.call("sweep", "toy", *words)
        assert "4 of 63 combinations" in done.err
        assert "seed 3" in done.err


@pytest.mark.slow
def test_parallel_runs_give_the_same(counting: Workshop) -> None:
    words = ("--param", "step=1,2", "--param", "threshold=0,3")
    assert sweep(counting, *words, "-j", "2") == sweep(counting, *words, "--fresh")


def test_errors_are_counted_and_the_first_is_shown(counting: Workshop) -> None:
    counting.interface(COUNTING.replace("    number =", "    assert case.id != 'c3', 'three'\n    number ="))
    done = counting.call("sweep", "toy", "--param", "threshold=-5,100", "--format", "json")
    assert [row["ER"] for row in done.json["rows"]] == [1, 1]
    assert "case c3: crash: AssertionError: three" in done.err
    assert [row["FP"] for row in done.json["rows"]][1] == 1  # an error on a negative case is a failure at any threshold


def test_a_program_that_does_not_start_ends_the_sweep_and_the_rest_is_kept(counting: Workshop) -> None:
    counting.interface(COUNTING + "def train(cases, params):\n    if params['step'] == 2: raise ValueError('two')\n")
    done = counting.call("sweep", "toy", "--param", "step=1,2,3")
    assert done.status == 2
    assert "ValueError: two" in done.err
    assert "1 of 3 runs are finished and kept" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--param", "stepp=1"], "did you mean 'step'?"),
        (["--param", "step=1", "--param", "step=2"], "given twice"),
        (["--param", "step=1", "--sample", "2", "--latin", "2"], "exclude one another"),
        ([], "--param"),
        (["--param", "threshold=0:1:1e-9"], "use a larger step"),
        (["--param", "threshold=0:1:0.001", "--param", "step=1:10000:1"], "--sample N or --latin N"),
    ],
)
def test_mistakes_are_one_line(counting: Workshop, words: list[str], message: str) -> None:
    done = counting.call("sweep", "toy", *words)
    assert done.status == 2
    assert message in done.err
    assert done.out == ""


def test_a_program_that_gets_the_threshold_is_pointed_out(shop: Workshop) -> None:
    shop.script()
    shop.program("says.sh", "#!/bin/sh\necho $1\n")
    shop.toml('[command]\nargv = ["./says.sh", "{input}", "{threshold}"]\noutput = "label"\n')
    done = shop.call("sweep", "toy", "--param", "threshold=0,1", "--format", "json")
    assert done.status == 0
    assert "given threshold = 0, its default; the harness decides" in done.err


def test_kept_runs_are_in_the_cache_that_a_user_can_clear(counting: Workshop) -> None:
    sweep(counting, "--param", "threshold=0")
    calls(counting)
    assert "runs" in counting.call("cache", "list").out
    assert counting.call("cache", "clear", "runs").status == 0
    sweep(counting, "--param", "threshold=0")
    assert calls(counting) == 12


def test_values_that_change_nothing_are_pointed_out(shop: Workshop) -> None:
    """An answer without a score passes every threshold: the rows are identical, which needs an explanation."""
    shop.script()
    shop.interface()
    alike = shop.call("sweep", "toy", "--param", "threshold=0,1,2")
    assert "all rows are alike" in alike.err
    shop.interface("def answer(case, params):\n    return case.input, 1.5\n")
    assert "all rows are alike" not in shop.call("sweep", "toy", "--param", "threshold=0,1,2").err


def test_a_design_without_an_error_has_a_remedy_that_exists(shop: Workshop) -> None:
    """A sweep has no --psu; `hate rate` of its transcripts has."""
    shop.script(
        rows="id,input,expect,day\n" + "".join(f"c{n},x,x,mon\n" for n in range(6)), sections="[design]\npsu = 'day'\n"
    )
    shop.interface("def answer(case, params):\n    return case.input\n")
    words = ("sweep", "toy", "--param", "threshold=0", "-o", "runs")
    done = shop.call(*words, "--format", "table")
    assert done.status == 0
    assert "--psu none treats cases as independent (hate rate and hate compare have it)" in " ".join(done.err.split())
    done = shop.call(*words, "--statistic", "tpr")
    assert (done.status, done.out) == (2, "")
    assert "hate rate and hate compare have it" in done.err
    (path,) = (shop.folder / "runs").iterdir()
    assert shop.call("rate", path, "--psu", "none").status == 0


def test_several_answers_have_their_measures(counting: Workshop) -> None:
    words = ("sweep", "toy", "--param", "threshold=0", "--repeat", "3", "--statistic", "pass@3", "--format", "json")
    done = counting.call(*words)
    assert done.status == 0, done.err
    rated = counting.call("rate", *done.json["transcripts"], "--statistic", "pass@3", "--format", "json")
    assert done.row["measure"]["value"] == rated.json["transcripts"][0]["value"]
    done = counting.call(*words[:4], "--statistic", "pass@3")
    assert done.status == 2
    assert "--statistic pass@3: it takes 3 answers to every case; --repeat 3 asks for them" in done.err
