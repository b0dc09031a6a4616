"""The digest of a test, scheme 1: SHA-256 over path, NUL, sha256 in hex, newline, for every file that it names."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

SCHEME = 1


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_sha256(folder: Path) -> str:
    """SHA-256 of a folder: of its listing, as in the digest of a test."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return listing_sha256({path.relative_to(folder).as_posix(): file_sha256(path) for path in files})


def path_sha256(path: Path) -> str:
    """SHA-256 of a file or folder."""
    return folder_sha256(path) if path.is_dir() else file_sha256(path)


def digest(files: Mapping[str, str]) -> str:
    """The digest of a test from the sha256 of the files that it names."""
    return f"{SCHEME}:{listing_sha256(files)}"


def digest_without_script(cases: Iterable[tuple[str, str]]) -> str:
    """The digest of an imported result: over the sorted id, NUL, expect, newline."""
    return case_list_digest(sorted(f"{case_id}\0{expect}\n" for case_id, expect in cases))


def case_list_digest(parts: Iterable[str]) -> str:
    """The same from its lines, which are sorted already; a part may have many of them."""
    sha256 = hashlib.sha256()
    for part in parts:
        sha256.update(part.encode())
    return f"{SCHEME}:{sha256.hexdigest()}"


def listing_sha256(files: Mapping[str, str]) -> str:
    """SHA-256 over path, NUL, sha256 in hex, newline, for some files, sorted by bytes."""
    # The names of files need not be UTF-8; their bytes count.
    lines = sorted(f"{path}\0{sha256}\n".encode(errors="surrogateescape") for path, sha256 in files.items())
    return hashlib.sha256(b"".join(lines)).hexdigest()
