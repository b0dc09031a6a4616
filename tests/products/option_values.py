"""Values of every option of a command, and how the command is called: what pairs of options are made of.

Choices, numbers in a range and flags give values by themselves; `VALUES` has those of all other options by their first
spelling, or by command and spelling. An option without one fails `test_every_option_has_a_value`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import click

from harness.cli.commands import commands_here, hate
from harness.options import DeclaredOption, OptionSet, declared_options
from tests.products.conftest import AllRuns
from tests.products.subjects import ALGORITHMS, SUBJECTS, Runs
from tests.rooms import of_commands_here

# A value of an option as it is typed: the flag and what follows it. The subject of a row is one too.
Word = tuple[str, ...]
SUBJECT = "the test"

# What to type after a flag; {folder} is where the test and its runs are.
VALUES: Mapping[str | tuple[str, str], tuple[str, ...]] = {
    "--at": ("fpr=0.3", "eer"),
    ("roc", "--at"): ("fpr=0.3", "threshold=0.4"),
    "--baseline": ("bob",),
    "--by": ("group", "noise:3"),
    "--case": ("c01",),
    "--cluster": (),  # workers take seconds to start: tests/cluster has them
    "--cost": ("fp=10,fn=1",),
    "--development": ("{folder}/ann.jsonl",),
    "--folds": ("fold",),
    "--gallery": ("expect!=p4",),
    "--gnuplot": ("curve.gp",),
    "--higher": ("cost",),
    "--http-limit": ("1G",),
    "--http-timeout": ("20",),
    "--interface": ("{folder}/cat.py",),
    "--label": ("ann=Anna",),
    ("sweep", "--label"): ("skill=Skill",),
    "--library": ("{folder}",),
    "--limit": ("24", "36"),
    "--lower": ("blur",),
    "--memory": ("8G",),
    "--param": ("skill=0.3",),
    ("sweep", "--param"): ("skill=0.3,0.5,0.9,1.4",),
    "--plot": ("plot.svg",),
    "--probe": ("group=g1",),
    "--psu": ("fold", "none"),
    "--scores": ("scores.svg",),
    "--statistic": ("tpr", "rate"),
    "--stop-when": ("width<0.7",),
    "--stratum": ("group", "lone", "none"),
    "--subjects": ("unit,group",),
    ("zoo", "--subjects"): ("truth,expect",),
    "--swept": ("skill",),
    "--timeout": ("20",),
    "--title": ("A title",),
    "--weights": ("weight", "equal"),
    "--width": ("2column",),
    "--xlim": ("0.1,0.8",),
    "--ylim": ("0.2,0.7",),
    "-j": ("2",),
    "-o": ("out.jsonl",),
    ("report", "-o"): ("page.md", "page.html"),
    ("sweep", "-o"): ("folder",),
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """How a command is called.

    arguments  what is named: {script} or transcripts in {folder}
    given      words that the command cannot do without, by flag, unless a row has another value
    needs      what a value needs beside what its declaration says, or it is refused
    """

    arguments: tuple[str, ...]
    given: Mapping[str, str] = field(default_factory=dict)
    needs: Mapping[str, Word] = field(default_factory=dict)

    @property
    def runs_a_test(self) -> bool:
        """Whether programs are run."""
        return "{script}" in self.arguments


_RUNS = tuple(f"{{folder}}/{name}.jsonl" for name in ALGORITHMS)
_ANN = {"--interface": "{folder}/ann.py"}
_RANK = dict.fromkeys(("--gallery", "--probe"), (SUBJECT, "rank"))
# Units lie in strata; groups cross both, and folds cross strata.
_DESIGN = {"--stratum group": ("--psu", "none"), "--psu fold": ("--stratum", "none")}
CALLS: Mapping[str, Call] = {
    "run": Call(("{script}",), _ANN, {"--verbose": ("--case", "c01"), **_RANK}),
    "rate": Call(_RUNS[:1], needs={"--plot": ("--by", "group"), "--development": ("--at", "fpr=0.3"), **_DESIGN}),
    "compare": Call(_RUNS, needs={"--plot": ("--by", "group"), "--development": ("--at", "fpr=0.3"), **_DESIGN}),
    "roc": Call(_RUNS[:2], needs={"--bands two-way": ("--subjects", "unit,group"), **_DESIGN}),
    "report": Call(_RUNS, {"-o": "page.md"}, _DESIGN),
    "sweep": Call(("{script}",), {**_ANN, "--param": "skill=0.5,0.8,1,1.3"}, _RANK),
    "anova": Call(_RUNS[:2], {"--by": "half"}, _DESIGN),
    "zoo": Call(("hdigits/wisard",), {"--subjects": "expect,truth"}),
}
CALLS = of_commands_here(CALLS)


@cache
def option_set(command: str) -> type[OptionSet] | None:
    """What declares the options of a command."""
    found = hate.get_command(click.Context(hate), command)
    return getattr(getattr(found, "callback", None), "option_set", None)


def options_of(command: str) -> tuple[DeclaredOption, ...]:
    """The options of a command that have a spelling."""
    kind = option_set(command)
    return () if kind is None else tuple(one for one in declared_options(kind) if one.spec.flags)


def commands_with_options() -> list[str]:
    """The commands that declare their options."""
    return [name for name in commands_here() if options_of(name)]


def words_of(command: str, option: DeclaredOption) -> list[Word]:
    """The values of an option, as they are typed."""
    flag = option.spec.flags[0]
    for key in ((command, flag), flag):
        if key in VALUES:
            return [(flag, text) for text in VALUES[key]]
    if option.type is bool:
        return [(flag,)]
    return [(flag, text) for text in option.choices or _numbers(option)]


def _numbers(option: DeclaredOption) -> Sequence[str]:
    """Two numbers of its range, neither of them its default."""
    within = option.spec.within
    if within is None or option.spec.parse is not None or option.type not in (int, float):
        raise LookupError(f"{option.spec.flags[0]}: no value; give one in tests/products/option_values.py")
    low = within.low or 0
    if option.type is int:
        return [str(number) for number in range(int(low), int(low) + 5) if number != option.default][1:3]
    width = (low + 1 if within.high is None else within.high) - low
    return [f"{low + share * width:.4g}" for share in (0.3, 0.8)]


def factors(command: str) -> list[list[Word]]:
    """What a row of a command chooses from: the subject, and the values of each option."""
    subjects: list[Word] = [(SUBJECT, name) for name in SUBJECTS]
    return [subjects, *filter(None, (words_of(command, one) for one in options_of(command)))]


@cache
def needed(command: str, word: Word) -> tuple[Word, ...]:
    """What a value needs: words of which one must be there; none if it can stand alone."""
    return tuple(_needed(command, word))


def _needed(command: str, word: Word) -> Iterator[Word]:
    needs = CALLS[command].needs
    for key in (" ".join(word), word[0]):
        if key in needs:
            yield needs[key]
            return
    declared = {one.name: one for one in options_of(command)}
    own = next((one for one in declared.values() if one.spec.flags[0] == word[0]), None)
    for name in () if own is None else own.spec.needs:
        if name in declared:
            # A choice is made by a word that is not the default.
            yield [one for one in words_of(command, declared[name]) if one[-1] != str(declared[name].default)][-1]


def command_line(command: str, row: Sequence[Word], runs: AllRuns) -> list[str]:
    """A row as it is typed."""
    chosen: Runs = runs.of(next((word[1] for word in row if word[0] == SUBJECT), "score"))
    call = CALLS[command]
    flags = {word[0] for word in row}
    words: list[Word] = [(flag, text) for flag, text in call.given.items() if flag not in flags]
    words += [word for word in row if word[0] != SUBJECT]
    places = {"folder": str(chosen.script.parent), "script": str(chosen.script)}
    typed = [command, *call.arguments, *(text for word in words for text in word)]
    return [_filled(text, places) for text in typed]


def _filled(text: str, places: Mapping[str, str]) -> str:
    for name, value in places.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def inputs(runs: AllRuns, names: Sequence[str] = tuple(SUBJECTS)) -> dict[Path, tuple[int, int]]:
    """Every file that a command reads, with its size and the time it was changed."""
    folders = {runs.of(name).script.parent for name in names}
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in files}
