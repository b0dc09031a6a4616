"""What the sites have, for `hate list`."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from harness.cli.output import remark
from harness.errors import HateError
from harness.site.config import configured_sites
from harness.site.own import moment

if TYPE_CHECKING:
    from harness.site.catalogue import Catalogue
    from harness.site.layout import TestEntry, TranscriptEntry

# Nobody reads more; a site has pages and indexes for that.
MOST_TRANSCRIPTS = 1000


def tests_at_sites() -> list[dict[str, Any]]:
    """The latest version of every test at the sites; a site that cannot be used is a remark."""
    return _from_all(lambda catalogue, site: [_listed(entry, site) for entry in catalogue.tests()])


def transcripts_at_sites() -> list[dict[str, Any]]:
    """The transcripts at the sites, each with the name by which other commands know it; of large sites, the first."""
    return _from_all(_first_transcripts)


def _from_all(look: Callable[["Catalogue", str], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """What is found at all sites together."""
    if not configured_sites():
        return []
    from harness.site.sites import sites

    entries: list[dict[str, Any]] = []
    among = sites()
    for config, catalogue in among:
        try:
            entries += look(catalogue, config.name)
        except HateError as error:
            among.refuse(error)
    for note in among.notes:
        remark(f"hate: {note}")
    return entries


def _first_transcripts(catalogue: "Catalogue", site: str) -> list[dict[str, Any]]:
    found = [_shared(test, entry, site) for test, entry in islice(_each(catalogue), MOST_TRANSCRIPTS + 1)]
    if len(found) > MOST_TRANSCRIPTS:
        remark(f"{site}: only the first {MOST_TRANSCRIPTS:,} transcripts are listed")
    return found[:MOST_TRANSCRIPTS]


def _each(catalogue: "Catalogue") -> Iterator[tuple[str, "TranscriptEntry"]]:
    for test in catalogue.tests():
        if test.transcripts:
            for entry in catalogue.transcripts(catalogue.index_of(test)):
                yield test.name, entry


def _shared(test: str, entry: "TranscriptEntry", site: str) -> dict[str, Any]:
    return {
        # When it was published: the index of a site does not say when it was run, or with which parameters.
        "when": moment(entry.published) or 0.0,
        "test": test,
        "version": entry.version,
        "algorithm": entry.algorithm,
        "tests": entry.tests,
        "rate": (entry.TP + entry.TN) / entry.tests if entry.tests else 0.0,
        "complete": True,
        "site": site,
        "path": f"{test}@{entry.version}/{entry.name}",
        "started": None,
        "params": None,
        "changed": None,
        "extent": {},
        "part": "",
    }


def _listed(entry: "TestEntry", site: str) -> dict[str, Any]:
    return {
        "name": entry.name,
        "version": entry.version,
        "synopsis": entry.synopsis,
        "task": entry.task,
        "cases": entry.cases,
        "site": site,
        "digest": entry.digest,
    }
