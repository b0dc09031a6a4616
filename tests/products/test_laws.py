"""Laws that hold whatever the data: swap, rename, shuffle, weigh by one, repeat, double.

A law that changes nothing is tried with a few questions in the fast part, and with more of them in the slow one.
"""

import math
from collections.abc import Callable, Iterator, Set
from pathlib import Path
from typing import Any

import click
import pytest

from harness.cli.commands import commands_here, hate
from tests.products.calls import CALLS, refusal
from tests.products.conftest import AllRuns
from tests.products.laws import LAWS, SIMULATED, changed, differences, repeated, statistics, without
from tests.products.subjects import CASES, SUBJECTS, Record, Runs, make_runs, read_records
from tests.workshop import Workshop

# What a subject is asked: every analysis that it takes and that prints what it found.
QUESTIONS = [
    (subject, name)
    for subject in SUBJECTS
    for name, call in CALLS.items()
    if call.json and call.command != "fuse" and refusal(name, subject) is None
]


def _applies(law: str, question: str) -> bool:
    """Whether the command has the options of a law; without pairs there is nothing to intersect."""
    command = hate.get_command(click.Context(hate), CALLS[question].command)
    known = {word for option in getattr(command, "params", ()) for word in option.opts}
    words = [word for word in (*LAWS[law].before, *LAWS[law].after) if word.startswith("--")]
    return known >= set(words) and not ("--intersect" in words and "--unpaired" in CALLS[question].words)


def _held(*, fast: bool) -> list[tuple[str, str, str]]:
    """Of all laws with all questions a few of each law are fast, and a third is slow."""
    everything = [(law, *question) for law in LAWS for question in QUESTIONS if _applies(law, question[1])]
    soon = everything[::26]
    return soon if fast else [one for one in everything[::3] if one not in soon]


def _ask(shop: Workshop, *words: str | Path) -> Any:
    done = shop.call(*words, "--format", "json")
    assert done.status == 0, done.err
    return done.json


def _hold(shop: Workshop, all_runs: AllRuns, law: str, subject: str, question: str, *, every: int = 1) -> None:
    """Hold a law; by every measure, or by a part of them, where a question takes several."""
    how, call = LAWS[law], CALLS[question]
    names = ",".join(statistics(subject)[::every])
    words = [*call.words, *(["--statistic", names] if question == "rate" else [])]
    paths = all_runs.of(subject).paths[: call.runs]
    one = _ask(shop, call.command, *changed(paths, shop.folder / "one"), *words, *how.before)
    runs = changed(paths, shop.folder / "other", how.record, order=how.order)
    other = _ask(shop, call.command, *runs, *words, *how.after)
    assert list(differences(without(one, *how.but), without(other, *how.but))) == []


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("law", "subject", "question"), _held(fast=True))
def test_nothing_changes_if(shop: Workshop, all_runs: AllRuns, law: str, subject: str, question: str) -> None:
    _hold(shop, all_runs, law, subject, question, every=4)


@pytest.mark.slow
@pytest.mark.parametrize(("law", "subject", "question"), _held(fast=False))
def test_nothing_at_all_changes_if(shop: Workshop, all_runs: AllRuns, law: str, subject: str, question: str) -> None:
    _hold(shop, all_runs, law, subject, question)


def _mirrored(pair: Record) -> Record:
    """What is said of B and A if this is said of A and B."""
    turned = dict(pair)
    for key, other in (("a", "b"), ("n_sf", "n_fs")):
        if key in pair:
            turned |= {key: pair[other], other: pair[key]}
    turned["difference"] = _opposite(pair["difference"])
    turned["interval"] = _opposite(pair["interval"])
    if (found := pair["replication"]) is not None:
        turned["replication"] = found | {key: _opposite(found[key]) for key in ("estimate", "interval")}
    for key in ("seconds", "memory"):
        if pair.get(key):
            low, high = pair[key]["interval"]
            turned[key] = pair[key] | {"ratio": 1 / pair[key]["ratio"], "interval": [1 / high, 1 / low]}
    return turned


def _opposite(value: Any) -> Any:
    return [-one for one in reversed(value)] if isinstance(value, list) else None if value is None else -value


@pytest.mark.sampled(7)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_swapped_runs_have_the_opposite_difference(shop: Workshop, all_runs: AllRuns, subject: str) -> None:
    """By every measure of the registry; and the same run is better, in numbers and in words."""
    a, b, _ = all_runs.of(subject).paths
    for number, measure in enumerate(statistics(subject)):
        words = ("--statistic", measure, *(("--stratum", "none") if number % 3 else ()))
        one, other = (_ask(shop, "compare", *runs, *words) for runs in ((a, b), (b, a)))
        assert list(differences(_mirrored(one["pairs"][0]), other["pairs"][0])) == [], measure
        assert list(differences(one["transcripts"], other["transcripts"][::-1])) == [], measure
    lines = [set(shop.call("compare", *runs, "--statistic", "rate").out.splitlines()) for runs in ((a, b), (b, a))]
    assert len({tuple(sorted(line for line in some if " better than " in line)) for some in lines}) == 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_pairs_of_three_runs(shop: Workshop, all_runs: AllRuns, subject: str) -> None:
    """They are the same in any order of the runs and, but for multiplicity, the same as those of two runs alone."""
    a, b, c = all_runs.of(subject).paths
    one, other = (_ask(shop, "compare", *runs) for runs in ((a, b, c), (c, a, b)))
    pairs = {(pair["a"], pair["b"]): pair for pair in other["pairs"]}
    for pair in one["pairs"]:
        names = pair["a"], pair["b"]
        there = pairs[names] if names in pairs else _mirrored(pairs[names[::-1]])
        assert list(differences(pair, there)) == []
    alone = _ask(shop, "compare", a, b)
    corrected = ("p_adjusted", "letters")
    assert list(differences(without(alone["pairs"][0], *corrected), without(one["pairs"][0], *corrected))) == []
    assert (
        list(differences(without(alone["transcripts"], *corrected), without(one["transcripts"][:2], *corrected))) == []
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_run_is_rated_the_same_beside_others(shop: Workshop, all_runs: AllRuns, subject: str) -> None:
    a, b, _ = all_runs.of(subject).paths
    words = ("--statistic", "rate")
    alone, beside = _ask(shop, "rate", b, *words), _ask(shop, "rate", a, b, *words)
    assert list(differences(alone["transcripts"][0], beside["transcripts"][1])) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_run_is_not_better_than_itself(shop: Workshop, all_runs: AllRuns, subject: str) -> None:
    a = all_runs.of(subject).paths[0]
    (same,) = changed([a], shop.folder / "same")
    (twin,) = changed([a], shop.folder / "twin", header=_called("twin"))
    (pair,) = _ask(shop, "compare", same, twin)["pairs"]
    assert pair["better"] is None
    assert pair["difference"] == 0
    for found in (pair, pair["replication"]):
        low, high = found["interval"]
        assert low <= 0 <= high
    assert pair["p_exact"] in (1, None)
    assert pair["replication"]["p_value"] in (1, None)
    words = shop.call("compare", same, twin).out
    assert "better than" not in words
    assert "cannot be told apart" in words or "same" in words


def _called(name: str) -> Callable[[Record], Record]:
    return lambda header: header | {"algorithm": header["algorithm"] | {"name": name}}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_groups_are_the_runs_of_their_cases(shop: Workshop, all_runs: AllRuns, subject: str) -> None:
    a = all_runs.of(subject).paths[0]
    groups = _ask(shop, "rate", a, "--by", "group", "--statistic", "rate")["by"]["groups"]
    assert [group["label"] for group in groups] == ["g0", "g1", "g2"]
    part = changed([a], shop.folder / "part", order=_in_group("g1"), header=_of_cases(16))
    alone = _ask(shop, "rate", *part, "--statistic", "rate")["transcripts"][0]
    assert groups[1]["runs"][0]["estimate"] == pytest.approx(alone["value"])
    assert groups[1]["cases"] == alone["tests"] == 16


@pytest.mark.sampled(7)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_column_with_one_value_makes_one_group_of_all_cases(shop: Workshop, all_runs: AllRuns, subject: str) -> None:
    a, b, _ = all_runs.of(subject).paths
    rated = _ask(shop, "rate", a, b, "--by", "same")
    (group,) = rated["by"]["groups"]
    assert group["cases"] == CASES
    for run, whole in zip(group["runs"], rated["transcripts"], strict=True):
        estimate, se, interval = (whole["replication"][key] for key in ("estimate", "se", "interval"))
        assert [run["estimate"], run["se"], *run["interval"]] == pytest.approx([estimate, se, *interval], abs=1e-9)
    compared = _ask(shop, "compare", a, b, "--by", "same")
    (group,) = compared["by"]["groups"]
    (pair,), whole = group["pairs"], compared["pairs"][0]["replication"]
    assert [pair["difference"], pair["se"]] == pytest.approx([whole["estimate"], whole["se"]], abs=1e-9)
    assert pair["p_value"] == pytest.approx(whole["p_value"], abs=1e-9)


def _in_group(label: str) -> Callable[[list[Record]], list[Record]]:
    return lambda records: [record for record in records if record["columns"]["group"] == label]


def _of_cases(count: int) -> Callable[[Record], Record]:
    return lambda header: header | {"test": header["test"] | {"cases": count}}


def _estimates(node: Any, at: str = "") -> Iterator[tuple[str, Record]]:
    """The objects of an answer that have an estimate with its error."""
    if isinstance(node, dict) and node.get("se") is not None and node.get("interval") is not None:
        yield at, node
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        yield from _estimates(child, f"{at}.{key}")


@pytest.mark.sampled(5)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_more_confidence_gives_wider_intervals(shop: Workshop, all_runs: AllRuns, subject: str) -> None:
    paths = all_runs.of(subject).paths[:2]
    names = ",".join(statistics(subject)[::3])
    for command, words in (("rate", ("--statistic", names)), ("compare", ())):
        narrow, wide = (
            dict(_estimates(_ask(shop, command, *paths, *words, "--confidence", level))) for level in ("0.8", "0.99")
        )
        assert narrow.keys() == wide.keys()
        assert narrow
        for at, one in narrow.items():
            (low, high), (lower, higher) = one["interval"], wide[at]["interval"]
            assert list(differences(without(one, "interval"), without(wide[at], "interval"))) == [], at
            assert lower <= low + 1e-12, at
            assert higher >= high - 1e-12, at


@pytest.mark.parametrize("subject", SUBJECTS)
def test_twice_as_many_units_halve_the_variance(shop: Workshop, all_runs: AllRuns, subject: str) -> None:
    """Copies of all units, without strata: over n units the sum of squares is divided by n - 1."""
    a, b, _ = all_runs.of(subject).paths
    once = changed([a, b], shop.folder / "once")
    twice = changed([a, b], shop.folder / "twice", order=_doubled, header=_of_cases(96))
    words = ("--stratum", "none", "--statistic", "rate")
    one, other = (_ask(shop, "compare", *runs, *words) for runs in (once, twice))
    for single, double in zip(
        (*one["transcripts"], *one["pairs"]), (*other["transcripts"], *other["pairs"]), strict=True
    ):
        mine, yours = single["replication"], double["replication"]
        assert yours["estimate"] == pytest.approx(mine["estimate"])
        assert yours["se"] == pytest.approx(mine["se"] * math.sqrt(15 / 31))


def _doubled(records: list[Record]) -> list[Record]:
    def copy(record: Record) -> Record:
        unit = f"copy of {record['psu']}"
        return record | {"id": f"copy of {record['id']}", "psu": unit, "columns": record["columns"] | {"unit": unit}}

    return [*records, *map(copy, records)]


# What follows the weights: estimates, curves and what all runs together would reach. Limits, also those of agreement,
# depend on the number of cases too; McNemar's test and plain rates count every case once.
_WEIGHED = frozenset(
    {"estimate", "value", "se", "df", "oracle", "majority", "threshold", "auc", "eer", "average_precision"}
    | {"fpr", "tpr", "fnr", "precision", "recall", "rates", "fppi"}
)


def _weighed(node: Any, at: str = "", last: str = "", *, names: Set[str] = _WEIGHED) -> Iterator[tuple[str, Any]]:
    """The numbers of an answer that follow the weights, with where they are; `last` is the name of a number or list."""
    if isinstance(node, list):
        for number, one in enumerate(node):
            yield from _weighed(one, f"{at}[{number}]", last, names=names)
    elif isinstance(node, dict):
        for key in node.keys() - {"agreement", *SIMULATED}:
            yield from _weighed(node[key], f"{at}.{key}", key, names=names)
    elif last in names:
        yield at, node


@pytest.mark.sampled(19)
@pytest.mark.parametrize(("subject", "question"), [one for one in QUESTIONS if one[1] not in ("methods", "anova")])
def test_a_weight_is_a_number_of_copies(shop: Workshop, all_runs: AllRuns, subject: str, question: str) -> None:
    """Each in the unit of its original."""

    def copied(records: list[Record]) -> list[Record]:
        return [
            record | {"id": f"{record['id']}, copy {copy}"}
            for record in records
            for copy in range(int(record["columns"]["weight"]))
        ]

    call = CALLS[question]
    paths = all_runs.of(subject).paths[: call.runs]
    count = sum(int(record["columns"]["weight"]) for record in read_records(paths[0]))
    words = [*call.words, *(["--statistic", ",".join(statistics(subject))] if question == "rate" else [])]
    weighed = changed(paths, shop.folder / "weighed")
    copies = changed(paths, shop.folder / "copies", order=copied, header=_of_cases(count))
    one = _ask(shop, call.command, *weighed, *words, "--weights", "weight")
    other = _ask(shop, call.command, *copies, *words)
    assert list(differences(dict(_weighed(one)), dict(_weighed(other)))) == []


# With whatever the design says of them: only the design effect and the correlation within units are of answers.
_OF_CASES = _WEIGHED | {"interval", "low", "high", "p_value", "share", "sd"}


@pytest.mark.sampled(19)
@pytest.mark.parametrize(("subject", "question"), QUESTIONS)
def test_answers_given_twice_count_once(shop: Workshop, all_runs: AllRuns, subject: str, question: str) -> None:
    call = CALLS[question]
    paths = all_runs.of(subject).paths[: call.runs]
    words = [*call.words, *(["--statistic", ",".join(statistics(subject))] if question == "rate" else [])]
    once = changed(paths, shop.folder / "once")
    twice = changed(paths, shop.folder / "twice", order=repeated, header=_answered_twice)
    one, other = (_by_design(_ask(shop, call.command, *runs, *words)) for runs in (once, twice))
    assert list(differences(dict(_weighed(one, names=_OF_CASES)), dict(_weighed(other, names=_OF_CASES)))) == []
    assert list(differences(*(without(of.get("agreement"), "cases") for of in (one, other)))) == []


@pytest.mark.sampled(19)
@pytest.mark.parametrize(("subject", "question"), QUESTIONS)
def test_answers_to_a_case_are_cases_of_its_unit(
    shop: Workshop, all_runs: AllRuns, subject: str, question: str
) -> None:
    """But for limits, for which more answers are not more cases; the second answer is another run's."""
    call, paths = CALLS[question], all_runs.of(subject).paths
    words = [*call.words, *(["--statistic", ",".join(statistics(subject))] if question == "rate" else [])]
    runs: dict[str, list[Path]] = {"cases": [], "answers": []}
    for path, other in zip(paths[: call.runs], (*paths[1:], paths[0]), strict=False):
        second = {record["id"]: record for record in read_records(other)}

        def with_cases(records: list[Record], second: dict[str, Record] = second) -> list[Record]:
            return [*records, *(second[one["id"]] | {"id": f"{one['id']} again"} for one in records)]

        def with_answers(records: list[Record], second: dict[str, Record] = second) -> list[Record]:
            return [one | {"repeat": 1 + (one is not mine)} for mine in records for one in (mine, second[mine["id"]])]

        folder = shop.folder / path.stem
        folder.mkdir()
        runs["cases"] += changed([path], folder / "cases", order=with_cases, header=_of_cases(2 * CASES))
        runs["answers"] += changed([path], folder / "answers", order=with_answers, header=_answered_twice)
    one, other = (_by_design(_ask(shop, call.command, *of, *words)) for of in runs.values())
    assert list(differences(dict(_weighed(one)), dict(_weighed(other)))) == []


def test_cases_with_more_answers_count_more_and_that_is_said(shop: Workshop, all_runs: AllRuns) -> None:
    """It was a comparison of `36 cases of 2 answers`."""

    def uneven(records: list[Record]) -> list[Record]:
        return [record | {"repeat": again} for record in records for again in range(1, 2 + int(record["id"][1:]) % 2)]

    runs = changed(all_runs.of("label").paths[:2], shop.folder / "uneven", order=uneven, header=_answered_twice)
    words = "Cases have 1 to 2 answers, and every answer counts once: a case with more of them counts more."
    for command in (("rate",), ("compare", "--all"), ("anova", "--by", "group")):
        if command[0] in commands_here():
            assert words in shop.call(command[0], *runs, *command[1:]).out
    assert f"{CASES} cases of 1 to 2 answers" in shop.call("compare", *runs).out


def _answered_twice(header: Record) -> Record:
    return header | {"repeat": 2}


def _by_design(node: Any) -> Any:
    """An answer without what it says, beside the design, of independent answers."""
    if isinstance(node, dict):
        plain = {"interval", "p_value", "p_adjusted"} if "replication" in node else set()
        return {key: _by_design(value) for key, value in node.items() if key not in {"cochran_q", *plain}}
    return [_by_design(one) for one in node] if isinstance(node, list) else node


@pytest.mark.sampled(19)
@pytest.mark.parametrize(("subject", "question"), QUESTIONS)
def test_cases_without_a_unit_are_not_one_unit(shop: Workshop, all_runs: AllRuns, subject: str, question: str) -> None:
    """Two cases say nothing; that they say nothing in one of two columns is fine."""

    def lacking(record: Record) -> Record:
        unknown = {"unit": ""} if record["id"] in ("c01", "c30") else {}
        return record | {"columns": record["columns"] | unknown}

    call = CALLS[question]
    runs = changed(all_runs.of(subject).paths[: call.runs], shop.folder / "lacking", lacking)
    done = shop.call(call.command, *runs, *call.words, "--psu", "unit")
    assert done.status == 2
    assert "case 'c01' has no value for unit; cases without one would form one unit" in done.err
    assert shop.call(call.command, *runs, *call.words, "--psu", "unit,half", "--stratum", "half").status == 0


def test_one_stratum_is_no_stratum(shop: Workshop, all_runs: AllRuns) -> None:
    """For equal units; measures that are not means differ by what the jackknife adds to first order."""
    path = all_runs.of("score").paths[0]
    words = ("rate", path, "--statistic", "rate,brier,tpr,f1,mcc,kappa")
    one, other = (_ask(shop, *words, "--stratum", name)["transcripts"][0]["measures"] for name in ("same", "none"))
    for name, mine in one.items():
        assert mine["estimate"] == pytest.approx(other[name]["estimate"], abs=1e-12)
        assert mine["se"] == pytest.approx(other[name]["se"], rel=1e-9 if name in ("rate", "brier") else 0.1), name
        assert mine["df"] == other[name]["df"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("weights", ["cases", "weight", "noise"])
def test_a_perfect_detector_is_perfect_with_any_weights(shop: Workshop, all_runs: AllRuns, weights: str) -> None:
    """The last of 101 recalls is 1, which sums of weights reach but for their last digit."""

    def perfect(record: Record) -> Record:
        truth = record["boxes"]["truth"]
        found = [[one[0], 0.9 - number / 100, *one[1:]] for number, one in enumerate(truth)]
        return record | {"boxes": record["boxes"] | {"found": found}}

    runs = changed(all_runs.of("boxes").paths[:1], shop.folder / "perfect", perfect)
    names = "ap,ap50,ap75,object_recall,object_f1"
    answer = _ask(shop, "rate", *runs, "--statistic", names, "--weights", weights)
    for name, found in answer["transcripts"][0]["measures"].items():
        assert (found["estimate"], found["se"]) == (1, 0), name


@pytest.mark.sampled(2)
@pytest.mark.parametrize("turned", [False, True], ids=["cubed", "negated"])
def test_only_the_order_of_scores_counts(shop: Workshop, all_runs: AllRuns, turned: bool) -> None:
    """Also if less is better; thresholds change with the scores."""

    def mapped(score: float) -> float:
        return -score if turned else score**3 + 2

    def header(first: Record) -> Record:
        params = first["params"] | {"threshold": mapped(first["params"]["threshold"])}
        return first | {"params": params, "test": first["test"] | ({"larger_is_better": False} if turned else {})}

    paths = all_runs.of("score").paths[:2]
    plain = changed(paths, shop.folder / "plain")
    runs = changed(
        paths, shop.folder / "mapped",
        lambda record: record | {"score": mapped(record["score"]), "actual": mapped(record["actual"])}, header=header,
    )  # fmt: skip
    scale_free = "rate,tpr,fpr,auc,eer,average_precision,fnr@fpr=0.1,min_dcf,min_cllr"
    for words in (["rate", "--statistic", scale_free], ["roc"], ["pr"], ["compare", "--statistic", "auc"]):
        one, other = (_ask(shop, words[0], *some, *words[1:]) for some in (plain, runs))
        scaled = ("threshold", "eer_threshold")
        assert list(differences(without(one, *scaled), without(other, *scaled))) == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("subject", "question"), QUESTIONS[::17])
def test_the_same_words_print_the_same_bytes(shop: Workshop, all_runs: AllRuns, subject: str, question: str) -> None:
    call = CALLS[question]
    paths = all_runs.of(subject).paths[: call.runs]
    one, other = (shop.call(call.command, *paths, *call.words).out for _ in range(2))
    assert one == other != ""


def test_jobs_do_not_change_records(shop: Workshop) -> None:
    one, other = (make_runs(SUBJECTS["label"], shop.folder / jobs, "-j", jobs) for jobs in ("1", "2"))
    assert [read_records(path) for path in one.paths] == [read_records(path) for path in other.paths]


@pytest.mark.parametrize("subject", [name for name in SUBJECTS if refusal("fuse", name) is None])
def test_a_run_fused_with_itself_is_that_run(shop: Workshop, all_runs: AllRuns, subject: str) -> None:
    a = all_runs.of(subject).paths[0]
    (same,) = changed([a], shop.folder / "same")
    (twin,) = changed([a], shop.folder / "twin", header=_called("twin"))
    assert shop.call("fuse", same, twin, "-o", "fused.jsonl").status == 0
    fused = read_records(shop.folder / "fused.jsonl")
    assert [(one["id"], one["outcome"]) for one in fused] == [(one["id"], one["outcome"]) for one in read_records(same)]


@pytest.mark.xfail(strict=True, reason="Many tests: there are no suites yet")
def test_a_suite_of_one_test_is_that_test(shop: Workshop, all_runs: AllRuns) -> None:
    runs: Runs = all_runs.of("label")
    text = f'format = 1\n[suite]\nname = "one"\nversion = "1.0"\nsynopsis = "s"\ntests = ["{runs.script}"]\n'
    suite = shop.write("one.suite.toml", text)
    done = shop.call("run", suite, "--interface", runs.interface(), "--format", "json")
    assert done.status == 0, done.err
    row = done.json["tests"][0]["rows"][0]
    assert row["rate"] == _ask(shop, "rate", runs.paths[0])["transcripts"][0]["rate"]
