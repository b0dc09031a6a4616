"""What a NAME means: the newest whole run of that algorithm under the working folder, or else the published one."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.site.local_runs import LocalRun, LocalRuns, local_runs, one_line, shortfall
from harness.site.published_transcripts import (
    PublishedTranscript,
    bundled_transcripts,
    name_hint,
    only_match,
    published_header,
)
from harness.transcript.settings import changed_params, differing, in_words

MOST_NAMED = 3


@dataclass(frozen=True)
class ChosenTranscript:
    """The transcript that a name means."""

    path: Path
    stem: str
    published: PublishedTranscript | None = None
    # Which file it is, if there was a choice.
    note: str = ""


@dataclass(frozen=True)
class SkippedRun:
    """A file with the right name that is never chosen, and why."""

    path: Path
    why: str
    test: str
    # When the run began and when the file changed, as far as is known.
    moment: tuple[float, float]


@dataclass(frozen=True)
class NameMatches:
    """All that a name may mean."""

    text: str
    # The user's own whole runs by test, newest first.
    own: dict[str, list[LocalRun]]
    # Newest first.
    skipped: list[SkippedRun]
    # By test.
    published: dict[str, PublishedTranscript]
    known: "LocalTranscripts"

    @property
    def tests(self) -> set[str]:
        """The tests that it may belong to."""
        return {*self.own, *self.published}

    def choose(self, test: str | None = None) -> ChosenTranscript:
        """What is meant, for a given test or any; a UsageError if that is ambiguous."""
        own = [runs for name, runs in self.own.items() if test in (None, name)]
        if own:
            runs = max(own, key=lambda some: some[0].order)
            return ChosenTranscript(runs[0].path, runs[0].stem, note=self._note(runs))
        found = only_match(self.text, [entry for name, entry in self.published.items() if test in (None, name)])
        return ChosenTranscript(found.path, found.name, found, self.note_published(found))

    def _note(self, runs: Sequence[LocalRun]) -> str:
        """Which run was chosen, how old it is and its parameters; nothing if there was no choice."""
        run, others = runs[0], list(self._others(runs))
        if not others:
            return ""
        path, params = one_line(str(run.path)), in_words(self._params(runs))
        return f"{self.text} is {path}, {run.how_old}{params and f', {params}'} ({'; '.join(others)})"

    def _others(self, runs: Sequence[LocalRun]) -> Iterator[str]:
        """What else there was to choose from."""
        run, test = runs[0], runs[0].header.test.name
        where = f" on {test}" if len(self.own) > 1 else ""
        if len(runs) > 1 or where:
            yield f"the newest of {len(runs):,}{where}" if len(runs) > 1 else f"the one{where}"
        others = [name for name in self.own if name != test]
        if others:
            yield f"there are runs on {' and '.join(others[:MOST_NAMED])} too"
        newer = [one for one in self.skipped if one.test == test and one.moment > run.order[:2]]
        for one in newer[:1]:
            yield f"{one_line(one.path.name)} is newer but {one.why}"
        for hidden in self.published.values():
            if not hidden.path.samefile(run.path):
                yield f"{hidden.full_name} is the published one"

    def _params(self, runs: Sequence[LocalRun]) -> dict[str, Any]:
        found = changed_params(runs[0].header, published_header(runs[0].header, self.known.published))
        return differing([run.header.params for run in runs])[0] if found is None else found

    def note_published(self, found: PublishedTranscript) -> str:
        """Why a published transcript was chosen although the user has runs; nothing if there are none."""
        said = f"{self.text} is the published {found.full_name}{f', {found.run.how_old}' if found.run else ''}"
        if self.own:
            return f"{said} (your own runs are on {', '.join(self.own)})"
        if self.skipped:
            return f"{said} ({self.skipped[0].path} {self.skipped[0].why})"
        return ""

    def missing(self) -> UsageError:
        """The error for a name that leads to nothing."""
        if self.skipped:
            files = "; ".join(f"{one_line(str(one.path))} {one.why}" for one in self.skipped[:MOST_NAMED])
            return UsageError(
                f"{self.text}: no whole run and no published transcript of that name; name a file to use it anyway: "
                f"{files}"
            )
        return UsageError(
            f"{self.text}: no such file, no run here and no published transcript of that name; {self._hint()}"
        )

    def _hint(self) -> str:
        """What may have been meant. TEST/NAME is never a run of the user, whatever its folder looks like."""
        test, slash, name = self.text.rpartition("/")
        if slash and (runs := self.known.named(name).own.get(test)):
            return f"TEST/NAME is a published transcript; your own run is {name}, or {runs[0].path}"
        return name_hint(self.text, self.known.published, sorted(self.known.own.names()))


@dataclass(frozen=True)
class LocalTranscripts:
    """The transcripts on this machine, searched once for all names of a command."""

    own: LocalRuns
    published: list[PublishedTranscript]

    def named(self, text: str) -> NameMatches:
        """All that a name may mean: an algorithm first, then the base name of a file, then a published one."""
        own: list[LocalRun] = []
        skipped = {path: self._unusable(path) for path in self.own.unusable if _is_numbered(path, text)}
        for runs in (self.own.of_algorithm(text), self.own.of_file(text)):
            reasons = {run.path: shortfall(run) for run in runs}
            skipped |= {run.path: _skipped(run, reasons[run.path]) for run in runs if reasons[run.path]}
            own = own or [run for run in runs if not reasons[run.path]]
        order = sorted(skipped.values(), key=lambda one: one.moment, reverse=True)
        match = {entry.test: entry for entry in self.published if entry.has_name(text)}
        return NameMatches(one_line(text), _by_test(own), order, match, self)

    def _unusable(self, path: Path) -> SkippedRun:
        moment = self.own.unusable[path]
        return SkippedRun(path, "is not a transcript", path.parent.name, (moment, moment))

    def names(self) -> set[str]:
        """All names that are known on this machine."""
        return self.own.names() | {name for entry in self.published for name in (entry.name, entry.full_name)}


def _is_numbered(path: Path, name: str) -> bool:
    """Whether a file is called as runs of an algorithm are: NAME, NAME-2."""
    return re.fullmatch(rf"{re.escape(name)}(-[0-9]+)?\.jsonl.*", path.name) is not None


def _skipped(run: LocalRun, why: str) -> SkippedRun:
    return SkippedRun(run.path, why, run.header.test.name, run.order[:2])


def _by_test(runs: Sequence[LocalRun]) -> dict[str, list[LocalRun]]:
    found: dict[str, list[LocalRun]] = {}
    for run in runs:
        found.setdefault(run.header.test.name, []).append(run)
    return found


def local_transcripts() -> LocalTranscripts:
    """What is under the working folder, and what ships with the harness."""
    return LocalTranscripts(local_runs(), bundled_transcripts())
