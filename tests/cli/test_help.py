"""What people read at a terminal: help that fits and shows how, remarks that wrap between words."""

import os
import pty
import struct
import subprocess
import termios
from collections.abc import Iterator
from fcntl import ioctl

import click
import pytest

from harness.cli.commands import commands_here, hate
from tests.workshop import Workshop, command


def commands() -> Iterator[tuple[str, ...]]:
    """Every command, and every command of a group of them."""
    yield ()
    for name in commands_here():
        found = hate.get_command(click.Context(hate), name)
        assert found is not None
        yield (name,)
        if isinstance(found, click.Group):
            yield from ((name, inner) for inner in found.list_commands(click.Context(found)))


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_help_fits_80_columns_and_has_an_example(
    words: tuple[str, ...], shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = shop.call(*words, "--help")
    assert done.status == 0
    lines = done.out.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert [line for line in lines[1:] if line.endswith("...")] == []
    assert "(4G)" not in done.out
    name = " ".join(("hate", *words))
    assert any(line.startswith(f"  {name}") for line in lines[1:]), f"no example of {name}"


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_examples_name_options_that_exist(words: tuple[str, ...]) -> None:
    found: click.Command = hate
    for word in words:
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), word)
        assert inner is not None
        found = inner
    flags = {flag for param in found.params for flag in (*param.opts, *param.secondary_opts)}
    start = " ".join(("hate", *words))
    for line in (found.help or "").splitlines():
        if line.strip().startswith(f"{start} ") and not isinstance(found, click.Group):
            used = {word.partition("=")[0] for word in line.split() if word.startswith("--")}
            assert used <= flags | {"-h", "--help"}, line


def terminal(shop: Workshop, *words: str, columns: int = 80) -> str:
    """What a command shows in a terminal of so many columns."""
    primary, secondary = pty.openpty()
    ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    env = {name: value for name, value in shop.env.items() if name != "COLUMNS"} | {"TERM": "xterm", "PAGER": "cat"}
    process = subprocess.Popen(
        command(words), cwd=shop.folder, env=env, stdin=secondary, stdout=secondary, stderr=secondary
    )
    os.close(secondary)
    said = b""
    while True:
        try:
            block = os.read(primary, 65536)
        except OSError:
            break
        if not block:
            break
        said += block
    process.wait()
    os.close(primary)
    return said.decode().replace("\r\n", "\n")


@pytest.mark.slow
def test_an_error_wraps_between_words_and_keeps_paths_whole(shop: Workshop) -> None:
    folder = "a-folder-with-a-long-name/" * 4
    said = terminal(shop, "run", "hdigits", "--interface", f"{folder}interface.py")
    assert f"{folder}interface.py" in said.replace("\n ", " ")
    whole = shop.hate("run", "hdigits", "--interface", f"{folder}interface.py").err
    assert len(whole.splitlines()) == 1
    assert said.split() == whole.split()
    assert all(len(line) <= 80 or folder in line for line in said.splitlines())


def test_compare_at_a_terminal_says_the_verdict_first(shop: Workshop) -> None:
    said = terminal(shop, "compare", "hdigits/wisard", "hdigits/witch")
    assert max(map(len, said.splitlines())) <= 80
    places = [said.index(words) for words in ("cannot be told apart", "Ranking", "Differences", "--all shows")]
    assert places == sorted(places)
    assert "Z score" not in said
    everything = terminal(shop, "compare", "hdigits/wisard", "hdigits/witch", "--all")
    assert max(map(len, everything.splitlines())) <= 80
    assert "Z score is" in everything


def test_the_cache_by_itself_is_listed(shop: Workshop) -> None:
    assert shop.call("cache").out == shop.call("cache", "list").out


@pytest.mark.slow
def test_a_path_in_a_description_stays_whole(shop: Workshop) -> None:
    said = terminal(shop, "describe", "hdigits")
    # The folder of the tests has a blank, where a line may be broken; the rest is one word.
    place = shop.call("describe", "hdigits", "--format", "json").json["data"]["images"].rpartition(" ")[2]
    assert len(place) > 77
    assert place in said


def test_both_scores_of_a_difference_are_side_by_side(shop: Workshop) -> None:
    said = terminal(shop, "diff", "hdigits/wisard", "hdigits/witch", "--limit", "3")
    assert any("score_a" in line and "score_b" in line for line in said.splitlines())


def test_a_picture_that_cannot_be_drawn_is_refused_before_a_run(shop: Workshop) -> None:
    done = shop.call("rate", "hdigits", "--interface", "wisard", "--plot", "x.png")
    assert done.status == 2
    assert "--plot draws what --by shows" in done.err
    assert not (shop.folder / "transcripts").exists()


def test_a_picture_of_a_comparison_is_named(shop: Workshop) -> None:
    done = shop.call("compare", "hdigits/wisard", "hdigits/witch", "--by", "truth", "--plot", "groups.svg")
    assert "picture: groups.svg" in done.err
