"""What other packages add to the command line: commands and options, each in a process of its own, as users have it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.packages import Packages
from tests.workshop import WAIT, Workshop

COMMAND = """
from harness.plugins import CommandEntry
HELLO = CommandEntry("hello", "say hello", "hello_code:hello")
"""
COMMAND_CODE = """
import click
@click.command("hello")
@click.option("--loud", is_flag=True)
def hello(loud):
    print("HELLO" if loud else "hello")
"""
OPTIONS = """
from harness.options import OptionSet, Range, option
from harness.options.comparing import CompareOptions
from harness.options.entries import OptionsEntry
class AgreedOptions(OptionSet):
    agreed: bool = option("--agreed", "Count the cases on which all agree.", default=False)
    least: int = option("--least", "Refuse fewer.", default=0, within=Range(0), needs=("agreed",))
AGREED = OptionsEntry(name="agreed", extends=CompareOptions, options=AgreedOptions, where="agreed_code:Agreed")
"""
OPTIONS_CODE = """
from dataclasses import replace
from harness.api.extension import Extension
from harness.api.result import Addition
from harness.errors import UsageError
from harness.report.blocks import Heading, Table
class Agreed(Extension):
    def prepare(self, options):
        if options.unpaired:
            raise UsageError("--agreed needs the same cases; leave out --unpaired")
        return replace(options, statistic="rate")
    def add(self, result, options):
        success = result.comparison.aligned.success
        count = int((success == success[0]).all(axis=0).sum())
        if count < options.least:
            raise UsageError(f"--least {options.least}: only {count} cases agree")
        return Addition({"cases": count}, [Heading("Agreed"), Table(["cases"], [[count]])], ["counted by agreed"])
"""


def add_agreed(packages: Packages, code: str = OPTIONS_CODE) -> None:
    packages.add("agreeing", "hate.options", "agreed = agreed_entry:AGREED", OPTIONS)
    packages.write("agreed_code", code)


def python(shop: Workshop, code: str) -> "subprocess.CompletedProcess[str]":
    words = [sys.executable, "-c", code]
    return subprocess.run(words, cwd=shop.folder, env=shop.env, capture_output=True, text=True, timeout=WAIT)


@pytest.fixture
def packages(shop: Workshop, tmp_path: Path) -> Packages:
    """A folder that is on the path of every process."""
    folder = tmp_path / "packages"
    folder.mkdir()
    Packages(folder).on_path(shop.env)
    shop.script()
    for name, text in (("one", "case.input"), ("two", "'x'")):
        shop.write(f"{name}.py", f"NAME = '{name}'\ndef answer(case, params):\n    return {text}\n")
        assert shop.hate("run", "toy", "--interface", f"{name}.py", "-o", f"{name}.jsonl").status == 0
    return Packages(folder)


def test_a_command_of_another_package(shop: Workshop, packages: Packages) -> None:
    packages.add("greeting", "hate.commands", "hello = hello_entry:HELLO", COMMAND)
    packages.write("hello_code", COMMAND_CODE)
    assert shop.hate("hello", "--loud").out == "HELLO\n"
    assert ["hello", "say", "hello"] in [line.split() for line in shop.hate("--help").out.splitlines()]
    assert shop.hate("helo").err.endswith("is 'helo' the command 'hello'?\n")
    listed = shop.hate("list", "--plugins", "--format", "json").json["plugins"]
    assert [(one["package"], one["group"], one["name"], one["problem"]) for one in listed] == [
        ("greeting", "hate.commands", "hello", None)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entry", "code", "message"),
    [
        (COMMAND.replace("say hello", ""), COMMAND_CODE, "summary is missing"),
        (COMMAND.replace("_code:hello", "_code"), COMMAND_CODE, "where is not a module and a click command"),
        (COMMAND.replace('"hello",', '"hallo",'), COMMAND_CODE, "its name is 'hallo', but the entry's is 'hello'"),
        ("HELLO = 3", COMMAND_CODE, "is a int, not a harness.plugins.CommandEntry"),
        ("1 / 0", COMMAND_CODE, "cannot be loaded: ZeroDivisionError"),
        (COMMAND, "hello = 3", "hello: hello_code:hello is not a click command"),
        (COMMAND, "import nowhere_at_all", "hello: hello_code:hello cannot be loaded: ModuleNotFoundError"),
    ],
)
def test_a_broken_command_is_an_error_of_one_line(
    shop: Workshop, packages: Packages, entry: str, code: str, message: str
) -> None:
    packages.add("greeting", "hate.commands", "hello = hello_entry:HELLO", entry)
    packages.write("hello_code", code)
    done = shop.hate("hello")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert message in done.err
    # It does not stand in the way of anything else.
    assert shop.hate("--help").status == 0
    assert shop.hate("rate", "one.jsonl").status == 0


@pytest.mark.slow
def test_an_error_in_the_code_of_others_names_their_package(shop: Workshop, packages: Packages) -> None:
    packages.add("greeting", "hate.commands", "hello = hello_entry:HELLO", COMMAND)
    packages.write("hello_code", COMMAND_CODE.replace("print(", 'int("x")\n    print('))
    done = shop.hate("hello")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith("hate: plug-in greeting 1.0, entry hate.commands: hello: hello_code:hello: ValueError")
    assert done.err.endswith("please report it to its authors\n")
    add_agreed(packages, OPTIONS_CODE.replace("options.unpaired:", "options.unpaired / 0:"))
    compared = shop.hate("compare", "one.jsonl", "two.jsonl", "--agreed")
    assert "plug-in agreeing 1.0" in compared.err
    assert "ZeroDivisionError" in compared.err


@pytest.mark.slow
def test_a_command_may_not_take_a_name_that_is_there(shop: Workshop, packages: Packages) -> None:
    packages.add("greeting", "hate.commands", "rate = hello_entry:HELLO", COMMAND.replace('"hello"', '"rate"'))
    assert shop.hate("rate", "one.jsonl").status == 0
    [listed] = shop.hate("list", "--plugins", "--format", "json").json["plugins"]
    assert "this name is built in" in listed["problem"]


@pytest.mark.slow
def test_options_of_another_package_add_to_a_result(shop: Workshop, packages: Packages) -> None:
    both = ("compare", "one.jsonl", "two.jsonl")
    before = shop.hate(*both, "--format", "json")
    add_agreed(packages)
    assert shop.hate(*both, "--format", "json").json == before.json
    found = shop.hate(*both, "--agreed", "--format", "json")
    assert found.json == before.json | {"agreed": {"cases": 3}}
    text = shop.hate(*both, "--agreed")
    assert "Agreed" in text.out
    assert "counted by agreed" in text.err
    assert "--agreed" in shop.hate("compare", "--help").out
    assert "--agreed" not in shop.hate("rate", "--help").out
    told = [shop.hate(*both, *more).err for more in (["--least", "2"], ["--agreed", "--least", "9"])]
    assert told[0] == "hate: --least does nothing without --agreed; add it, or leave --least out\n"
    assert told[1] == "hate: --least 9: only 3 cases agree\n"
    assert "leave out --unpaired" in shop.hate(*both, "--agreed", "--unpaired").err
    assert shop.hate(*both, "--agreeed").status == 2


@pytest.mark.slow
def test_the_same_options_in_python(shop: Workshop, packages: Packages) -> None:
    add_agreed(packages)
    code = (
        "import harness, pickle\n"
        "found = harness.compare(['one.jsonl', 'two.jsonl'], agreed=True)\n"
        "print(found.to_dict()['agreed'], 'Agreed' in str(found), found.remarks[-1])\n"
        "from harness.options.comparing import CompareOptions\n"
        "options = CompareOptions(agreed=True)\n"
        "print(pickle.loads(pickle.dumps(options)) == options, options)\n"
    )
    assert python(shop, code).stdout.splitlines() == [
        "{'cases': 3} True counted by agreed",
        "True CompareOptions(agreed=True)",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            OPTIONS.replace("options=AgreedOptions", "options=3"),
            "options is not a subclass of harness.options.OptionSet",
        ),
        (OPTIONS.replace("agreed_code:Agreed", "agreed_code"), "where is not a module and an object"),
        ("1 / 0", "cannot be loaded: ZeroDivisionError"),
    ],
)
def test_broken_options_are_said_and_stand_in_nobodys_way(
    shop: Workshop, packages: Packages, entry: str, message: str
) -> None:
    packages.add("agreeing", "hate.options", "agreed = agreed_entry:AGREED", entry)
    done = shop.hate("compare", "one.jsonl", "two.jsonl", "--agreed")
    assert done.status == 2
    assert message in done.err.splitlines()[0]
    assert "No such option '--agreed'" in done.err.splitlines()[1]
    assert shop.hate("compare", "one.jsonl", "two.jsonl").err == ""
    assert message in python(shop, "import harness\nharness.compare(['one.jsonl', 'two.jsonl'], agreed=True)").stderr


def entry(name: str, field: str, *, extends: str = "CompareOptions") -> str:
    """An entry with one option."""
    return f"""
from harness.options import OptionSet, DesignOptions, option
from harness.options.comparing import CompareOptions
from harness.options.entries import OptionsEntry
class {name.capitalize()}Options(OptionSet):
    {field}
{name.upper()} = OptionsEntry(
    name="{name}", extends={extends}, options={name.capitalize()}Options, where="agreed_code:Agreed"
)
"""


ASKED = 'agreed: bool = option("--agreed", default=False)'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("field", "extends", "message"),
    [
        ('seed: str = option("--sown", default="")', "CompareOptions", "its option seed is there already"),
        ('sown: str = option("--seed", default="")', "CompareOptions", "its option --seed is there already"),
        ('sown: str = option("--format", default="")', "CompareOptions", "its option --format is there already"),
        (
            'sown: str = option("--margin", default="")',
            "CompareOptions",
            "its option --margin is there already",
        ),
        ('sown: str = option("--sown")', "CompareOptions", "its option --sown has no default"),
        ('sown: str = option("sown", default="")', "CompareOptions", "its option sown does not begin with a dash"),
        ("sown: int = 3", "CompareOptions", "sown of its options is not declared with option()"),
        ('sown: str = option("--sown", default="")', "DesignOptions", "extends is not the options of a command"),
    ],
)
def test_options_that_would_be_in_the_way_are_refused_alone(
    shop: Workshop, packages: Packages, field: str, extends: str, message: str
) -> None:
    packages.add("sowing", "hate.options", "sown = sown_entry:SOWN", entry("sown", field, extends=extends))
    add_agreed(packages)
    done = shop.hate("compare", "one.jsonl", "two.jsonl", "--agreed", "--format", "json")
    assert (done.status, done.json["agreed"]) == (0, {"cases": 3})
    assert message in done.err


@pytest.mark.slow
def test_two_packages_with_one_option(shop: Workshop, packages: Packages) -> None:
    packages.add("agreeing", "hate.options", "agreed = agreed_entry:AGREED", OPTIONS)
    packages.add("beagreed", "hate.options", "bagreed = bagreed_entry:BAGREED", entry("bagreed", ASKED))
    packages.write("agreed_code", OPTIONS_CODE)
    done = shop.hate("compare", "one.jsonl", "two.jsonl", "--agreed", "--format", "json")
    assert "bagreed" not in done.json
    assert "its option --agreed is also one of agreeing; uninstall one of them" in done.err


@pytest.mark.slow
def test_an_extension_may_not_take_back_the_option_that_asks_for_it(shop: Workshop, packages: Packages) -> None:
    add_agreed(packages, OPTIONS_CODE.replace('statistic="rate"', "agreed=False"))
    done = shop.hate("compare", "one.jsonl", "two.jsonl", "--agreed")
    assert (done.status, done.out) == (2, "")
    assert done.err == "hate: hate.options: agreed: its extension takes back the option that asks for it\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["transcripts", "pairs"])
def test_nothing_replaces_what_the_command_says(name: str, shop: Workshop, packages: Packages) -> None:
    source = entry(name, ASKED)
    packages.add("agreeing", "hate.options", f"{name} = agreed_entry:{name.upper()}", source)
    packages.write("agreed_code", OPTIONS_CODE.replace("options.least", "0"))
    done = shop.hate("compare", "one.jsonl", "two.jsonl", "--agreed", "--format", "json")
    assert (done.status, done.out) == (2, "")
    assert f"hate.options: {name}: the JSON of the command has this key" in done.err


@pytest.mark.slow
def test_options_that_were_made_before_others_are_looked_for_stay_whole(shop: Workshop, packages: Packages) -> None:
    add_agreed(packages)
    code = (
        "import copy, pickle, harness\n"
        "from harness.options.comparing import CompareOptions\n"
        "old = CompareOptions(margin=0.1)\n"
        "try:\n    harness.compare(['one.jsonl', 'two.jsonl'], nonesuch=1)\n"
        "except TypeError as error:\n    print(error)\n"
        "print(old, copy.copy(old).margin, pickle.loads(pickle.dumps(old)))\n"
        "from harness.api.comparisons import compare\n"
        "print(compare(['one.jsonl', 'two.jsonl'], options=old).names)\n"
    )
    printed = python(shop, code).stdout.splitlines()
    assert printed[1:] == ["CompareOptions(margin=0.1) 0.1 CompareOptions(margin=0.1)", "['one', 'two']"]
