"""Every command and every output of the README and of docs/ is run and compared; tools/documents has the rules."""

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from harness.cli.commands import commands_here
from tests.rooms import needs_all_rooms
from tests.workshop import Workshop, wait_until
from tools.documents.checking import check_page, update_page
from tools.documents.matching import fold, line_matches, matches, refreshed
from tools.documents.mentions import wrong_mentions
from tools.documents.pages import PAGES, ROOT, blocks, page_steps, programs_needed
from tools.documents.standby import standby_folder
from tools.documents.wrapping import joined

pytestmark = needs_all_rooms

RUN = {"console", "pycon", "python", "toml", "json"}
DIRECTIVES = "{"
# The first steps are always run; the others, the README among them, with the slow tests.
FAST = {"docs/start/index.md"}
# What cannot be run, by page and reason. It grows only on purpose.
NOT_RUN = {
    "README.md": Counter({".ci/run does": 2}),
    "docs/start/index.md": Counter({".ci/run does": 1}),
    "docs/how-to/scale.md": Counter({"needs machines": 1, "needs keys": 1}),
    "docs/how-to/serving.md": Counter({"tests/server starts nginx with it": 1}),
    "docs/reference/architecture.md": Counter({"a drawing": 1}),
    "docs/reference/contributing.md": Counter({".ci/run does": 1}),
    "docs/reference/measures.md": Counter({"tests/recipes/ does": 1}),
    "docs/reference/sites.md": Counter({"a drawing": 1, "a list of files": 1}),
}


def page_name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def runnable(page: Path) -> ParameterSet:
    return pytest.param(page, id=page_name(page), marks=[] if page_name(page) in FAST else [pytest.mark.slow])


RUNNABLE = [runnable(page) for page in PAGES if page_steps(read(page))]


@pytest.mark.parametrize("page", RUNNABLE)
def test_a_page_shows_what_is_printed(page: Path, tmp_path: Path, fonts: Path) -> None:
    if missing := [name for name in programs_needed(read(page)) if shutil.which(name) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    findings = check_page(page, root=tmp_path / "page", fonts=fonts)
    assert not findings, "\n\n".join(map(str, findings)) + "\n\nrefresh it: python -m tools.documents --update PAGE"


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_block_is_run_or_says_why_not(page: Path) -> None:
    found = [block for block in blocks(read(page)) if not block.language.startswith(DIRECTIVES)]
    silent = [block for block in found if block.language not in RUN and not block.title and not block.not_run]
    assert not [(block.first, block.language) for block in silent]
    assert Counter(block.not_run for block in found if block.not_run) == NOT_RUN.get(page_name(page), Counter())


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_a_paragraph_is_one_line(page: Path) -> None:
    assert joined(read(page)) == read(page), "python -m tools.documents --update PAGE joins the lines"


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_commands_and_options_in_running_text_exist(page: Path) -> None:
    assert not wrong_mentions(page)


def test_the_reference_has_every_command() -> None:
    shown = [step.source.strip() for step in page_steps(read(ROOT / "docs/reference/commands.md"))]
    assert shown == ["hate --help", *(f"hate {name} --help" for name in sorted(commands_here()))]


# The tool itself


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        (["a", "b"], ["a", "b"], True),
        (["a"], ["a", "b"], False),
        (["a", "..."], ["a", "b"], True),
        (["...", "b"], ["a", "b"], True),
        (["...", "b"], ["b", "a"], False),
        (["a", "...", "c", "...", "e"], ["a", "b", "c", "d", "e"], True),
        (["a", "...", "c", "...", "e"], ["a", "e", "d", "c", "e"], True),
        (["a", "...", "c", "...", "e"], ["a", "b", "d", "e"], False),
        (["a", "...", "a"], ["a"], False),
        (["took ... s", "end"], ["took 1.5 s", "end"], True),
        (["took ... s"], ["took 1.5 min"], False),
        (["a.c"], ["abc"], False),
    ],
)
def test_what_an_ellipsis_stands_for(expected: list[str], printed: list[str], same: bool) -> None:
    assert matches(expected, printed) is same


TABLE = ["id  seconds  image", "───────────────────", "1     ...  0013", "2     ...  0037"]
WIDER = ["id     seconds  image", "──────────────────────", "1   0.00012345  0013", "2   1234567890  0037"]


def test_columns_of_figures_that_are_left_out_have_any_width() -> None:
    assert matches(TABLE, WIDER)
    assert matches(["...", *TABLE, "", "end"], ["begin", *WIDER, "", "end"])
    assert refreshed(TABLE, WIDER) == TABLE
    # Only of that table, and only the widths.
    assert not matches(TABLE, [line.replace("0037", "0038") for line in WIDER])
    assert not matches([*TABLE, "", "a  b"], [*WIDER, "", "a   b"])
    assert not matches([line.replace("...", "0.1") for line in TABLE], WIDER)
    assert not matches(TABLE, [line.replace("  ", " ") for line in WIDER])


def test_the_first_page_does_not_depend_on_measured_times() -> None:
    """A time of another width moves the head of its column."""
    [step] = [step for step in page_steps(read(ROOT / "docs/start/index.md")) if "--sort -score" in step.source]
    head, *rows = step.expected[1:]
    for seconds in ("0.1", "0.0001", "0.000012345"):
        width = len(seconds)
        printed = [head.replace("  seconds", "seconds".rjust(width + 2) if width > 7 else "  seconds")]
        printed += [row.replace("...", seconds.rjust(max(7, width) - 2)) for row in rows]
        assert matches(step.expected, ["a remark", *printed]), seconds


def test_a_refreshed_output_shows_the_same_parts() -> None:
    expected = ["took ... s", "", "rate  0.90", "...", "verdict: A", "...", "end"]
    printed = ["took 2 s", "", "rate  0.91", "x", "y", "verdict: B", "z", "the end"]
    assert refreshed(expected, printed) == ["took ... s", "", "rate  0.91", "...", "verdict: B", "...", "the end"]
    assert matches(refreshed(expected, printed), printed)


def test_sentences_are_folded_and_tables_are_not() -> None:
    sentence, row = "word " * 30, "cell    " * 20
    assert fold(f"{sentence}\n{row}\n\n") == [("word " * 20).strip(), ("word " * 10).strip(), row.rstrip()]
    assert line_matches("...word", sentence.strip())


PAGE = """\
# A page

```text greeting.txt
hello
```

```console
$ cat greeting.txt; pwd
hello
/home/you/work
$ false
$ echo $?
1
$ for word in a \\
  b; do echo $word; done
a
...
$ cat <<END
> two
> lines
> END
two
lines
```

```python
total = 1 + 1
```

```pycon
>>> for n in range(total):
...     print(n)
0
1
```
"""


@pytest.mark.parametrize(
    ("right", "wrong", "line"),
    [("", "", None), ("hello\n/", "hallo\n/", 8), ("$ echo $?\n1\n", "", 11), ("0\n1\n", "0\n", 32)],
)
def test_a_page_is_checked_and_refreshed(right: str, wrong: str, line: int | None, tmp_path: Path, fonts: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.replace(right, wrong, 1))
    findings = check_page(page, root=tmp_path / "first", fonts=fonts)
    assert [finding.step.first for finding in findings] == ([line] if line else [])
    update_page(page, findings)
    assert page.read_text() == (PAGE if right.startswith(("hello", "0")) else PAGE.replace(right, wrong, 1))


def test_a_page_without_steps_has_nothing_wrong(tmp_path: Path, fonts: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\nOnly words.\n")
    assert check_page(page, root=tmp_path / "first", fonts=fonts) == []


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("`hate rate T... --by noise --plot` and `--by COLUMN`, `hate run ... --resume`, `hate COMMAND --help`", []),
        ("```console\n$ hate dance\n```\n`hate cache clear [KIND...]`, `hate -mode compare a b`, `--memory=1G`", []),
        ("`hate dance --slowly`", ["hate has no command dance"]),
        ("`hate cache dance`", ["hate cache has no command dance"]),
        ("`hate rate T --buy noise`", ["hate rate: No such option '--buy'"]),
        ("`--buy COLUMN`, `--by`, `--fly=1`", ["no command has the option --buy", "no command has the option --fly"]),
    ],
)
def test_what_running_text_names_is_looked_up(text: str, unknown: list[str], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# A page\n\n{text}\n")
    found = wrong_mentions(page)
    assert len(found) == len(unknown)
    assert all(reason in line for line, reason in zip(found, unknown, strict=True))


@pytest.fixture(scope="session")
def standby(fonts: Path) -> str:
    """Made before the environment of a workshop is."""
    return str(standby_folder(fonts) / "hate")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("words", [["list", "--interfaces"], ["rate", "none"], ["dance"], ["--version"]])
def test_a_command_that_stands_by_is_the_command(words: list[str], standby: str, shop: Workshop) -> None:
    ended = [
        subprocess.run([program, *words], env=shop.env, capture_output=True, text=True)
        for program in (standby, Path(sys.executable).parent / "hate")
    ]
    assert ended[0].stdout == ended[1].stdout
    assert ended[0].stderr == ended[1].stderr
    assert ended[0].returncode == ended[1].returncode


def test_a_command_that_stands_by_can_be_stopped(standby: str, shop: Workshop) -> None:
    shop.script()
    shop.interface("import time\ndef answer(case, params):\n    time.sleep(60)\n")
    words = [standby, "run", "toy", "-o", "out.jsonl"]
    with subprocess.Popen(words, env=shop.env, stderr=subprocess.PIPE, text=True) as process:
        wait_until("a transcript", (shop.folder / "out.jsonl").exists, process)
        process.terminate()
        assert process.communicate()[1].startswith("hate: terminated\n")
    assert process.returncode == 143
