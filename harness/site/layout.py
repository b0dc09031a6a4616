"""The layout of a site, format 1: what each of its files holds. In words: docs/reference/sites.md.

Only one file changes, the top index. It names the root of a tree by SHA-256, and everything below is named by its
content. A reader with a top index therefore sees one consistent state of the site, and one signature covers all of it.
"""

import hashlib
import re
from pathlib import PurePosixPath
from typing import Annotated, Generic, TypeVar

import msgspec
from msgspec import Meta, Struct

from harness.errors import DataError
from harness.model import Standing

FORMAT = 1
TOP = "hate-site.json"
# Which pages for people are there as files, and what they were made from.
PAGES = "-/pages.json"
# A leaf with more entries is split by the next hex digit of their keys.
MAX_LEAF_ENTRIES = 512
# 16 digits distinguish 1.8e19 entries; no site has more, so a deeper tree is hostile.
DEEPEST = 16
MAX_TOP_BYTES = 1 << 20
MAX_INDEX_BYTES = 16 << 20
MAX_FILES = 20_000
MAX_TESTS_A_NAME = 10
MAX_SYNOPSIS_LENGTH = 300
# An entry that says nothing about it is from an older version.
UNJUDGED = "it was published when outcomes were not judged again"

Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
Size = Annotated[int, Meta(ge=0, le=1 << 50)]
Count = Annotated[int, Meta(ge=0, le=1 << 50)]
TestName = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]*\Z", max_length=100)]
Version = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*\Z", max_length=100)]
TranscriptName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*\Z", max_length=100)]
Digest = Annotated[str, Meta(pattern=r"^[0-9]{1,9}:[0-9a-f]{64}\Z")]
Words = Annotated[str, Meta(max_length=1000)]
FilePath = Annotated[str, Meta(min_length=1, max_length=1000)]


class Ref(Struct, frozen=True):
    """A file of the site, by its content."""

    sha256: Sha256
    bytes: Size


class Subtree(Struct, frozen=True):
    """A node of a tree, and how many entries are below it."""

    sha256: Sha256
    bytes: Size
    count: Count

    @property
    def ref(self) -> Ref:
        return Ref(self.sha256, self.bytes)


class Top(Struct, frozen=True):
    """`hate-site.json`: the one file that changes."""

    hate: str
    format: int
    # Grows by one with every change; a reader refuses a smaller one.
    serial: Count
    published: Words = ""
    title: Words = ""
    # Where people find the site, for the commands that its pages show.
    url: Words = ""
    # `ed25519:` and the public key in base64, if the site is signed.
    key: Words = ""
    # The latest root document, if another key, kept offline, says which keys may sign.
    root: Ref | None = None
    # When a reader should no longer believe it, and how many days that is after each change; empty and 0 for never.
    expires: Words = ""
    lifetime: Annotated[int, Meta(ge=0, le=36_500)] = 0
    # Addresses of sites with the same files, used if this one does not answer.
    mirrors: Annotated[list[Words], Meta(max_length=100)] = []
    # Trees of TestEntry and NameEntry: tests by name, transcripts by name; null while there are none.
    tests: Subtree | None = None
    names: Subtree | None = None


class BestEntry(Struct, frozen=True):
    """The transcript that leads, and its share of successes; by that share alone if nothing is known of `standing`."""

    name: TranscriptName
    rate: Annotated[float, Meta(ge=0, le=1)]
    standing: Standing | None = None

    @property
    def ranked_by(self) -> Standing:
        """What it leads with."""
        return self.standing or Standing.by_rate(self.rate)


class TestEntry(Struct, frozen=True):
    """A test in the tree of tests: what a list shows of its latest version, and where its own index is."""

    name: TestName
    version: Version
    synopsis: Words
    task: Words
    cases: Count | None
    digest: Digest
    versions: Count
    transcripts: Count
    index: Ref
    # When that version was published, and its best transcript; sites of older versions do not say.
    published: Words = ""
    best: BestEntry | None = None


class VersionEntry(Struct, frozen=True):
    """A version of a test, in its index."""

    version: Version
    synopsis: Words
    task: Words
    cases: Count | None
    digest: Digest
    published: Words
    release: Ref
    # The commitment to what the site keeps to itself, if the test is blind.
    blind: Words = ""


class ReleaseFile(Struct, frozen=True):
    """A file of a test, and its place in the test's folder."""

    path: FilePath
    sha256: Sha256
    bytes: Size

    @property
    def ref(self) -> Ref:
        return Ref(self.sha256, self.bytes)


class InterfaceEntry(Struct, frozen=True):
    """An interface for a test, such as its strawman: files to read, which no command runs by itself."""

    name: TranscriptName
    published: Words
    files: Annotated[list[ReleaseFile], Meta(min_length=1, max_length=100)]


class TestIndex(Struct, frozen=True):
    """The index of one test: its versions, oldest first, and the tree of its transcripts (TranscriptEntry)."""

    hate: str
    format: int
    name: TestName
    versions: Annotated[list[VersionEntry], Meta(min_length=1, max_length=10_000)]
    transcripts: Subtree | None = None
    interfaces: Annotated[list[InterfaceEntry], Meta(max_length=1000)] = []

    @property
    def latest(self) -> VersionEntry:
        """The version to use if none is named."""
        return self.versions[-1]


class Release(Struct, frozen=True):
    """One version of a test: its script and every file of its folder that the script names."""

    hate: str
    format: int
    name: TestName
    version: Version
    digest: Digest
    script: FilePath
    files: Annotated[list[ReleaseFile], Meta(min_length=1, max_length=MAX_FILES)]


class TranscriptEntry(Struct, frozen=True):
    """A transcript of a test; its name is unique among those of one version of the test."""

    name: TranscriptName
    version: Version
    digest: Digest
    algorithm: Words
    algorithm_version: Words
    tests: Count
    TP: Count
    TN: Count
    FP: Count
    FN: Count
    ER: Count
    published: Words
    file: Ref
    # Who submitted it, if the site requires tokens.
    by: Words = ""
    # Why its outcomes could not be judged again when it was published; empty if they were.
    self_reported: Words = UNJUDGED
    # Where the algorithm ran: `process`, one of its own, or `none`, that of the harness; empty if that is not known.
    isolation: Words = ""
    # What it is ranked by; older versions did not say.
    standing: Standing | None = None

    @property
    def rate(self) -> float:
        """The share of successes."""
        return (self.TP + self.TN) / self.tests if self.tests else 0.0

    @property
    def ranked_by(self) -> Standing:
        """What it is ranked by; the share of successes if nothing else is known."""
        return self.standing or Standing.by_rate(self.rate)


class NameEntry(Struct, frozen=True):
    """Which tests have a transcript with this name: how many, and up to ten of them."""

    name: TranscriptName
    count: Count
    tests: Annotated[list[TestName], Meta(min_length=1, max_length=MAX_TESTS_A_NAME)]


class Signature(Struct, frozen=True):
    """`signatures/SHA256.json`: the signature of the bytes of the top index with that SHA-256."""

    hate: str
    format: int
    key: Words
    signature: Words


Entry = TypeVar("Entry", TestEntry, TranscriptEntry, NameEntry)


class Leaf(Struct, Generic[Entry], frozen=True, tag_field="node", tag="leaf"):
    """A node with entries, in the order of their names."""

    entries: list[Entry]


class Branch(Struct, frozen=True, tag_field="node", tag="branch"):
    """A node with up to sixteen nodes below it, by the next hex digit of the entries' keys."""

    children: Annotated[dict[str, Subtree], Meta(max_length=16)]


Node = Leaf[Entry] | Branch
Document = TypeVar("Document")


def key_of(name: str) -> str:
    """The place of an entry in its tree: the SHA-256 of its name, in hex."""
    return hashlib.sha256(name.encode()).hexdigest()


def index_path(sha256: str) -> str:
    """Where a node, a test's index or a release is, relative to the top index."""
    return f"index/{sha256[:2]}/{sha256}.json"


def file_path(sha256: str) -> str:
    return f"files/{sha256[:2]}/{sha256}"


def signature_path(sha256: str) -> str:
    """Where the signature of the top index with this SHA-256 is."""
    return f"signatures/{sha256}.json"


def encode(document: object) -> bytes:
    """The bytes of an index: the same for the same content."""
    return msgspec.json.encode(document) + b"\n"


def ref_of(data: bytes) -> Ref:
    return Ref(hashlib.sha256(data).hexdigest(), len(data))


def decode(data: bytes, kind: type[Document], name: str) -> Document:
    """The content of an index; a DataError if it is malformed. Unknown keys are ignored."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        text = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
        raise DataError(f"{name}: not an index of a site: {text}") from None


def decode_top(data: bytes, name: str) -> Top:
    """The top index; a DataError if it has an unknown format."""
    top = decode(data, Top, name)
    if top.hate != "site":
        raise DataError(f"{name}: not the index of a site")
    if top.format != FORMAT:
        raise DataError(f"{name}: format {top.format} is not known here, only {FORMAT}; a newer hate may read it")
    return top


def decode_release(data: bytes, name: str) -> Release:
    """A release; a DataError unless its files have distinct paths inside the test's folder and include the script."""
    release = decode(data, Release, name)
    paths = [file.path for file in release.files]
    for path in paths:
        check_inside(path, name)
    folders = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    if len(set(paths)) < len(paths) or folders & set(paths):
        raise DataError(f"{name}: two files with the same path; not a release of a test")
    if release.script not in paths or "/" in release.script:
        raise DataError(f"{name}: no script '{release.script:.100}' among its files; not a release of a test")
    return release


_BAD_CHARACTERS = re.compile('[\x00-\x1f\x7f\\\\:*?"<>|\ud800-\udfff]')
# Names that are devices on Windows, whatever their suffix.
_DEVICE_NAME = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
MAX_PART_LENGTH = 200


def check_inside(path: str, name: str) -> None:
    """A DataError if a path may lead out of its folder, or is not a valid file name on every system."""
    if not all(map(_is_good_part, path.split("/"))):
        raise DataError(f"{name}: {path[:100]!r} is not the name of a file inside its folder; refused")


def _is_good_part(part: str) -> bool:
    blank = part != part.strip() or part.endswith(".")
    return (
        bool(part)
        and not blank
        and len(part.encode(errors="replace")) <= MAX_PART_LENGTH
        and not (_BAD_CHARACTERS.search(part) or _DEVICE_NAME.fullmatch(part))
    )
