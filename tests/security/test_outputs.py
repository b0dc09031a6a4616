"""What commands write: never over what they read, over other files only with --force, and whole or not at all.

The options come from the commands themselves, so that a new one is tested, or missed, by itself.
"""

import os
import resource
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest

import harness
from harness.bundled import bundled
from harness.cli.commands import commands_here, hate
from harness.errors import OutputError
from harness.files.outputs import replacing, write_output
from harness.options import DeclaredOption, OptionSet, Writes, declared_options
from tests.rooms import of_commands_here
from tests.workshop import Workshop

THRESHOLD = '[params.threshold]\ntype = "float"\ndefault = 3.0\ndecision = true\n'
MINE = b"mine, and not to be lost\n"
SCORER = "NAME = 'scorer'\ndef answer(case, params):\n    return float(case.input[1:])\n"
# Options of paths that write nothing, or have rules of their own: a key is never overwritten, a site is only added to.
READS = {
    ("import", "--truth"), ("import", "--key"), ("test", "--known-failures"), ("cmc", "--labels"),
    ("permute", "--labels"), ("galleries", "--labels"), ("methods", "--labels"), ("urn", "--labels"),
    ("publish", "--key"), ("publish", "--root-key"),
    ("serve", "--tokens"), ("serve", "--key"), ("serve", "--private"), ("submit", "--token-file"),
    *((f"token {word}", "--tokens") for word in ("add", "list", "quota", "remove")),
}  # fmt: skip
OWN_RULES = {("publish", "--new-key"), ("publish", "--private"), ("fetch", "--interfaces"), ("sweep", "-o")}

TWO = ("t0.jsonl", "t1.jsonl")
# By its name, t0.
STORED = "transcripts/toy/t0.jsonl"
TEST = ("toy/cases.csv", "toy/toy.hate.toml", "interface.py", "toy/images/1.txt")
# What a command is called with, and what it reads then.
CALLS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "run": (("toy",), TEST),
    "test": (("toy", "--baseline", "t0", "--known-failures", "known.txt"), (*TEST, STORED, "known.txt")),
    "sweep": (("toy", "--param", "threshold=0,1"), TEST),
    "tune": (("toy", "--param", "threshold=0,1", "--on-test"), TEST),
    "roc": (TWO, TWO),
    "det": (TWO, TWO),
    "pr": (TWO, TWO),
    "froc": (("blobs.jsonl",), ("blobs.jsonl",)),
    "cmc": (("a.npy",), ("a.npy", "a.labels.csv")),
    "confusion": (("wisard.jsonl",), ("wisard.jsonl",)),
    "rate": ((*TWO, "--by", "light", "--at", "eer", "--development", "s.jsonl"), (*TWO, "s.jsonl")),
    "compare": ((*TWO, "--by", "light"), TWO),
    "report": (("t0",), (STORED,)),
    "fuse": ((*TWO,), TWO),
    "power": (("t0.jsonl", "t1.jsonl"), TWO),
    "permute": (("a.npy", "--experiments", "20"), ("a.npy", "a.labels.csv")),
    "galleries": (("a.npy", "--by", "image"), ("a.npy", "a.labels.csv")),
    "methods": (("a.npy", "--stratum", "subject"), ("a.npy", "a.labels.csv")),
    "urn": (("wisard.jsonl", "--group", "truth", "--resample", "groups", "--groups", "2"), ("wisard.jsonl",)),
    "import": (("table.csv", "--test", "toy", "--algorithm", "mine"), ("table.csv",)),
    "anova": (("t0.jsonl", "--by", "light"), ("t0.jsonl",)),
    "zoo": (("wisard.jsonl", "--subjects", "expect,truth"), ("wisard.jsonl",)),
}  # fmt: skip
CALLS = of_commands_here(CALLS)
# A transcript is written by these if a test is run first.
RUNS_FIRST = {
    "roc": "toy",
    "det": "toy",
    "pr": "toy",
    "rate": "toy",
    "froc": "shapes",
    "cmc": "faces",
    "methods": "faces",
    "confusion": "toy",
    "urn": "toy",
    "anova": "toy",
    "zoo": "toy",
}
# What they cannot do without then.
WANTS = {"urn": ("--group", "light"), "anova": ("--by", "light"), "zoo": ("--subjects", "light,light")}


@dataclass(frozen=True)
class Output:
    """An option of a command that writes."""

    command: str
    flag: str
    writes: Writes

    def __str__(self) -> str:
        return f"{self.command} {self.flag}"


def all_commands() -> Iterator[tuple[str, click.Command]]:
    for name in commands_here():
        command = hate.get_command(click.Context(hate), name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", command.commands[inner]) for inner in command.commands)


def path_options() -> Iterator[tuple[str, DeclaredOption, type[OptionSet]]]:
    for name, command in all_commands():
        kind: type[OptionSet] | None = getattr(command.callback, "option_set", None)
        if kind is None:
            continue
        for option in declared_options(kind):
            if option.spec.flags and (option.type is Path or option.spec.writes is not None):
                yield name, option, kind


def outputs() -> list[Output]:
    """All of them, except those with rules of their own."""
    flags = [(name, option.spec.flags[0], option.spec.writes) for name, option, _ in path_options()]
    return [Output(name, flag, writes) for name, flag, writes in flags if writes and (name, flag) not in OWN_RULES]


def test_every_option_of_a_path_is_known() -> None:
    for name, option, kind in path_options():
        flag = (name, option.spec.flags[0])
        assert (option.spec.writes is not None) or flag in READS | OWN_RULES, f"{flag}: reads, or writes?"
        if option.spec.writes is not None and flag != ("fetch", "--interfaces"):
            assert "force" in {other.name for other in declared_options(kind)}, f"{flag} without --force"
    assert {output.command for output in outputs()} == set(CALLS)


@pytest.fixture
def desk(shop: Workshop) -> Workshop:
    """Something to read for every command."""
    shop.interface(SCORER)
    rows = "".join(f"c{n},x{n % 7},{'true' if n % 3 else 'false'},{'dim' if n % 2 else 'bright'}\n" for n in range(24))
    shop.script(
        task="score", rows=f"id,input,positive,light\n{rows}", sections=f'{THRESHOLD}[data.images]\npath = "images"',
        keys="",
    )  # fmt: skip
    shop.write("toy/images/1.txt", b"an image\n")
    shop.write("known.txt", "c0\n")
    for name in ("t0", "t1", "s"):
        shop.run(output=f"{name}.jsonl")
    shop.run(output="transcripts/toy/t0.jsonl")
    for source, name in (("shapes/blobs", "blobs"), ("hdigits/wisard", "wisard")):
        shop.write(f"{name}.jsonl", (bundled("transcripts") / f"{source}.jsonl").read_bytes())
    assert shop.call("new", "matrix", "a.npy", "--subjects", "6", "--images", "2").status == 0
    shop.write("table.csv", "id,y_true,y_pred\n1,a,a\n2,b,a\n")
    return shop


def words_of(output: Output) -> tuple[str, ...]:
    if output.writes is Writes.TRANSCRIPT and output.command in RUNS_FIRST:
        return output.command, RUNS_FIRST[output.command], *WANTS.get(output.command, ())
    return output.command, *CALLS[output.command][0]


def name_of(output: Output) -> str:
    """A name that the option takes."""
    if output.flag in ("--plot", "--scores"):
        return "there.svg"
    return "there.html" if output.command == "report" else "there.jsonl"


def refused(shop: Workshop, *words: Any) -> str:
    done = shop.call(*words)
    assert done.status == 2, (words, done.out)
    assert done.err.count("\n") <= 3, done.err
    return done.err


@pytest.mark.sampled(4)
@pytest.mark.parametrize("output", outputs(), ids=str)
def test_nothing_is_overwritten_without_force(output: Output, desk: Workshop) -> None:
    there = desk.write(name_of(output), MINE)
    assert "there." in (said := refused(desk, *words_of(output), output.flag, name_of(output)))
    assert "--force overwrites it" in said
    assert there.read_bytes() == MINE


@pytest.mark.sampled(9)
@pytest.mark.parametrize("output", outputs(), ids=str)
def test_no_input_is_overwritten_even_with_force(output: Output, desk: Workshop) -> None:
    read = [*CALLS[output.command][1]]
    words = (output.command, *CALLS[output.command][0])
    if output.writes is Writes.TRANSCRIPT and RUNS_FIRST.get(output.command) == "toy":
        words, read = (output.command, "toy", "t0.jsonl", *WANTS.get(output.command, ())), [*TEST, "t0.jsonl"]
    elif output.writes is Writes.TRANSCRIPT and output.command in RUNS_FIRST:
        pytest.skip("the test that is run first ships with the package")
    # Names that the option takes, and that any option may be given.
    ending = Path(name_of(output)).suffix
    for name in read:
        source = desk.folder / name
        before = source.read_bytes()
        soft, hard = desk.folder / f"soft{ending}", desk.folder / f"hard{ending}"
        soft.symlink_to(source)
        os.link(source, hard)
        for path in (soft, hard, f"./toy/../{soft.name}"):
            assert "this command reads that file" in refused(desk, *words, output.flag, path, "--force"), path
            assert source.read_bytes() == before, path
        for path in (name, f"./toy/../{name}", source):
            refused(desk, *words, output.flag, path, "--force")
            assert source.read_bytes() == before, path
        soft.unlink()
        hard.unlink()


QUICK = [
    output
    for output in outputs()
    if output.command in ("roc", "report", "test", "compare", "sweep", "power", "fuse", "import")
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("output", [output for output in QUICK if output.writes is Writes.FILE], ids=str)
def test_force_overwrites_and_keeps_links_and_permissions(output: Output, desk: Workshop) -> None:
    words = [word for word in words_of(output) if word not in ("--baseline", "t0") or output.command != "test"]
    name = name_of(output)
    there = desk.write(f"elsewhere/{name}", MINE)
    there.chmod(0o640)
    (desk.folder / name).symlink_to(there)
    done = desk.call(*words, output.flag, name, "--force")
    assert done.status in (0, 1), done.err
    assert (desk.folder / name).is_symlink()
    assert there.read_bytes() != MINE
    assert there.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in desk.folder.rglob("*.part")] == []


def test_two_outputs_are_two_files(desk: Workshop) -> None:
    said = refused(desk, "roc", *TWO, "--plot", "a.svg", "--scores", "./a.svg")
    assert "--plot writes this file too" in said or "--scores writes this file too" in said
    assert not (desk.folder / "a.svg").exists()


def test_a_transcript_that_was_just_made_is_read(desk: Workshop) -> None:
    assert desk.call("roc", "toy", "t0.jsonl", "-o", "new.jsonl").status == 0
    assert desk.call("roc", "toy", "t0.jsonl", "-o", "new.jsonl", "--force").status == 0


def test_force_for_a_picture_replaces_no_run(desk: Workshop) -> None:
    first = desk.folder / "transcripts/toy/scorer.jsonl"
    assert desk.call("roc", "toy", "--plot", "a.svg").status == 0
    before = first.read_bytes()
    assert desk.call("roc", "toy", "--plot", "a.svg", "--force").status == 0
    assert first.read_bytes() == before


def test_a_sweep_spares_what_it_reads(shop: Workshop) -> None:
    shop.interface("NAME = 'cases'\n" + SCORER.partition("\n")[2])
    shop.script(task="score", sections=THRESHOLD)
    table = shop.write(
        "toy/cases.jsonl", '{"id":"1","input":"x1","positive":true}\n{"id":"2","input":"x2","positive":false}\n'
    )
    script = shop.folder / "toy/toy.hate.toml"
    script.write_text(script.read_text().replace("cases.csv", "cases.jsonl"))
    before = table.read_bytes()
    said = refused(shop, "sweep", "toy", "--param", "threshold=0,1", "-o", "toy", "--force")
    assert "this command reads that file" in said
    assert table.read_bytes() == before


def test_converting_onto_itself(desk: Workshop) -> None:
    before = (desk.folder / "t0.jsonl").read_bytes()
    (desk.folder / "t2.jsonl").symlink_to("t0.jsonl")
    assert "reads that file" in refused(desk, "convert", "t0.jsonl", "t2.jsonl", "--force")
    assert "--force" in refused(desk, "convert", "t0.jsonl", "t1.jsonl")
    assert (desk.folder / "t0.jsonl").read_bytes() == before


def test_a_matrix_replaces_nothing(desk: Workshop) -> None:
    labels = desk.write("b.labels.csv", MINE)
    assert "--force" in refused(desk, "new", "matrix", "b.npy", "--subjects", "6", "--images", "2")
    assert labels.read_bytes() == MINE
    assert not (desk.folder / "b.npy").exists()
    assert desk.call("new", "matrix", "b.npy", "--subjects", "6", "--images", "2", "--force").status == 0
    assert labels.read_bytes() == (desk.folder / "a.labels.csv").read_bytes()


@pytest.mark.slow
def test_pipes_are_written_without_force(desk: Workshop) -> None:
    done = desk.hate("roc", *TWO, "--gnuplot", "/dev/stdout")
    assert done.status == 0, done.err
    assert "plot" in done.out
    assert desk.hate("test", "toy", "--junit", "/dev/null").status in (0, 1)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("force", [(), ("--force",)], ids=["", "force"])
@pytest.mark.parametrize("name", ["pipe", "pipe.jsonl.gz", "link"])
@pytest.mark.parametrize(
    "words",
    [
        ("convert", "t0.jsonl"),
        ("run", "toy", "-o"),
        ("fuse", *TWO, "-o"),
        ("import", "table.csv", "--test", "toy", "--algorithm", "mine", "-o"),
    ],
    ids=lambda words: words[0],
)
def test_a_transcript_does_not_take_the_place_of_a_pipe_or_a_device(
    desk: Workshop, words: tuple[str, ...], name: str, force: tuple[str, ...]
) -> None:
    os.mkfifo(desk.folder / ("pipe" if name == "link" else name))
    if name == "link":
        (desk.folder / "link").symlink_to("pipe")
    refused(desk, *words, name, *force)
    assert all(path.is_fifo() for path in desk.folder.glob("*pipe*"))
    assert (desk.folder / name).is_fifo()


def small_files() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "words", [("roc", *TWO, "--gnuplot"), ("report", "t0.jsonl", "-o")], ids=lambda words: words[0]
)
def test_a_full_disk_loses_nothing(desk: Workshop, words: tuple[str, ...]) -> None:
    there = desk.write("there.html", MINE)
    # Python would store compiled modules, cut short.
    desk.env["PYTHONDONTWRITEBYTECODE"] = "1"
    done = desk.hate(*words, "there.html", "--force", preexec_fn=small_files)
    assert (done.status, "File too large" in done.err) == (2, True), done.err
    assert there.read_bytes() == MINE
    assert list(desk.folder.glob(".hate-*")) == []


def test_a_kill_loses_nothing(tmp_path: Path) -> None:
    there = tmp_path / "there.txt"
    there.write_bytes(MINE)
    child = os.fork()
    if not child:
        with replacing(there, force=True, what="it") as part:
            part.write_bytes(b"half")
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert there.read_bytes() == MINE


def test_whoever_was_quicker_keeps_the_file(tmp_path: Path) -> None:
    there = tmp_path / "there.txt"
    late = replacing(there, force=False, what="it")
    late.__enter__().write_bytes(b"late")
    there.write_bytes(MINE)
    with pytest.raises(OutputError, match="--force"):
        late.__exit__(None, None, None)
    assert there.read_bytes() == MINE
    assert sorted(tmp_path.iterdir()) == [there]


@pytest.mark.slow
def test_the_same_from_python(desk: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk.folder)
    there = desk.write("there.svg", MINE)
    curve = harness.roc(list(TWO))
    for draw in (curve.plot, curve.plot_scores):
        with pytest.raises(OutputError, match="exists"):
            draw("there.svg")
        assert there.read_bytes() == MINE
        draw("there.svg", force=True)
        assert there.read_bytes() != MINE
        there.write_bytes(MINE)
    page = harness.make_report("t0.jsonl")
    page.write("page.html")
    with pytest.raises(OutputError, match="exists"):
        page.write("page.html")
    page.write("page.html", force=True)
    with pytest.raises(OutputError, match="reads that file"):
        harness.fuse(TWO, output="t0.jsonl", force=True)
    with pytest.raises(OutputError, match="reads that file"):
        harness.run("toy", output="toy/cases.csv", force=True)
    with pytest.raises(OutputError, match="exists"):
        harness.sweep("toy", params={"threshold": [0, 1]}, plot="there.svg")


def test_a_read_only_file_stays(tmp_path: Path) -> None:
    there = tmp_path / "there.txt"
    there.write_bytes(MINE)
    there.chmod(0o444)
    if os.access(there, os.W_OK):
        pytest.skip("this user may write everything")
    with pytest.raises(OutputError, match="Permission denied"):
        write_output(there, b"new", force=True, what="it")
    assert there.read_bytes() == MINE
