"""`-j auto`: as many jobs as there are cores to use."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.api.runs import RunCallOptions
from harness.options.cores import group_limit, usable_cores
from tests.workshop import Workshop

# Files of a control group, and how many cores they grant; from the kernel's documentation of cgroup v2 (cpu.max is
# "$MAX $PERIOD") and v1 (cpu.cfs_quota_us of -1 is no limit).
GROUPS: dict[str, tuple[dict[str, str], float]] = {
    "no groups": ({}, math.inf),
    "v2 without a limit": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, math.inf),
    "v2, a container": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
    "v2, a group above has less": (
        {
            "proc/self/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/a/cpu.max": "200000 100000\n",
            "sys/fs/cgroup/a/b/cpu.max": "400000 100000\n",
        },
        2.0,
    ),
    "v1": (
        {
            "proc/self/cgroup": "5:memory:/x\n4:cpu,cpuacct:/x\n0::/\n",
            "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "300000\n",
            "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000\n",
        },
        3.0,
    ),
    "v1 without a limit": (
        {
            "proc/self/cgroup": "4:cpu:/\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
        math.inf,
    ),
    "nonsense": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "1 0\n"}, math.inf),
}


@pytest.mark.parametrize("name", GROUPS)
def test_the_limit_of_a_control_group(name: str, tmp_path: Path) -> None:
    files, cores = GROUPS[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert group_limit(tmp_path) == cores


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_only_cores_that_the_process_may_run_on_count() -> None:
    one = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
    show = "from harness.options.cores import usable_cores; print(usable_cores())"
    assert subprocess.check_output([sys.executable, "-c", one + show], text=True) == "1\n"


def test_auto_starts_as_many_workers(toy: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    assert usable_cores() >= 1
    toy.interface(
        "import os, time\ndef answer(case, params):\n    open(f'pid-{os.getpid()}', 'w').close()\n"
        "    time.sleep(0.05)\n    return case.input\n"
    )
    monkeypatch.setattr("harness.options.shared.usable_cores", lambda: 3)
    toy.run("-j", "auto")
    assert len(list(toy.folder.glob("pid-*"))) == 3


@pytest.mark.parametrize("word", ["0", "-1", "many", "1.5", "1001", "9" * 30])
def test_other_words_are_refused(word: str, toy: Workshop) -> None:
    done = toy.call("run", "toy", "-j", word)
    assert done.status == 2
    assert f"'{word}' is not a number of jobs; write 1 to 1000, or auto" in done.err


def test_python_says_auto_too(toy: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.options.shared.usable_cores", lambda: 3)
    assert RunCallOptions.of({"jobs": "auto"}).jobs == 3
