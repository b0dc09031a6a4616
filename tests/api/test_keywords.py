"""The door in Python: every option is a keyword that editors and `help()` show, and errors name keywords."""

import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import click
import pytest

import harness
from harness.api.keywords import by_keyword
from harness.api.wording import OTHER_NAMES, python_words
from harness.cli.arguments import TestRunOptions as RunFirstOptions
from harness.cli.commands import commands_here, hate
from harness.errors import HateError, OutputError, UsageError
from harness.options import DeclaredOption, OptionSet, PlotOptions, declared_options, option
from tests.rooms import MISSING, needs_all_rooms
from tests.workshop import Workshop
from tools.stubs import DOORS, stub, stub_path

ROOT = Path(__file__).parents[2]
# The same without its types, for calls that a type checker refuses.
anything: Any = harness


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in dir(harness):
        if not name.startswith("__") and name != "HateError":
            yield name, getattr(harness, name)
    if "lab" not in MISSING:
        from harness.lab import experiments

        for name in experiments.__all__:
            yield f"lab {name}", getattr(experiments, name)


FUNCTIONS = dict(functions())


def options_of(function: Callable[..., Any]) -> type[OptionSet] | None:
    parameter = inspect.signature(inspect.unwrap(function)).parameters.get("options")
    return None if parameter is None else parameter.annotation


WITH_OPTIONS = {name: kind for name, function in FUNCTIONS.items() if (kind := options_of(function)) is not None}


@pytest.mark.parametrize("name", WITH_OPTIONS)
def test_every_option_is_a_keyword_with_its_default_and_a_sentence(name: str) -> None:
    signature = inspect.signature(FUNCTIONS[name])
    text = inspect.getdoc(FUNCTIONS[name]) or ""
    assert "options" not in signature.parameters
    for declared in declared_options(WITH_OPTIONS[name]):
        if not declared.spec.help:  # inherited, and without a meaning here: it takes its default alone
            assert declared.name not in signature.parameters
            continue
        parameter = signature.parameters[declared.name]
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert (parameter.default is inspect.Parameter.empty) == declared.required
        assert declared.required or parameter.default == declared.default
        assert parameter.annotation is not inspect.Parameter.empty
        assert re.search(rf"\n    {declared.name}(?: \([^\n]+\))?:\s+\S", text)
    assert "--" not in text.replace("---", "")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_says_what_it_does_and_what_its_arguments_are(name: str) -> None:
    text = inspect.getdoc(FUNCTIONS[name]) or ""
    assert text.splitlines()[0].endswith((".", "?")), text
    for parameter in inspect.signature(FUNCTIONS[name]).parameters:
        assert f"\n    {parameter}" in text or f"`{parameter}`" in text, parameter


@pytest.mark.parametrize("name", WITH_OPTIONS)
def test_a_choice_shows_its_words(name: str) -> None:
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    for declared in declared_options(WITH_OPTIONS[name]):
        if declared.choices and not declared.several and declared.spec.help:
            literal = next(iter(get_args(parameters[declared.name].annotation)))
            words = get_args(literal) or get_args(parameters[declared.name].annotation)
            assert words == tuple(map(str, declared.choices))


@pytest.mark.parametrize("name", WITH_OPTIONS)
def test_none_is_refused_where_an_option_has_to_have_a_value(name: str) -> None:
    kind = WITH_OPTIONS[name]
    required = {known.name: "x" for known in declared_options(kind) if known.required}
    for known in declared_options(kind):
        settings = {**required, known.name: None}
        if known.default in (None, ()):
            assert getattr(kind.of(settings), known.name) == known.default
        else:
            why = "needs a value" if known.required else "leave it out for its default"
            with pytest.raises(UsageError, match=f"{known.name}=None: {why}"):
                kind.of(settings)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: anything.compare("wisard", "witch"), "compare() takes one argument without a keyword, transcripts"),
        (lambda: anything.sweep("hdigits", "wisard"), "missing: params="),
        (lambda: anything.rate("wisard", statistics="tpr"), "did you mean 'statistic'?"),
    ],
)
def test_calls_that_cannot_be_are_type_errors_that_say_what_is_missing(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeError, match=re.escape(words)):
        call()


@needs_all_rooms
@pytest.mark.parametrize("door", DOORS)
def test_what_editors_read_is_current(door: str) -> None:
    assert stub_path(door).read_text(encoding="utf-8") == stub(door), "run: python -m tools.stubs"


CALLS = """
import harness
harness.compare(["a", "b"], by=["truth"], psu="image", multiplicity="max-t", confidence=0.9)
harness.compare(["a", "b"], bye="truth")
harness.roc("a", points="many")
harness.run("hdigits", "wisard", params={"tuples": 64}, output="mine.jsonl", jobs="auto").counts.TP
reveal_type(harness.rate("a", multiplicity="holm"))
"""


@pytest.mark.slow
@needs_all_rooms
def test_a_type_checker_knows_the_options(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(CALLS, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    found = [line.partition(": ")[2] for line in done.stdout.splitlines() if "error: " in line or "Revealed" in line]
    assert [line.partition("  [")[0] for line in found] == [
        'error: Unexpected keyword argument "bye" for "compare"; did you mean "by"?',
        'error: Argument "points" to "roc" has incompatible type "str"; expected "int | None"',
        'error: Unexpected keyword argument "multiplicity" for "rate"; did you mean "partial"?',
        'note: Revealed type is "harness.api.rates.RateResult"',
    ] or done.stdout


def test_only_what_is_meant_is_shown() -> None:
    code = "import harness, harness.api.comparisons, harness.report; print(*dir(harness))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True).stdout
    names = shown.split()
    assert "__version__" in names
    assert all(callable(getattr(harness, name)) for name in names if name != "__version__")
    assert {"report", "api", "errors", "TYPE_CHECKING"}.isdisjoint(names)
    with pytest.raises(AttributeError, match="module 'harness' has no attribute 'comparr'"):
        harness.comparr  # type: ignore[attr-defined]  # noqa: B018


def commands_and_subcommands() -> Iterator[tuple[str, click.Command]]:
    for name in commands_here():
        command = hate.get_command(click.Context(hate), name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from ((f"{name} {part}", command.commands[part]) for part in command.commands)
        else:
            yield name, command


COMMAND_LINES = {name: command for name, command in commands_and_subcommands() if name != "completion"}
# What commands have beyond their functions: how to print and what the exit status is; pictures, which are methods of
# results; running a test first, which is `harness.run`; and, by command, what other functions do.
PRINTED = {"style", "fail_if_worse", "strict", "quiet", "silent", "verbose", "everything"}
PICTURED = {
    "gnuplot",
    "scores",
    "zoom",
    "axes",
    "picture_width",
    *(known.name for known in declared_options(PlotOptions)),
}
RUN_FIRST = {known.name for known in declared_options(RunFirstOptions)}
ELSEWHERE = {
    "list": {"interfaces", "plugins", "transcripts"},
    "run": {"train_folds", "train_seed", "case"},
    "status": {"watch"},
    "rate": {"sequential"},
    "compare": {"sequential", "typed"},
    "report": {"output"},
    "power": {"pilot"},
}


@pytest.mark.parametrize("name", COMMAND_LINES)
def test_every_command_can_be_called(name: str) -> None:
    """With all its options, but for what belongs to a shell or to another function."""
    called = OTHER_NAMES.get(name, name)
    function = FUNCTIONS.get(called) or FUNCTIONS[f"lab {called}"]
    kind = getattr(COMMAND_LINES[name].callback, "option_set", None)
    lacking = {known.name for known in declared_options(kind) if known.spec.help} if kind is not None else set[str]()
    lacking -= set(inspect.signature(function).parameters)
    assert ELSEWHERE.get(name, set()) <= lacking
    assert lacking - ELSEWHERE.get(name, set()) <= PRINTED | PICTURED | (RUN_FIRST if "interface" in lacking else set())


def test_the_page_names_every_function() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    rows = " ".join(line for line in page.splitlines() if line.startswith("| [`"))
    assert [name for name in harness.__all__ if not re.search(rf"`{name}[`(]", rows)] == ["HateError", "__version__"]


class PaintOptions(OptionSet):
    coats: int = option("-c, --coats N", "How many.", default=2)
    wet: bool = option("--wet", "Do not wait for --coats.", default=False)
    colour: str = option("--colour", "Which.", default="red", choices=("red", "sky-blue"))
    walls: tuple[str, ...] = option("--wall NAME", "Which walls; may be repeated.", default=())
    params: tuple[str, ...] = option("--param NAME=VALUE", "More.", default=())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--coats 3: too many", "coats=3: too many"),
        ("-c: too many", "coats: too many"),
        ("--wall north: no such wall", "walls='north': no such wall"),
        ("--wall 'the north': no such wall", "walls='the north': no such wall"),
        ("name a wall, --wall NAME, or --wet", "name a wall, walls=NAME, or wet=True"),
        ("--wet does nothing; leave --wet out.", "wet=True does nothing; leave wet=True out."),
        ("--coats does nothing without --wall", "coats does nothing without walls"),
        ("ask for --colour sky-blue, or --coats 0.5", "ask for colour='sky-blue', or coats=0.5"),
        ("--colour=red is the rule", "colour='red' is the rule"),
        ("--wall a,b; --wall noise:5: empty", "walls='a,b'; walls='noise:5': empty"),
        ("--wall: a.txt", "walls: a.txt"),
        ("--param size=3: not there", "params={'size': '3'}: not there"),
        ("--param C=3: not there", "params={'C': '3'}: not there"),
        ("give --param NAME=VALUE", "give params=NAME=VALUE"),
        ("a--coats, /tmp/--coats, x-c and --unknown 3", "a--coats, /tmp/--coats, x-c and --unknown 3"),
        ("`hate rate` looks at one; use hate roc", "`harness.rate` looks at one; use harness.roc"),
        ("`hate import` or `hate new script`", "`harness.load` or `harness.new_script`"),
        ("`hate rate x --wet` in a shell; hate nothing", "`hate rate x --wet` in a shell; hate nothing"),
        ("hate report makes a page; hate rate --sequential looks on",
         "harness.make_report makes a page; harness.compare_sequentially looks on"),
    ],
)  # fmt: skip
def test_a_text_for_the_command_line_in_the_words_of_python(text: str, expected: str) -> None:
    flags: dict[str, DeclaredOption] = {
        flag: declared for declared in declared_options(PaintOptions) for flag in declared.spec.flags
    }
    assert python_words(text, flags) == expected


def paint(house: str, *, options: PaintOptions, painter: str = "me") -> str:
    """Paint a house.

    Args:
        house: Which one.
        painter: Who.
    """
    if options.coats > 5:
        raise OutputError(f"{house}: --coats {options.coats} is too much; --wall NAME is for less")
    return f"{painter}: {house} {options.colour}"


def test_a_function_by_keyword() -> None:
    call = by_keyword(paint)
    assert call("villa", colour="sky-blue", painter="you") == "you: villa sky-blue"
    assert list(inspect.signature(call).parameters) == ["house", "coats", "wet", "colour", "walls", "params", "painter"]
    assert inspect.getdoc(call) == (
        "Paint a house.\n\nArgs:\n    house: Which one.\n    painter: Who.\n    coats: How many.\n"
        "    wet: Do not wait for coats.\n    colour: Which.\n    walls: Which walls; one or several.\n"
        "    params (NAME=VALUE): More."
    )
    with pytest.raises(OutputError, match=r"^villa: coats=6 is too much; walls=NAME is for less$"):
        call("villa", coats=6)
    with pytest.raises(TypeError, match="there is no option 'coat'; did you mean 'coats'"):
        call("villa", coat=6)
    with pytest.raises(UsageError, match=r"^colour='green': not one of red, sky-blue$"):
        call("villa", colour="green")


@pytest.mark.parametrize("name", WITH_OPTIONS)
def test_every_flag_has_its_keyword(name: str) -> None:
    declared = declared_options(WITH_OPTIONS[name])
    flags = {flag: known for known in declared for flag in known.spec.flags}
    for flag, known in flags.items():
        value = "=True" if known.type is bool else ""
        assert python_words(f"leave out {flag}, or not", flags) == f"leave out {known.name}{value}, or not"


def test_the_command_line_is_told_of_its_flags(shop: Workshop) -> None:
    """Also by options that are checked when all are known, and not one by one."""
    done = shop.call("power", "--rates", "0.9,3", "--difference", "0.1")
    assert (done.status, done.err) == (2, "hate: --rates 3: not in the range 0<=x<=1\n")
    with pytest.raises(HateError, match=r"^rates='3': not in the range 0<=x<=1$"):
        harness.power(rates="0.9,3", difference=0.1)  # type: ignore[arg-type]


def test_four_counts_from_python(shop: Workshop) -> None:
    printed = shop.call("compare", "--table", "58", "31", "9", "902", "--format", "json").json
    assert harness.compare_table([58, 31, 9, 902]).to_dict() == printed
    with pytest.raises(TypeError, match="there is no option 'by'"):
        harness.compare_table([58, 31, 9, 902], by="truth")  # type: ignore[call-arg]
    done = shop.call("compare", "--table", "58", "31", "9", "902", "--by", "truth")
    assert done.err == "hate: four counts have no cases or columns; leave out --by\n"


def test_runs_that_grow_from_python(shop: Workshop) -> None:
    printed = shop.call("compare", "hdigits/wisard", "hdigits/witch", "--sequential", "--format", "json").json
    assert harness.compare_sequentially(["hdigits/wisard", "hdigits/witch"]).to_dict() == printed
    with pytest.raises(TypeError, match="there is no option 'sequential'"):
        harness.compare(["hdigits/wisard", "hdigits/witch"], sequential=True)  # type: ignore[call-arg]


@pytest.mark.skipif("lab" in MISSING, reason="without the room")
def test_the_experiments_show_only_what_is_meant() -> None:
    from harness.lab import experiments

    assert dir(experiments) == ["anova", "galleries", "methods", "permute", "urn", "zoo"]
