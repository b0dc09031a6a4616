"""Publish to a site's folder: readers see all of a change or nothing, even if the writer is killed."""

import contextlib
import hashlib
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

from filelock import FileLock, Timeout
from msgspec.structs import replace

from harness.errors import DataError, OutputError, UsageError
from harness.files.durable import sync_file, sync_folder
from harness.site.audit import judge_candidates
from harness.site.cache import is_whole
from harness.site.catalogue import Catalogue
from harness.site.changes import SiteChange, SiteDraft, plan_change
from harness.site.layout import (
    FORMAT,
    TOP,
    Leaf,
    Ref,
    Top,
    decode_top,
    encode,
    file_path,
    index_path,
    ref_of,
    signature_path,
)
from harness.site.publish_candidates import Candidate
from harness.site.root_keys import RootChain, RootChange, SignedRoot, next_root, read_chain
from harness.site.signing import Signer
from harness.site.sites import FolderStore
from harness.transcript.format import now

# For unfinished files and the lock; readers never look there.
WORK_FOLDER = ".publishing"
MAX_WAIT = 3600
BLOCK = 1 << 20
# In seconds. Readers may use an older top index for a while, and so may a copy of the site in progress.
GRACE = 86_400.0


@dataclass(frozen=True)
class SiteSettings:
    """What to change about a site besides its content; None leaves it as it is."""

    mirrors: Sequence[str] | None = None
    title: str | None = None
    url: str | None = None
    # Days until an index expires; 0 for never.
    lifetime: int | None = None
    root: RootChange | None = None


def publish(
    root: Path,
    candidates: Sequence[Candidate],
    *,
    signer: Signer | None = None,
    settings: SiteSettings | None = None,
    reveal: bool = False,
) -> SiteChange:
    """Make or extend the site in a folder; the result says what happened to each candidate.

    `reveal`: a test whose latest version is blind may be published with its truth.
    Transcripts are judged again first; one that contradicts its test is a HateError.
    """
    candidates = judge_candidates(Catalogue(FolderStore(_usable(root)), current_top(root)), candidates)
    with lock_site(_usable(root)) as writer:
        top, document = _with_settings(root, signer, settings or SiteSettings())
        change = plan_change(SiteDraft(FolderStore(root)), top, candidates, now(), reveal=reveal)
        writer.put(change.draft)
        if document is not None:
            writer.put_root(document)
        renewed = settings is not None and settings.lifetime is not None
        if change.top is None and (renewed or top != current_top(root)):
            change.top = replace(top, serial=top.serial + 1, published=change.now)
        if change.top is not None:
            end = datetime.now(UTC) + timedelta(days=change.top.lifetime)
            expires = f"{end:%Y-%m-%dT%H:%M:%SZ}" if change.top.lifetime else ""
            change.top = replace(change.top, expires=expires)
            data = encode(change.top)
            writer.put_top(data, None if signer is None else signer.sign(data))
    return change


def dry_run(
    root: Path,
    candidates: Sequence[Candidate],
    *,
    signer: Signer | None = None,
    settings: SiteSettings | None = None,
    reveal: bool = False,
) -> SiteChange:
    """What `publish` would do; nothing is written."""
    top, _ = _with_settings(_usable(root), signer, settings or SiteSettings())
    candidates = judge_candidates(Catalogue(FolderStore(root), top), candidates)
    return plan_change(SiteDraft(FolderStore(root)), top, candidates, now(), reveal=reveal)


def current_top(root: Path) -> Top:
    """The current top index; an empty one if nothing has been published yet."""
    data = FolderStore(root).top()
    return Top("site", FORMAT, 0) if data is None else decode_top(data, str(root / TOP))


def _with_settings(root: Path, signer: Signer | None, settings: SiteSettings) -> tuple[Top, SignedRoot | None]:
    """The top index with a new key and new settings, and a new root document if there is one."""
    top = current_top(root)
    chain = root_chain(root, top)
    document = None if settings.root is None else next_root(chain, settings.root)
    key = signer.key if signer is not None else ""
    allowed = document.document.keys if document is not None else None if chain is None else chain.latest.keys
    _check_signer(top, key, allowed, has_root=chain is not None)
    return replace(
        top,
        key=key,
        root=top.root if document is None else document.ref,
        lifetime=top.lifetime if settings.lifetime is None else settings.lifetime,
        mirrors=top.mirrors if settings.mirrors is None else list(settings.mirrors),
        title=top.title if settings.title is None else settings.title,
        url=top.url if settings.url is None else settings.url,
    ), document


def _check_signer(top: Top, key: str, allowed: Sequence[str] | None, *, has_root: bool) -> None:
    """A UsageError if readers would refuse what this key signs."""
    if top.key and not key:
        raise UsageError(f"the site is signed by {top.key}; give that key with --key FILE")
    if allowed is not None and key not in allowed:
        raise UsageError(f"the root key does not allow '{key}' to sign; give one of {', '.join(allowed)} with --key")
    # Readers who know only the old key learn about the root key from an index that the old one has signed.
    if top.key and key != top.key and not has_root:
        raise UsageError(f"the site is signed by {top.key}, not by {key}; readers would refuse the change")


def root_chain(root: Path, top: Top) -> RootChain | None:
    """The root documents of the site in a folder; None if it has no root key."""
    return None if top.root is None else read_chain(top.root, FolderStore(root), str(root))


def _usable(root: Path) -> Path:
    """The folder, if it is new, empty or a site: a site should not mix with other files."""
    if root.exists() and not root.is_dir():
        raise DataError(f"{root}: not a folder; a site is a folder")
    if root.is_dir() and not (root / TOP).is_file() and any(p for p in root.iterdir() if not p.name.startswith(".")):
        known = {"files", "index", "signatures"}
        if others := [path.name for path in root.iterdir() if not path.name.startswith(".") and path.name not in known]:
            raise UsageError(f"{root}: not a site, and not empty (it has {sorted(others)[0]}); choose an empty folder")
    return root


@contextmanager
def lock_site(root: Path) -> Iterator["SiteWriter"]:
    """Lock the folder for one publisher at a time; removes what a killed one left behind."""
    work_folder = root / WORK_FOLDER
    try:
        work_folder.mkdir(parents=True, exist_ok=True)
        with FileLock(work_folder / "lock", timeout=MAX_WAIT):
            for leftover in work_folder.glob("*.part"):
                leftover.unlink(missing_ok=True)
            yield SiteWriter(root)
    except Timeout:
        raise OutputError(
            f"{root}: another publisher has held the lock for an hour; see {work_folder / 'lock'}"
        ) from None
    except OSError as error:
        raise OutputError(f"{error.filename or root}: {error.strerror or error}; nothing was published") from None


@dataclass(frozen=True)
class SiteWriter:
    """A site's folder that can be written to."""

    root: Path

    def put(self, draft: SiteDraft) -> None:
        """Write everything new except the top index; readers do not see it yet."""
        for ref, source in draft.files.items():
            self._put_file(ref, source)
        for ref, data in draft.indexes.items():
            self.put_data(index_path(ref.sha256), data)

    def put_top(self, data: bytes, signature: bytes | None) -> None:
        """Write the top index: from now on readers see the change. Its signature must be there before it."""
        if signature is not None:
            self.put_data(signature_path(hashlib.sha256(data).hexdigest()), signature)
        try:
            self.put_data(TOP, data)
            sync_folder(self.root)
        except OSError as error:
            if (self.root / TOP).read_bytes() != data:
                raise
            remedy = "look after the disk, then publish the same again"
            raise OutputError(
                f"{self.root}: published, but not safe from a power cut: {error.strerror}; {remedy}"
            ) from None

    def put_root(self, document: SignedRoot) -> None:
        """Write a root document and its signature; readers see it with the top index that names it."""
        self.put_data(signature_path(document.ref.sha256), document.signature)
        self.put_data(index_path(document.ref.sha256), document.data)

    def _put_file(self, ref: Ref, source: Path) -> None:
        target = self.root / file_path(ref.sha256)
        if is_whole(target, ref.sha256, ref.bytes):
            return
        with self._part(target) as part:
            digest = hashlib.sha256()
            with source.open("rb") as reader, part.open("xb") as writer:
                while block := reader.read(BLOCK):
                    digest.update(block)
                    writer.write(block)
                _sync(writer)
            if digest.hexdigest() != ref.sha256:
                raise OutputError(f"{source}: changed while it was being published; nothing was published, try again")

    def put_data(self, name: str, data: bytes) -> None:
        """Write a file of the site, unless it has this content already."""
        target = self.root / name
        with contextlib.suppress(OSError):
            if target.read_bytes() == data:
                return
        with self._part(target) as part, part.open("xb") as writer:
            writer.write(data)
            _sync(writer)

    @contextmanager
    def _part(self, target: Path) -> Iterator[Path]:
        """A new file that is moved into place when it is complete."""
        part = self.root / WORK_FOLDER / f"{uuid.uuid4().hex}.part"
        try:
            yield part
            if not target.parent.is_dir():
                target.parent.mkdir(parents=True, exist_ok=True)
                sync_folder(target.parent.parent)
            part.replace(target)
            sync_folder(target.parent)
        finally:
            part.unlink(missing_ok=True)


def _sync(file: IO[bytes]) -> None:
    file.flush()
    sync_file(file.fileno())


@dataclass(frozen=True)
class RemovedFiles:
    """How much was removed."""

    files: int
    size: int


def tidy(root: Path, *, grace: float = GRACE) -> RemovedFiles:
    """Remove what the top index does not lead to, if it is older than the grace period."""
    folder = FolderStore(root)
    folder.read_top()
    with lock_site(root):
        data, top = folder.read_top()
        needed = {signature_path(ref_of(data).sha256), *_needed_paths(Catalogue(folder, top))}
        for ref in () if (chain := root_chain(root, top)) is None else chain.refs:
            needed |= {index_path(ref.sha256), signature_path(ref.sha256)}
        count = size = 0
        kinds = ("index", "files", "signatures")
        stored = [path for kind in kinds for path in (root / kind).rglob("*") if path.is_file()]
        for path in stored:
            status = path.stat()
            if path.relative_to(root).as_posix() not in needed and status.st_mtime < time.time() - grace:
                path.unlink()
                count, size = count + 1, size + status.st_size
        return RemovedFiles(count, size)


def _needed_paths(site: Catalogue) -> Iterator[str]:
    """The path of every file that the top index leads to."""
    yield from (index_path(ref.sha256) for ref, _ in site.name_tree.nodes(site.store))
    for ref, node in site.test_tree.nodes(site.store):
        yield index_path(ref.sha256)
        for entry in node.entries if isinstance(node, Leaf) else []:
            yield index_path(entry.index.sha256)
            index = site.index_of(entry)
            yield from (file_path(file.sha256) for interface in index.interfaces for file in interface.files)
            for version in index.versions:
                yield index_path(version.release.sha256)
                yield from (file_path(file.sha256) for file in site.release(index, version).files)
            for leaf_ref, leaf in site.transcript_tree(index).nodes(site.store):
                yield index_path(leaf_ref.sha256)
                yield from (file_path(entry.file.sha256) for entry in (leaf.entries if isinstance(leaf, Leaf) else []))
