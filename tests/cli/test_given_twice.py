"""An option that takes one value and is given two is refused: none of them is dropped without a word."""

from collections.abc import Iterator

import click
import pytest

from harness.cli.commands import hate
from harness.cli.options import Parsed
from tests.workshop import Workshop

# Two values of options that parse their own.
PARSED = {
    "SECONDS": ("1", "2"),
    "SIZE": ("1M", "2M"),
    "N|auto": ("1", "2"),
    "ADDRESS|local:N": ("local:1", "local:2"),
    "INCHES|1column|2column": ("3", "4"),
    "LOW,HIGH": ("0,1", "0,2"),
    "X": ("1", "2"),
    "URL": ("https://a.example/", "https://b.example/"),
    "fp=10,fn=1,prior=0.01": ("fp=1", "fp=2"),
}


def every_command(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from every_command(command, (*path, name))
        else:
            yield (*path, name), command


def two_values(option: click.Option) -> tuple[str, str] | None:
    """Two values that the option takes; None if it takes only one."""
    kind = option.type
    if isinstance(kind, Parsed):
        return PARSED[str(option.metavar)]
    if isinstance(kind, click.Choice):
        names = [str(choice) for choice in kind.choices]
        return (names[0], names[1]) if len(names) > 1 else None
    if isinstance(kind, (click.IntRange, click.FloatRange)):
        low = 0 if kind.min is None else kind.min
        if isinstance(kind, click.IntRange):
            return f"{low:g}", f"{low + 1:g}"
        step = (low + 4 if kind.max is None else kind.max) - low
        return f"{low + step / 4:g}", f"{low + step / 2:g}"
    return "one", "two"


OPTIONS = [
    pytest.param(path, option, id=" ".join((*path, option.opts[-1])))
    for path, command in every_command(hate)
    for option in command.params
    if isinstance(option, click.Option) and not option.is_flag and not option.multiple
]


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("path", "option"), OPTIONS)
def test_two_values_of_an_option_are_refused(path: tuple[str, ...], option: click.Option, toy: Workshop) -> None:
    values = two_values(option)
    if values is None:
        return
    done = toy.call(*path, option.opts[0], values[0], option.opts[-1], values[1])
    assert done.status == 2
    assert f"{option.opts[-1]} is given twice: {values[0]}, {values[1]}; leave one out" in done.err
    assert done.err.count("\n") == 1


def test_the_same_value_twice_is_one_value(toy: Workshop) -> None:
    toy.run(output="a.jsonl")
    once = toy.call("rate", "a.jsonl", "--confidence", "0.9", "--format", "json")
    assert toy.call("rate", "a.jsonl", "--confidence", "0.9", "--confidence", "0.90", "--format", "JSON",
                    "--format", "json") == once  # fmt: skip


def test_a_list_says_how_to_give_several(toy: Workshop) -> None:
    toy.run(output="a.jsonl")
    done = toy.call("rate", "a.jsonl", "--statistic", "tpr", "--statistic", "tnr")
    assert "--statistic is given twice: tpr, tnr; leave one out, or put commas between them" in done.err


MISTAKES = {
    "a parameter": ["run", "toy", "--param", "threshold=1", "--param", "threshold=2"],
    "the classic spelling": ["-param", "threshold=1 threshold=2", "toy"],
    "a mode": ["-mode", "run", "-mode", "roc", "toy"],
    "a name in a picture": ["rate", "a.jsonl", "--by", "positive", "--plot", "x.svg", "--label", "true=A", "--label",
                            "true=B"],
}  # fmt: skip


@pytest.mark.parametrize("what", MISTAKES)
def test_what_is_named_in_a_value_is_not_given_twice_either(what: str, toy: Workshop) -> None:
    toy.run(output="a.jsonl")
    done = toy.call(*MISTAKES[what])
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "given twice" in done.err
    assert not (toy.folder / "x.svg").exists()
