"""What a bare NAME means: the newest whole run of that algorithm under the working folder, else the published one."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.site.own import OwnRun, OwnRuns, own_runs, shortfall
from harness.site.published import Published, hint, published, the_one, usual_run
from harness.transcript.settings import changed_params, differing, in_words

MOST_NAMED = 3


@dataclass(frozen=True)
class Taken:
    """The transcript that a name means."""

    path: Path
    stem: str
    published: Published | None = None
    # Which file it is, where there was a choice.
    note: str = ""


@dataclass(frozen=True)
class Passed:
    """A file that goes by a name and is never taken for it."""

    path: Path
    why: str
    test: str
    # When it began and when it changed, as far as is known.
    moment: tuple[float, float]


@dataclass(frozen=True)
class Named:
    """All that a name may mean."""

    text: str
    # Whole runs of one's own, newest first, by the test that they are of.
    own: dict[str, list[OwnRun]]
    # Newest first too.
    passed: list[Passed]
    # By test.
    published: dict[str, Published]
    known: "Known"

    @property
    def tests(self) -> set[str]:
        """The tests that it may be of."""
        return {*self.own, *self.published}

    def take(self, test: str | None = None) -> Taken:
        """What is meant, of that test where one is given; a UsageError where that cannot be decided."""
        own = [runs for name, runs in self.own.items() if test in (None, name)]
        if own:
            runs = max(own, key=lambda some: some[0].order)
            return Taken(runs[0].path, runs[0].stem, note=self._note(runs))
        found = the_one(self.text, [entry for name, entry in self.published.items() if test in (None, name)])
        return Taken(found.path, found.name, found, self.note_published(found))

    def _note(self, runs: Sequence[OwnRun]) -> str:
        """Which run was taken, how old it is and how it was set; nothing where there was no choice."""
        run, others = runs[0], list(self._others(runs))
        if not others:
            return ""
        params = in_words(self._params(runs))
        return f"{self.text} is {run.path}, {run.how_old}{params and f', {params}'} ({'; '.join(others)})"

    def _others(self, runs: Sequence[OwnRun]) -> Iterator[str]:
        """What else there was to choose from."""
        run, test = runs[0], runs[0].header.test.name
        where = f" on {test}" if len(self.own) > 1 else ""
        if len(runs) > 1 or where:
            yield f"the newest of {len(runs):,}{where}" if len(runs) > 1 else f"the one{where}"
        others = [name for name in self.own if name != test]
        if others:
            yield f"there are runs on {' and '.join(others[:MOST_NAMED])} too"
        newer = [one for one in self.passed if one.test == test and one.moment > run.order[:2]]
        for one in newer[:1]:
            yield f"{one.path.name} is newer but {one.why}"
        for hidden in self.published.values():
            if not hidden.path.samefile(run.path):
                yield f"{hidden.full_name} is the published one"

    def _params(self, runs: Sequence[OwnRun]) -> dict[str, Any]:
        found = changed_params(runs[0].header, usual_run(runs[0].header, self.known.published))
        return differing([run.header.params for run in runs])[0] if found is None else found

    def note_published(self, found: Published) -> str:
        """Why a published one is taken although there are runs of one's own; nothing where there are none."""
        said = f"{self.text} is the published {found.full_name}{f', {found.run.how_old}' if found.run else ''}"
        if self.own:
            return f"{said} (runs of your own are on {', '.join(self.own)})"
        if self.passed:
            return f"{said} ({self.passed[0].path} {self.passed[0].why})"
        return ""

    def missing(self) -> UsageError:
        """Why there is nothing to take."""
        if self.passed:
            files = "; ".join(f"{one.path} {one.why}" for one in self.passed[:MOST_NAMED])
            return UsageError(
                f"{self.text}: no whole run and no published transcript of that name; name a file to take it as it is: "
                f"{files}"
            )
        return UsageError(
            f"{self.text}: no such file, no run here and no published transcript of that name; {self._hint()}"
        )

    def _hint(self) -> str:
        """Runs of one's own are not TEST/NAME, whatever their folder looks like."""
        test, slash, name = self.text.rpartition("/")
        if slash and (runs := self.known.named(name).own.get(test)):
            return f"TEST/NAME is a published one; a run of your own is {name}, or {runs[0].path}"
        return hint(self.text, self.known.published, sorted(self.known.own.names()))


@dataclass(frozen=True)
class Known:
    """The transcripts that are on this machine: looked for once, for all the names of a command."""

    own: OwnRuns
    published: list[Published]

    def named(self, text: str) -> Named:
        """All that a name may mean: an algorithm first, then the base name of a file, then a published one."""
        own: list[OwnRun] = []
        passed = {path: self._unusable(path) for path in self.own.unusable if _is_numbered(path, text)}
        for runs in (self.own.of_algorithm(text), self.own.of_file(text)):
            reasons = {run.path: shortfall(run) for run in runs}
            passed |= {run.path: _passed(run, reasons[run.path]) for run in runs if reasons[run.path]}
            own = own or [run for run in runs if not reasons[run.path]]
        order = sorted(passed.values(), key=lambda one: one.moment, reverse=True)
        match = {entry.test: entry for entry in self.published if entry.answers_to(text)}
        return Named(text, _by_test(own), order, match, self)

    def _unusable(self, path: Path) -> Passed:
        moment = self.own.unusable[path]
        return Passed(path, "is no transcript", path.parent.name, (moment, moment))

    def names(self) -> set[str]:
        """All names that are known here."""
        return self.own.names() | {name for entry in self.published for name in (entry.name, entry.full_name)}


def _is_numbered(path: Path, name: str) -> bool:
    """Whether a file has a base name that runs of an algorithm get: NAME, NAME-2."""
    return re.fullmatch(rf"{re.escape(name)}(-[0-9]+)?\.jsonl.*", path.name) is not None


def _passed(run: OwnRun, why: str) -> Passed:
    return Passed(run.path, why, run.header.test.name, run.order[:2])


def _by_test(runs: Sequence[OwnRun]) -> dict[str, list[OwnRun]]:
    found: dict[str, list[OwnRun]] = {}
    for run in runs:
        found.setdefault(run.header.test.name, []).append(run)
    return found


def known_here() -> Known:
    """What is under the working folder, and what ships with the harness."""
    return Known(own_runs(), published())
