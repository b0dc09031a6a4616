"""`hate power`: the answer of the command against the formulas, a pilot, and what a user may get wrong."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student
from statsmodels.stats.power import TTestPower

import harness
from harness.stats.power import cases_needed, difference_power, mcnemar_power, rule_of_three
from tests.analysis.transcripts import transcript
from tests.workshop import Workshop

Json = dict[str, Any]


def power(shop: Workshop, *words: str | Path) -> Json:
    done = shop.call("power", *words, "--format", "json")
    assert done.status == 0, done.err
    found: Json = json.loads(done.out, parse_constant=pytest.fail)
    return found


def test_independent_cases_are_planned_for_mcnemars_exact_test(shop: Workshop) -> None:
    found = power(shop, "--difference", "0.02", "--discordance", "0.1")
    assert found["test"] == "mcnemar exact"
    n = found["units"]
    assert found["power"] == mcnemar_power(n, 0.02, 0.1) >= 0.8
    # Connor's formula is for the test without continuity correction, which needs fewer.
    assert cases_needed(0.02, 0.1) < n < 1.07 * cases_needed(0.02, 0.1)


def test_units_are_planned_for_the_t_test(shop: Workshop) -> None:
    """statsmodels has the power of a t test of one sample, here of units whose means have this spread."""
    found = power(shop, "--difference", "0.05", "--discordance", "0.2", "--per-unit", "4", "--icc", "0.2")
    assert (found["design_effect"], found["test"]) == (pytest.approx(1.6), "t by design")
    spread = np.sqrt((0.2 - 0.05**2) * 1.6 / 4)
    reached = TTestPower().power(0.05 / spread, found["units"], 0.05)
    assert found["power"] == pytest.approx(reached, abs=1e-6)
    assert found["power"] >= 0.8 > TTestPower().power(0.05 / spread, found["units"] - 1, 0.05)
    assert found["cases"] == 4 * found["units"]


def test_more_algorithms_take_more_cases(shop: Workshop) -> None:
    two, four = (
        power(shop, "--difference", "0.05", "--discordance", "0.2", "--strata", "2", "--algorithms", str(k))
        for k in (2, 4)
    )
    assert four["alpha"] == pytest.approx(0.05 / 6)
    assert four["units"] > two["units"]


def test_a_pilot_gives_its_own_variance(shop: Workshop) -> None:
    found = power(shop, "--from", "wisard", "witch", "--difference", "0.02")
    pilot = harness.compare(["wisard", "witch"]).to_dict()["pairs"][0]["replication"]
    variance = pilot["se"] ** 2 * pilot["units"]
    assert found["units"] == next(
        n for n in range(2, 10_000) if difference_power(n, 0.02, variance, strata=pilot["strata"]) >= 0.8
    )
    low, high = found["units_interval"]
    assert low < found["units"] < high
    assert sum(one["neyman"] for one in found["allocation"]) == found["units"]
    assert [one["stratum"] for one in found["allocation"]] == [str(digit) for digit in range(10)]


def test_a_pilot_without_a_goal_says_what_it_could_have_shown(shop: Workshop) -> None:
    found = power(shop, "wisard", "witch")
    assert (found["question"], found["units"], found["power"]) == ("detectable", 717, None)
    again = power(shop, "wisard", "witch", "--difference", str(found["detectable"]), "--units", "717")
    assert again["power"] == pytest.approx(0.8, abs=1e-4)


def test_a_pilot_of_independent_cases(shop: Workshop) -> None:
    rng = np.random.default_rng(1)
    both = [transcript(shop.folder / f"{name}.jsonl", rng.random(200) < 0.8) for name in "ab"]
    found = power(shop, *both, "--difference", "0.1")
    assert found["test"] == "mcnemar exact"
    assert found["pilot"]["discordance"] == pytest.approx(found["discordance"])


def test_several_answers_to_a_case_are_not_planned_for_as_independent_ones(shop: Workshop) -> None:
    """Their mean decides, by design, and McNemar's test does not."""
    rng, repeat = np.random.default_rng(1), [1, 2, 3] * 60
    ids = [f"c{number // 3}" for number in range(180)]
    both = [
        transcript(shop.folder / f"{name}.jsonl", rng.random(180) < 0.8, ids=ids, repeat=repeat, more={"repeat": 3})
        for name in "ab"
    ]
    found = power(shop, *both, "--difference", "0.1")
    assert found["test"] == "t by design"
    se = shop.call("compare", *both, "--format", "json").json["pairs"][0]["replication"]["se"]
    assert found["power"] == pytest.approx(difference_power(found["units"], 0.1, 60 * se**2))


def test_equivalence_takes_more_the_nearer_the_difference_is_to_the_margin(shop: Workshop) -> None:
    equal, near = (
        power(shop, "--margin", "0.05", "--discordance", "0.1", "--difference", d)["units"] for d in ("0", "0.03")
    )
    assert near > 2 * equal


def test_the_width_is_what_a_run_of_that_size_would_get(shop: Workshop) -> None:
    found = power(shop, "--width", "0.1", "--rates", "0.8")
    n = found["units"]
    from harness.stats.rates import wilson

    interval = wilson(0.8 * n, n)
    assert interval.high - interval.low == pytest.approx(0.1, abs=0.002)
    assert found["width"] <= 0.1


def test_the_rules_of_three_and_thirty(shop: Workshop) -> None:
    found = power(shop, "--rule-of-30", "0.001", "--per-unit", "10", "--icc", "0.1")
    assert found["rule_of_3"] == {"independent": rule_of_three(0.001), "trials": round(2995 * 1.9)}
    assert found["rule_of_30"] == {"independent": 30_000, "trials": 57_000}


def test_the_answer_comes_first_and_the_assumption_is_named(shop: Workshop) -> None:
    done = shop.call("power", "--difference", "0.02", "--rates", "0.9")
    assert done.status == 0
    assert done.out.splitlines()[0].endswith(
        "cases are needed to show a difference of 2.0 points at the 5 % level with 80 % power."
    )
    assert "as if the errors of the two were independent" in done.out


def test_csv_is_the_curve(shop: Workshop) -> None:
    done = shop.call("power", "--difference", "0.02", "--discordance", "0.1", "--format", "csv")
    lines = done.out.splitlines()
    assert lines[0] == "units,cases,power"
    assert len(lines) > 20
    powers = [float(line.split(",")[2]) for line in lines[1:]]
    assert powers == sorted(powers)


def test_the_picture(shop: Workshop) -> None:
    done = shop.call("power", "wisard", "witch", "--difference", "0.02", "--plot", "power.svg")
    assert done.status == 0
    assert "images" in (shop.folder / "power.svg").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "say what the test should show"),
        (("--difference", "0.02"), "say how often the two will differ"),
        (("--difference", "0"), "no test shows that"),
        (("--difference", "0.5", "--discordance", "0.1"), "exceeds the discordance"),
        (("--width", "0.1"), "say which rate is expected"),
        (("--width", "0.1", "--difference", "0.1", "--rates", "0.9"), "one question at a time"),
        (("--rates", "0.9,0.8,0.7", "--difference", "0.1"), "3 rates"),
        (("--rates", "2", "--difference", "0.1"), "not in the range"),
        (("--per-unit", "4", "--icc", "-0.9", "--difference", "0.1", "--discordance", "0.2"), "intraclass correlation"),
        (("wisard", "witch", "--per-unit", "3", "--difference", "0.1"), "the pilot says that itself"),
        (("wisard",), "one transcript shows no difference"),
        (("wisard", "witch", "--width", "0.1"), "about the rate of one run"),
        (("wisard", "witch", "warlock", "--difference", "0.1"), "a pilot is one run, or two"),
        (("--from", "--difference", "0.1"), "name one or two transcripts"),
        (("--rule-of-30", "0.001", "--difference", "0.1"), "a question of its own"),
        (("--difference", "1e-9", "--discordance", "1"), "no number of units up to 1e9 is enough"),
    ],
)
def test_mistakes_are_a_line_with_a_remedy(shop: Workshop, words: tuple[str, ...], message: str) -> None:
    done = shop.call("power", *words)
    assert done.status == 2
    assert message in done.err
    assert done.err.count("\n") == 1


def same_everywhere(shop: Workshop, a: str, b: str, *, units: int = 8, clustered: bool = True) -> list[str]:
    """Two runs that differ by the same in every unit: five cases each, right (1) or wrong (0) as written."""
    paths = []
    for name, marks in (("a", a), ("b", b)):
        design = {"design": {"psu": "who"}, "psu": [f"u{i // 5}" for i in range(5 * units)]} if clustered else {}
        right = [mark == "1" for mark in marks] * units
        paths.append(str(transcript(shop.folder / f"{name}.jsonl", right, **design)))  # type: ignore[arg-type]
    return paths


@pytest.mark.parametrize(("a", "b"), [("11110", "11110"), ("11111", "11110"), ("11111", "00000")])
def test_a_pilot_in_which_nothing_varied_proves_nothing(shop: Workshop, a: str, b: str) -> None:
    pilot = same_everywhere(shop, a, b)
    found = shop.call("power", "--from", *pilot, "--difference", "0.05", "--format", "json").json
    # The variance is the largest that the interval of the same pair in `compare` leaves possible.
    pair = harness.compare(pilot).to_dict()["pairs"][0]["replication"]
    low, high = pair["interval"]
    half = max(pair["estimate"] - low, high - pair["estimate"])
    variance = 8 * (half / student.ppf(0.975, 7)) ** 2
    assert found["units"] == next(n for n in range(2, 10**5) if difference_power(n, 0.05, variance) >= 0.8)
    assert found["units"] > 200
    assert found["units_interval"] is None
    assert found["design_effect"] == pytest.approx(1 + 4 * 5**-0.25)
    said = shop.call("power", "--from", *pilot, "--difference", "0.05").out
    assert "Assumed: the largest variance that the pilot's interval leaves possible, since" in said


def test_what_a_pilot_in_which_nothing_varied_could_have_shown(shop: Workshop) -> None:
    for clustered in (True, False):
        pilot = same_everywhere(shop, "11111", "00000", units=1 + 7 * clustered, clustered=clustered)
        found = shop.call("power", *pilot, "--format", "json").json
        assert found["detectable"] > 0.3
        assert all(one is None or one > 0.1 for one in found["curve"]["detectable"])


def test_independent_cases_without_a_discordant_one_leave_some_possible(shop: Workshop) -> None:
    pilot = same_everywhere(shop, "11110", "11110", clustered=False)
    found = shop.call("power", *pilot, "--difference", "0.05", "--format", "json").json
    # Clopper and Pearson's limit of none in 40.
    assert found["discordance"] == pytest.approx(1 - 0.025 ** (1 / 40))
    assert found["pilot"]["discordance"] == 0
    assert found["units"] == next(n for n in range(9, 10**4) if mcnemar_power(n, 0.05, found["discordance"]) >= 0.8)
    assert "a discordance of 0.0881, as much as 40 cases" in shop.call("power", *pilot, "--difference", "0.05").out


def test_a_pilot_of_one_unit_is_refused(shop: Workshop) -> None:
    pilot = same_everywhere(shop, "11110", "11110", units=1)
    done = shop.call("power", *pilot, "--difference", "0.05")
    assert (done.status, len(done.err.splitlines())) == (2, 1)


@pytest.mark.slow
def test_a_repeated_pilot_counts_cases_and_not_answers(shop: Workshop) -> None:
    for name in ("a", "b"):
        done = shop.call(
            "run", "hdigits", "--interface", "witch", "--limit", "40", "--repeat", "2", "-o", f"{name}.jsonl",
            *(("--param", "threshold=100") if name == "b" else ()),
        )  # fmt: skip
        assert done.status == 0, done.err
    found = power(shop, "a.jsonl", "b.jsonl")
    assert (found["units"], found["cases"], found["pilot"]["cases"]) == (20, 40, 40)
    text = shop.call("power", "a.jsonl", "b.jsonl").out
    assert "20 images (40 cases)" in text
    assert "4 answers per unit" in text


def test_a_difference_of_rates_that_cannot_be_is_not_called_detectable(shop: Workshop) -> None:
    rng = np.random.default_rng(1)
    columns = [{"subject": str(number // 4)} for number in range(40)]
    both = [transcript(shop.folder / f"{n}.jsonl", rng.random(40) < 0.5, columns=columns) for n in "ab"]
    found = power(shop, *both, "--psu", "subject")
    shown = found["curve"]["detectable"]
    assert shown[0] is None
    assert all(one is None or 0 < one <= 1 for one in shown)
    assert " inf" not in shop.call("power", *both, "--psu", "subject").out


def test_a_pilot_of_detectors_is_said_to_be_about_rates(shop: Workshop) -> None:
    said = "about rates of success; hate compare takes ap of such runs"
    assert said in shop.call("power", "blobs", "relief").out
    assert "rates of success" not in shop.call("power", "wisard", "witch").out
