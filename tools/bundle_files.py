"""Write the bundled data: the same bytes on every machine, at any time."""

import csv
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

SIDE = 8
MAXVAL = 16
EARLIEST_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can hold


def pgm(pixels: Sequence[int]) -> bytes:
    """Return an 8 x 8 image as a binary PGM file."""
    if len(pixels) != SIDE * SIDE or not all(0 <= p <= MAXVAL for p in pixels):
        raise ValueError(f"an image is {SIDE * SIDE} grey levels of 0 to {MAXVAL}, not {list(pixels)}")
    return f"P5\n{SIDE} {SIDE}\n{MAXVAL}\n".encode() + bytes(pixels)


def write_zip(path: Path, members: Mapping[str, bytes]) -> None:
    """Write an archive sorted by name, without the current time or the user's file modes."""
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(members):
            entry = zipfile.ZipInfo(name, EARLIEST_TIME)
            entry.create_system = 3  # Unix, wherever it is made
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, members[name], zipfile.ZIP_DEFLATED, compresslevel=9)


def write_table(path: Path, header: str, rows: Sequence[Sequence[str]]) -> None:
    """Write a CSV table; `header` names its columns, separated by commas."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(header.split(","))
        table.writerows(rows)
