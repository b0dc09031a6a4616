"""Whether to trust a site: its index is signed, its key is pinned, and no index is older than the last one seen.

What was seen is recorded outside the cache, so that clearing the cache forgets nothing.
"""

import contextlib
import hashlib
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from filelock import FileLock
from platformdirs import user_state_path

from harness.errors import DataError
from harness.site.config import SiteConfig
from harness.site.layout import Top
from harness.site.root_keys import RootChain, SignedFiles, read_chain
from harness.site.signing import check_signature
from harness.site.urls import is_url, masked, parse


class TrustRecord(msgspec.Struct, frozen=True):
    """What is known about a site from its last index."""

    site: str
    key: str = ""
    serial: int = 0
    sha256: str = ""
    # The last root document, if the site has a root key.
    root_version: int = 0
    root_sha256: str = ""


def trust_folder() -> Path:
    return user_state_path("hate", appauthor=False) / "sites"


def check_top(site: SiteConfig, data: bytes, top: Top, files: SignedFiles, *, fresh: bool = True) -> None:
    """Record this index, or raise a DataError if it cannot be trusted. Signatures are fetched only if needed.

    `fresh` says that it comes from the site now; a copy in the cache of a site that is down may have expired.
    """
    seen = last_seen(site)
    if fresh:
        _check_expiry(site, top)
    sha256 = _sha256(data)
    known = sha256 == seen.sha256 and seen.key == top.key
    if known and (not site.key or site.key == top.key):
        return
    chain = None if top.root is None else read_chain(top.root, files, site.name)
    _check_root(site, seen, chain)
    _check_key(site, seen, top, chain)
    _check_serial(site, seen, data, top)
    if known:
        return
    if top.key:
        check_signature(data, files.signature(sha256), top.key, site.name)
    root = (0, "") if chain is None else (chain.latest.version, chain.refs[-1].sha256)
    _remember(site, TrustRecord(site.name, top.key, top.serial, sha256, *root))


def _check_expiry(site: SiteConfig, top: Top) -> None:
    """A site that promises a new index by some day: an old one may be a way to hide what has changed."""
    if not top.expires:
        return
    try:
        until = datetime.fromisoformat(top.expires)
    except ValueError:
        raise DataError(f"{site.name}: '{top.expires:.40}' is not a time at which its index expires; refused") from None
    if datetime.now(UTC) > (until if until.tzinfo else until.replace(tzinfo=UTC)):
        raise DataError(
            f"{site.name}: its index expired on {until:%Y-%m-%d}, and an old one may hide changes; refused "
            "(check your clock, or ask the owner to publish again; --offline uses the copy in the cache)"
        )


def _check_root(site: SiteConfig, seen: TrustRecord, chain: RootChain | None) -> None:
    """Root documents only grow, and only by the authority of the last root key."""
    if not seen.root_version:
        return
    remedy = f"if its owner confirms this, `hate cache forget {site.name}`"
    if chain is None:
        raise DataError(f"{site.name}: no longer has a root key, but had one before; refused ({remedy})")
    if chain.latest.version < seen.root_version:
        raise DataError(
            f"{site.name}: its root document has number {chain.latest.version:,}, but number {seen.root_version:,} "
            f"was seen before; refused ({remedy})"
        )
    if not chain.holds(seen.root_version, seen.root_sha256):
        raise DataError(f"{site.name}: its root key changed without the old one's signature; refused ({remedy})")


def _check_key(site: SiteConfig, seen: TrustRecord, top: Top, chain: RootChain | None) -> None:
    if chain is not None:
        if top.key in chain.latest.revoked:
            raise DataError(f"{site.name}: signed by {top.key}, which its owner has revoked; refused")
        if top.key not in chain.latest.keys:
            raise DataError(f"{site.name}: signed by {top.key:.80}, which its root key does not allow; refused")
        # The root key vouches for its signing keys, once it is known itself.
        if (site.key in chain.roots) if site.key else seen.root_version:
            return
    key = site.key or seen.key
    if not key or top.key == key:
        return
    remedy = "the configuration says so" if site.key else f"if its owner confirms this, `hate cache forget {site.name}`"
    if not top.key:
        raise DataError(f"{site.name}: no longer signed, but it was signed by {key} before; refused ({remedy})")
    raise DataError(f"{site.name}: signed by another key, {top.key:.80}, not by {key}; refused ({remedy})")


def _check_serial(site: SiteConfig, seen: TrustRecord, data: bytes, top: Top) -> None:
    if top.serial > seen.serial or (top.serial == seen.serial and _sha256(data) == seen.sha256):
        return
    remedy = f"if the site was rebuilt, `hate cache forget {site.name}`"
    if top.serial == seen.serial:
        raise DataError(f"{site.name}: two different indexes have the number {top.serial:,}; refused ({remedy})")
    raise DataError(
        f"{site.name}: its index has number {top.serial:,}, "
        f"but number {seen.serial:,} was seen before; refused ({remedy})"
    )


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _path(site: SiteConfig) -> Path:
    """The record of a site, whatever credentials its address has."""
    address = parse(site.address).url if is_url(site.address) else str(Path(site.address).resolve())
    return trust_folder() / f"{_sha256(address.encode())}.json"


def last_seen(site: SiteConfig) -> TrustRecord:
    """What is known about a site, which may be nothing yet."""
    try:
        return msgspec.json.decode(_path(site).read_bytes(), type=TrustRecord)
    except FileNotFoundError:
        return TrustRecord(site.name)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise DataError(f"{_path(site)}: cannot be read; `hate cache forget {masked(site.name)}` removes it") from None


def _remember(site: SiteConfig, seen: TrustRecord) -> None:
    path = _path(site)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")):
            # Another process may have recorded a newer index in the meantime.
            if last_seen(site).serial <= seen.serial:
                with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                    file.write(msgspec.json.encode(seen))
                Path(file.name).replace(path)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}; the key of {site.name} cannot be remembered") from None


def forget(site: SiteConfig) -> bool:
    """Forget what is known about a site; returns whether anything was known."""
    path = _path(site)
    known = path.exists()
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    return known
