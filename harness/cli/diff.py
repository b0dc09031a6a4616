"""`hate diff`: the cases on which two runs differ."""

from collections.abc import Sequence
from typing import Any

import click

from harness.analysis.differ import OF_RUN, Differences, Lonely, differ, pair_value
from harness.analysis.names import run_names
from harness.cli.looking import choice_of, choice_options, of_design, present, print_cases
from harness.cli.options import TABULAR, format_option
from harness.cli.output import chosen
from harness.cli.show import count_shown, describe_run, run_payload, test_payload
from harness.cli.sources import complete_transcript, http_options, opened
from harness.report.table import Table
from harness.site.sources import Source

FIXED = ("id", "outcome_a", "outcome_b", "expect", "actual_a", "actual_b", "score_a", "score_b")
OF_CASE = ("id", "repeat", "expect", "truth")


@click.command("diff")
@click.argument("a", shell_complete=complete_transcript)
@click.argument("b", shell_complete=complete_transcript)
@click.option("--answers", is_flag=True, help="Also cases of the same outcome where only the answers differ.")
@choice_options
@http_options
@format_option(*TABULAR)
def command(
    a: str,
    b: str,
    answers: bool,
    outcomes: Sequence[str],
    conditions: Sequence[str],
    sort: Sequence[str],
    limit: int | None,
    http_timeout: float,
    http_limit: int,
    style: str | None,
) -> None:
    """The cases on which two runs of a test, A and B, differ.

    Each is a file, a URL, NAME of a run, TEST/NAME of a published one, or - for standard input. In --where and
    --sort, score_a is A's score and score_b is B's; --where score=1 holds when it does for either.

    \b
    hate diff wisard witch --outcome FP --sort -score_a
    """
    choice = choice_of(outcomes, conditions, sort, limit)
    one, other = opened([a, b], http_timeout, http_limit)
    found = differ((one.path, other.path), (one.name, other.name), choice, answers=answers)
    names = _names(found, (one, other))
    print_cases(chosen(style), _table(found), lambda: _payload(found, names), _heading(found, names, answers=answers))


def _names(found: Differences, sources: tuple[Source, Source]) -> list[str]:
    return run_names([run.header.algorithm.name for run in (found.a, found.b)], [source.stem for source in sources])


def _heading(found: Differences, names: Sequence[str], *, answers: bool) -> list[str]:
    lines = [f"A, {names[0]}: {describe_run(found.a)}", f"B, {names[1]}: {describe_run(found.b)}"]
    for side, lonely in (("A", found.only_a), ("B", found.only_b)):
        lines += [_only(side, lonely)] if lonely.count else []
    text = f"of {found.common:,} cases: A right and B wrong {found.n_sf:,}, B right and A wrong {found.n_fs:,}"
    if found.other_answers:
        text += f", same outcome but another answer {found.other_answers:,}"
        text += "" if answers else " (--answers shows them)"
    total = found.n_sf + found.n_fs + (found.other_answers if answers else 0)
    return [*lines, text if len(found.pairs) == total else f"{text}; {count_shown(len(found.pairs), found.matching)}"]


def _only(side: str, lonely: Lonely) -> str:
    more = ", ..." if lonely.count > len(lonely.ids) else ""
    return f"only {side} has {lonely.count:,} cases: {', '.join(lonely.ids)}{more}"


def _table(found: Differences) -> Table:
    sides = {name: [f"{name}_a", f"{name}_b"] for name in OF_RUN}
    names = ["id", "repeat", *sides["outcome"], "expect", "truth", *sides["actual"], *sides["score"], *sides["error"]]
    case_columns = [name for name in found.columns if name not in (*OF_CASE, *OF_RUN)]
    names += [*of_design(found.a.header, [*OF_CASE, *case_columns]), *case_columns]
    return present([(name, name in FIXED) for name in names], found.pairs, pair_value)


def _payload(found: Differences, names: Sequence[str]) -> dict[str, Any]:
    return {
        "test": test_payload(found.a),
        "a": {"name": names[0], **run_payload(found.a)},
        "b": {"name": names[1], **run_payload(found.b)},
        "cases": found.common,
        "n_sf": found.n_sf,
        "n_fs": found.n_fs,
        "other_answers": found.other_answers,
        "only_a": found.only_a,
        "only_b": found.only_b,
        "matching": found.matching,
        "differences": [{"id": pair.a.id, "a": pair.a, "b": pair.b} for pair in found.pairs],
    }
