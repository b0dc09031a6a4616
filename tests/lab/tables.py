"""What the commands of the lab add to the tables of other tests (see tests/rooms.py): plain data, by table."""

from typing import Any

_JSON = ("--format", "json")
_ONE_RUN_FIRST = dict.fromkeys(
    ["-o", "--interface", "--param", "-j", "--timeout", "--limit", "--memory", "--no-network", "--isolate"], "test"
)

# tests/products/test_outputs.py: questions, and what is not the same in all formats on purpose.
OUTPUTS: dict[str, dict[str, Any]] = {
    "anova A B --by group": {},
    "urn A --group stratum --trial group --permutations 50": {},
    "zoo hdigits/wisard --subjects expect,truth": {},
}
# The functions of Python that do what the commands do.
FUNCTIONS = {
    "anova": "harness.lab.anova.command:anova",
    "urn": "harness.lab.urn.command:urn",
    "zoo": "harness.lab.zoo.command:zoo",
}
# tests/products/test_forms.py: of how many runs, and what they are asked.
FORMS = {
    "anova": (2, (("--by", "group", *_JSON),)),
    "urn": (1, (("--group", "stratum", "--trial", "group", "--permutations", "50", *_JSON),)),
}
NOT_IN_FORMS = {"zoo": "no subject compares eight people; it reads what `roc` reads"}
# tests/products/calls.py: command, number of runs, further words.
CALLS = {"anova": ("anova", 2, ("--by", "group"))}
# tests/products/option_values.py and exclusive_options.py.
VALUES = {("zoo", "--subjects"): ("truth,expect",)}
OPTION_CALLS: dict[str, dict[str, Any]] = {
    "anova": {
        "arguments": ("{folder}/ann.jsonl", "{folder}/bob.jsonl"),
        "given": {"--by": "half"},
        "needs": {"--stratum group": ("--psu", "none"), "--psu fold": ("--stratum", "none")},
    },
    "zoo": {"arguments": ("hdigits/wisard",), "given": {"--subjects": "expect,truth"}},
}
EXCLUSIVE = {
    "anova": {
        ("--stratum lone", "--lone fail"): "has a single unit",
        ("--stratum none", "--weights equal"): "weights of strata need a stratum",
    },
    "zoo": {},
}
ELSEWHERE = {"anova": _ONE_RUN_FIRST, "zoo": _ONE_RUN_FIRST}
SILENT_BESIDE = {
    "anova": {
        ("--weights equal", ""): "all strata have as many cases",
        ("--lone", "--psu none"): "no stratum has a single case",
    }
}
# tests/curves/test_picture_options.py.
PICTURES = {"urn": ("urn", "hdigits/wisard", "--group", "truth", "--resample", "groups", "--groups", "2")}
# tests/security/test_outputs.py: what a command is called with, and what it reads then.
WRITING = {
    "anova": (("t0.jsonl", "--by", "light"), ("t0.jsonl",)),
    "urn": (("wisard.jsonl", "--group", "truth", "--resample", "groups", "--groups", "2"), ("wisard.jsonl",)),
    "zoo": (("wisard.jsonl", "--subjects", "expect,truth"), ("wisard.jsonl",)),
}
# What a command is called with to run a test first.
RUNS_FIRST = {
    "anova": ("toy", "--by", "light"),
    "urn": ("toy", "--group", "light"),
    "zoo": ("toy", "--subjects", "light,light"),
}
READS = {("urn", "--labels"): "the labels of a matrix"}
# tests/comparing/test_judged.py, tests/site/test_names.py, tests/report/test_tidy_csv.py.
JUDGED = {"anova": "anova forged.jsonl --by expect"}
NAMED = {"urn": "urn mine --group id"}
CSV = {"anova": ("anova", "hdigits/wisard", "hdigits/witch", "--by", "truth")}
# tests/goldens: lines whose output is kept in `printed/`.
GOLDENS = {
    "lab": """
anova hdigits/wisard hdigits/witch --by truth,positive
urn hdigits/wisard --group truth --trial image --elements 71
zoo hdigits/wisard --subjects expect,truth
"""
}
