"""The documentation is true: links lead somewhere, files and functions that it names exist, and its samples work."""

import ast
import inspect
import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import StrictStr

from harness import measures, tasks
from harness.api.runs import load_test
from harness.cli.commands import COMMANDS
from harness.engine.plan import Plan
from harness.engine.run import NoProgress, run
from harness.engine.target import Target
from harness.files.toml import Section
from harness.interface import toml
from harness.measures import outcomes
from harness.model import Case, Counts
from harness.report import formats
from harness.report.blocks import Table
from harness.tasks import TaskRules
from harness.transcript.importing import registry
from tests.workshop import Workshop

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
CONTRIBUTING = ROOT / "docs/reference/contributing.md"
# Pages about the code. In a line that begins with a folder, names of files are those of files in it.
CODE_PAGES = (CONTRIBUTING, ROOT / "docs/reference/architecture.md")
PLACEHOLDER = "NAME.py"

LINK = re.compile(r"\]\(([^)\s]+)\)")
# `harness/api/runs.py`, `runs.py`, `tests/data/`
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)*(?:\.py|/))`")
# `run` in `harness/engine/run.py`, `TASKS` of `harness/tasks/__init__.py`, `align` (`harness/analysis/align.py`)
NAMED = re.compile(r"`([\w.]+)`\s+(?:in|of|\()\s*`([\w/]+\.py)`")
SAMPLE = re.compile(r"^```(?:python|text)(?: [\w/]+\.py)?\n(.*?)^```", re.MULTILINE | re.DOTALL)


def page_name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    headings = re.findall(r"^#+ (.*)$", read(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def exists(link: str, page: Path) -> bool:
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    return "://" in link or (target.exists() and (not anchor or anchor in anchors(target)))


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_somewhere(page: Path) -> None:
    assert not [link for link in LINK.findall(read(page)) if not exists(link, page)]


@pytest.mark.parametrize("page", CODE_PAGES, ids=page_name)
def test_files_that_are_named_exist(page: Path) -> None:
    wrong = []
    for line in read(page).splitlines():
        folder = ROOT
        for path in PATH.findall(line):
            if (ROOT / path).is_dir() and line.startswith(f"| `{path}`"):
                folder = ROOT / path
            elif not path.endswith(PLACEHOLDER) and not (ROOT / path).exists() and not (folder / path).exists():
                wrong.append(path)
    assert not wrong


def names_in(path: Path) -> set[str]:
    """What a module defines: its functions, classes, methods and constants, and what it imports."""
    names: set[str] = set()
    for node in ast.parse(read(path)).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
            methods = [part for part in ast.walk(node) if isinstance(part, ast.FunctionDef)]
            names |= {f"{node.name}.{method.name}" for method in methods} | {method.name for method in methods}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


@pytest.mark.parametrize("page", CODE_PAGES, ids=page_name)
def test_functions_that_are_named_exist(page: Path) -> None:
    found = NAMED.findall(read(page))
    assert found
    assert not [(name, path) for name, path in found if name not in names_in(ROOT / path)]


# The samples of the page on contributing


def sample(begin: str, page: Path = CONTRIBUTING) -> str:
    [found] = [text for text in SAMPLE.findall(read(page)) if text.startswith(begin)]
    assert isinstance(found, str)
    return found


def module(path: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A sample that is a file, as a module of that name."""
    made = ModuleType(path.removesuffix(".py").replace("/", "."))
    monkeypatch.setitem(sys.modules, made.__name__, made)
    exec(compile(sample(f"# {path}\n"), path, "exec"), made.__dict__)
    return made


def test_the_sample_of_a_task(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    text = module("harness/tasks/text.py", monkeypatch).TEXT
    monkeypatch.setattr(tasks, "TASKS", {**tasks.TASKS, "text": text})
    shop.script(task="text", rows="id,input,expect,positive\n1,paris,Paris,\n2,pari,Paris,\n3,rome,Paris,false\n")
    shop.interface()
    assert shop.call("check", "toy").status == 0
    rows = shop.call("sweep", "toy", "--param", "threshold=0.5,0.9,1", "--format", "json").json["rows"]
    # 2 * 4 / (4 + 5) of the letters of pari and Paris match, and 2 * 1 / (4 + 5) of those of rome.
    assert [(row["TP"], row["TN"]) for row in rows] == [(2, 1), (1, 1), (1, 1)]
    assert shop.call("new", "script", "mine", "--task", "text").status == 0


@given(st.text(max_size=5), st.text(min_size=1, max_size=5), st.floats(0, 1))
def test_the_sample_of_a_task_decides_again_as_at_first(said: str, expect: str, threshold: float) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        text = module("harness/tasks/text.py", monkeypatch).TEXT
    case, rules, params = Case("1", None, expect), TaskRules(), {"threshold": threshold}
    answer = text.answer(said, case, rules)
    limit = text.limits(rules, params).of(answer, True)
    assert text.acceptance(rules, params)(case, answer) == (threshold <= limit)


def test_the_sample_of_a_measure(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    [measure] = eval(f"[{sample('_share(')}]", vars(outcomes))
    monkeypatch.setitem(measures.MEASURES, "fdr", measure)
    found = shop.call("rate", "wisard", "--statistic", "fdr,precision", "--format", "json").json["transcripts"][0]
    own, precision = (found["measures"][name] for name in ("fdr", "precision"))
    assert own["estimate"] == pytest.approx(1 - precision["estimate"]) == pytest.approx(57 / (57 + 647))
    assert own["interval"] == pytest.approx([1 - limit for limit in reversed(precision["interval"])])


def test_the_other_sample_of_a_measure(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    page = ROOT / "docs/reference/measures.md"
    [measure] = eval(f"[{sample('_share(', page)}]", vars(outcomes))
    monkeypatch.setitem(measures.MEASURES, "jaccard", measure)
    printed = shop.call("rate", "wisard", "--statistic", "jaccard").out
    assert sample(" measure    ", page) in printed


def test_the_sample_of_an_importer(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    readers = module("harness/transcript/importing/tap.py", monkeypatch).READERS
    monkeypatch.setattr(registry, "TOOLS", (*registry.TOOLS, *readers))
    shop.write(
        "build.tap", "TAP version 14\n1..4\nok 1 - opens\nnot ok 2 - reads # slow\nok 3\n# note\nnot ok 4 - ends\n"
    )
    row = shop.call("import", "build.tap", "-o", "build.jsonl", "--format", "json").row
    assert (row["algorithm"], row["TP"], row["FN"]) == ("build", 2, 2)
    assert [record["id"] for record in shop.records("build.jsonl")] == ["opens", "reads", "3", "ends"]
    shop.write("empty.tap", "1..0\n")
    assert "no line begins with 'ok'" in shop.call("import", "empty.tap").err


def test_the_sample_of_an_interface(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    interface = module("harness/interface/constant.py", monkeypatch).ConstantInterface("seven", "", "", {}, "7")
    test = load_test("hdigits")
    finished = run(Plan(test, interface, {"threshold": 0.0}), Target(shop.folder / "a.jsonl"), NoProgress())
    accepted = [case.positive for case in test if case.expect == "7"]
    tp, fp = accepted.count(True), accepted.count(False)
    assert finished.counts == Counts(TP=tp, FP=fp, FN=717 - tp, TN=717 - fp)


def test_the_recipe_of_an_interface_is_followed(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step of it, and then what a user does: an interface.toml, and `hate run`."""
    [branch] = re.findall(r"and in `load_toml`\n\n   ```python\n(.*?)   ```", read(CONTRIBUTING), re.DOTALL)
    monkeypatch.setattr(toml, "KINDS", (*toml.KINDS, "constant"))
    section = type("ConstantSection", (Section,), {"__annotations__": {"answer": StrictStr}})
    fields = {"__annotations__": {"constant": section | None}, "constant": None, "__module__": toml.__name__}
    monkeypatch.setattr(toml, "InterfaceFile", type("InterfaceFile", (toml.InterfaceFile,), fields))
    made = module("harness/interface/constant.py", monkeypatch)
    monkeypatch.setattr(toml, "ConstantInterface", made.ConstantInterface, raising=False)
    end = '    raise InterfaceError(f"{path}: no way'
    source = inspect.getsource(toml.load_toml).replace(end, textwrap.indent(textwrap.dedent(branch), "    ") + end)
    scope: dict[str, Any] = {}
    exec(source, vars(toml), scope)
    monkeypatch.setattr(toml, "load_toml", scope["load_toml"])

    shop.toml('[algorithm]\nname = "seven"\ncode = "https://example.org/seven"\n[constant]\nanswer = "7"\n')
    assert shop.call("check", "interface.toml").status == 0
    shop.interface('NAME = "seven"\ndef answer(case, params):\n    return "7"\n').rename(shop.folder / "seven.py")
    expected = [shop.call("run", "hdigits", "--interface", "seven.py", "--limit", "60", "--format", "json").row]
    for number, words in enumerate([(), ("-j", "2"), ("--timeout", "9")]):
        done = shop.call("run", "hdigits", "--limit", "60", "-o", f"{number}.jsonl", "--format", "json", *words)
        assert done.status == 0, done.err
        assert [done.row] == expected
    header = shop.lines("0.jsonl")[0]
    assert (header["interface"]["kind"], header["algorithm"]["name"]) == ("constant", "seven")
    assert "answer" in shop.call("check", shop.toml("[constant]\nanswer = 7\n")).out


def test_the_sample_of_a_table_format() -> None:
    scope = dict(vars(formats))
    exec(sample("def _org("), scope)
    table = Table(["name", "rate"], [["a|b", 0.5], ["c", None]])
    assert scope["_org"](table, 80) == "| name | rate |\n|---+---|\n| a\\vert{}b | 0.5000 |\n| c |  |\n"


def test_the_sample_of_a_command(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    slowest = module("harness/api/slowest.py", monkeypatch).slowest
    module("harness/cli/slowest.py", monkeypatch)
    monkeypatch.setitem(COMMANDS, "slowest", ("slowest", "the cases of a transcript that took longest"))
    done = shop.call("slowest", "wisard", "--top", "3", "--format", "json")
    assert done.json == slowest("wisard", top=3).to_dict()
    seconds = [case["seconds"] for case in done.json["cases"]]
    assert len(seconds) == 3
    assert seconds == sorted(seconds, reverse=True)
    assert "0 is not in the range x>=1" in shop.call("slowest", "wisard", "--top", "0").err
