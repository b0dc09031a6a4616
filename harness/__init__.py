"""HATE, a Harness for Algorithm Testing and Exploration.

    import harness

    test = harness.load_test("hdigits")
    mine = harness.run(test, lambda case, params: "3", name="threes")
    print(harness.compare([mine, "wisard", "witch"]))

Each name is imported when it is first used, so that `import harness` is quick. `__init__.pyi` has their signatures.
"""

# As typing has it. Nothing is imported here: nobody handles Ctrl-C so early, and it would end in a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

# Where the functions are that programs call, and what they raise.
_HOMES = {
    "harness.errors": ("HateError",),
    "harness.api.runs": ("load_test", "run"),
    "harness.api.train_folds": ("run_train_folds",),
    "harness.api.status": ("status",),
    "harness.api.sweeps": ("sweep",),
    "harness.api.tuning": ("tune",),
    "harness.api.transcripts": ("read", "show"),
    "harness.api.differences": ("diff",),
    "harness.api.importing": ("convert", "load"),
    "harness.api.listing": ("list_interfaces", "list_plugins", "list_tests", "list_transcripts"),
    "harness.api.tests": ("cases", "describe"),
    "harness.api.checking": ("check",),
    "harness.api.regression": ("check_regression",),
    "harness.api.new": ("new_interface", "new_matrix", "new_script"),
    "harness.api.comparisons": ("compare", "compare_table"),
    "harness.api.confusion": ("confusion",),
    "harness.api.rates": ("compare_sequentially", "rate"),
    "harness.api.curves": ("roc", "det", "pr", "froc", "cmc"),
    "harness.api.power": ("power",),
    "harness.api.fusing": ("fuse",),
    "harness.api.reports": ("make_report",),
    "harness.interface.estimator": ("estimator",),
    "harness.api.fetching": ("fetch",),
    "harness.api.caching": ("list_cache", "verify_cache", "clear_cache", "forget_site"),
    "harness.server.publishing": ("publish",),
    "harness.server.submitting": ("submit",),
    "harness.server.serving": ("serve",),
    "harness.server.tokens": ("add_token", "set_token_quota", "remove_token", "list_tokens"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted([*_HOME_OF, "__version__"])


def __getattr__(name: str) -> "Any":
    if name not in _HOME_OF:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    import importlib

    from harness.api.keywords import by_keyword

    member = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = member if isinstance(member, type) else by_keyword(member)
    return globals()[name]


def __dir__() -> list[str]:
    return __all__
