"""The header of a run's transcript: what was run, and how; the commit, the versions of libraries, the CPU."""

import functools
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import UNSET, UnsetType

from harness.engine.plan import Plan
from harness.site.header_facts import header_design, header_test
from harness.tasks import plugin_of
from harness.transcript.format import (
    AlgorithmInfo,
    GitInfo,
    Header,
    InterfaceInfo,
    ValueInfo,
    extent,
    new_header,
)

# Several headers are made for one run; what they say is looked up once in so many seconds.
REMEMBERED_SECONDS = 5.0
GIT_SECONDS = 2.0
MAX_CPU_LENGTH = 200
# Libraries whose packages are called otherwise.
PACKAGES = {
    "PIL": "Pillow",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}


def run_header(plan: Plan) -> Header:
    """Test, algorithm, interface, parameters, design and machine of a run that starts now."""
    cases, options, algorithm, part = plan.cases, plan.options, plan.interface, plan.held_out
    links, imports, files = algorithm.links, algorithm.imports, algorithm.files
    neighbours, libraries = ([], []) if imports is None else (list(imports.neighbours), list(imports.libraries))
    declared = {**cases.script.params, **algorithm.params}
    train: dict[str, int] | UnsetType = UNSET
    if part is not None:
        train = {"without_fold": part.fold, "folds": part.folds, "seed": part.seed}
    if plan.stop_rule is not None and plan.unit_order is not None:
        asked = plan.unit_order.extent(plan.stop_rule)
    else:
        asked = extent(len(cases), options.limit, train) | cases.versions_extent
    return new_header(
        header_test(cases),
        AlgorithmInfo(algorithm.name, algorithm.version, links.code or UNSET, links.paper or UNSET),
        InterfaceInfo(algorithm.kind, algorithm.sha256, neighbours or UNSET),
        plugins=[plugin_of(cases.script.task)],
        params=dict(plan.params),
        defaults={name: param.default for name, param in declared.items() if name in plan.params},
        design=header_design(cases),
        repeat=options.repeat if options.repeat > 1 else UNSET,
        limit=UNSET if options.limit is None else options.limit,
        limits=options.limits.record or UNSET,
        values={name: ValueInfo(larger) for name, larger in options.directions.items()} or UNSET,
        blind=True if cases.script.is_blind else UNSET,
        train=train,
        extent=asked or UNSET,
        isolation="none" if algorithm.imported else "process",
        git=_git(
            files[0].absolute().parent if files else None,
            () if imports is None else (imports.path.name, *neighbours),
            int(time.monotonic() / REMEMBERED_SECONDS),
        ),
        cpu=_cpu() or UNSET,
        versions=_versions(("numpy", *libraries)) or UNSET,
    )


@functools.lru_cache(maxsize=8)
def _git(folder: Path | None, files: Sequence[str], moment: int) -> GitInfo | UnsetType:
    """The commit of a folder, and whether the files differ from it; nothing is started where there is no `.git`."""
    if folder is None or not any((above / ".git").exists() for above in (folder, *folder.parents)):
        return UNSET
    program = shutil.which("git")
    if program is None:
        return UNSET
    # A folder of an interface has other files, such as transcripts: only what was run is to be unchanged.
    shown = (
        ["--untracked-files=all", "--ignored=matching", "--", *files] if files else ["--untracked-files=no", "--", "."]
    )
    # A repository may name a program as its file monitor; the user did not ask for that one to run.
    argv = [program, "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", str(folder), "status", "--porcelain=v2"]
    try:
        done = subprocess.run([*argv, "--branch", *shown], capture_output=True, timeout=GIT_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return UNSET
    lines = done.stdout.decode(errors="replace").splitlines()
    commit = next((line.split()[2] for line in lines if line.startswith("# branch.oid ")), "")
    if not commit.isalnum():  # (initial): nothing has been committed
        return UNSET
    return GitInfo(commit, dirty=any(not line.startswith("#") for line in lines))


@functools.cache
def _cpu() -> str:
    """The model of the CPU, if the system says."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
            named = (line.partition(":")[2].strip() for line in file if line.startswith("model name"))
            return next(named, "")[:MAX_CPU_LENGTH]
    except OSError:
        return ""


@functools.cache
def _versions(modules: Sequence[str]) -> dict[str, str]:
    """The versions of libraries by the names that they are imported by; the harness has its own key."""
    import importlib.metadata

    versions: dict[str, str] = {}
    for name in modules:
        try:
            versions[name] = importlib.metadata.version(PACKAGES.get(name, name))
        except (importlib.metadata.PackageNotFoundError, ValueError):
            version = getattr(sys.modules.get(name), "__version__", None)
            if isinstance(version, str):
                versions[name] = version
    versions.pop("harness", None)
    return versions
