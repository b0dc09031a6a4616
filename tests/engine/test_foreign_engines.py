"""Ways to run cases of other packages: chosen by their options, from the command line and from Python."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.packages import Packages
from tests.workshop import WAIT, Record, Workshop

ENTRY = """
from harness.options import OptionSet, option
from harness.options.entries import EngineEntry
class RelayOptions(OptionSet):
    relay: str | None = option("--relay LOG", "Run here, and log what is asked.", default=None)
    shout: bool = option("--shout", "In capitals.", default=False, needs=("relay",))
RELAY = EngineEntry(name="relay", options=RelayOptions, where="relay_engine:RelayEngine")
"""
# It asks the program of this machine, and writes down what.
ENGINE = """
import contextlib
from pathlib import Path
from harness.engine.engines import Engine
from harness.engine.local_engine import LocalEngine
from harness.errors import UsageError
from relay_entry import RelayOptions

class RelayEngine(Engine):
    def check(self, interface, options):
        if options.jobs != 1:
            raise UsageError("--relay asks one program; leave out -j")

    @contextlib.contextmanager
    def open(self, plan):
        options = RelayOptions.taken_from(plan.options)
        with LocalEngine().open(plan) as session:
            yield RelaySession(session, Path(options.relay), options.shout)

class RelaySession:
    def __init__(self, session, log, shout):
        self.session, self.log, self.shout = session, log, shout

    def replies(self, questions):
        return self.session.replies(map(self.noted, questions))

    def noted(self, question):
        with self.log.open("a") as file:
            file.write((question.id.upper() if self.shout else question.id) + " ")
        return question

    def close(self):
        pass
"""
OTHER = ENTRY.replace("relay", "remote").replace("Relay", "Remote").replace("RELAY", "REMOTE").replace("shout", "loud")
POINT = "relay = relay_entry:RELAY"


@pytest.fixture
def packages(shop: Workshop, tmp_path: Path) -> Packages:
    folder = tmp_path / "packages"
    folder.mkdir()
    Packages(folder).on_path(shop.env)
    shop.script(12)
    shop.interface("def answer(case, params):\n    return case.input if case.id != 'c4' else None\n")
    packages = Packages(folder)
    packages.add("relaying", "hate.engines", POINT, ENTRY)
    packages.write("relay_engine", ENGINE)
    return packages


def python(shop: Workshop, code: str) -> "subprocess.CompletedProcess[str]":
    words = [sys.executable, "-c", code]
    return subprocess.run(words, cwd=shop.folder, env=shop.env, capture_output=True, text=True, timeout=WAIT)


def asked(shop: Workshop, name: str) -> list[str]:
    return (shop.folder / name).read_text(encoding="utf-8").split()


def plain_run(shop: Workshop) -> list[Record]:
    assert shop.hate("run", "toy", "-o", "plain.jsonl").status == 0
    return shop.records("plain.jsonl")


@pytest.mark.slow
@pytest.mark.usefixtures("packages")
def test_an_engine_of_another_package_runs_cases(shop: Workshop) -> None:
    plain = plain_run(shop)
    done = shop.hate("run", "toy", "--relay", "log", "-o", "relayed.jsonl")
    assert (done.status, done.err) == (0, "transcript: relayed.jsonl\n")
    assert shop.records("relayed.jsonl") == plain
    assert asked(shop, "log") == [record["id"] for record in plain]
    assert shop.hate("test", "toy", "--relay", "loud", "--shout").status == 1
    assert asked(shop, "loud") == [str(record["id"]).upper() for record in plain]
    swept = shop.hate("sweep", "toy", "--param", "threshold=0,1", "--fresh", "--relay", "swept", "--format", "json")
    assert (len(swept.json["rows"]), len(asked(shop, "swept"))) == (2, 12)
    for command in ("run", "tune", "roc"):
        assert "--relay LOG" in shop.hate(command, "--help").out
    assert "--relay" not in shop.hate("show", "--help").out


@pytest.mark.slow
@pytest.mark.usefixtures("packages")
def test_the_same_in_python(shop: Workshop) -> None:
    plain = plain_run(shop)
    code = (
        "import harness, pickle\n"
        "from harness.engine.plan import RunOptions\n"
        "print(harness.run('toy', 'interface.py', output='relayed.jsonl', relay='log').counts.TP)\n"
        "swept = harness.sweep('toy', 'interface.py', params={'threshold': [0]}, fresh=True, relay='swept')\n"
        "print(swept.to_dict()['rows'][0]['TP'])\n"
        "print(pickle.dumps(RunOptions(relay='log')).hex())\n"
    )
    done = python(shop, code)
    assert done.returncode == 0, done.stderr
    *counts, pickled = done.stdout.splitlines()
    assert counts == ["5", "5"]
    assert shop.records("relayed.jsonl") == plain
    assert asked(shop, "log") == asked(shop, "swept") == [record["id"] for record in plain]
    # A process that has not looked for other packages yet, as a worker on another machine.
    again = python(shop, f"import pickle\nprint(pickle.loads(bytes.fromhex('{pickled}')))")
    assert again.stdout == "RunOptions(relay='log')\n", again.stderr


@pytest.mark.slow
def test_what_does_not_go_together(shop: Workshop, packages: Packages) -> None:
    packages.add("remoting", "hate.engines", "remote = remote_entry:REMOTE", OTHER)
    told = {
        words: shop.hate("run", "toy", *words.split()).err
        for words in ("--relay a -j 2", "--relay a --remote b", "--shout", "--realy a")
    }
    assert told == {
        "--relay a -j 2": "hate: --relay asks one program; leave out -j\n",
        "--relay a --remote b": "hate: --relay and --remote exclude one another: each says where cases are run\n",
        "--shout": "hate: --shout does nothing without --relay; add it, or leave --shout out\n",
        "--realy a": told["--realy a"],
    }
    assert "No such option '--realy'" in told["--realy a"]
    assert not list(shop.folder.glob("transcripts/**/*.jsonl"))


def test_answers_from_a_file_need_no_engine(shop: Workshop, packages: Packages) -> None:
    packages.write("relay_entry", ENTRY.replace('RelayEngine")', 'RelayEngine", library="nowhere_at_all")'))
    shop.write("answers.csv", "id,label\n" + "".join(f"c{n},x{n}\n" for n in range(12)))
    shop.write("scores.toml", '[scores]\ntable = "answers.csv"\n')
    assert shop.hate("run", "toy", "--interface", "scores.toml", "--relay", "log", "-o", "out.jsonl").status == 0
    assert not (shop.folder / "log").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entry", "engine", "message"),
    [
        (
            ENTRY,
            "import nowhere_at_all",
            "relay: relay_engine:RelayEngine cannot be loaded: ModuleNotFoundError: No module named",
        ),
        (ENTRY, "", "relay: relay_engine:RelayEngine cannot be loaded: AttributeError: module 'relay_engine' has"),
        (ENTRY, "class RelayEngine: ...", "is not a subclass of harness.engine.engines.Engine"),
        (
            ENTRY.replace('RelayEngine")', 'RelayEngine", library="nowhere_at_all", extra="Relay: pip install relay")'),
            "import nowhere_at_all",
            "--relay needs Relay: pip install relay",
        ),
        (
            ENTRY.replace('RelayEngine")', 'RelayEngine", library="nowhere_at_all")'),
            ENGINE,
            "--relay needs nowhere_at_all",
        ),
    ],
    ids=["imports", "nothing there", "no engine", "no library", "a library that is needed later"],
)
def test_a_broken_engine_is_an_error_of_one_line(
    shop: Workshop, packages: Packages, entry: str, engine: str, message: str
) -> None:
    packages.write("relay_entry", entry)
    packages.write("relay_engine", engine)
    done = shop.hate("run", "toy", "--relay", "log")
    assert (done.status, done.err.count("\n")) == (2, 1), done.err
    assert message in done.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (ENTRY.replace("relay: str", "other: str").replace('("relay",)', "()"), "options has no option 'relay'"),
        (ENTRY.replace("default=None", "default='log'"), "the default of its option 'relay' is not None"),
        (ENTRY.replace("relay_engine:", "relay_engine."), "where is not a module and an object"),
    ],
    ids=["without its option", "always chosen", "no object"],
)
def test_an_entry_that_cannot_be_used_is_said(shop: Workshop, packages: Packages, entry: str, message: str) -> None:
    packages.write("relay_entry", entry)
    done = shop.hate("run", "toy", "--relay", "log")
    assert done.status == 2
    assert message in done.err.splitlines()[0]
    [listed] = shop.hate("list", "--plugins", "--format", "json").json["plugins"]
    assert message in listed["problem"]
