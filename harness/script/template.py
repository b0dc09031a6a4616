"""The script that `hate new script` writes, and which of its words an author has not replaced yet."""

from pathlib import Path

from harness.script.load import Script
from harness.tasks import Task

SYNOPSIS = "What is tested, in a line"
DESCRIPTION = "What the cases are, where they come from, and how they were sampled."

_SCRIPT = '''\
format = 1

[test]
name = "{name}"
version = "0.1.0"
synopsis = "{synopsis}"
task = "{task}"
{test}description = """
{description}
"""
authors = []                # who made it, such as "Ann Author <ann@example.org>"
license = "CC-BY-4.0"

[cases]
table = "{cases}"

{sections}[design]
# stratum = "truth"    # a group that a repetition would have again; makes the error smaller
# psu = "subject"      # a group that was drawn, and would be others in a repetition; makes the error larger
'''


def template_files(name: str, task: Task) -> dict[Path, str]:
    """The files of a new test, by path: the script first, then its tables."""
    folder, example = Path(name), task.example
    sections = f"{example.sections}\n" if example.sections else ""
    cases = next((table for table in example.tables if Path(table).stem == "cases"), "cases.csv")
    text = _SCRIPT.format(
        name=name,
        task=task.name,
        test=example.test,
        sections=sections,
        cases=cases,
        synopsis=SYNOPSIS,
        description=DESCRIPTION,
    )
    tables = {folder / table: rows for table, rows in example.tables.items()}
    return {folder / f"{name}.hate.toml": text, **tables}


def unfilled(script: Script) -> list[str]:
    """Keys and tables that still have what the template has, each with what to write there."""
    test, notes = script.file.test, []
    if test.synopsis.strip() == SYNOPSIS:
        notes.append("test.synopsis: still that of the template; say in a line what is tested")
    if test.description.strip() == DESCRIPTION:
        notes.append("test.description: still that of the template; say what the cases are")
    for table, rows in script.task.example.tables.items():
        path = script.folder / table
        if table in script.tables and path.is_file() and path.read_bytes() == rows.encode():
            notes.append(f"{table}: still the cases of the template; write your own")
    return notes
