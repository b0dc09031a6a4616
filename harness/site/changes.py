"""How a site changes when something is published: worked out in memory, without writing anything."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from msgspec.structs import replace

from harness.errors import DataError, UsageError
from harness.site.catalogue import Catalogue, SiteStore, find_version
from harness.site.layout import (
    FORMAT,
    MAX_TESTS_A_NAME,
    BestEntry,
    InterfaceEntry,
    NameEntry,
    Ref,
    Subtree,
    TestEntry,
    TestIndex,
    Top,
    TranscriptEntry,
    VersionEntry,
    encode,
    ref_of,
)
from harness.site.publish_candidates import Candidate, InterfaceCandidate, TestCandidate, TranscriptCandidate
from harness.site.tree import TreeUpdate


@dataclass
class SiteDraft:
    """A site as it will be: the files that it has, and in memory those to be written."""

    folder: SiteStore
    indexes: dict[Ref, bytes] = field(default_factory=dict)
    files: dict[Ref, Path] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.folder.name

    def index(self, ref: Ref) -> bytes:
        return self.indexes[ref] if ref in self.indexes else self.folder.index(ref)

    def prefetch(self, refs: Sequence[Ref]) -> None:
        """Nothing to do: the indexes are here."""

    def file(self, ref: Ref, label: str = "") -> Path:
        return self.files[ref] if ref in self.files else self.folder.file(ref)

    def write(self, data: bytes) -> Ref:
        ref = ref_of(data)
        self.indexes[ref] = data
        return ref


class PublishStatus(StrEnum):
    """What happened to a candidate."""

    NEW = "published"
    KNOWN = "already there"


@dataclass(frozen=True)
class PublishedItem:
    """A candidate and what happened to it."""

    label: str
    status: PublishStatus
    files: int
    size: int


class NameTaken(UsageError):
    """The name of a transcript belongs to another one, or to someone else."""


@dataclass
class SiteChange:
    """The site after the change; `top` is None if nothing changes."""

    draft: SiteDraft
    now: str
    items: list[PublishedItem] = field(default_factory=list)
    mistakes: list[str] = field(default_factory=list)
    # What those who publish should know about transcripts that they may publish.
    notes: list[str] = field(default_factory=list)
    # Whether a new version may show the truth of a blind test.
    reveal: bool = False
    # Whether one of the mistakes is a name that is taken.
    name_taken: bool = False
    top: Top | None = None

    def add(self, label: str, refs: Sequence[Ref], *, new: bool) -> None:
        status = PublishStatus.NEW if new else PublishStatus.KNOWN
        self.items.append(PublishedItem(label, status, len(refs), sum(ref.bytes for ref in refs)))

    @property
    def changes(self) -> bool:
        return any(item.status is PublishStatus.NEW for item in self.items)


def plan_change(
    draft: SiteDraft, top: Top, candidates: Sequence[Candidate], now: str, *, reveal: bool = False
) -> SiteChange:
    """What to write to publish all candidates; a UsageError if one conflicts with what is there.

    `reveal`: a test whose latest version is blind may be published with its truth.
    """
    change = SiteChange(draft, now, reveal=reveal)
    site = Catalogue(draft, top)
    names = dict.fromkeys(candidate.test_name for candidate in candidates)
    drafts = {name: _TestDraft(change, site, name, candidates) for name in names}
    indexes = {name: index for name, test in drafts.items() if (index := test.index()) is not None}
    mistakes, kind = change.mistakes, NameTaken if change.name_taken else UsageError
    if len(mistakes) == 1:
        raise kind(mistakes[0])
    if mistakes:
        raise kind("\n  ".join([f"{len(mistakes)} cannot be published, so nothing was published", *mistakes]))
    if not change.changes:
        return change
    tests = TreeUpdate(
        site.test_tree, draft, lambda name, old: [_test_entry(site, drafts[name], indexes[name], old)], draft.write
    )
    new = {(name, test) for test, test_draft in drafts.items() for name in test_draft.new_names}
    transcript_names = TreeUpdate(site.name_tree, draft, lambda name, old: [_name_entry(name, old, new)], draft.write)
    change.top = replace(
        top,
        serial=top.serial + 1,
        published=now,
        tests=tests.of(indexes).root,
        names=transcript_names.of({name for name, _ in new}).root if new else top.names,
    )
    return change


def _test_entry(site: Catalogue, test: "_TestDraft", index: TestIndex, old: Sequence[TestEntry]) -> TestEntry:
    """The entry of a test in the tree of tests; adds its index to the draft."""
    latest = index.latest
    known = old[0] if old and old[0].version == latest.version else None
    # An older version of the harness did not look for the best.
    searched = known is None or known.best is not None or not known.transcripts
    entries = test.added if searched else site.transcripts(index)
    best = _leader(
        [entry for entry in entries if entry.version == latest.version], None if known is None else known.best
    )
    return TestEntry(
        index.name,
        latest.version,
        latest.synopsis,
        latest.task,
        latest.cases,
        latest.digest,
        len(index.versions),
        index.transcripts.count if index.transcripts else 0,
        test.change.draft.write(encode(index)),
        latest.published,
        best,
    )


def _name_entry(name: str, old: list[NameEntry], new: set[tuple[str, str]]) -> NameEntry:
    tests = sorted(test for new_name, test in new if new_name == name)
    known = old[0] if old else NameEntry(name, 0, [])
    return NameEntry(name, known.count + len(tests), [*known.tests, *tests][:MAX_TESTS_A_NAME])


class _TestDraft:
    """One test, and the candidates that belong to it."""

    def __init__(self, change: SiteChange, site: Catalogue, name: str, candidates: Sequence[Candidate]) -> None:
        self.change = change
        self.site = site
        self.name = name
        of_test = [candidate for candidate in candidates if candidate.test_name == name]
        self.releases = [candidate for candidate in of_test if isinstance(candidate, TestCandidate)]
        self.transcripts = [candidate for candidate in of_test if isinstance(candidate, TranscriptCandidate)]
        self.interfaces = [candidate for candidate in of_test if isinstance(candidate, InterfaceCandidate)]
        # Names of transcripts that this test did not have before.
        self.new_names: set[str] = set()
        self.added: list[TranscriptEntry] = []

    def index(self) -> TestIndex | None:
        """Its new index; None if nothing changes or there are mistakes."""
        old = self.site.test(self.name)
        versions = list(old.versions) if old is not None else []
        for release in self.releases:
            self._add_version(versions, release)
        root = old.transcripts if old is not None else None
        if not versions:
            unknown = f"its test '{self.name}' is not published at {self.site.store.name}; publish the test first"
            paths = [each.path for each in self.transcripts] + [each.path for each in self.interfaces]
            self.change.mistakes += [f"{path}: {unknown}" for path in paths]
            return None
        interfaces = self._with_interfaces(old.interfaces if old is not None else [])
        ordered = sorted(versions, key=lambda entry: version_key(entry.version))
        index = TestIndex("test", FORMAT, self.name, ordered, root, interfaces)
        valid = []
        for candidate in self.transcripts:
            if text := self._transcript_mistake(index, candidate):
                self.change.mistakes.append(f"{candidate.path}: {text}")
            else:
                valid.append(candidate)
        if valid:
            index = replace(index, transcripts=self._add_transcripts(index, valid))
        return None if index == old else index

    def _add_version(self, versions: list[VersionEntry], candidate: TestCandidate) -> None:
        draft, release = self.change.draft, candidate.release
        data = encode(release)
        ref = draft.write(data)
        known = next((entry for entry in versions if entry.version == release.version), None)
        if known is not None and known.release != ref:
            self.change.mistakes.append(_difference(self.site, self.name, known, candidate))
            return
        latest = max(versions, key=lambda entry: version_key(entry.version), default=None)
        if known is None and latest is not None and latest.blind and not (candidate.blind or self.change.reveal):
            self.change.mistakes.append(
                f"{self.name} {latest.version} is a blind test, and {candidate.label} would publish its truth; "
                "publish it with --blind, or lay it open with --reveal"
            )
            return
        # Even if the version is known: this repairs damaged files.
        draft.files |= candidate.sources
        if known is None:
            summary = (release.version, candidate.synopsis, candidate.task, candidate.cases, release.digest)
            versions.append(VersionEntry(*summary, self.change.now, ref, candidate.blind))
        self.change.add(candidate.label, list(candidate.sources), new=known is None)

    def _with_interfaces(self, old: Sequence[InterfaceEntry]) -> list[InterfaceEntry]:
        """The interfaces of the test; what is published never changes."""
        entries = list(old)
        for candidate in self.interfaces:
            known = next((entry for entry in entries if entry.name == candidate.name), None)
            if known is not None and known.files != list(candidate.files):
                text = f"{self.name} already has another interface with the name '{candidate.name}'"
                self.change.mistakes.append(f"{candidate.path}: {text}; choose another with --name")
                continue
            self.change.draft.files |= candidate.sources
            if known is None:
                entries.append(InterfaceEntry(candidate.name, self.change.now, list(candidate.files)))
            self.change.add(candidate.label, list(candidate.sources), new=known is None)
        return entries

    def _transcript_mistake(self, index: TestIndex, candidate: TranscriptCandidate) -> str:
        test = candidate.header.test
        version = find_version(index, test.version)
        if not test.version or version is None:
            known = ", ".join(entry.version for entry in index.versions[-5:])
            return f"its test {test.name} '{test.version}' is not published, only {known}; publish that version first"
        if version.digest != test.digest:
            return f"not of the published {test.name} {test.version}: its digest {test.digest:.80} differs"
        expected = None if version.cases is None else version.cases * candidate.repeat
        if expected is not None and candidate.counts.tests != expected:
            return (
                f"{candidate.counts.tests:,} records, but a complete run of {test.name} {test.version} has {expected:,}"
            )
        return ""

    def _add_transcripts(self, index: TestIndex, candidates: Sequence[TranscriptCandidate]) -> Subtree | None:
        tree = self.site.transcript_tree(index)

        def updated(name: str, old: list[TranscriptEntry]) -> list[TranscriptEntry]:
            entries = list(old)
            for candidate in candidates:
                if candidate.name == name:
                    self._add_transcript(entries, candidate)
            return sorted(entries, key=lambda entry: version_key(entry.version))

        update = TreeUpdate(tree, self.change.draft, updated, self.change.draft.write)
        return update.of(candidate.name for candidate in candidates).root

    def _add_transcript(self, entries: list[TranscriptEntry], candidate: TranscriptCandidate) -> None:
        test, label = candidate.header.test, f"{candidate.header.test.name}/{candidate.name}"
        known = next((entry for entry in entries if entry.version == test.version), None)
        if text := self._name_mistake(known, candidate):
            self.change.name_taken = True
            self.change.mistakes.append(f"{candidate.path}: {text}; choose another with --name")
            return
        self.change.draft.files[candidate.ref] = candidate.path
        self.change.notes += [f"{candidate.path}: {text}" for text in candidate.notes]
        if known is None:
            if not entries:
                self.new_names.add(candidate.name)
            self.added.append(_transcript_entry(candidate, self.change.now))
            entries.append(self.added[-1])
        self.change.add(label, [candidate.ref], new=known is None)

    def _name_mistake(self, known: TranscriptEntry | None, candidate: TranscriptCandidate) -> str:
        test = candidate.header.test
        if known is None:
            owner = name_owner(self.site, candidate.name)
            whose = owner or "the owner of this site"
            free = owner is None or owner == candidate.by
            return "" if free else f"the name '{candidate.name}' belongs to {whose}"
        # The site's owner, for whom `by` is empty, may republish what others submitted.
        if known.file == candidate.ref and candidate.by in ("", known.by):
            return ""
        return f"{test.name} {test.version} already has another transcript with the name '{candidate.name}'"


def name_owner(site: Catalogue, name: str) -> str | None:
    """Who has registered the name of a transcript, for all tests; empty for the site's owner, None if nobody has."""
    known = site.tests_with(name)
    for test in known.tests if known is not None else []:
        index = site.test(test)
        entry = None if index is None else site.transcript(index, name)
        if entry is not None:
            return entry.by
    return None


def _transcript_entry(candidate: TranscriptCandidate, now: str) -> TranscriptEntry:
    test, algorithm, counts = candidate.header.test, candidate.header.algorithm, candidate.counts
    return TranscriptEntry(
        candidate.name,
        test.version,
        test.digest,
        algorithm.name[:1000],
        algorithm.version[:1000],
        counts.tests,
        counts.TP,
        counts.TN,
        counts.FP,
        counts.FN,
        counts.ER,
        now,
        candidate.ref,
        candidate.by,
        candidate.self_reported[:1000],
        candidate.isolation[:1000],
        candidate.standing,
    )


def _difference(site: Catalogue, name: str, known: VersionEntry, candidate: TestCandidate) -> str:
    """How a test differs from the published one with the same version."""
    try:
        index = site.test(name)
        old = {f.path: f.sha256 for f in site.release(index, known).files} if index is not None else {}
    except DataError:
        old = {}
    new = {file.path: file.sha256 for file in candidate.release.files}
    differing = sorted(path for path in {*old, *new} if old.get(path) != new.get(path))
    what = f" in {', '.join(differing[:3])}{' and more' if len(differing) > 3 else ''}" if differing else ""
    return (
        f"{name} {known.version} is already published, and differs{what}; "
        "published tests never change: give the test a new version"
    )


def _leader(entries: Sequence[TranscriptEntry], known: BestEntry | None) -> BestEntry | None:
    """The transcript that leads; the older one, or the first by name, if two are equal.

    If one of them does not say what it is ranked by, as at a site of an older version, all are held against each other
    by their shares of successes, and the leader does not say it either.
    """
    for entry in sorted(entries, key=lambda entry: entry.name):
        new = BestEntry(entry.name, entry.rate, entry.standing)
        if known is None:
            known = new
        elif known.standing is not None and new.standing is not None:
            known = new if new.standing.merit > known.standing.merit else known
        else:
            known = replace(new if new.rate > known.rate else known, standing=None)
    return known


_VERSION_PART = re.compile(r"(\d+)|([A-Za-z]+)|([^A-Za-z0-9]+)")
_EARLY_STAGES = ("dev", "a", "alpha", "b", "beta", "c", "rc", "pre", "preview")
_VERSION_END = (1, 0, "")


def version_key(version: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key: 1.9 < 1.10-rc1 < 1.10 < 1.10.post1 < 1.10.1; two spellings of one version have different keys."""
    parts: list[tuple[int, int, str]] = []
    for number, word, _ in _VERSION_PART.findall(version):
        if number:
            parts.append((3, int(number), ""))
        elif word.lower() in _EARLY_STAGES:
            parts.append((0, _EARLY_STAGES.index(word.lower()), word))
        elif word:
            parts.append((2, 0, word))
    return (*parts, _VERSION_END, (0, 0, version))
