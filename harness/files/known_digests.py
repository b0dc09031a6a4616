"""SHA-256 of data that was hashed before: known as long as size, times and inode of every file are the same.

They are kept in the cache, in a file for each place: `hate cache` lists and clears them. What is torn, damaged or
written by somebody else is not believed, and a file that changed within moments of being hashed is hashed again: it
could have changed once more with the same times. `hate check` and `hate publish` read everything anew.
"""

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path

import msgspec

from harness.files.caches import KNOWN_DIGESTS, UNFINISHED_PREFIX, cache_folder
from harness.files.digest import NOT_A_FILE, Stamp, file_sha256, listing_sha256, path_sha256, stamps

# Set to `off`, nothing is kept and nothing kept is believed.
SWITCH = "HATE_DIGESTS"
# Less than this is hashed in no time.
MIN_BYTES, MIN_FILES = 8 << 20, 200
# Those written last are kept, up to this many bytes together.
MAX_BYTES = 256 << 20
# A file system may give the same time to changes that are this far apart.
GRANULARITY_NS = 2_000_000_000
_MAGIC = b"hate digests 1 "
_HASH = 32
_anew: ContextVar[bool] = ContextVar("hash_anew", default=False)


class _KnownFile(msgspec.Struct, frozen=True, array_like=True, gc=False):
    stamp: Stamp
    sha256: bytes


class _Known(msgspec.Struct):
    place: bytes
    files: dict[bytes, _KnownFile]


_decode = msgspec.msgpack.Decoder(_Known).decode


@contextlib.contextmanager
def hashed_anew() -> Iterator[None]:
    """Within it, nothing that is kept is believed."""
    token = _anew.set(True)
    try:
        yield
    finally:
        _anew.reset(token)


def known_sha256(place: Path) -> str:
    """SHA-256 of a file or folder, as `path_sha256` computes it; what is known is not read."""
    found = stamps(place)
    is_large = len(found) >= MIN_FILES or sum(stamp.size for stamp in found.values()) >= MIN_BYTES
    if not is_large or os.environ.get(SWITCH) == "off":
        return path_sha256(place)
    # The clock of the machine that has the disk counts, but it is not known here; both are usually right.
    now, known = time.time_ns(), {} if _anew.get() else _read(place)
    digests: dict[bytes, bytes] = {}
    for name, stamp in found.items():
        own = known.get(name)
        if own is not None and own.stamp == stamp:
            digests[name] = own.sha256
        elif (path := _path(place, name)).is_file():
            digests[name] = bytes.fromhex(file_sha256(path))
    _keep(place, _settled(place, found, digests, now), known)
    texts = {os.fsdecode(name): digest.hex() for name, digest in digests.items()}
    return listing_sha256(texts) if place.is_dir() else texts[""]


def note_sha256(place: Path, before: Stamp, sha256: str) -> None:
    """Remember what somebody else hashed, whose file had this stamp before."""
    if before.size >= MIN_BYTES and os.environ.get(SWITCH) != "off":
        files = _settled(place, {b"": before}, {b"": bytes.fromhex(sha256)}, time.time_ns())
        _keep(place, files, {})


def _path(place: Path, name: bytes) -> Path:
    return place / os.fsdecode(name) if name else place


def _settled(
    place: Path, found: Mapping[bytes, Stamp], digests: Mapping[bytes, bytes], now: int
) -> dict[bytes, _KnownFile]:
    """What may be believed later: plain files that were not changed lately, nor while they were hashed."""
    after = stamps(place)
    return {
        name: _KnownFile(stamp, digests[name])
        for name, stamp in found.items()
        if stamp != NOT_A_FILE and name in digests and after.get(name) == stamp
        if max(stamp.mtime_ns, stamp.ctime_ns) < now - GRANULARITY_NS
    }


def _file(place: Path) -> Path:
    return cache_folder() / KNOWN_DIGESTS / hashlib.sha256(_name(place)).hexdigest()


def _name(place: Path) -> bytes:
    return os.fsencode(os.path.realpath(place))


def _read(place: Path) -> dict[bytes, _KnownFile]:
    """What is kept of a place; nothing if it is not sound."""
    try:
        data = _file(place).read_bytes()
        head, body = data[: len(_MAGIC) + _HASH], data[len(_MAGIC) + _HASH :]
        if head != _MAGIC + hashlib.sha256(body).digest():
            return {}
        known = _decode(body)
    except (OSError, msgspec.MsgspecError):
        return {}
    return known.files if known.place == _name(place) else {}


def _keep(place: Path, files: dict[bytes, _KnownFile], known: Mapping[bytes, _KnownFile]) -> None:
    """Write what is known now, whole or not at all; a cache that cannot be written is done without."""
    if files == known:
        return
    target, body = _file(place), msgspec.msgpack.encode(_Known(_name(place), files))
    with contextlib.suppress(OSError):
        target.parent.mkdir(parents=True, exist_ok=True)
        fd, name = tempfile.mkstemp(prefix=UNFINISHED_PREFIX, dir=target.parent)
        scratch = Path(name)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(body).digest() + body)
            scratch.replace(target)
        except OSError:
            scratch.unlink(missing_ok=True)
            raise
        _make_room(target.parent)


def _make_room(folder: Path) -> None:
    """Remove the oldest, until the rest is small enough."""
    kept = [(path.stat(), path) for path in folder.iterdir() if not path.name.startswith(UNFINISHED_PREFIX)]
    size = sum(found.st_size for found, _ in kept)
    for found, path in sorted(kept, key=lambda one: one[0].st_mtime_ns):
        if size <= MAX_BYTES:
            return
        path.unlink(missing_ok=True)
        size -= found.st_size
