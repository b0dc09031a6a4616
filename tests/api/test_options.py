"""Options are declared once: a set is checked from Python as from the command line, and makes a command's options."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from harness.cli.options import command_options
from harness.errors import UsageError
from harness.options import (
    AxisLimits,
    DesignOptions,
    DownloadOptions,
    ExecutionOptions,
    OptionSet,
    Range,
    ReplicationOptions,
    SeedOptions,
    byte_count,
    declared_options,
    option,
)
from harness.options.pictures import limit_words


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class PaintOptions(SeedOptions):
    colour: Colour = option("--colour", "Which paint.", default=Colour.RED)
    coats: int = option("-c, --coats N", "How many.", default=2, within=Range(1, 9))
    walls: tuple[str, ...] = option("--wall NAME", "A wall; may be repeated.", default=())
    rooms: tuple[str, ...] | None = option("--rooms", "Rooms.", default=None, separator=",")
    share: float | None = option("--share", "A part.", default=None, within=Range(0, 1, high_open=True))
    bill: Path | None = option("--bill", "Where the bill goes.", default=None)
    wet: bool = option("--wet", "Do not wait.", default=False)
    painter: str = option(help="Only from Python.", default="me")
    method: str = option("--method", "By what.", default="brush", choices=("brush", "roller"))
    strokes: int = option("--strokes N", "How many.", default=5, needs=("method",))
    span: AxisLimits | None = option(
        "--span LOW,HIGH", "From where to where.", default=None, parse=AxisLimits.parse, from_python=limit_words
    )


def called(*args: str, kind: type[OptionSet] = PaintOptions) -> Any:
    seen = []

    @click.command()
    @click.argument("house")
    @command_options(kind)
    def paint(house: str, options: OptionSet) -> None:
        seen.append((house, options))

    found = CliRunner().invoke(paint, ["villa", *args])
    return seen[0][1] if seen else found.output


def test_a_command_gets_one_typed_object() -> None:
    args = ("--colour", "blue", "-c", "3", "--wall", "a,b", "--wall", "c", "--rooms", "hall, attic", "--bill", "b.txt")
    options = called(*args, "--share", "0.5", "--wet", "--seed", "7")
    assert options == PaintOptions(
        colour=Colour.BLUE, coats=3, walls=("a,b", "c"), rooms=("hall", "attic"), bill=Path("b.txt"), share=0.5,
        wet=True, seed=7,
    )  # fmt: skip
    assert isinstance(options.colour, Colour)


def test_defaults_are_those_of_the_set() -> None:
    assert called() == PaintOptions()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--coats", "0"], "0 is not in the range 1<=x<=9"),
        (["--share", "nan"], "'nan' is not a number"),
        (["--share", "1"], "1.0 is not in the range 0<=x<1"),
        (["--colour", "green"], "'green' is not one of 'red', 'blue'"),
    ],
)
def test_the_command_line_refuses_what_the_set_does(args: Sequence[str], words: str) -> None:
    assert words in called(*args)


def test_help_shows_what_was_declared_and_not_what_is_for_python() -> None:
    text = called("--help")
    assert all(word in text for word in ("[red|blue]", "default: red", "Which paint.", "1<=x<=9", "--seed", "may be"))
    assert "painter" not in text
    assert text.index("--colour") < text.index("--seed")  # a set's own come before those it inherits


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"coats": 0}, "coats=0: not in the range 1<=x<=9"),
        ({"coats": 2.5}, "coats=2.5: not a whole number"),
        ({"coats": True}, "coats=True: not a number"),
        ({"share": float("nan")}, "share=nan: not in the range 0<=x<1"),
        ({"colour": "green"}, "colour='green': not one of red, blue"),
        ({"wet": "yes"}, "wet='yes': not true or false"),
        ({"painter": ["a"]}, r"painter=\['a'\]: not a str"),
        ({"coats": "x"}, "coats='x': not a whole number"),
        ({"share": "x"}, "share='x': not a number"),
        ({"coats": None}, "coats=None: leave it out for its default"),
        ({"span": 5}, "span=5: write LOW,HIGH"),
        ({"span": (0,)}, r"span=\(0,\): not LOW,HIGH"),
        ({"span": "wide"}, "span='wide': not LOW,HIGH"),
    ],
)
def test_mistakes_from_python_are_named(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        PaintOptions(**settings)


def test_values_from_python_become_what_is_declared() -> None:
    options = PaintOptions(colour="blue", rooms="hall,attic", walls="a,b", bill="b.txt", share=0)  # type: ignore[arg-type]
    assert (options.colour, options.rooms, options.walls) == (Colour.BLUE, ("hall", "attic"), ("a,b",))
    assert options.bill == Path("b.txt")
    assert isinstance(options.share, float)
    assert PaintOptions(rooms=["hall"]).rooms == ("hall",)  # type: ignore[arg-type]
    assert PaintOptions(span=(1, None)).span == AxisLimits(1.0, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("empty", [[], ()])
def test_an_empty_list_is_as_if_nothing_was_given(empty: Any) -> None:
    assert PaintOptions(rooms=empty, walls=empty) == PaintOptions()


def test_an_option_that_needs_another_method_says_so() -> None:
    with pytest.raises(UsageError, match=r"--strokes does nothing without another --method than brush; add it, or"):
        PaintOptions(strokes=3).check_needs()
    PaintOptions(strokes=3, method="roller").check_needs()


def test_an_unknown_option_is_a_type_error_with_the_nearest_name() -> None:
    with pytest.raises(TypeError, match=r"no option 'coat'.*coats"):
        PaintOptions.of({"coat": 1})


def test_a_set_says_what_differs_from_the_defaults() -> None:
    assert repr(PaintOptions(coats=3)) == "PaintOptions(coats=3)"


def test_a_field_declared_again_replaces_the_inherited_one() -> None:
    class Gloss(PaintOptions):
        coats: int = option("--coats", "Many.", default=5, within=Range(5))

    assert Gloss().coats == 5
    with pytest.raises(UsageError):
        Gloss(coats=2)


def test_a_required_option_has_no_default() -> None:
    class Must(OptionSet):
        name: str = option("--name", "Whose.")

    assert "Missing option '--name'" in called(kind=Must)
    assert called("--name", "x", kind=Must).name == "x"


def test_every_shared_option_has_a_help() -> None:
    for kind in (DesignOptions, ReplicationOptions, DownloadOptions, ExecutionOptions):
        assert all(declared.spec.help for declared in declared_options(kind))


@pytest.mark.parametrize(("text", "size"), [("1000", 1000), ("2G", 2 << 30), ("500 MiB", 500 << 20), ("1kB", 1024)])
def test_sizes(text: str, size: int) -> None:
    assert byte_count(text) == size
    assert called("--http-limit", text, kind=DownloadOptions).http_limit == size


@pytest.mark.parametrize("text", ["", "G", "0", "-1", "1.5G", "²", "9" * 16, "1X"])
def test_what_is_not_a_size(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        byte_count(text)


def test_a_set_takes_what_another_has_too() -> None:
    class Brush(SeedOptions):
        coats: int = option("--coats", "How many.", default=1)
        width: int = option("--width", "How wide.", default=7)

    brush = Brush.taken_from(PaintOptions(seed=3, coats=4, walls=("north",)))
    assert (brush.seed, brush.coats, brush.width) == (3, 4, 7)
