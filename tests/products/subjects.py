"""A small test of every task, with the runs of three algorithms: what the features are multiplied with.

All subjects have the same 48 cases in the same design, so that a test of a product names columns and not tasks. Runs
are made by `hate run`, so records are what the task writes. A task that is registered and has no subject fails
`test_every_task_has_a_subject`.
"""

import hashlib
import json
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.cli.main import call

Record = dict[str, Any]

ALGORITHMS = {"ann": 1.2, "bob": 0.6, "cat": 0.9}  # each with its skill
STRATA, UNITS, SIZE = 4, 4, 3  # units of a stratum, cases of a unit
CASES = STRATA * UNITS * SIZE

SCRIPT = """\
format = 1
[test]
name = "{name}"
version = "1.0"
synopsis = "The task {task}, for products"
task = "{task}"
{keys}
[cases]
table = "cases.jsonl"
{sections}
[design]
stratum = "stratum"
psu = "unit"
"""

THRESHOLD = '[params.threshold]\ntype = "float"\ndefault = 0.5\ndecision = true\n'

# Right if luck is above 0: some units suit an algorithm better than others, so cases of a unit are alike.
INTERFACE = """\
import math
import random

NAME = {name!r}
PARAMS = {{"skill": {skill}, "crash": 0}}  # fails on every case whose number is a multiple of `crash`


def luck(case, params):
    unit = random.Random(f"{{NAME}} {{case.columns['unit']}}").gauss(0, 0.7)
    return params["skill"] + unit + random.Random(f"{{NAME}} {{case.id}} {{case.repeat}}").gauss(0, 1)


def chance(number):
    return round(1 / (1 + math.exp(-number)), 6)


def answer(case, params):
    if params["crash"] and int(case.id[1:]) % params["crash"] == 0:
        raise RuntimeError("out of luck")
    good = luck(case, params)
    values = {{"blur": round(abs(good), 6), "cost": round(1 + good * good, 6)}}
    return {{"answer": answered(case, good), "values": values}}


{body}
"""


@dataclass(frozen=True)
class Subject:
    """A test of a task.

    case   the keys of a case beside its design, by its number
    body   `answered(case, good)` of the interface, in Python
    """

    name: str
    task: str
    case: Callable[[int], Record]
    body: str
    keys: str = ""
    sections: str = ""
    files: Mapping[str, Callable[[], str | bytes]] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """The test and its three interfaces, in a folder; the path of the script."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, made in self.files.items():
            text = made()
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)
        lines = [json.dumps({"id": f"c{n:02d}"} | self.case(n) | design(n)) for n in range(CASES)]
        (folder / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        for name, skill in ALGORITHMS.items():
            text = INTERFACE.format(name=name, skill=skill, body=self.body)
            (folder / f"{name}.py").write_text(text, encoding="utf-8")
        script = folder / f"{self.name}.hate.toml"
        text = SCRIPT.format(name=self.name, task=self.task, keys=self.keys, sections=self.sections)
        script.write_text(text, encoding="utf-8")
        return script


@dataclass(frozen=True)
class Runs:
    """A subject's test and runs on disk."""

    subject: Subject
    script: Path
    paths: tuple[Path, ...]

    def interface(self, name: str = "ann") -> Path:
        """The interface of an algorithm."""
        return self.script.parent / f"{name}.py"


def design(number: int) -> dict[str, str]:
    """The columns of a case that say how it was sampled, and others to break results down by.

    Units lie in strata; `group` crosses both; `lone` is a stratum column with a single unit in one of its strata;
    `half` and `quarter` are two strata with two units each; the units of `uneven` have 1, 3, 5 ... cases.
    """
    unit = number // SIZE
    noise = random.Random(f"noise {number}").uniform(0, 40)
    return {
        "stratum": f"s{unit // UNITS}",
        "unit": f"u{unit:02d}",
        "group": f"g{number % 3}",
        "lone": "one" if unit == 0 else "many",
        "weight": str(1 + unit % 3),
        "ones": "1",
        "same": "all",
        "half": f"h{number // 24}",
        "quarter": f"q{number // 12}",
        "uneven": f"v{math.isqrt(number)}",
        "noise": f"{noise:.2f}",
        "fold": str(unit % 4),
    }


def make_runs(subject: Subject, folder: Path, *words: str) -> Runs:
    """Run the three algorithms; times and memory are what they would be on a machine that is always the same."""
    script = subject.write(folder)
    paths = []
    for name in ALGORITHMS:
        path = folder / f"{name}.jsonl"
        status = call(["run", str(script), "--interface", str(folder / f"{name}.py"), "-o", str(path), *words])
        if status:
            raise RuntimeError(f"{subject.name}: hate run ended with status {status}")
        rewrite(path, path, record=lambda record, name=name: record | resources(record, name))  # type: ignore[misc]
        paths.append(path)
    return Runs(subject, script, tuple(paths))


def resources(record: Record, name: str) -> Record:
    """Seconds and bytes of an answer, always the same."""
    rng = random.Random(f"{name} {record['id']} {record.get('repeat')}")
    return {"seconds": round(rng.uniform(0.01, 0.05), 6), "memory": rng.randrange(10**6, 10**7)}


def rewrite(
    path: Path,
    to: Path,
    *,
    record: Callable[[Record], Record] = lambda record: record,
    header: Callable[[Record], Record] = lambda header: header,
    order: Callable[[list[Record]], list[Record]] = lambda records: records,
) -> Path:
    """A transcript with other records, which ends as one that the harness wrote."""
    first, *records, end = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    rows = [header(first), *order([record(one) for one in records])]
    body = "".join(json.dumps(row) + "\n" for row in rows)
    counts = dict.fromkeys(("TP", "TN", "FP", "FN"), 0)
    for row in rows[1:]:
        counts[row["outcome"]] += 1
    end |= {"tests": len(rows) - 1, **counts, "sha256": hashlib.sha256(body.encode()).hexdigest()}
    to.write_text(body + json.dumps(end) + "\n", encoding="utf-8")
    return to


def read_records(path: Path) -> list[Record]:
    """The records of a transcript, between its header and its last line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[1:-1]]


def with_columns(columns: Callable[[Record], Record]) -> Callable[[Record], Record]:
    """A change of a record's columns, for `rewrite`."""
    return lambda record: record | {"columns": record["columns"] | columns(record)}


CLASSES = "xyz"


def _claim(number: int) -> Record:
    """The input is the truth; every second claim is false, and is what a program answers that is wrong."""
    truth = CLASSES[number % 3]
    positive = number % 2 == 0
    return {"input": truth, "expect": truth if positive else CLASSES[(number + 1) % 3], "positive": positive}


def _probe(number: int) -> Record:
    """A person of the gallery, or, every fourth time, a stranger."""
    stranger = number % 4 == 3
    person = f"p{number % 5}"
    return {"input": person, "expect": "nobody" if stranger else person, "positive": not stranger}


def _gallery() -> str:
    return "id,input,expect\n" + "".join(f"g{n},face {n},p{n}\n" for n in range(5))


def _pgm(rows: list[list[int]]) -> bytes:
    return b"P5\n%d %d\n255\n" % (len(rows[0]), len(rows)) + bytes(value for row in rows for value in row)


def _truth(number: int, classes: int) -> list[list[int]]:
    """A rectangle on the left and, of another class if there are two, one on the right; every sixth image is empty."""
    if number % 6 == 5:
        return [[0] * 8 for _ in range(6)]
    height = 2 + number % 4
    return [[(1 if x < 3 else classes if x > 4 else 0) if y < height else 0 for x in range(8)] for y in range(6)]


def _images(classes: int) -> dict[str, Callable[[], bytes]]:
    def made(number: int) -> Callable[[], bytes]:
        return lambda: _pgm(_truth(number, classes))

    return {f"images/{number}.pgm": made(number) for number in range(CASES)}


def _masked(number: int) -> Record:
    return {"input": f"{{images}}/{number}.pgm", "expect": f"{{images}}/{number}.pgm"}


def _objects(number: int) -> Record:
    """Up to three objects, of all sizes that COCO tells apart; every sixth image has none."""
    sides = (20, 60, 120)
    objects = [
        {"label": "cd"[(number + k) % 2], "box": [10 + 150 * k, 10, side, side]}
        for k, side in enumerate(sides)
        if number % 6 != 5 and (number + k) % 3
    ]
    return {"input": objects, "expect": objects}


_IMAGES = '[data.images]\npath = "images"\n'
_READ_MASK = """\
def pixels(case):
    with open(case.input, "rb") as file:
        _magic, size, _maxval, data = file.read().split(b"\\n", 3)
    width, height = map(int, size.split())
    return [list(data[y * width : (y + 1) * width]) for y in range(height)]


"""

SUBJECTS = {
    subject.name: subject
    for subject in (
        Subject(
            "label", "label", _claim,
            "def answered(case, good):\n"
            "    wrong = 'xyz'[('xyz'.index(case.input) + 1) % 3]\n"
            "    return (case.input if good > 0 else wrong, chance(abs(good)))\n",
            sections=THRESHOLD.replace("0.5", "0.55"),
        ),
        Subject(
            "score", "score", _claim,
            "def answered(case, good):\n    return chance(good if case.input == case.expect else -good)\n",
            keys="larger_is_better = true", sections=THRESHOLD,
        ),
        Subject(
            "rank", "rank", _probe,
            "def answered(case, good):\n"
            "    rng = random.Random(f'{NAME} {case.id} scores')\n"
            "    scores = {f'g{n}': chance(rng.gauss(-1, 1)) for n in range(5)}\n"
            "    if f'g{case.input[1:]}' in scores and int(case.id[1:]) % 4 != 3:\n"
            "        scores[f'g{case.input[1:]}'] = chance(good)\n"
            "    return scores\n",
            keys="larger_is_better = true", sections=f'{THRESHOLD}[gallery]\ntable = "gallery.csv"\n',
            files={"gallery.csv": _gallery},
        ),
        Subject(
            "value", "value",
            lambda number: {"input": str(number), "expect": str(number)},
            "def answered(case, good):\n"
            "    return float(case.input) + math.copysign(math.exp(-good), good * (1 - 2 * (int(case.input) % 2)))\n",
            keys="tolerance = {absolute = 1.0}",
        ),
        Subject(
            "mask", "mask", _masked,
            _READ_MASK + "def answered(case, good):\n"
            "    rng = random.Random(f'{NAME} {case.id} pixels')\n"
            "    return {'scores': [[chance((2 * (v > 0) - 1) * good + rng.gauss(0, 0.7)) for v in row]"
            " for row in pixels(case)]}\n",
            sections=THRESHOLD + _IMAGES, files=_images(1),
        ),
        Subject(
            "classes", "mask", _masked,
            _READ_MASK + "def answered(case, good):\n"
            "    rng = random.Random(f'{NAME} {case.id} pixels')\n"
            "    return [[v if rng.gauss(good, 1) > 0 else (v + 1) % 3 for v in row] for row in pixels(case)]\n",
            sections=_IMAGES + '[mask]\nlabels = {1 = "left", 2 = "right"}\n', files=_images(2),
        ),
        Subject(
            "boxes", "boxes", _objects,
            "def answered(case, good):\n"
            "    rng = random.Random(f'{NAME} {case.id} boxes')\n"
            "    found = []\n"
            "    for one in case.input:\n"
            "        x, y, width, height = one['box']\n"
            "        shift = width * 0.25 * abs(rng.gauss(0, 1)) / (1 + math.exp(good))\n"
            "        if rng.gauss(good + 0.5, 1) > 0:\n"
            "            found.append({'label': one['label'], 'box': [x + shift, y, width, height],"
            " 'score': chance(rng.gauss(1, 1))})\n"
            "    if rng.gauss(good, 1) < 0:\n"
            "        found.append({'label': 'c', 'box': [3, 200, 30, 30], 'score': chance(rng.gauss(-1, 1))})\n"
            "    return found\n",
        ),
    )
}  # fmt: skip
