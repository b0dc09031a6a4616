"""`hate cases`: the cases of a test, for people who compute answers elsewhere."""

from collections.abc import Sequence
from typing import Any

import click

from harness.api.case_list import CaseListOptions, case_list
from harness.api.runs import load_test
from harness.cli.options import command_options
from harness.cli.options import test_argument as test_arg
from harness.model import plain_text
from harness.options import option
from harness.report.blocks import Cell, Table
from harness.report.formats import Format, encode_json, render
from harness.report.text import json_text


class CaseListCommandOptions(CaseListOptions):
    """Options of `hate cases`, and how to print."""

    style: str = option(
        "--format",
        "JSON lines, with every input as it is, or a table for spreadsheets.",
        default="jsonl",
        choices=("jsonl", "csv"),
    )


@click.command("cases")
@test_arg
@command_options(CaseListCommandOptions)
def cases_command(test: str, options: CaseListCommandOptions) -> None:
    """List the cases of TEST with their inputs, to compute answers elsewhere.

    A file is named by its whole path. What a program is not told is not shown. Write the answers into a table with a
    column id and one of label, score, scores, value or answer, name it in interface.toml, and let the harness judge:

    \b
    hate cases hdigits > cases.jsonl
    cat interface.toml
      [algorithm]
      name = "mine"
      [scores]
      table = "answers.csv"
    hate run hdigits
    """
    cases = load_test(test, libraries=options.libraries, offline=options.offline)
    records = case_list(cases, CaseListOptions.taken_from(options))
    if options.style == "csv":
        print(render(_table(list(records)), Format.CSV), end="")
        return
    for record in records:
        print(json_text(encode_json(record).decode()))


def _table(records: Sequence[dict[str, Any]]) -> Table:
    """A column for each column of the cases, after those that every test has."""
    fixed = [name for name in ("id", "input", "expect", "positive", "truth") if any(name in one for one in records)]
    own = list(dict.fromkeys(name for one in records for name in one.get("columns", {})))
    rows: list[list[Cell]] = [
        [*(_cell(one.get(name)) for name in fixed), *(_cell(one.get("columns", {}).get(name)) for name in own)]
        for one in records
    ]
    return Table([*fixed, *own], rows)


def _cell(value: Any) -> Cell:
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return value
    if isinstance(value, (list, dict)):
        return json_text(encode_json(value).decode())
    return value if isinstance(value, str) else plain_text(value)
