"""Programs that leave others behind: nothing outlives a run, however it ends."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import harness
from harness.errors import RunAborted
from tests.workshop import WAIT, Workshop, command, errors, wait_until

# How a program leaves a process behind; each writes its number to a file.
LEAVING = {
    "in its group": "sleep 1000 </dev/null >/dev/null 2>&1 & echo $! > stray-$1",
    "in a session of its own": "setsid sh -c 'echo $$ > stray-$1; exec sleep 1000' sh $1 </dev/null >/dev/null 2>&1 &",
    "without an environment": (
        "setsid env -i sh -c 'echo $$ > stray-$1; exec sleep 1000' sh $1 </dev/null >/dev/null 2>&1 &"
    ),
}


def strays(shop: Workshop) -> list[int]:
    return [int(path.read_text()) for path in shop.folder.glob("stray-*") if path.read_text().strip()]


def is_running(pid: int) -> bool:
    """Whether there is such a process, other than one that has ended and is not yet forgotten."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def sleepers(parent: int) -> list[int]:
    """Its children that sleep without an environment."""
    pids = []
    tasks = Path(f"/proc/{parent}/task").glob("*/children")
    for pid in [pid for task in tasks for pid in task.read_text().split()]:
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sleep"):
                pids.append(int(pid))
    return pids


def leaving(shop: Workshop, how: str, then: str = "echo $1") -> None:
    waits = "while [ ! -s stray-$1 ]; do sleep 0.01; done"
    shop.program("prog", f"#!/bin/sh\n{LEAVING[how]}\n{waits}\n{then}\n")
    shop.toml('[command]\nargv = ["./prog", "{input}"]\n')


@pytest.mark.sampled(6)
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("how", LEAVING)
def test_children_do_not_outlive_a_run_that_ends_well(how: str, jobs: str, shop: Workshop) -> None:
    shop.script(4)
    leaving(shop, how)
    done = shop.hate("run", "toy", "-o", "out.jsonl", "-j", jobs)
    assert done.status == 0
    assert errors(shop.records()) == {}
    left = strays(shop)
    assert len(left) == 4
    assert [pid for pid in left if is_running(pid)] == []


def test_a_child_in_the_group_ends_with_its_case(shop: Workshop) -> None:
    """Not only with the run: a thousand cases would leave a thousand of them."""
    shop.script(3)
    others = "if [ $file != stray-$1 ] && kill -0 $(cat $file) 2>/dev/null; then touch alive; fi"
    leaving(shop, "in its group", then=f"for file in stray-*; do {others}; done\necho $1")
    shop.run()
    assert len(strays(shop)) == 3
    assert not (shop.folder / "alive").exists()


# Kills itself between the start of a program and its note, when the program has emptied its environment.
KILLED_BEFORE_THE_NOTE = """
import os, pathlib, signal, sys, time
from harness.cli.main import main
from harness.interface.supervision import Supervision

def killed(self, sign, pid):
    while not pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sleep"):
        time.sleep(0.001)
    pathlib.Path("stray-1").write_text(str(pid))
    os.kill(os.getpid(), signal.SIGKILL)

Supervision.note = killed
main(sys.argv[1:])
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", ["command", "stream"])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_harness_that_is_killed_before_it_notes_a_program(kind: str, jobs: str, shop: Workshop) -> None:
    shop.script(4)
    shop.program("prog", "#!/bin/sh\nexec env -i sleep 1000\n")
    shop.toml(f'[{kind}]\nargv = ["./prog"]\n')
    words = [sys.executable, "-c", KILLED_BEFORE_THE_NOTE, "run", "toy", "-o", "out.jsonl", "-j", jobs]
    ended = subprocess.run(words, cwd=shop.folder, env=shop.env, capture_output=True, timeout=WAIT, check=False)
    assert ended.returncode == -signal.SIGKILL
    [pid] = strays(shop)
    wait_until("its end", lambda: not is_running(pid))


def test_programs_inherit_nothing_else(shop: Workshop) -> None:
    """One file, which is empty, beyond the three that they read and write."""
    shop.script(1)
    shop.program("prog", '#!/bin/sh\nls /proc/$$/fd > numbers\ncat /proc/$$/fd/1?? > content\necho "$1"\n')
    shop.toml('[command]\nargv = ["./prog", "{input}"]\n')
    shop.run()
    numbers = {int(word) for word in (shop.folder / "numbers").read_text().split()}
    assert len([number for number in numbers if number >= 100]) == 1
    assert (shop.folder / "content").read_bytes() == b""


@pytest.mark.sampled(6)
@pytest.mark.parametrize("how", LEAVING)
@pytest.mark.parametrize("words", [(), ("-j", "2")], ids=["one", "two"])
def test_children_do_not_outlive_a_harness_that_was_killed(how: str, words: tuple[str, ...], shop: Workshop) -> None:
    """SIGKILL, which nobody can catch: the guardian notices that its pipe has ended."""
    shop.script()
    leaving(shop, how, then="touch waiting; sleep 1000")
    with shop.start("run", "toy", "-o", "out.jsonl", *words) as process:
        wait_until("a program", (shop.folder / "waiting").exists, process)
        process.kill()
    wait_until("their end", lambda: not any(map(is_running, strays(shop))))
    assert shop.left_running() == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_program_without_its_environment_does_not_outlive_a_harness_that_was_killed(
    jobs: str, shop: Workshop
) -> None:
    """It has no mark: the guardian knows it by the number of its process, whatever was noted before."""
    shop.script(12)
    sleeps = "[ $1 = x9 ]" if jobs == "1" else "[ $1 = x9 ] || [ $1 = x3 ]"
    shop.program("prog", f"#!/bin/sh\nif {sleeps}; then exec env -i sleep 1000; fi\necho $1\n")
    shop.toml('[command]\nargv = ["./prog", "{input}"]\n')
    with shop.start("run", "toy", "-o", "out.jsonl", "-j", jobs) as process:
        wait_until("the sleepers", lambda: len(sleepers(process.pid)) == int(jobs), process)
        sleeping = sleepers(process.pid)
        process.kill()
    wait_until("their end", lambda: not any(map(is_running, sleeping)))


@pytest.mark.slow
def test_a_stream_does_not_outlive_a_harness_that_was_killed(shop: Workshop) -> None:
    """One that does not look at its input."""
    shop.script()
    shop.stream("import pathlib\npathlib.Path('waiting').touch()\ntime.sleep(1000)")
    with shop.start("run", "toy", "-o", "out.jsonl") as process:
        wait_until("the program", (shop.folder / "waiting").exists, process)
        process.kill()
    assert shop.left_running() == []


WAITS = "import pathlib, time\ndef answer(case, params):\n    pathlib.Path('waiting').touch()\n    {then}\n"


@pytest.mark.slow
def test_a_terminal_that_closes_ends_a_run_like_a_signal_to_end(toy: Workshop) -> None:
    toy.interface(WAITS.format(then="time.sleep(1000)"))
    # A terminal does not ignore it, even if these tests are run by nohup.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with toy.start("run", "toy", "-o", "out.jsonl") as process:
        signal.signal(signal.SIGHUP, before)
        wait_until("a case", (toy.folder / "waiting").exists, process)
        process.send_signal(signal.SIGHUP)
        _, err = process.communicate(timeout=WAIT)
    assert process.returncode == 128 + signal.SIGHUP
    assert err == "hate: terminated\nhate: 0 of 6 trials are in out.jsonl; carry on with --resume\n"


@pytest.mark.slow
def test_nohup_is_respected(toy: Workshop) -> None:
    then = "time.sleep(0.01)\n    return case.input"
    toy.interface(WAITS.format(then=then))
    argv = ["/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh", *command(["run", "toy", "-o", "out.jsonl"])]
    pid = os.posix_spawn(argv[0], argv, toy.env)
    wait_until("a case", (toy.folder / "waiting").exists)
    os.kill(pid, signal.SIGHUP)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert len(toy.records()) == 6


def test_repeating_an_old_answer_is_no_answer(shop: Workshop) -> None:
    """A stream that goes on to say what it said before held up a run with a time limit for ever."""
    shop.script(3)
    shop.stream("while id == 'c1':\n    say(id='c0', label='x0')\n    time.sleep(0.001)\nsay(id=id, label=given)")
    records = shop.run("--timeout", "0.5")
    assert errors(records) == {"c1": "timeout"}
    assert records[1]["message"] == "no answer in 0.5 s"


def test_old_answers_between_new_ones_do_no_harm(shop: Workshop) -> None:
    shop.script(6)
    shop.stream("say(id='c0', label='x0')\nsay(id=id, label=given)\nsay(id='c0', label='x0')")
    assert errors(shop.run("--timeout", "20")) == {}


GREEDY = "import sys\nif sys.argv[1] == 'x2':\n    data = bytearray(10**9)\nprint(sys.argv[1])\n"


@pytest.mark.slow
def test_memory_is_limited_for_a_command(shop: Workshop) -> None:
    shop.script(4)
    shop.write("greedy.py", GREEDY)
    shop.toml(f'[command]\nargv = [{sys.executable!r}, "-S", "greedy.py", "{{input}}"]\n')
    assert errors(shop.run(output="free.jsonl")) == {}
    records = shop.run("--memory", "300M")
    assert errors(records) == {"c2": "crash"}
    assert records[2]["message"].endswith("MemoryError (the limit is --memory 314572800)")
    assert shop.lines()[0]["limits"] == {"memory": 300 << 20}
    assert "limits" not in shop.lines("free.jsonl")[0]


def test_memory_is_limited_for_python_which_then_runs_in_a_process_of_its_own(toy: Workshop) -> None:
    toy.interface("def answer(case, params):\n    if case.id == 'c2': bytearray(2 * 10**9)\n    return case.input\n")
    records = toy.run("--memory", "1G")
    assert errors(records) == {"c2": "crash"}
    assert records[2]["message"] == "MemoryError (interface.py:2) (the limit is --memory 1073741824)"
    assert toy.call("run", "toy", "-o", "out.jsonl", "--resume").status == 2


def test_a_service_cannot_be_limited(shop: Workshop) -> None:
    shop.script()
    shop.toml('[http]\nurl = "http://127.0.0.1:9/"\n')
    done = shop.call("run", "toy", "--memory", "1G")
    assert done.status == 2
    assert "is a service, which is not started here" in done.err


NETWORK = """\
import socket, sys
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5).close()
    print("reached")
except OSError:
    print("x0")
"""


def test_a_program_without_the_network(shop: Workshop) -> None:
    shop.script(2)
    shop.write("connect.py", NETWORK)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        shop.toml(f'[command]\nargv = [{sys.executable!r}, "-S", "connect.py", "{port}"]\n')
        assert [record["actual"] for record in shop.run(output="with.jsonl")] == ["reached", "reached"]
        done = shop.call("run", "toy", "--no-network", "-o", "out.jsonl")
        if "this system cannot start a program without the network" in done.err:
            pytest.skip("neither bubblewrap nor user namespaces here")
        assert [record["actual"] for record in shop.records()] == ["x0", "x0"]
    assert shop.lines()[0]["limits"] == {"network": False}


def test_a_system_that_cannot_take_the_network_away_says_so(toy: Workshop) -> None:
    toy.env["PATH"] = str(toy.folder)
    done = toy.hate("run", "toy", "--no-network", "-o", "out.jsonl")
    assert done.status == 2
    assert done.err.startswith("hate: --no-network: this system cannot start a program without the network; install")
    assert done.err.count("\n") == 1
    assert not (toy.folder / "out.jsonl").exists()


OPTIONS = {
    "--checkpoint-action=exec=sh": "c0",
    "-x": "c1",
}


@pytest.mark.parametrize(
    ("argv", "refused"),
    [
        ('"{input}"', ["c0", "c1"]),
        ('"{id}", "{input}"', ["c0", "c1"]),
        ('"--", "{input}"', []),
        ('"--file={input}"', []),
        ('"in/{input}"', []),
    ],
)
def test_an_input_is_never_an_option_of_the_program(argv: str, refused: list[str], shop: Workshop) -> None:
    rows = [f"c{number},{text},x,true" for number, text in enumerate(OPTIONS)]
    shop.script(rows="\n".join(["id,input,expect,positive", *rows, "c2,plain,x,true", ""]))
    shop.program("prog", '#!/bin/sh\necho "$@" >> seen\necho x\n')
    shop.toml(f'[command]\nargv = ["./prog", {argv}]\n')
    records = shop.run()
    assert errors(records) == dict.fromkeys(refused, "interface")
    seen = (shop.folder / "seen").read_text()
    assert len(seen.splitlines()) == 3 - len(refused)
    if refused:
        assert "--checkpoint" not in seen
        assert records[0]["message"] == (
            "argv: {input} is '--checkpoint-action=exec=sh' here, which the program would take for an option; "
            'put "--" before it, or write dashes = true under [command]'
        )


def test_an_interface_may_allow_dashes_and_numbers_of_parameters_need_no_leave(shop: Workshop) -> None:
    shop.script(rows="id,input,expect,positive\nc0,-5,-5,true\n")
    shop.program("prog", "#!/bin/sh\necho $1\n")
    shop.toml('[command]\nargv = ["./prog", "{input}"]\ndashes = true\n')
    assert [record["outcome"] for record in shop.run(output="a.jsonl")] == ["TP"]
    params = "[algorithm.params]\nshift = 1.5\nword = 'a'\n"
    shop.toml(f'{params}[command]\nargv = ["./prog", "{{shift}}", "{{word}}"]\n')
    assert [record["actual"] for record in shop.run("--param", "shift=-2", output="b.jsonl")] == ["-2"]
    assert errors(shop.run("--param", "word=-rf", output="c.jsonl")) == {"c0": "interface"}


def test_a_list_has_no_options_in_it(shop: Workshop) -> None:
    shop.write("toy/cases.jsonl", '{"id":"c0","input":["a","-x"],"expect":"a"}\n')
    shop.script()
    script = shop.folder / "toy/toy.hate.toml"
    script.write_text(script.read_text().replace("cases.csv", "cases.jsonl"))
    shop.program("prog", "#!/bin/sh\necho $1\n")
    shop.toml('[command]\nargv = ["./prog", "{input}"]\n')
    assert errors(shop.run()) == {"c0": "interface"}


@pytest.mark.parametrize("ending", ["after its last case", "at an error, with -j"])
def test_the_end_of_a_run_leaves_another_in_the_same_process_alone(ending: str, shop: Workshop) -> None:
    """As in a notebook with threads; a run with several jobs kills those that are still at work when it ends early."""
    shop.script(3, keys='errors = "abort"')
    waits = "if [ $1 = x2 ]; then touch waiting; while [ ! -e go ]; do sleep 0.01; done; fi"
    shop.program("slow", f"#!/bin/sh\n{waits}\necho $1\n")
    shop.program("quick", "#!/bin/sh\necho $1\n")
    shop.program("broken", "#!/bin/sh\nif [ $1 = x0 ]; then exit 1; fi\nsleep 60\n")
    for name in ("slow", "quick", "broken"):
        shop.write(f"{name}.toml", f'[command]\nargv = ["./{name}", "{{input}}"]\n')
    slow = threading.Thread(target=harness.run, args=("toy", "slow.toml"), kwargs={"output": Path("slow.jsonl")})
    slow.start()
    wait_until("the slow one", (shop.folder / "waiting").exists)
    if ending == "after its last case":
        harness.run("toy", "quick.toml", output=Path("other.jsonl"))
    else:
        with pytest.raises(RunAborted):
            harness.run("toy", "broken.toml", output=Path("other.jsonl"), jobs=2)
    (shop.folder / "go").touch()
    slow.join()
    assert errors(shop.records("slow.jsonl")) == {}
    assert len(shop.records("slow.jsonl")) == 3
