"""A transcript gives the same answers in every form: what it is stored as, where it is, how its lines are written.

Every command that takes transcripts is asked the same about the plain files of a run and about the same run in another
form. What it prints, writes and says, or its refusal, is the same; JSON is compared as data.
"""

import gzip
import hashlib
import io
import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import pytest

from harness.cli.commands import commands_here, hate
from harness.transcript import kept_columns
from tests.products.conftest import AllRuns
from tests.products.subjects import SUBJECTS, Record, Runs
from tests.rooms import of_commands_here
from tests.site.published_site import served
from tests.site.run_files import write_run
from tests.workshop import Workshop

JSON = ("--format", "json")
# What each command is asked, after the names of so many runs; OUT is where it writes.
QUESTIONS: dict[str, tuple[int, tuple[tuple[str, ...], ...]]] = {
    "status": (1, (JSON,)),
    "roc": (2, (("--points", "5", *JSON),)),
    "det": (2, (("--points", "5", *JSON),)),
    "pr": (2, (("--points", "5", *JSON),)),
    "froc": (2, (("--points", "5", *JSON),)),
    "cmc": (2, (JSON,)),
    "methods": (2, (JSON,)),
    "confusion": (2, (JSON,)),
    "show": (1, (JSON, ("--sort", "-seconds", "--where", "group=g1", *JSON))),
    "diff": (2, (JSON, ("--answers", *JSON))),
    "rate": (2, (JSON, ("--by", "group", "--statistic", "blur,cost", *JSON))),
    "compare": (2, (JSON, ("--by", "group", "--weights", "weight", "--statistic", "cost", *JSON))),
    "report": (2, (("-o", "OUT.html"),)),
    "fuse": (2, (("-o", "OUT.jsonl", *JSON), ("--rule", "mean", "-o", "OUT.jsonl", *JSON))),
    "power": (2, (JSON,)),
    "urn": (1, (("--group", "stratum", "--trial", "group", "--permutations", "50", *JSON),)),
    "anova": (2, (("--by", "group", *JSON),)),
    "convert": (1, (("OUT.jsonl",), ("OUT.jsonl.gz",))),
    "check": (1, ((),)),
}
QUESTIONS = of_commands_here(QUESTIONS)
# Commands that take transcripts and are not asked.
NOT_ASKED = {
    "test": "its --baseline is compared with a run that it makes itself",
    "submit": "it hands in the bytes as they are; the form `published` reads such bytes again",
    "zoo": "no subject compares eight people; it reads what `roc` reads",
}
NOT_ASKED = of_commands_here(NOT_ASKED)
# Commands that take files and nothing else, and say so.
FILES_ONLY = {
    "status": "a run that is under way is on this machine",
    "check": "it looks at files and folders of every kind before they are published",
}
# What may differ in an answer, and is replaced before answers are compared.
MAY_DIFFER = {
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ": "when a page or a transcript was made",
    r"\b[0-9a-f]{64}\b": "other bytes have another digest; pages and fused transcripts name it",
    r"[\d,]+ bytes": "and another length",
}
# What a report does not say of a run that was piped: commands that name it.
NOT_OF_A_PIPE = (r"<p><code>hate diff RUN-0[^<]*</code> looks into all cases\.</p>", r"\nhate report RUN-0[^<]*")


class Place:
    """Where the runs of a subject are: their plain files, a folder with their other forms, and its web server."""

    def __init__(self, shop: Workshop, patch: pytest.MonkeyPatch, runs: Runs, folder: Path, url: str) -> None:
        self.shop = shop
        self.patch = patch
        self.runs = runs
        self.folder = folder
        self.url = url

    @property
    def plain(self) -> list[str]:
        return list(map(str, self.runs.paths))

    def made(self, form: str, ending: str, make: Callable[[Path, Path], object]) -> list[Path]:
        """Files with the stems of the plain ones; they are made once."""
        folder = self.folder / form
        targets = [folder / f"{path.stem}{ending}" for path in self.runs.paths]
        if not folder.exists():
            folder.mkdir(parents=True)
            for path, target in zip(self.runs.paths, targets, strict=True):
                make(path, target)
        return targets

    def stored(self, ending: str) -> list[str]:
        return list(map(str, self.made(ending.lstrip("."), ending, self._convert)))

    def _convert(self, source: Path, target: Path) -> None:
        done = self.shop.call("convert", source, target)
        assert done.status == 0, done.err

    def at_url(self, ending: str) -> list[str]:
        return [f"{self.url}{Path(path).relative_to(self.folder).as_posix()}" for path in self.stored(ending)]

    def lines(self, form: str, line: Callable[[Record], str], newline: str = "\n") -> list[str]:
        """The same rows in other words; the last one has the hash of what comes before it."""

        def make(source: Path, target: Path) -> None:
            *rows, end = map(json.loads, source.read_text(encoding="utf-8").splitlines())
            body = "".join(line(row) + newline for row in rows).encode()
            target.write_bytes(body + (line(end | {"sha256": hashlib.sha256(body).hexdigest()}) + newline).encode())

        return list(map(str, self.made(form, ".jsonl", make)))

    def without_end(self) -> list[str]:
        def make(source: Path, target: Path) -> None:
            target.write_bytes(b"".join(source.read_bytes().splitlines(keepends=True)[:-1]))

        return list(map(str, self.made("partial", ".jsonl", make)))

    def piped(self) -> list[str]:
        """The first comes on standard input."""
        self.patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(self.plain[0]).read_bytes())))
        return ["-", *self.plain[1:]]

    def published(self) -> list[str]:
        site, test = self.folder / "site", self.runs.script
        if not site.exists():
            done = self.shop.call("publish", test.parent, *self.stored(".parquet"), "--to", site)
            assert done.status == 0, done.err
        self.patch.setenv("HATE_SITES", f"{self.url}site")
        return [f"{self.runs.subject.name}/{Path(path).stem}" for path in self.plain]

    def kept(self, *, warm: bool) -> list[str]:
        """Read for the first time, with columns kept of transcripts of any size, or once more."""
        cache = self.folder / ("warm" if warm else "cold")
        self.patch.setenv("XDG_CACHE_HOME", str(cache))
        self.patch.setattr(kept_columns, "MIN_CASES", 1)
        if not warm:
            shutil.rmtree(cache, ignore_errors=True)
        elif not cache.exists():
            for command in ("compare", "rate"):  # a part of the columns, and all
                self.shop.call(command, *self.plain, *JSON)
            assert len(list(cache.rglob("*-full"))) == len(self.plain)
        return self.plain


def _turned(value: Any) -> Any:
    """Keys in the opposite order. Those that an author chose stay in theirs: tables have it."""
    if isinstance(value, dict):
        own = ("columns", "values", "params", "defaults")
        return {key: value[key] if key in own else _turned(value[key]) for key in reversed(value)}
    return [_turned(one) for one in value] if isinstance(value, list) else value


# How runs are named in every form.
FORMS: dict[str, Callable[[Place], Sequence[str]]] = {
    "gz": lambda place: place.stored(".jsonl.gz"),
    "parquet": lambda place: place.stored(".parquet"),
    "mixed": lambda place: [place.plain[0], *place.stored(".parquet")[1:]],
    "url": lambda place: place.at_url(".jsonl"),
    "url of gz": lambda place: place.at_url(".jsonl.gz"),
    "url of parquet": lambda place: place.at_url(".parquet"),
    "keys": lambda place: place.lines("keys", lambda row: json.dumps(_turned(row))),
    "blanks": lambda place: place.lines("blanks", lambda row: f" {json.dumps(row, separators=(' ,  ', ' :  '))}  "),
    "compact": lambda place: place.lines("compact", lambda row: json.dumps(row, separators=(",", ":"))),
    "crlf": lambda place: place.lines("crlf", json.dumps, "\r\n"),
    "empty lines": lambda place: place.lines("empty-lines", json.dumps, "\n\n"),
    "stdin": Place.piped,
    "published": Place.published,
    "kept, cold": lambda place: place.kept(warm=False),
    "kept, warm": lambda place: place.kept(warm=True),
}
# Commands that look at a run as it is, finished or not, and say which.
LOOK_AT_ANY = {"status", "show", "diff", "check"}
NOT_FILES = {"url", "url of gz", "url of parquet", "stdin", "published"}


@pytest.fixture(scope="session")
def forms_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A folder, and the address of the web server that serves it."""
    folder = tmp_path_factory.mktemp("forms")
    with served(folder) as server:
        yield folder, server.url("/")


def ask(place: Place, command: str, words: Sequence[str], runs: Sequence[str]) -> tuple[int, list[Any]]:
    """Status, and all that a command printed or wrote, as data where it is JSON, without the names of the runs."""
    out = place.shop.folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    done = place.shop.call(command, *runs, *(word.replace("OUT", "out/out") for word in words))
    texts = [done.out, done.err, *(_content(path) for path in sorted(out.iterdir()))]
    site = f"{place.url}site: "  # a published one is called by its site too
    for number, run in enumerate(runs):
        name = "standard input" if run == "-" else run
        names = [
            site + name,
            shlex.quote(name).replace("'", "&#x27;"),
            name,
            *([Path(name).name] if "." in name else []),
        ]
        for known in names:
            texts = [text.replace(known, f"RUN-{number}") for text in texts]
    for pattern in MAY_DIFFER:
        texts = [re.sub(pattern, "(may differ)", text) for text in texts]
    return done.status, list(map(_parsed, texts))


def without_commands(answer: tuple[int, list[Any]]) -> tuple[int, list[Any]]:
    """A report of files as it is if the first of them was piped."""
    status, [out, err, *pages] = answer
    for pattern in NOT_OF_A_PIPE:
        assert all(re.search(pattern, "\n".join(page)) for page in pages)
        pages = [re.sub(pattern, "", "\n".join(page)).splitlines() for page in pages]
    return status, [out, err, *([line for line in page if line] for page in pages)]


def _content(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def _parsed(text: str) -> Any:
    """JSON, JSON lines, or the lines of a text."""
    try:
        return json.loads(text)
    except ValueError:
        lines = [line for line in text.splitlines() if line]
    return list(map(json.loads, lines)) if text.lstrip().startswith("{") else lines


def differences(one: Any, other: Any, at: str = "") -> Iterator[str]:
    """Where two answers differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            yield from differences(one.get(key), other.get(key), f"{at}/{key}")
    elif isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differences(left, right, f"{at}/{number}")
    elif one != other:
        yield f"{at}: {one!r:.300} is not {other!r:.300}"


def command_of(name: str) -> click.Command:
    found = hate.get_command(click.Context(hate), name)
    assert found is not None
    return found


# What was answered for the plain files, by subject and question; they are asked once.
PLAIN_ANSWERS: dict[tuple[str, str, tuple[str, ...]], tuple[int, list[Any]]] = {}


def same(place: Place, form: str, command: str, most: int | None = None) -> bool:
    """Ask about the plain files and about the form; whether any question was answered, or all were refused."""
    count, questions = QUESTIONS[command]
    answered = False
    for words in questions[:most]:
        runs = FORMS[form](place)[:count]
        found = ask(place, command, words, runs)
        if command in FILES_ONLY and form in NOT_FILES:
            assert (found[0], found[1][0]) == (2, []), f"hate {command} takes {form} now: remove it from FILES_ONLY"
            return True
        key = (place.runs.subject.name, command, words)
        if key not in PLAIN_ANSWERS:
            PLAIN_ANSWERS[key] = ask(place, command, words, place.plain[:count])
        plain = PLAIN_ANSWERS[key]
        plain = without_commands(plain) if (form, command) == ("stdin", "report") else plain
        told = [*differences(found, plain)]
        assert not told, "\n".join([f"hate {command} {' '.join(runs)} {' '.join(words)}", *told[:5]])
        answered = answered or found[0] == 0
    return answered


@pytest.fixture
def place_of(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, all_runs: AllRuns, forms_folder: tuple[Path, str]
) -> Callable[[str], Place]:
    folder, url = forms_folder
    return lambda name: Place(shop, monkeypatch, all_runs.of(name), folder / name, f"{url}{name}/")


def test_every_command_that_takes_transcripts_is_asked(shop: Workshop) -> None:
    """What takes them completes their names in a shell; `check` takes files of all kinds, `status` one's own runs."""
    write_run(shop, "toy/zebra.jsonl", "zebra")

    def takers(name: str) -> set[str]:
        return {
            command
            for command in commands_here()
            for param in command_of(command).params
            for item in param.shell_complete(click.Context(command_of(command)), name[:-3])
            if item.value == name
        }

    assert takers("zebra") | {"check"} == QUESTIONS.keys() | NOT_ASKED.keys()
    assert takers("hdigits/wisard") == takers("zebra") - {"status"}


@pytest.mark.sampled(47)
@pytest.mark.parametrize("command", QUESTIONS)
@pytest.mark.parametrize("form", FORMS)
def test_a_form_changes_no_answer(place_of: Callable[[str], Place], form: str, command: str) -> None:
    """On the first subject that the command takes, beginning with another one for every form and command."""
    names = [*SUBJECTS]
    start = [*FORMS].index(form) + [*QUESTIONS].index(command)
    turn = [names[(start + number) % len(names)] for number in range(len(names))]
    turn.sort(key=lambda name: (command, name) == ("report", "boxes"))  # which takes seconds
    assert any(same(place_of(name), form, command, most=1) for name in turn), f"hate {command} answers for no subject"


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("form", FORMS)
def test_a_form_changes_no_answer_of_any_task(place_of: Callable[[str], Place], form: str, name: str) -> None:
    place = place_of(name)
    for command in QUESTIONS:
        if command != "report":  # it takes long, and reads what `rate` reads
            same(place, form, command)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("command", QUESTIONS)
def test_a_run_without_its_last_line_is_refused_or_said(place_of: Callable[[str], Place], command: str) -> None:
    """With `--partial`, where there is such an option, the answer is that for the whole run: no case is missing."""
    count, ((*words,), *_) = QUESTIONS[command]
    for name in SUBJECTS:
        place = place_of(name)
        plain = ask(place, command, words, place.plain[:count])
        if plain[0] == 0:
            break
    partial = place.without_end()[:count]
    status, told = ask(place, command, words, partial)
    assert re.search(r"incomplete|stopped", str(told), re.IGNORECASE), told
    can = any("--partial" in param.opts for param in command_of(command).params)
    assert status == (0 if command in LOOK_AT_ANY else 2)
    if can:
        assert ask(place, command, [*words, "--partial"], partial)[1][0] == plain[1][0]
