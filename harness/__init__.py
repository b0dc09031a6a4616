"""HATE, a Harness for Algorithm Testing and Exploration.

    import harness

    test = harness.load_test("hdigits")
    mine = harness.run(test, lambda case, params: "3", name="threes")
    print(harness.compare([mine, "wisard", "witch"]))

Each name is imported when it is first used, so that `import harness` is quick.
"""

# As typing has it. Nothing is imported here: nobody handles Ctrl-C so early, and it would end in a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from harness.api.comparisons import compare as compare
    from harness.api.confusion import confusion as confusion
    from harness.api.curves import cmc as cmc
    from harness.api.curves import det as det
    from harness.api.curves import froc as froc
    from harness.api.curves import pr as pr
    from harness.api.curves import roc as roc
    from harness.api.fusing import fuse as fuse
    from harness.api.power import power as power
    from harness.api.rates import rate as rate
    from harness.api.reports import make_report as make_report
    from harness.api.runs import load_test as load_test
    from harness.api.runs import run as run
    from harness.api.status import status as status
    from harness.api.sweeps import sweep as sweep
    from harness.api.transcripts import read as read
    from harness.api.tuning import tune as tune
    from harness.interface.estimator import estimator as estimator

__version__ = "0.1.0"

_HOMES = {
    "harness.api.runs": ("load_test", "run"),
    "harness.api.status": ("status",),
    "harness.api.sweeps": ("sweep",),
    "harness.api.tuning": ("tune",),
    "harness.api.transcripts": ("read",),
    "harness.api.comparisons": ("compare",),
    "harness.api.confusion": ("confusion",),
    "harness.api.rates": ("rate",),
    "harness.api.curves": ("roc", "det", "pr", "froc", "cmc"),
    "harness.api.power": ("power",),
    "harness.api.fusing": ("fuse",),
    "harness.api.reports": ("make_report",),
    "harness.interface.estimator": ("estimator",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> "Any":
    if name not in _HOME_OF:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    import importlib

    globals()[name] = getattr(importlib.import_module(_HOME_OF[name]), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])
