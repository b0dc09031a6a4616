"""`--cluster`: a real Dask scheduler with two workers gives the transcript that a run in this process gives."""

import json
import subprocess
import sys
import threading
from asyncio import CancelledError
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest

import harness
from harness.cluster import ClusterError
from harness.cluster.engine import ClusterSession
from harness.cluster.job import MAX_BYTES, BatchResult, Material, Translation, Versions
from harness.errors import UsageError
from tests.cluster.dask_processes import DaskProcesses, can_hide, dask_processes
from tests.packages import Packages
from tests.rooms import MISSING
from tests.workshop import STREAM, WAIT, Done, Record, Workshop, errors

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

ROLES = ("CLIENT", "SCHEDULER", "WORKER")
# Wrong in all the ways that an interface can be wrong.
UNRELIABLE = """\
import os, sys
def answer(case, params):
    n = int(case.id[1:])
    if n == 7: raise ValueError("seven")
    if n == 11: return object()
    if n == 13: os._exit(3)
    return case.input if n % 3 else None
"""
LEARNER = """\
from pathlib import Path
class Learner:
    def train(self, cases, params):
        self.known = {case.input: case.expect for case in cases}
    def answer(self, case, params):
        return self.known.get(case.input, (Path(__file__).parent / "default.txt").read_text())
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[DaskProcesses]:
    with dask_processes() as started:
        yield started


def on_cluster(shop: Workshop, cluster: DaskProcesses, *more: str) -> tuple[list[Record], list[Record]]:
    """The records of a run in this process, or in workers of this machine, and of one on the cluster."""
    inline = shop.run(*more, output="inline.jsonl")
    spread = shop.run("--cluster", cluster.address, *more, output="cluster.jsonl")
    assert shop.lines("inline.jsonl")[0] | {"started": ""} == shop.lines("cluster.jsonl")[0] | {"started": ""}
    return inline, spread


@pytest.mark.sampled(3)
def test_python_with_errors(shop: Workshop, cluster: DaskProcesses) -> None:
    shop.script(40)
    shop.interface(UNRELIABLE)
    # A process of its own each, or the crash would be ours.
    inline, spread = on_cluster(shop, cluster, "--timeout", "30")
    assert errors(spread) == {"c7": "crash", "c11": "answer", "c13": "crash"}
    assert inline == spread


@pytest.mark.slow
def test_a_time_limit_and_several_answers(shop: Workshop, cluster: DaskProcesses) -> None:
    shop.script(6)
    shop.interface(
        "import time\ndef answer(case, params):\n    time.sleep(9 if case.id == 'c3' else 0)\n    return case.repeat\n"
    )
    inline, spread = on_cluster(shop, cluster, "--timeout", "0.5", "--repeat", "2")
    assert inline == spread
    assert errors(spread) == {"c3": "timeout"}
    assert [record["repeat"] for record in spread] == [1, 2] * 6


def test_a_program_and_a_stream(shop: Workshop, cluster: DaskProcesses) -> None:
    shop.script(12)
    shop.program("echo.sh", '#!/bin/sh\n[ "$1" = x4 ] && exit 2\necho "$1"\n')
    shop.toml('[command]\nargv = ["./echo.sh", "{input}"]\n')
    inline, spread = on_cluster(shop, cluster)
    assert inline == spread
    assert errors(spread) == {"c4": "crash"}
    shop.stream("say(id=id, label=given)")
    for name in ("inline.jsonl", "cluster.jsonl"):
        (shop.folder / name).unlink()
    inline, spread = on_cluster(shop, cluster)
    assert inline == spread
    assert not errors(spread)


def test_answers_from_a_file_need_no_worker(shop: Workshop) -> None:
    shop.script(4)
    shop.write("answers.csv", "id,label\nc0,x0\nc1,x1\nc2,z\nc3,x3\n")
    shop.toml('[scores]\ntable = "answers.csv"\n')
    assert [one["outcome"] for one in shop.run("--cluster", "tcp://127.0.0.1:1")] == ["TP", "TN", "FN", "TN"]


def test_a_run_is_resumed_on_a_cluster(shop: Workshop, cluster: DaskProcesses) -> None:
    shop.script(60)
    shop.interface()
    whole = shop.run(output="whole.jsonl")
    begun = (shop.folder / "whole.jsonl").read_text().splitlines(keepends=True)
    shop.write("torn.jsonl", "".join(begun[:20]) + '{"id": "c')
    assert shop.run("--resume", "--cluster", cluster.address, output="torn.jsonl") == whole


@pytest.mark.slow
def test_a_sweep_on_a_cluster(shop: Workshop, cluster: DaskProcesses) -> None:
    shop.script(20)
    shop.interface(
        "PARAMS = {'shift': 0}\ndef answer(case, params):\n    return f'x{int(case.id[1:]) + params[\"shift\"]}'\n"
    )
    words = ["sweep", "toy", "--param", "shift=0,1,2,3", "--fresh", "--format", "json"]
    inline = shop.call(*words)
    spread = shop.call(*words, "--cluster", cluster.address)
    assert (inline.status, spread.status) == (0, 0), spread.err
    assert inline.json["rows"] == spread.json["rows"]
    assert [row["TP"] for row in spread.json["rows"]] == [10, 0, 0, 0]


@pytest.mark.slow
def test_curves_and_an_isolated_interface(shop: Workshop, cluster: DaskProcesses) -> None:
    """`hate roc TEST` runs the test; with --isolate, Python code is never imported by `hate` itself."""
    threshold = '[params.threshold]\ntype = "float"\ndefault = 1.0\ndecision = true\n'
    shop.script(20, task="score", sections=threshold)
    shop.interface("def answer(case, params):\n    return int(case.id[1:]) % 5\n")
    words = ["roc", "toy", "--isolate", "--format", "json"]
    inline, spread = shop.call(*words), shop.call(*words, "--cluster", cluster.address)
    assert (inline.status, spread.status) == (0, 0), spread.err
    assert inline.json["curves"] == spread.json["curves"]
    inline_records, spread_records = on_cluster(shop, cluster, "--isolate")
    assert inline_records == spread_records
    assert len(spread_records) == 20


def test_a_service(shop: Workshop, cluster: DaskProcesses) -> None:
    """Each worker has its own connection to it."""
    shop.script(20)
    served, peers = ThreadingHTTPServer(("127.0.0.1", 0), Echo), Echo.peers
    threading.Thread(target=served.serve_forever, daemon=True).start()
    shop.toml(f'[http]\nurl = "http://127.0.0.1:{served.server_port}/answer"\n')
    try:
        inline = shop.run(output="inline.jsonl")
        peers.clear()
        assert shop.run("--cluster", cluster.address, output="cluster.jsonl") == inline
    finally:
        served.shutdown()
        served.server_close()
    assert errors(inline) == {"c7": "crash"}
    assert len(peers) >= 2


class Echo(BaseHTTPRequestHandler):
    """A service that says what it was given, and fails once."""

    protocol_version = "HTTP/1.1"
    peers: ClassVar[set[int]] = set()

    def do_POST(self) -> None:
        self.peers.add(self.client_address[1])
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = json.dumps(asked["input"]).encode()
        self.send_response(500 if asked["id"] == "c7" else 200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.slow
def test_folds_on_a_cluster(shop: Workshop, cluster: DaskProcesses) -> None:
    """Side by side, with the transcripts of a run in this process, and an interrupted one is carried on with."""
    shop.script(30, sections='[train]\ntable = "train.csv"\n')
    shop.write("toy/train.csv", "id,input,expect\n" + "".join(f"t{n},x{n},x{n}\n" for n in range(30)))
    shop.write("default.txt", "none")
    shop.interface(LEARNER)
    words = ("run", "toy", "--train-folds", "3", "--format", "json")
    inline = shop.call(*words, "-o", "inline.jsonl")
    spread = shop.call(*words, "-o", "spread.jsonl", "--cluster", cluster.address)
    assert (inline.status, spread.status) == (0, 0), spread.err
    assert inline.json | {"transcripts": []} == spread.json | {"transcripts": []}
    names = [f"spread-fold-{fold}.jsonl" for fold in (1, 2, 3)]
    assert spread.json["transcripts"] == names
    for name in names:
        assert shop.records(name) == shop.records(name.replace("spread", "inline"))
    free = shop.call(*words, "--cluster", cluster.address).json["transcripts"]
    assert [Path(name).name for name in free] == [f"work-fold-{fold}.jsonl" for fold in (1, 2, 3)]
    whole = (shop.folder / names[1]).read_text().splitlines(keepends=True)
    (shop.folder / names[1]).write_text("".join(whole[:11]))
    (shop.folder / names[2]).unlink()
    again = shop.call(*words, "-o", "spread.jsonl", "--cluster", cluster.address, "--resume")
    assert again.json == spread.json, again.err


def test_regression_tests_and_single_cases(shop: Workshop, cluster: DaskProcesses) -> None:
    shop.script(8)
    shop.interface("def answer(case, params):\n    return None if case.id == 'c2' else case.input\n")
    done = shop.call("test", "toy", "--cluster", cluster.address)
    assert (done.status, "1 of 8 cases failed" in done.out) == (1, True)
    assert "FN" in shop.call("run", "toy", "--case", "c2", "--cluster", cluster.address).out


def test_a_run_that_may_stop(shop: Workshop, cluster: DaskProcesses) -> None:
    shop.script(400)
    shop.interface()
    inline, spread = on_cluster(shop, cluster, "--stop-when", "width<0.3")
    assert inline == spread
    assert len(spread) < 400


def test_python_calls_it_too(shop: Workshop, cluster: DaskProcesses) -> None:
    shop.script(6)
    path = shop.interface()
    found = harness.run(shop.folder / "toy/toy.hate.toml", path, cluster=cluster.address)
    assert found.counts.successes == 6
    with pytest.raises(UsageError, match=r"is an object of this program, which no worker has; put it into a file"):
        harness.run(shop.folder / "toy/toy.hate.toml", lambda case, params: case.input, cluster="local:2")


def test_a_program_that_does_not_start(shop: Workshop, cluster: DaskProcesses) -> None:
    shop.script(6)
    shop.interface("def train(cases, params):\n    raise RuntimeError('no licence')\ndef answer(case, params): ...\n")
    done = shop.call("run", "toy", "-o", "out.jsonl", "--cluster", cluster.address)
    assert done.status == 2
    assert "no licence" in done.err
    assert done.err.count("\n") == 1
    assert not (shop.folder / "out.jsonl").exists()


@pytest.mark.parametrize("text", ["local:", "local:0", "local:x", "8786", "http://x:1", "tcp://"])
def test_what_is_not_a_cluster(shop: Workshop, text: str) -> None:
    shop.script()
    shop.interface()
    done = shop.call("run", "toy", "--cluster", text)
    assert done.status == 2
    assert "write local:N for N workers here, or the address of a Dask scheduler" in done.err


def test_options_that_exclude_one_another(shop: Workshop) -> None:
    shop.script()
    shop.interface()
    done = shop.call("run", "toy", "--cluster", "local:2", "-j", "2")
    assert (done.status, "--cluster and -j exclude one another" in done.err) == (2, True)


def test_without_dask(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers from a file need no cluster: nothing runs."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    shop.script(rows="id,input,expect\n1,x,x\n")
    shop.interface()
    done = shop.call("run", "toy", "--cluster", "local:2")
    assert (done.status, done.err) == (2, "hate: --cluster needs Dask: pip install 'hate-harness[cluster]'\n")
    shop.write("answers.csv", "id,label\n1,x\n")
    shop.write("scores.toml", '[scores]\ntable = "answers.csv"\n')
    done = shop.call("run", "toy", "--interface", "scores.toml", "--cluster", "local:2", "-o", "out.jsonl")
    assert (done.status, [record["outcome"] for record in shop.records()]) == (0, ["TP"])


def test_versions_must_agree() -> None:
    ours = Versions("1.2", "3.11.7", "2.0", "2026.1")
    assert not Versions("1.2", "3.11.2", "1.9", "2026.1").mistake(ours)
    assert Versions("1.2", "3.11.2", "1.9", "2026.1").remark(ours) == "numpy 1.9, not 2.0"
    assert "has hate-harness 1.1, and this is 1.2" in Versions("1.1", "3.11.7").mistake(ours)
    assert "has Python 3.12.7, and this is 3.11.7" in Versions("1.2", "3.12.7").mistake(ours)


def test_paths_of_another_machine() -> None:
    here = Translation({Path("/a"): Path("/cache"), Path("/a/b"): Path("/data"), Path("/same"): Path("/same")})
    assert here(["/a/b/1.png", {"x": "/a/c"}, "/ab", "/a", 3]) == ["/data/1.png", {"x": "/cache/c"}, "/ab", "/cache", 3]
    assert not Translation({Path("/same"): Path("/same")})


def test_too_much_to_send(tmp_path: Path) -> None:
    with (tmp_path / "weights").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(ClusterError, match=r"has more than 256 MiB or 5,000 files, too much to send"):
        Material("the interface x", tmp_path, {}, whole=True).pack()


@pytest.mark.slow
@pytest.mark.skipif(not can_hide(), reason="this system does not let users mount over a folder")
def test_a_worker_on_another_machine_gets_all_files(shop: Workshop) -> None:
    """It sees neither the folder of the test and the interface, nor the cache."""
    shop.script(rows="id,input,expect\n" + "".join(f"c{n},{{texts}}/{n}.txt,{n % 3}\n" for n in range(9)))
    sections = '[data.texts]\npath = "texts"\n[train]\ntable = "train.csv"\n'
    shop.write("toy/toy.hate.toml", (shop.folder / "toy/toy.hate.toml").read_text() + sections)
    shop.write("toy/train.csv", "id,input,expect\n" + "".join(f"t{n},{{texts}}/{n}.txt,{n % 3}\n" for n in range(6)))
    for n in range(9):
        shop.write(f"toy/texts/{n}.txt", str(n % 3))
    shop.write("neighbour.py", "from pathlib import Path\ndef read(path):\n    return Path(path).read_text()\n")
    shop.write("default.txt", "2")
    shop.interface(
        "from neighbour import read\n" + LEARNER.replace("{case.input: case.expect", "{read(case.input): case.expect")
        .replace("self.known.get(case.input,", "self.known.get(read(case.input),")
    )  # fmt: skip
    with dask_processes(workers=0) as cluster:
        cluster.add_worker(threads=2, hidden=shop.folder.parent)
        inline, spread = on_cluster(shop, cluster)
        assert inline == spread
        assert {one["outcome"] for one in spread} == {"TP"}
        # Folds of the training part have inputs from the data of the test, which the worker has got.
        tune = ["tune", "toy", "--param", "threshold=0,1", "--folds", "3", "--fresh", "--format", "json"]
        found = [shop.call(*tune, *more) for more in ((), ("--cluster", cluster.address))]
        assert [one.status for one in found] == [0, 0], found[1].err
        assert found[0].json == found[1].json
        whole = STREAM.format(body="    say(id=id, label=open(given).read())")
        shop.write("program.py", whole)
        argv = json.dumps([sys.executable, "-S", "program.py"])
        shop.toml(f'[algorithm]\nname = "streamer"\n[stream]\nargv = {argv}\n')
        inline = shop.run("--interface", "interface.toml", output="a.jsonl")
        assert shop.run("--interface", "interface.toml", "--cluster", cluster.address, output="b.jsonl") == inline


@pytest.mark.slow
@pytest.mark.skipif(not can_hide(), reason="this system does not let users mount over a folder")
@pytest.mark.skipif("vary" in MISSING, reason="without the room that makes inputs")
def test_a_worker_on_another_machine_gets_inputs_that_are_made(shop: Workshop) -> None:
    """Each is made here when it is asked about, and sent; the cache of the worker has it then."""
    rows = "".join(f"c{n},{{images}}/{n}.pgm,{n}\n" for n in range(3))
    sections = '[data.images]\npath = "images"\n[vary.brighter]\nkind = "brightness"\nvalues = [0, 20, 40]\n'
    shop.script(rows=f"id,input,expect\n{rows}", sections=sections)
    for n in range(3):
        shop.write(f"toy/images/{n}.pgm", f"P2\n3 2\n255\n{n} 9 9 9 9 9\n")
    shop.interface(
        "from pathlib import Path\ndef answer(case, params):\n"
        "    return (str(Path(case.input).read_bytes()[-6]), int(Path(case.input).read_bytes()[-1]))\n"
    )
    with dask_processes(workers=0) as cluster:
        cluster.add_worker(threads=2, hidden=shop.folder.parent)
        inline, spread = on_cluster(shop, cluster)
        assert inline == spread
        # The last pixel is 9, and brighter in the versions.
        assert [one["score"] for one in spread][1:3] == [29, 49]
        made = cluster.folder / "cache/hate/varied"
        assert len([path for path in made.iterdir() if not path.name.startswith(".")]) == 6
        shop.env["XDG_CACHE_HOME"] = str(cluster.folder / "cache")
        kinds = {one["kind"]: one["what"] for one in shop.hate("cache", "list", "--format", "json").json["entries"]}
        assert kinds["received"] == "files that another machine sent for a run"


def test_engines_of_other_packages(shop: Workshop, tmp_path: Path) -> None:
    """Only one can be chosen, and none can have this name."""
    entry = (
        "from harness.options import OptionSet, option\nfrom harness.options.entries import EngineEntry\n"
        "class Options(OptionSet):\n    {name}: str | None = option('--{name}', default=None)\n"
        "ENTRY = EngineEntry(name='{name}', options=Options, where='nowhere:Engine')\n"
    )
    (tmp_path / "packages").mkdir()
    packages = Packages(tmp_path / "packages")
    packages.add("one", "hate.engines", "grid = grid_entry:ENTRY", entry.format(name="grid"))
    packages.add("two", "hate.engines", "cluster = cluster_entry:ENTRY", entry.format(name="cluster"))
    packages.on_path(shop.env)
    shop.script()
    shop.interface()
    done = shop.hate("run", "toy", "--cluster", "local:1", "--grid", "x")
    taken, excluded = done.err.splitlines()
    assert (done.status, "two 1.0, entry hate.engines: cluster: this name is built in" in taken) == (2, True)
    assert excluded == "hate: --cluster and --grid exclude one another: each says where cases are run"


def test_a_worker_that_dies_after_its_answer_has_answered() -> None:
    """Dask calls a result lost as soon as its worker has gone, also one that has been fetched."""
    session = object.__new__(ClusterSession)
    session._cluster = cast("Any", SimpleNamespace(address="tcp://a:1"))
    result = BatchResult("w", b"replies")
    assert session._result(SimpleNamespace(status="lost"), result) is result
    with pytest.raises(ClusterError, match="the scheduler is gone"):
        session._result(SimpleNamespace(status="cancelled"), CancelledError())
    with pytest.raises(ClusterError, match="a worker answered str"):
        session._result(SimpleNamespace(status="finished"), "hello")


@pytest.mark.slow
@pytest.mark.parametrize("here", [False, True], ids=["a scheduler", "local:2"])
def test_a_case_that_kills_its_workers_is_an_error_of_that_case(
    here: bool, shop: Workshop, cluster: DaskProcesses
) -> None:
    shop.script(30)
    shop.interface(
        "import os, signal, time\ndef answer(case, params):\n    if case.id == 'c17':\n"
        "        os.kill(os.getppid(), signal.SIGKILL)\n        time.sleep(9)\n    return case.input\n"
    )
    done = shop.hate("run", "toy", "-o", "out.jsonl", "--cluster", "local:2" if here else cluster.address)
    assert done.status == 0, done.err
    records = shop.records()
    assert errors(records) == {"c17": "crash"}
    assert len(records) == 30


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    ["hdigits wisard", "faces matrix:eigenfaces_l1.npy", "blank witch", "shapes blobs", "vase otsu"],
)  # fmt: skip
def test_bundled_tests_are_the_same_everywhere(shop: Workshop, words: str, cluster: DaskProcesses) -> None:
    test, interface = words.split()
    found = []
    # Workers of our own for one of them: they take long to start.
    address = "local:2" if test == "hdigits" else cluster.address
    for place in ((), ("-j", "2"), ("--cluster", address)):
        hate = shop.hate if "local:2" in place else shop.call
        done = hate("run", test, "--interface", interface, "-o", "out.jsonl", "--force", *place)
        assert done.status == 0, done.err
        header = {key: value for key, value in shop.lines()[0].items() if key != "started"}
        found.append((header, shop.records(), done.out))
    assert found[0] == found[1] == found[2]


def program(shop: Workshop, text: str) -> Done:
    path = shop.write("program.py", text)
    argv = [sys.executable, str(path)]
    done = subprocess.run(argv, cwd=shop.folder, env=shop.env, capture_output=True, text=True, timeout=2 * WAIT)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.slow
def test_tls(shop: Workshop) -> None:
    """With Dask's own settings, in the environment; without them nobody gets in."""
    from distributed import Security

    made = Security.temporary()
    shop.write("key.pem", made.tls_client_key)
    shop.write("cert.pem", made.tls_client_cert)
    names = {"CA_FILE": "cert"} | {f"{who}__{what}": what.lower() for who in ROLES for what in ("CERT", "KEY")}
    settings = {
        f"DASK_DISTRIBUTED__COMM__TLS__{name}": str(shop.folder / f"{file}.pem") for name, file in names.items()
    }
    shop.script(6)
    shop.interface()
    with dask_processes(workers=1, settings=settings) as cluster:
        assert cluster.address.startswith("tls://")
        refused = shop.hate("run", "toy", "-o", "out.jsonl", "--cluster", cluster.address)
        assert (refused.status, refused.err.count("\n")) == (2, 1), refused.err
        shop.env |= settings
        done = shop.hate("run", "toy", "-o", "out.jsonl", "--cluster", cluster.address)
        assert done.status == 0, done.err
    assert len(shop.records()) == 6


@pytest.mark.slow
def test_a_program_of_the_users_own(shop: Workshop) -> None:
    """Workers that are started here import it again; a program that forgets about that is told.

    They have the environment of the moment, although they are forked from a process that is older.
    """
    shop.script(6)
    shop.interface("import os\ndef answer(case, params):\n    return case.input + os.environ['WORD']\n")
    call = "harness.run('toy', 'interface.py', output='out.jsonl', force=True, cluster='local:1')"
    runs = "".join(f"    os.environ['WORD'] = '{word}'\n    print({call}.counts.successes)\n" for word in ("", "no"))
    done = program(shop, f"import os, harness\nif __name__ == '__main__':\n{runs}")
    assert (done.status, done.out) == (0, "6\n3\n"), done.err
    careless = program(shop, f"import harness\n{call}\n")
    assert careless.status != 0
    assert 'put what it does under if __name__ == "__main__":' in careless.err
