"""SHA-256 of data that was hashed before: known as long as size, times and inode of every file are the same.

They are kept in the cache, in a file for each path: `hate cache` lists and clears them. What is torn, damaged or
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
    path: bytes = msgspec.field(name="place")  # as in the files of earlier versions
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


def known_sha256(path: Path) -> str:
    """SHA-256 of a file or folder, as `path_sha256` computes it; what is known is not read."""
    current = stamps(path)
    is_large = len(current) >= MIN_FILES or sum(stamp.size for stamp in current.values()) >= MIN_BYTES
    if not is_large or os.environ.get(SWITCH) == "off":
        return path_sha256(path)
    # The clock of the machine that has the disk counts, but it is not known here; both are usually right.
    now, known = time.time_ns(), {} if _anew.get() else _read(path)
    digests: dict[bytes, bytes] = {}
    for name, stamp in current.items():
        kept = known.get(name)
        if kept is not None and kept.stamp == stamp:
            digests[name] = kept.sha256
        elif (file := path / os.fsdecode(name) if name else path).is_file():
            digests[name] = bytes.fromhex(file_sha256(file))
    _keep(path, _settled(path, current, digests, now), known)
    texts = {os.fsdecode(name): digest.hex() for name, digest in digests.items()}
    return listing_sha256(texts) if path.is_dir() else texts[""]


def note_sha256(path: Path, before: Stamp, sha256: str) -> None:
    """Remember what somebody else hashed, whose file had this stamp before."""
    if before.size >= MIN_BYTES and os.environ.get(SWITCH) != "off":
        files = _settled(path, {b"": before}, {b"": bytes.fromhex(sha256)}, time.time_ns())
        _keep(path, files, {})


def _settled(
    path: Path, before: Mapping[bytes, Stamp], digests: Mapping[bytes, bytes], now: int
) -> dict[bytes, _KnownFile]:
    """What may be believed later: plain files that were not changed lately, nor while they were hashed."""
    after = stamps(path)
    return {
        name: _KnownFile(stamp, digests[name])
        for name, stamp in before.items()
        if stamp != NOT_A_FILE and name in digests and after.get(name) == stamp
        if max(stamp.mtime_ns, stamp.ctime_ns) < now - GRANULARITY_NS
    }


def _file(path: Path) -> Path:
    return cache_folder() / KNOWN_DIGESTS / hashlib.sha256(_name(path)).hexdigest()


def _name(path: Path) -> bytes:
    return os.fsencode(os.path.realpath(path))


def _read(path: Path) -> dict[bytes, _KnownFile]:
    """What is kept of a path; nothing if it is not sound."""
    try:
        data = _file(path).read_bytes()
        head, body = data[: len(_MAGIC) + _HASH], data[len(_MAGIC) + _HASH :]
        if head != _MAGIC + hashlib.sha256(body).digest():
            return {}
        known = _decode(body)
    except (OSError, msgspec.MsgspecError):
        return {}
    return known.files if known.path == _name(path) else {}


def _keep(path: Path, files: dict[bytes, _KnownFile], known: Mapping[bytes, _KnownFile]) -> None:
    """Write what is known now, whole or not at all; a cache that cannot be written is done without."""
    if files == known:
        return
    target, body = _file(path), msgspec.msgpack.encode(_Known(_name(path), files))
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
        _remove_oldest(target.parent)


def _remove_oldest(folder: Path) -> None:
    """Until the rest is small enough."""
    kept = [(path.stat(), path) for path in folder.iterdir() if not path.name.startswith(UNFINISHED_PREFIX)]
    size = sum(status.st_size for status, _ in kept)
    for status, path in sorted(kept, key=lambda entry: entry[0].st_mtime_ns):
        if size <= MAX_BYTES:
            return
        path.unlink(missing_ok=True)
        size -= status.st_size
