"""Whom to believe about a site: the key of its first index stays its key, and no older index is taken again.

What was seen is kept beside the configuration, not in the cache, so that a cleared cache forgets nothing.
"""

import contextlib
import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
from filelock import FileLock
from platformdirs import user_state_path

from harness.errors import DataError
from harness.site.config import SiteConfig
from harness.site.layout import Top
from harness.site.signing import check_signature
from harness.site.urls import is_url, masked, parse


class Seen(msgspec.Struct, frozen=True):
    """What is known of a site from its last index."""

    site: str
    key: str = ""
    serial: int = 0
    sha256: str = ""


def trust_folder() -> Path:
    """Where it is kept."""
    return user_state_path("hate", appauthor=False) / "sites"


def check_top(site: SiteConfig, data: bytes, top: Top, signature: Callable[[], bytes | None]) -> None:
    """A DataError unless this index can be believed; then it is remembered. The signature is asked for if needed."""
    seen = last_seen(site)
    key = site.key or seen.key
    _check_key(site, key, top)
    _check_serial(site, seen, data, top)
    if (sha256 := _sha256(data)) == seen.sha256 and seen.key == key == top.key:
        return
    if top.key:
        check_signature(data, signature(), key or top.key, site.name)
    _remember(site, Seen(site.name, top.key, top.serial, sha256))


def _check_key(site: SiteConfig, key: str, top: Top) -> None:
    if not key or top.key == key:
        return
    remedy = "the configuration says so" if site.key else f"if its owner says so, `hate cache forget {site.name}`"
    if not top.key:
        raise DataError(f"{site.name}: no longer signed, and it was by {key}; refused ({remedy})")
    raise DataError(f"{site.name}: signed by another key, {top.key:.80}, not {key}; refused ({remedy})")


def _check_serial(site: SiteConfig, seen: Seen, data: bytes, top: Top) -> None:
    if top.serial > seen.serial or (top.serial == seen.serial and _sha256(data) == seen.sha256):
        return
    remedy = f"if the site was made anew, `hate cache forget {site.name}`"
    if top.serial == seen.serial:
        raise DataError(f"{site.name}: two different indexes with the number {top.serial:,}; refused ({remedy})")
    raise DataError(
        f"{site.name}: its index has number {top.serial:,}, number {seen.serial:,} was seen before; refused ({remedy})"
    )


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _path(site: SiteConfig) -> Path:
    """The place counts, not who asks there."""
    place = parse(site.address).url if is_url(site.address) else str(Path(site.address).resolve())
    return trust_folder() / f"{hashlib.sha256(place.encode()).hexdigest()}.json"


def last_seen(site: SiteConfig) -> Seen:
    """What is known of a site; nothing yet is a state too."""
    try:
        return msgspec.json.decode(_path(site).read_bytes(), type=Seen)
    except FileNotFoundError:
        return Seen(site.name)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise DataError(f"{_path(site)}: cannot be read; `hate cache forget {masked(site.name)}` begins anew") from None


def _remember(site: SiteConfig, seen: Seen) -> None:
    path = _path(site)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")):
            # Another run may have seen a newer one in the meantime.
            if last_seen(site).serial <= seen.serial:
                with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                    file.write(msgspec.json.encode(seen))
                Path(file.name).replace(path)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}; the key of {site.name} cannot be remembered") from None


def forget(site: SiteConfig) -> bool:
    """Begin anew with a site; whether there was anything to forget."""
    path = _path(site)
    known = path.exists()
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    return known
