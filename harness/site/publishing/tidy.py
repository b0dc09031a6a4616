"""Remove from a site what its index does not lead to any more: old nodes, and what killed publishers left."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.site.catalogue import Catalogue
from harness.site.folder import Folder
from harness.site.layout import Leaf, TestIndex, file_path, index_path, ref_of, signature_path
from harness.site.publishing.deposit import locked

# Readers may have an older top index for a while; so may copies of the site that are being made.
GRACE = 86_400.0


@dataclass(frozen=True)
class Removed:
    """What is gone."""

    files: int
    size: int


def tidy(root: Path, *, grace: float = GRACE) -> Removed:
    """Everything that nobody can reach and that is older than a day."""
    folder = Folder(root)
    folder.read_top()
    with locked(root):
        data, top = folder.read_top()
        needed = {signature_path(ref_of(data).sha256), *_needed(Catalogue(folder, top))}
        count = size = 0
        for path in _stored(root):
            status = path.stat()
            if path.relative_to(root).as_posix() not in needed and status.st_mtime < time.time() - grace:
                path.unlink()
                count, size = count + 1, size + status.st_size
        return Removed(count, size)


def _stored(root: Path) -> list[Path]:
    kinds = ("index", "files", "signatures")
    return [path for kind in kinds for path in (root / kind).rglob("*") if path.is_file()]


def _needed(site: Catalogue) -> Iterator[str]:
    """The path of every file that the top index leads to."""
    yield from (index_path(ref.sha256) for ref, _ in site.name_tree.nodes(site.place))
    for ref, node in site.test_tree.nodes(site.place):
        yield index_path(ref.sha256)
        for entry in node.entries if isinstance(node, Leaf) else []:
            yield index_path(entry.index.sha256)
            yield from _of_test(site, site.index_of(entry))


def _of_test(site: Catalogue, index: TestIndex) -> Iterator[str]:
    for version in index.versions:
        yield index_path(version.release.sha256)
        yield from (file_path(file.sha256) for file in site.release(index, version).files)
    for ref, node in site.transcript_tree(index).nodes(site.place):
        yield index_path(ref.sha256)
        yield from (file_path(entry.file.sha256) for entry in (node.entries if isinstance(node, Leaf) else []))
