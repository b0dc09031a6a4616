"""Make the versions of an image that [vary] asks for, when they are asked for, and keep them in a folder.

A file is named after all that its pixels depend on: the content of the original, the effects with their values and
random numbers, and the version of the effects. So it is made once, whatever test or run needs it.
"""

import hashlib
import math
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import DataError
from harness.files.digest import file_sha256
from harness.files.images import (
    MAX_PIXELS,
    ImageError,
    StoredPicture,
    exif_orientation,
    read_image,
    read_picture,
    write_image,
)
from harness.model import Case
from harness.script.expansion import ORIGINAL, InputError, InputMaker
from harness.script.references import References
from harness.tasks.task import Task, TaskRules
from harness.vary.options import MADE
from harness.vary.variation import EFFECTS_VERSION, Step, Variation

if TYPE_CHECKING:
    from harness.vary.movement import Pixels

# The folder may grow to this size; then the files that were not used for the longest time are removed.
MAX_BYTES = 4 << 30
# Files that were used a short time ago may be in use by another run.
IN_USE_SECONDS = 3600.0
UNFINISHED = ".making-"
READ_ONLY = 0o444
# The format of a version by that of the original, if it can hold any grey level or colour without loss.
SUFFIXES = {".png": ".png", ".tif": ".tif", ".tiff": ".tif", ".npy": ".npy", ".jpg": ".png", ".jpeg": ".png"}
NETPBM = (".pgm", ".ppm", ".pbm", ".pnm")


class VersionStore:
    """A folder of made files, safe for several processes at once: a file is complete or not there."""

    def __init__(self, folder: Path, most_bytes: int = MAX_BYTES) -> None:
        self.folder = folder
        self._most = most_bytes
        # Beginning with what is there, so that the folder is looked through once in a while.
        self._unchecked = most_bytes

    def take(self, name: str) -> bool:
        """Whether the file is there; if so, it is in use from now on."""
        path = self.folder / name
        try:
            os.utime(path)
            return self._digest_file(name).read_text() == file_sha256(path)
        except (FileNotFoundError, UnicodeDecodeError):
            return False
        except OSError as error:
            raise _store_error(path, error) from None

    def _digest_file(self, name: str) -> Path:
        """Where the digest of a file is: an algorithm that overwrites its input must not spoil it for others."""
        return self.folder / f".{name}.sha256"

    def write(self, name: str, image: "Pixels", top: int | None = None, orientation: int = 1) -> None:
        """Write an image, and move it into place when it is complete."""
        path = self.folder / name
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=self.folder, ignore_cleanup_errors=True) as scratch:
                made = Path(scratch) / name
                write_image(made, image, most=top, orientation=orientation)
                self._unchecked += made.stat().st_size
                digest = Path(scratch) / "digest"
                digest.write_text(file_sha256(made))
                made.chmod(READ_ONLY)
                digest.replace(self._digest_file(name))
                made.replace(path)
            if self._unchecked >= self._most // 4:
                self._unchecked = 0
                self._trim()
        except OSError as error:
            raise _store_error(path, error) from None

    def _trim(self) -> None:
        """Remove what was not used for the longest time, until the folder is small enough."""
        files = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if entry.is_file(follow_symlinks=False) and not entry.name.startswith("."):
                        about = entry.stat(follow_symlinks=False)
                        files.append((about.st_mtime, about.st_size, entry.path))
        total, limit = sum(size for _, size, _ in files), time.time() - IN_USE_SECONDS
        for _, size, path in sorted(files):
            if total <= self._most:
                return
            with suppress(FileNotFoundError):
                if Path(path).stat().st_mtime > limit:
                    return
                Path(path).unlink()
                self._digest_file(Path(path).name).unlink(missing_ok=True)
            total -= size


def _store_error(path: Path, error: OSError) -> DataError:
    return DataError(f"cache {path}: {error.strerror or error}; free some space or set XDG_CACHE_HOME")


class VersionMaker(InputMaker):
    """Makes images, each when it is asked for."""

    def __init__(self, variation: Variation, data_paths: Mapping[str, Path], task: Task, rules: TaskRules) -> None:
        if MADE not in data_paths:
            raise DataError("there is no folder for varied images")
        self._variation = variation
        self._references = References(data_paths)
        self._task = task
        self._rules = rules
        self.store = VersionStore(data_paths[MADE])
        # What was read last, by its path: its digest, with its orientation, and the picture.
        self._digest: tuple[str, str] = ("", "")
        self._orientation = 1
        self._picture: tuple[str, Any] = ("", None)

    def make(self, version: Case) -> tuple[Case, str]:
        """The case with its truth moved, and the path of its input; an InputError if the original cannot be varied.

        A version is stored as its original is, and says as much of its orientation: a program sees both the same way
        up, whether its reader minds EXIF or not.
        """
        path = str(self._references.resolve(version.input))
        steps = self._variation.steps(version)
        if not steps:
            return version, path
        moves = [step for step in steps if step.moves]
        try:
            name = self._name(path, steps, version, _suffix(path))
            if not self.store.take(name):
                picture = self._read(path)
                varied = _varied(picture.pixels, picture.top, steps, version)
                self.store.write(name, varied, picture.top, picture.orientation)
            if moves and version.expect and self._task.moves_truth:
                if self._orientation != 1:
                    raise ImageError(
                        f"EXIF says orientation {self._orientation}, so it is not known which way its truth moves; "
                        "store it as it is seen, with its truth"
                    )
                version = self._task.move_truth(version, self._rules, PictureMovement(self, path, moves))
        except ImageError as error:
            raise InputError(f"input '{version.input}' cannot be varied: {error}") from None
        return version, str(self._references.resolve(f"{{{MADE}}}/{name}"))

    def _name(self, path: str, steps: Sequence[Step], version: Case, suffix: str) -> str:
        """The name of a made file: a digest of everything that its pixels depend on."""
        if self._digest[0] != path:
            self._digest, self._orientation = (path, _content_sha256(path)), exif_orientation(path)[0]
        parts = [EFFECTS_VERSION, self._digest[1], *map(_effect, steps)]
        # Files of such pictures that were made before say nothing of it.
        parts += [] if self._orientation == 1 else [("orientation", self._orientation)]
        parts += [_words(step, version).hex() for step in steps if step.draws]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:40] + suffix

    def _read(self, path: str) -> StoredPicture:
        if self._picture[0] != path:
            self._picture = path, read_picture(path)
        picture: StoredPicture = self._picture[1]
        return picture

    def moved_image(self, reference: str, steps: Sequence[Step], *, outside: int, numbers: bool) -> str:
        """The reference of an image that belongs to the truth, moved."""
        from harness.vary.movement import move_classes, move_numbers

        path = str(self._references.resolve(reference))
        try:
            parts = ["truth", EFFECTS_VERSION, outside, numbers, _content_sha256(path), *map(_effect, steps)]
            name = hashlib.sha256(repr(parts).encode()).hexdigest()[:40] + ".npy"
            if not self.store.take(name):
                image, move = read_image(path, lossless=True), move_numbers if numbers else move_classes
                for step in steps:
                    image = move(image, step.axis.kind, step.value, outside)
                self.store.write(name, image)
        except ImageError as error:
            raise ImageError(f"'{reference}', which must move with it: {error}") from None
        return f"{{{MADE}}}/{name}"

    def size(self, path: str) -> tuple[int, int]:
        """Width and height of an original."""
        picture = self._read(path).pixels
        return picture.shape[1], picture.shape[0]


class PictureMovement:
    """How one version was moved, for the task that knows what its truth is."""

    def __init__(self, maker: VersionMaker, path: str, steps: Sequence[Step]) -> None:
        self._maker = maker
        self._path = path
        self._steps = steps

    def image(self, reference: str, *, outside: int = 0, numbers: bool = False) -> str:
        """The reference of an image moved like the input: of classes, or of numbers, of which there can be means."""
        return self._maker.moved_image(reference, self._steps, outside=outside, numbers=numbers)

    def boxes(self, boxes: Sequence[Sequence[float]]) -> list[list[float]]:
        """Boxes (x, y, width, height), moved: each is the upright box around it."""
        from harness.vary.movement import move_box, moved_size

        moved, size = [list(box) for box in boxes], self._maker.size(self._path)
        for step in self._steps:
            moved = [move_box(box, size, step.axis.kind, step.value) for box in moved]
            size = moved_size(size, step.axis.kind, step.value)
        return moved

    @property
    def scale(self) -> float:
        """The area of what is in the picture, as a share of what it was: rotated it is the same."""
        return 1 / math.prod(int(step.value) ** 2 for step in self._steps if step.axis.kind == "downsample")


def _varied(picture: "Pixels", top: int, steps: Sequence[Step], version: Case) -> "Pixels":
    from harness.vary.effects import apply_effect, random_stream

    for step in steps:
        picture = apply_effect(step.axis.kind, picture, top, step.value, random_stream(_words(step, version)))
        if picture.shape[0] * picture.shape[1] > MAX_PIXELS:
            raise ImageError(f"after {step.axis.kind}, it has more than {MAX_PIXELS // 1_000_000} million pixels")
    return picture


def _effect(step: Step) -> tuple[str, float]:
    return step.axis.kind, float(step.value)


def _words(step: Step, version: Case) -> bytes:
    """What the random numbers depend on: not the value, so that noise of 5 and of 10 have the same pattern."""
    parts = ("hate vary", step.axis.seed, str(version.columns[ORIGINAL]), step.axis.name, step.axis.kind)
    return hashlib.sha256(repr(parts).encode()).digest()[:16]


def _suffix(path: str) -> str:
    """A format without loss: that of the original, where it can hold every version."""
    suffix = Path(path).suffix.lower()
    if suffix not in NETPBM:
        return SUFFIXES.get(suffix, ".png")
    with suppress(OSError), Path(path).open("rb") as file:
        return ".ppm" if file.read(2) in (b"P3", b"P6") else ".pgm"
    return ".pgm"


def _content_sha256(path: str) -> str:
    try:
        return file_sha256(Path(path))
    except OSError as error:
        raise ImageError(f"it cannot be read: {(error.strerror or 'unknown reason').lower()}") from None
