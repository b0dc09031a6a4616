"""Publish what is offered: one change of the site, seen by readers whole or not at all."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from harness.errors import DataError, UsageError
from harness.site.folder import Folder
from harness.site.layout import FORMAT, TOP, Top, decode_top, encode
from harness.site.publishing.decide import Decision, decide
from harness.site.publishing.deposit import locked
from harness.site.publishing.offers import Offer
from harness.site.publishing.shelf import Shelf
from harness.site.signing import Signer
from harness.transcript.write import now


def publish(
    root: Path,
    offers: Sequence[Offer],
    *,
    signer: Signer | None = None,
    mirrors: Sequence[str] | None = None,
    title: str | None = None,
) -> Decision:
    """Make or extend the site in a folder; says what became of each offer."""
    with locked(_usable(root)) as deposit:
        top = _settled(current_top(root), signer, mirrors, title)
        decision = decide(Shelf(Folder(root)), top, offers, now())
        deposit.put(decision.shelf)
        if decision.top is None and top != current_top(root):
            decision.top = replace(top, serial=top.serial + 1, published=decision.now)
        if decision.top is not None:
            data = encode(decision.top)
            deposit.put_top(data, None if signer is None else signer.sign(data))
    return decision


def rehearse(root: Path, offers: Sequence[Offer], *, signer: Signer | None = None) -> Decision:
    """What `publish` would do; nothing is written."""
    top = _settled(current_top(_usable(root)), signer, None, None)
    return decide(Shelf(Folder(root)), top, offers, now())


def current_top(root: Path) -> Top:
    """The top index as it is; an empty one where nothing was published yet."""
    data = Folder(root).top()
    return Top("site", FORMAT, 0) if data is None else decode_top(data, str(root / TOP))


def _settled(top: Top, signer: Signer | None, mirrors: Sequence[str] | None, title: str | None) -> Top:
    """With what was said of the site as a whole."""
    key = signer.key if signer is not None else ""
    if top.key and not key:
        raise UsageError(f"the site is signed by {top.key}; give that key with --key FILE")
    if top.key and key != top.key:
        raise UsageError(f"the site is signed by {top.key}, the key given is {key}; readers would refuse the change")
    return replace(
        top,
        key=key,
        mirrors=list(mirrors) if mirrors is not None else top.mirrors,
        title=title if title is not None else top.title,
    )


def _usable(root: Path) -> Path:
    """A new or empty folder, or a site: nobody wants one among their own files."""
    if root.exists() and not root.is_dir():
        raise DataError(f"{root}: not a folder; a site is one")
    if root.is_dir() and not (root / TOP).is_file() and any(p for p in root.iterdir() if not p.name.startswith(".")):
        known = {"files", "index", "signatures"}
        if strange := [
            path.name for path in root.iterdir() if not path.name.startswith(".") and path.name not in known
        ]:
            raise UsageError(f"{root}: no site, and not empty (it has {sorted(strange)[0]}); choose an empty folder")
    return root
