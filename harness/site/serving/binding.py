"""Whether the records of a transcript are those of the test: its cases, with the claims and groups that they have."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET

from harness.errors import TranscriptError
from harness.model import Trial
from harness.script.cases import load_cases
from harness.site.catalogue import Catalogue, find_version
from harness.site.provide import provide
from harness.site.releases import Released

# Larger tests are bound by digest and number alone: reading them would keep everyone waiting.
LARGEST_RELEASE = 200 << 20
MOST_CASES = 1_000_000
MOST_KEPT = 4


@dataclass(frozen=True)
class Known:
    """What a record must agree with."""

    positive: bool
    # As a record has them: UNSET where the test names no such group.
    stratum: Any
    psu: Any


Cases = dict[str, Known]


@dataclass
class Binder:
    """The cases of tests, read once."""

    _kept: OrderedDict[str, Cases | None] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def cases(self, site: Catalogue, name: str, version: str) -> Cases | None:
        """The cases of a test; None where it is not there, or where that would take a download or too long."""
        index = site.test(name)
        found = find_version(index, version) if index is not None and version else None
        if index is None or found is None:
            return None
        with self._lock:
            if found.digest not in self._kept:
                self._kept[found.digest] = _read(Released(site, index, found))
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
            return self._kept[found.digest]


def _read(released: Released) -> Cases | None:
    release = released.catalogue.release(released.index, released.version)
    if sum(file.bytes for file in release.files) > LARGEST_RELEASE or (released.version.cases or 0) > MOST_CASES:
        return None
    script = released.script()
    if any(data.url is not None for data in script.file.data.values()):
        return None
    cases = load_cases(script, provide(script))
    return {
        case.id: Known(
            case.positive,
            UNSET if cases.stratum is None else cases.stratum(case),
            UNSET if cases.psu is None else cases.psu(case),
        )
        for case in cases
    }


def check_bound(trial: Trial, cases: Cases, name: str) -> None:
    """A TranscriptError where a record is of no case of the test, or says something else of it."""
    known = cases.get(trial.id)
    if known is None:
        raise TranscriptError(f"{name}: the test has no case '{trial.id[:100]}'")
    if trial.outcome.positive != known.positive:
        said = "positive" if known.positive else "negative"
        raise TranscriptError(f"{name}: case '{trial.id[:100]}' is {said} in the test, {trial.outcome.value} here")
    for what in ("stratum", "psu"):
        if getattr(trial, what) != getattr(known, what):
            raise TranscriptError(f"{name}: case '{trial.id[:100]}' has another {what} in the test")
