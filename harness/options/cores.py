"""How many processor cores this process may use: what `-j auto` means."""

import math
import os
from pathlib import Path, PurePosixPath

_ROOT = Path("/")


def usable_cores() -> int:
    """The cores that the process may run on, or fewer where its control group (a container, a job) has a limit."""
    try:
        allowed = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # not on every system
        allowed = os.cpu_count() or 1
    return max(1, math.ceil(min(allowed, group_limit())))


def group_limit(root: Path = _ROOT) -> float:
    """The cores that the control groups of this process grant it together; infinite without a limit."""
    limits = [math.inf]
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, group = line.split(":", 2)
        mount = root / "sys/fs/cgroup" / ("" if not controllers else "cpu")
        if not controllers or "cpu" in controllers.split(","):
            path_in_group = PurePosixPath(group)
            # In a container, its own group is often where the root is.
            folders = [mount, *(mount / str(part).lstrip("/") for part in (path_in_group, *path_in_group.parents))]
            limits += [_quota(folder) for folder in folders]
    return min(limits)


def _quota(folder: Path) -> float:
    """The limit of one group, in either version of the interface: time that it may use in every period."""
    words = _text(folder / "cpu.max").split() or [
        _text(folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")
    ]
    try:
        quota, period = map(int, words)
    except ValueError:  # "max", or no such group
        return math.inf
    return quota / period if quota > 0 and period > 0 else math.inf


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
