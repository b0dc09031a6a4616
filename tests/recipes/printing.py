"""Uses of what people see: a table format, a command, a column, a curve."""

import csv
import io
import re

import pytest

from tests.recipes.recipe import JSON, ChangedPackage
from tests.workshop import Workshop


def use_format(shop: Workshop, package: ChangedPackage) -> None:
    """What Markdown shows, Org shows: the same tables, cell by cell, in every command."""
    rows = "id,input,expect,unit\na|b,x,x,1\nc,y,x,1\nd,x,x,2\ne,x,x,3\n"
    shop.script(sections='[design]\npsu = "unit"\n', rows=rows)
    shop.interface('NAME = "p|q"\ndef answer(case, params):\n    return case.input\n')
    shop.write("other.py", "def answer(case, params):\n    return 'x'\n")
    both = ("toy.jsonl", "other.jsonl")
    commands: dict[str, tuple[str, ...]] = dict.fromkeys(("rate", "compare", "diff", "confusion"), both)
    commands |= {"run": ("toy", "-o", "again.jsonl", "--force"), "show": ("toy.jsonl",), "list": ()}
    offered = (
        "import click\nfrom harness.cli.commands import hate\n"
        "def look(command):\n"
        "    for one in getattr(command, 'commands', {}).values():\n"
        "        look(one)\n"
        "    for param in command.params:\n"
        "        if '--format' in param.opts and 'tex' in param.type.choices:\n"
        "            print(command.name, 'org' in param.type.choices)\n"
        "for name in hate.list_commands(click.Context(hate)):\n"
        "    look(hate.get_command(click.Context(hate), name))\n"
    )
    done = package.do({
        "first": ("run", "toy", "-o", "toy.jsonl"),
        "run other": ("run", "toy", "--interface", "other.py", "-o", "other.jsonl"),
        **{f"{name} org": (name, *words, "--format", "org") for name, words in commands.items()},
        **{f"{name} md": (name, *words, "--format", "md") for name, words in commands.items()},
        "offered": offered,
    })  # fmt: skip
    for name in commands:
        org, md = done[f"{name} org"].out, done[f"{name} md"].out
        assert org_rows(org) == md_rows(md), name
        assert org_rows(org), name
        assert done[f"{name} org"].err == done[f"{name} md"].err, name
    assert r"| a\vert{}b |" in done["show org"].out
    head, rule, row = done["run org"].out.splitlines()
    assert row.startswith("| 4 | 3 | 0 | 0 | 1 | 0 | 0.7500 | ")
    assert rule == f"|{'+'.join(['---'] * (head.count('|') - 1))}|"
    said = dict(line.split() for line in done["offered"].out.splitlines())
    assert set(commands) <= set(said)
    assert set(said.values()) == {"True"}


def org_rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip().replace(r"\vert{}", "|") for cell in line[1:-1].split("|")] for line in lines]


def md_rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    cells = ([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines)
    return [[re.sub(r"\\([\W_])", r"\1", cell) for cell in row] for row in cells]


def use_command(shop: Workshop, package: ChangedPackage) -> None:
    done = package.do({
        "command": ("slowest", "wisard", "--top", "3", *JSON),
        "python": "import harness, json\nprint(json.dumps(harness.slowest('wisard', top=3).to_dict()))",
        "table": ("slowest", "wisard", "--format", "csv"),
        "help": ("--help",),
        "zero": ("slowest", "wisard", "--top", "0"),
        "unknown": ("slowest", "wisart"),
    }, refused=["zero", "unknown"])  # fmt: skip
    assert done["command"].json == done["python"].json
    seconds = [case["seconds"] for case in done["command"].json["cases"]]
    assert len(seconds) == 3
    assert seconds == sorted(seconds, reverse=True)
    header, *rows = csv.reader(io.StringIO(done["table"].out))
    assert header == ["id", "seconds"]
    assert [float(row[1]) for row in rows[:3]] == seconds
    assert len(rows) == 5
    assert "the cases of a transcript that took longest" in done["help"].out
    assert "0 is not in the range x>=1" in done["zero"].err
    assert "did you mean wisard" in done["unknown"].err


def use_column(shop: Workshop, package: ChangedPackage) -> None:
    formats = ("json", "csv", "md", "tex", "table", "plain")
    done = package.do({
        **{name: ("compare", "wisard", "witch", "--format", name) for name in formats},
        "report": ("report", "wisard", "witch", "-o", "report.html"),
    })  # fmt: skip
    [pair] = done["json"].json["pairs"]
    agreed = (pair["n_ff"] + pair["n_ss"]) / 1434
    assert 0.8 < agreed < 1
    assert pair["agreed"] == pytest.approx(agreed)
    [row] = csv.DictReader(io.StringIO(done["csv"].out))
    assert float(row["agreed"]) == pytest.approx(agreed)
    page = (shop.folder / "report.html").read_text(encoding="utf-8")
    for text in (*(done[name].out for name in ("md", "tex", "table", "plain")), page):
        assert "agreed" in text
        assert f"{agreed:.4f}" in text


def use_curve(shop: Workshop, package: ChangedPackage) -> None:
    done = package.do({
        "cutoff": ("cutoff", "wisard", "witch", "--format", "csv", "--plot", "cutoff.svg", "--gnuplot", "cutoff.gp"),
        "pr": ("pr", "wisard", "witch", "--format", "csv"),
        "json": ("cutoff", "wisard", "witch", *JSON),
        "python": "import harness, json\nprint(json.dumps(harness.cutoff(['wisard', 'witch']).to_dict()))",
        "table": ("cutoff", "wisard", "witch", "--format", "table"),
        "help": ("--help",),
    })  # fmt: skip
    of_kinds = ([row["precision"] for row in csv.DictReader(io.StringIO(done[kind].out))] for kind in ("cutoff", "pr"))
    precision, expected = of_kinds
    assert precision == expected
    assert done["json"].json == done["python"].json
    assert "AUC" in done["table"].out
    assert "precision over the threshold" in done["help"].out
    assert (shop.folder / "cutoff.svg").read_bytes().rstrip().endswith(b"</svg>")
    assert 'using "threshold":"precision" with steps' in (shop.folder / "cutoff.gp").read_text(encoding="utf-8")
