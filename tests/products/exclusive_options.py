"""Options that may not stand together, options that need other material, and options that change nothing.

`EXCLUSIVE` and `ELSEWHERE` say what the command says then, and a test holds them to it: an entry that is no longer
refused fails, and so does a refusal that has no entry. A pattern is an option, `--by`, or one of its values,
`--by noise:3`, or a subject, `the test value`.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from harness.options.entries import SECTIONS
from tests.products.option_values import Word

Rules = Mapping[tuple[str, ...], str]


def _each(first: str, others: str, says: str) -> dict[tuple[str, ...], str]:
    """The same of one option and several others."""
    return {(first, other): says for other in others.split()}


# What is the same in all commands that read a design: units of one group lie in all strata, and so on.
_DESIGN: Rules = {
    ("--stratum lone", "--lone fail"): "has a single unit",
    ("--stratum none", "--weights equal"): "weights of strata need a stratum",
}
_SEQUENTIAL: Rules = {
    **_each("--sequential", "--by --at --plot", "leave"),
    ("--sequential", "--statistic tpr"): "--sequential is for the rate",
    ("--sequential", "--weights"): "its design has weights",
}
_NO_THRESHOLDS: Rules = {
    ("the test value", "--at"): "--at needs negative cases",
    ("the test mask", "--at"): "these scores are of pixels",
    ("the test classes", "--at"): "a mask without scores",
}
_NOT_BRR = ("jackknife", "bootstrap")
EXCLUSIVE: Mapping[str, Rules] = {
    "run": {
        **_each(
            "--case", "-o --resume --force --limit --format --strict --stop-when --lower --higher",
            "--case, which only shows a case",
        ),
        ("--force", "--resume"): "exclude one another",
        ("--stop-when", "--limit"): "exclude one another",
        ("--stop-when", "--resume"): "--stop-when",
    },
    "rate": {
        **_DESIGN, **_SEQUENTIAL, **_NO_THRESHOLDS,
        ("the test boxes", "--at"): "leave out --at",
    },
    "compare": {
        **_DESIGN, **_SEQUENTIAL, **_NO_THRESHOLDS,
        **_each(
            "--sequential", "--margin --unpaired --cross-check --folds --items --baseline --fay", "leave out",
        ),
        **{("--sequential", f"--multiplicity {name}"): "leave out" for name in ("max-t", "hochberg", "bh")},
        **{("--sequential", f"--method {name}"): "leave out" for name in ("brr", "fay", "linear", *_NOT_BRR)},
        ("--sequential", "--df satterthwaite"): "leave out --df",
        **_each("--unpaired", "--cross-check --folds --items --baseline --intersect", "--unpaired matches no cases"),
        ("--unpaired", "--multiplicity max-t"): "needs runs on the same cases",
        ("--unpaired", "--by noise:3"): "must have the same edges",
        **_each("--cross-check", "--at", "is about success"),
        **_each("--folds", "--at", "is about success"),
        ("--cross-check", "--statistic tpr"): "is about success",
        ("--folds", "--statistic tpr"): "is about success",
        **{("--fay", f"--method {name}"): "--fay is a factor of BRR" for name in ("linear", *_NOT_BRR)},
        ("the test boxes", "--at"): "there is no false positive rate",
        ("--multiplicity max-t", "--stratum none", "--psu none"): "needs estimates by design",
        ("--at", "--method jackknife"): "the delete-one jackknife is wrong",
    },
    "roc": {
        **_DESIGN,
        ("the test mask", "--subjects"): "have no two subjects",
        ("--zoom", "--axes log"): "leave one of them out",
        ("--bands simultaneous", "--subjects"): "choose two-way, or leave out --subjects",
        ("the test rank", "--bands bootstrap", "--psu fold"): "holds no case of this class",
    },
    "report": {**_DESIGN},
    "sweep": {("--sample", "--latin"): "exclude one another"},
    "anova": {**_DESIGN},
    "zoo": {},
}  # fmt: skip

_RUN_FIRST = "-o --interface --param -j --timeout --limit --memory --no-network --isolate"
# Tests without a section that makes versions have nothing but originals.
_NO_VERSIONS = {f"--no-{name}": f"has no [{name}]" for name in SECTIONS.here()}
_NOT_RUN = dict.fromkeys([*_RUN_FIRST.split(), *_NO_VERSIONS], "test")
# Values that need other material than all subjects have; other tests have them.
ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    "run": {
        "--retry-errors": "No such file",
        **_NO_VERSIONS,
        "--train-folds": "has no training part",
        "--train-seed": "has no training part",
    },
    "rate": {
        **_NOT_RUN,
        "--development": "is evaluated too",
        "--xlim": "the x axis of this picture has no scale",
    },
    "compare": {
        "--table": "is not a count of cases",
        "--development": "--development",
        "--xlim": "the x axis of this picture has no scale",
    },
    "roc": {
        **_NOT_RUN,
        "--swept": "has only one value",
        "--repeated": "needs two or more",
        "the test value": "a curve needs positive and negative cases",
        "the test classes": "a curve needs",
        "the test boxes": "use hate pr or hate froc",
    },
    "report": {},
    "sweep": {**_NO_VERSIONS},
    "anova": {**_NOT_RUN},
    "zoo": {**_NOT_RUN},
}

# What an option can only matter with, though it is accepted without.
MATTERS: Mapping[str, Word] = {
    "--lone": ("--stratum", "lone"),
    "sweep --higher": ("-o", "folder"),
    "sweep --lower": ("-o", "folder"),
}
# Options that change no result, and why; perhaps of one command.
SILENT: Mapping[str, str] = {
    "--all": "JSON has everything",
    "--fail-if-worse": "is about the exit status",
    "--force": "there is nothing to overwrite",
    "--fresh": "the same runs again",
    "--http-limit": "nothing is downloaded",
    "--http-timeout": "nothing is downloaded",
    "--intersect": "all transcripts have the same cases",
    "--library": "the test is named by its path",
    "--offline": "nothing is downloaded",
    "--partial": "all transcripts are complete",
    "--resume": "there is nothing to carry on with",
    "--strict": "is about the exit status",
    "--timeout": "no program is that slow",
    "-j": "the answers are the same",
    "sweep --isolate": "counts have no header",
    "sweep --memory": "counts have no header",
    "sweep --no-network": "counts have no header",
}


# Options that may change nothing beside another, and why: (this one, beside that one, or beside any).
_ANY = ""
_TWO_WAY = "Two subjects: errors come from both identities, so units and strata count for nothing; not refused yet"
SILENT_BESIDE: Mapping[str, Rules] = {
    "run": {
        **_each("--isolate", "--case --no-network --memory", "the program is in a process of its own anyway"),
        **_each("--memory", "--case", "no header is shown"),
        **_each("--no-network", "--case", "no header is shown"),
        ("--limit", "--probe"): "there are fewer probes than that",
    },
    "rate": {
        ("--seed", _ANY): "drawn only where a measure needs it",
        ("--stratum", "--sequential"): "units are asked in random order, whatever their strata",
        ("--lone", "--sequential"): "units are asked in random order, whatever their strata",
        ("--statistic rate", "--sequential"): "the rate is what it is about",
    },
    "compare": {
        ("--seed", _ANY): "drawn only where a method needs it",
        ("--stratum", "--sequential"): "units are asked in random order, whatever their strata",
        ("--lone", "--sequential"): "units are asked in random order, whatever their strata",
        ("--statistic rate", _ANY): "the default of most tasks",
        ("--method brr", _ANY): "the default of this design",
        ("--method fay", _ANY): "the default of unbalanced strata, and with --fay",
        ("--method linear", "--at"): "the default there",
        ("--method jackknife", "--stratum none"): "the default without strata",
        ("--df", "--stratum none"): "without strata there is one variance, and both are the same",
        ("--fay", "--psu none"): "nothing is replicated",
        ("--fay", "--stratum none"): "without strata the jackknife is taken, which has no factor; a remark says so",
        ("--multiplicity", "--baseline"): "fewer pairs",
    },
    "roc": {
        ("--seed", _ANY): "drawn only for some bands",
        ("--bands brr", _ANY): "the default of this design",
        ("--bands two-way", _ANY): "the default with --subjects",
        ("--psu", "--subjects"): _TWO_WAY,
        ("--stratum", "--subjects"): _TWO_WAY,
        ("--weights equal", _ANY): "all strata have as many cases",
    },
    "report": {
        ("--seed", _ANY): "drawn only where a measure needs it",
        ("--statistic rate", _ANY): "the default of most tasks",
        ("-o page.md", _ANY): "what a row has that says nothing else",
    },
    "sweep": {
        ("--limit", "--probe"): "there are fewer probes than that",
        ("--statistic rate", _ANY): "the default",
    },
    "anova": {
        ("--weights equal", _ANY): "all strata have as many cases",
        ("--lone", "--psu none"): "no stratum has a single case",
    },
}  # fmt: skip


def _matches(pattern: str, word: Word) -> bool:
    return pattern in (word[0], " ".join(word))


def why_elsewhere(command: str, word: Word) -> str:
    """A piece of what is said of a value by itself; empty if it may be used."""
    return next((says for pattern, says in ELSEWHERE[command].items() if _matches(pattern, word)), "")


def exclusive(command: str, values: Sequence[Word]) -> Iterator[tuple[list[tuple[Word, ...]], str]]:
    """For each entry all the values that it is about, together, and a piece of what is said of them."""
    for patterns, says in EXCLUSIVE[command].items():
        yield list(product(*([word for word in values if _matches(one, word)] for one in patterns))), says


def find(table: Mapping[str, Any], command: str, flag: str) -> Any:
    """The entry of an option, of this command or of all; None if there is none."""
    return table.get(f"{command} {flag}", table.get(flag))


def why_silent(command: str, word: Word, row: Sequence[Word]) -> str:
    """Why a value changes nothing beside those of a row; empty if it must change something."""
    for (one, other), why in SILENT_BESIDE.get(command, {}).items():
        if _matches(one, word) and (other == _ANY or any(_matches(other, beside) for beside in row)):
            return why
    return ""
