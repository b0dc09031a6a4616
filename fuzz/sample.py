"""A sample: valid files, the one to damage, and the commands that read it; and the toy test that most are about."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from fuzz import mutations
from fuzz.mutations import Mutation
from harness.cli.main import call


@dataclass(frozen=True)
class Sample:
    """A folder of valid files, the one to damage, and command lines in which `@` stands for it."""

    name: str
    files: Mapping[str, bytes]
    target: str
    mutations: Sequence[Mutation]
    commands: Sequence[str]
    # What may follow some of the commands, by the command's name.
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # Whether the commands must leave all files as they were.
    keeps: bool = True
    # Sites, for commands that look for tests and transcripts there.
    sites: str = ""

    def damaged(self, rng: Random) -> bytes:
        """The target with one or a few mutations."""
        data = self.files[self.target]
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            mutate = rng.choice(self.mutations)
            try:
                data = mutate(data, rng)
            except Exception:  # what was damaged before need not be JSON or a table any more
                data = mutations.bytes_of(data, rng)
        return data

    def command(self, rng: Random) -> list[str]:
        """One of the command lines, with options."""
        words = rng.choice(self.commands).replace("@", self.target).split()
        known = self.options.get(words[0], ())
        chosen = rng.sample(list(known), min(len(known), rng.choice((0, 1, 1, 2))))
        return [*words, *(word for option in chosen for word in option.split())]


SCRIPT = """\
format = 1

[test]
name = "toy"
version = "1.0.0"
synopsis = "a toy"
task = "{task}"
description = \"\"\"Some *text*,
of two lines.\"\"\"
authors = ["A. Author"]
{keys}

[cases]
table = "cases.{suffix}"

[design]
stratum = "kind"
psu = "subject"
cofactors = ["day"]
"""
IMAGES = '\n[data.images]\npath = "{path}"\nunpack = {unpack}\n'
TRAIN = '\n[train]\ntable = "train.csv"\n'
GALLERY = '\n[gallery]\ntable = "gallery.csv"\n'
THRESHOLD = '\n[params.threshold]\ntype = "float"\ndefault = 0.5\ndecision = true\n'
ECHO = b"NAME = 'echo'\n\n\ndef answer(case, params):\n    return case.input\n"
SCORES = b"import zlib\n\n\ndef answer(case, params):\n    return {'score': zlib.crc32(case.id.encode()) % 97 / 97}\n"
# Each identity gets a score: the ranks of the probes differ.
RANKS = (
    b"def enrol(gallery, params):\n    global NAMES\n    NAMES = sorted({image.expect for image in gallery})\n\n\n"
    b"def answer(case, params):\n"
    b"    return {'scores': {name: (len(name) * int(case.id[1:]) % 7) / 7 for name in NAMES}}\n"
)
FORMATS = tuple(f"--format {name}" for name in ("json", "csv", "tex", "md", "plain", "table"))


def rows(count: int = 12) -> list[dict[str, str]]:
    """Cases: every third one is negative."""
    return [
        {"id": f"c{n}", "input": f"x{n % 5}", "expect": f"x{n % 5}" if n % 3 else f"x{(n + 1) % 5}",
         "positive": "true" if n % 3 else "false", "truth": f"x{n % 5}", "kind": f"k{n % 2}",
         "subject": f"s{n % 2}{n % 3}",
         "day": str(n % 4)}
        for n in range(count)
    ]  # fmt: skip


def delimited(mark: str, cases: Sequence[Mapping[str, str]]) -> bytes:
    """A table with a header."""
    return "\n".join([mark.join(cases[0]), *(mark.join(case.values()) for case in cases), ""]).encode()


def gallery() -> bytes:
    """The gallery of the rank test: five people, one image each."""
    return b"id,input,expect\n" + b"".join(f"g{n},y{n},{'x' * n}\n".encode() for n in range(1, 6))


def probes() -> list[dict[str, str]]:
    """Its probes, all of people in the gallery."""
    return [
        row | {"expect": "x" * (n % 5 + 1), "truth": "x" * (n % 5 + 1), "positive": "true"}
        for n, row in enumerate(rows())
    ]


def test_of(task: str) -> dict[str, bytes]:
    """The test that the transcripts of a task are of."""
    more = {"label": "", "score": THRESHOLD, "rank": GALLERY}[task]
    return {
        "test.hate.toml": (SCRIPT.format(task=task, keys="", suffix="csv") + more).encode(),
        "gallery.csv": gallery(),
        "cases.csv": delimited(",", probes() if task == "rank" else rows(24)),
    }


@contextlib.contextmanager
def folder(folder: Path, files: Mapping[str, bytes]) -> Iterator[None]:
    """A folder with these files, which is the working folder for a while."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    with contextlib.chdir(folder):
        yield


def hate(*words: str) -> None:
    """Call the harness, which must succeed."""
    if (status := call(words)) != 0:
        raise RuntimeError(f"a sample could not be made: `hate {' '.join(words)}` ended with {status}")
