"""What becomes of a site when something is added: decided in memory, nothing is written here."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from msgspec.structs import replace

from harness.errors import DataError, UsageError
from harness.site.catalogue import Catalogue, find_version
from harness.site.layout import (
    FORMAT,
    MOST_TESTS_A_NAME,
    NameEntry,
    Ref,
    Subtree,
    TestEntry,
    TestIndex,
    Top,
    TranscriptEntry,
    VersionEntry,
    encode,
)
from harness.site.publishing.offers import Offer, TestOffer, TranscriptOffer
from harness.site.publishing.shelf import Shelf
from harness.site.tree import Growth
from harness.site.versions import version_key


class Fate(StrEnum):
    """What became of an offer."""

    NEW = "published"
    KNOWN = "already there"


@dataclass(frozen=True)
class Verdict:
    """An offer and its fate."""

    label: str
    fate: Fate
    files: int
    size: int


@dataclass
class Decision:
    """The site after the change; `top` is None where there is nothing to change."""

    shelf: Shelf
    now: str
    verdicts: list[Verdict] = field(default_factory=list)
    mistakes: list[str] = field(default_factory=list)
    top: Top | None = None

    def add(self, label: str, refs: Sequence[Ref], fate: Fate) -> None:
        """Note what becomes of an offer."""
        self.verdicts.append(Verdict(label, fate, len(refs), sum(ref.bytes for ref in refs)))

    @property
    def changes(self) -> bool:
        """Whether anything is new."""
        return any(verdict.fate is Fate.NEW for verdict in self.verdicts)


def decide(shelf: Shelf, top: Top, offers: Sequence[Offer], now: str) -> Decision:
    """What to write so that all the offers are published; a UsageError where one contradicts what is there."""
    decision = Decision(shelf, now)
    site = Catalogue(shelf, top)
    grown = {name: _Grown(decision, site, name, offers) for name in _names(offers)}
    indexes = {name: index for name, one in grown.items() if (index := one.index()) is not None}
    _raise(decision.mistakes)
    if not decision.changes:
        return decision
    tests = Growth(site.test_tree, shelf, lambda name, _: [_entry(shelf, indexes[name])], shelf.write).of(indexes)
    named = {(called, name) for name, one in grown.items() for called in one.new_names}
    names = Growth(site.name_tree, shelf, lambda called, old: [_named(called, old, named)], shelf.write)
    decision.top = replace(
        top,
        serial=top.serial + 1,
        published=now,
        tests=tests.root,
        names=names.of({called for called, _ in named}).root if named else top.names,
    )
    return decision


def _names(offers: Sequence[Offer]) -> list[str]:
    return list(dict.fromkeys(o.release.name if isinstance(o, TestOffer) else o.header.test.name for o in offers))


def _raise(mistakes: Sequence[str]) -> None:
    if len(mistakes) == 1:
        raise UsageError(mistakes[0])
    if mistakes:
        raise UsageError("\n  ".join([f"{len(mistakes)} cannot be published, so nothing was", *mistakes]))


def _entry(shelf: Shelf, index: TestIndex) -> TestEntry:
    """What the tree of tests says of a test; writes its index."""
    latest = index.latest
    return TestEntry(
        index.name, latest.version, latest.synopsis, latest.task, latest.cases, latest.digest, len(index.versions),
        index.transcripts.count if index.transcripts else 0, shelf.write(encode(index)),
    )  # fmt: skip


def _named(called: str, old: list[NameEntry], new: set[tuple[str, str]]) -> NameEntry:
    tests = sorted(test for name, test in new if name == called)
    known = old[0] if old else NameEntry(called, 0, [])
    return NameEntry(called, known.count + len(tests), [*known.tests, *tests][:MOST_TESTS_A_NAME])


class _Grown:
    """One test with what is offered for it."""

    def __init__(self, decision: Decision, site: Catalogue, name: str, offers: Sequence[Offer]) -> None:
        self.decision = decision
        self.site = site
        self.name = name
        self.releases = [o for o in offers if isinstance(o, TestOffer) and o.release.name == name]
        self.transcripts = [o for o in offers if isinstance(o, TranscriptOffer) and o.header.test.name == name]
        # Names of transcripts that this test had none of.
        self.new_names: set[str] = set()

    def index(self) -> TestIndex | None:
        """Its index from now on; None where nothing changes, or there are mistakes."""
        old = self.site.test(self.name)
        versions = list(old.versions) if old is not None else []
        for offer in self.releases:
            self._add_version(versions, offer)
        root = old.transcripts if old is not None else None
        if not versions:
            self.decision.mistakes += [f"{o.path}: {self._unknown(o)}" for o in self.transcripts]
            return None
        index = TestIndex("test", FORMAT, self.name, sorted(versions, key=lambda v: version_key(v.version)), root)
        if fitting := self._fitting(index):
            index = replace(index, transcripts=self._add_transcripts(index, fitting))
        return None if index == old else index

    def _add_version(self, versions: list[VersionEntry], offer: TestOffer) -> None:
        shelf, release = self.decision.shelf, offer.release
        data = encode(release)
        ref = shelf.write(data)
        known = next((one for one in versions if one.version == release.version), None)
        if known is not None and known.release != ref:
            self.decision.mistakes.append(_differs(self.site, self.name, known, offer))
            return
        # Also where it is known: what was damaged since is mended.
        shelf.files |= offer.sources
        if known is None:
            summary = (release.version, offer.synopsis, offer.task, offer.cases, release.digest)
            versions.append(VersionEntry(*summary, self.decision.now, ref))
        self.decision.add(offer.label, list(offer.sources), Fate.NEW if known is None else Fate.KNOWN)

    def _fitting(self, index: TestIndex) -> list[TranscriptOffer]:
        """The transcripts that are of a version that is there; the others are mistakes."""
        fitting = []
        for offer in self.transcripts:
            if text := self._mistake(index, offer):
                self.decision.mistakes.append(f"{offer.path}: {text}")
            else:
                fitting.append(offer)
        return fitting

    def _unknown(self, offer: TranscriptOffer) -> str:
        place = self.site.place.name
        return f"of test '{offer.header.test.name}', which is not published at {place}; publish the test first"

    def _mistake(self, index: TestIndex, offer: TranscriptOffer) -> str:
        test = offer.header.test
        version = find_version(index, test.version)
        if not test.version or version is None:
            known = ", ".join(one.version for one in index.versions[-5:])
            return f"of {test.name} '{test.version}', which is not published there, only {known}; publish that first"
        if version.digest != test.digest:
            return (
                f"of another {test.name} {test.version} than is published there: the digest {test.digest:.80} differs"
            )
        expected = None if version.cases is None else version.cases * offer.repeat
        if expected is not None and offer.counts.tests != expected:
            return f"{offer.counts.tests:,} records, a whole run of {test.name} {test.version} has {expected:,}"
        return ""

    def _add_transcripts(self, index: TestIndex, offers: Sequence[TranscriptOffer]) -> Subtree | None:
        tree = self.site.transcript_tree(index)

        def change(name: str, old: list[TranscriptEntry]) -> list[TranscriptEntry]:
            entries = list(old)
            for offer in offers:
                if offer.name == name:
                    self._add_transcript(entries, offer)
            return sorted(entries, key=lambda entry: version_key(entry.version))

        return Growth(tree, self.decision.shelf, change, self.decision.shelf.write).of({o.name for o in offers}).root

    def _add_transcript(self, entries: list[TranscriptEntry], offer: TranscriptOffer) -> None:
        test, label = offer.header.test, f"{offer.header.test.name}/{offer.name}"
        known = next((entry for entry in entries if entry.version == test.version), None)
        # The owner of the site, who has no name, may publish what others submitted.
        if known is not None and (known.file != offer.ref or offer.by not in ("", known.by)):
            text = f"{test.name} {test.version} has another transcript of the name '{offer.name}'; give it another"
            self.decision.mistakes.append(f"{offer.path}: {text} with --name")
            return
        self.decision.shelf.files[offer.ref] = offer.path
        if known is None:
            if not entries:
                self.new_names.add(offer.name)
            entries.append(_transcript_entry(offer, self.decision.now))
        self.decision.add(label, [offer.ref], Fate.NEW if known is None else Fate.KNOWN)


def _transcript_entry(offer: TranscriptOffer, now: str) -> TranscriptEntry:
    test, algorithm, counts = offer.header.test, offer.header.algorithm, offer.counts
    return TranscriptEntry(
        offer.name, test.version, test.digest, algorithm.name[:1000], algorithm.version[:1000], counts.tests,
        counts.TP, counts.TN, counts.FP, counts.FN, counts.ER, now, offer.ref, offer.by,
    )  # fmt: skip


def _differs(site: Catalogue, name: str, known: VersionEntry, offer: TestOffer) -> str:
    """What was published under the same version and is not the same now."""
    said = f"{name} {known.version} is published already, and differs"
    try:
        index = site.test(name)
        old = {f.path: f.sha256 for f in site.release(index, known).files} if index is not None else {}
    except DataError:
        old = {}
    new = {file.path: file.sha256 for file in offer.release.files}
    differing = sorted(path for path in {*old, *new} if old.get(path) != new.get(path))
    what = f" in {', '.join(differing[:3])}{' and more' if len(differing) > 3 else ''}" if differing else ""
    return f"{said}{what}; what is published stays: give the test a new version"
