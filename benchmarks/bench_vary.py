"""What it costs to vary an image of 1 megapixel, against reading it: `python -m benchmarks.bench_vary`.

Processor time, the best of three turns: of each effect by itself; then of a version as a run makes it, with a file
read, varied and written, and as a second run finds it in the cache; and the memory of many versions.
"""

import os
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import repeat
from pathlib import Path

import numpy as np

from benchmarks.timing import Timing, best, print_timings, program_usage
from harness.files.images import read_picture, write_image
from harness.model import Case
from harness.tasks import TASKS
from harness.tasks.task import TaskRules
from harness.vary.effects import apply_effect, random_stream
from harness.vary.options import MADE
from harness.vary.variation import Variation, VaryAxis
from harness.vary.version_maker import VersionMaker

SIDE = 1000
VALUES = {
    "gaussian": 10, "salt_and_pepper": 0.1, "blur": 2, "contrast": 0.5, "brightness": 20, "rotate": 10, "occlude": 0.1,
    "jpeg": 50, "downsample": 2,
}  # fmt: skip
# What `main` starts to measure its memory: the noise of that many images.
MANY = "from benchmarks.bench_vary import many; many({count})"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        path = Path(folder) / "picture.png"
        write_image(path, picture())
        effects(path)
        versions(Path(folder))
        few, more = (program_usage(["-c", MANY.format(count=count)]).memory for count in (5, 50))
        print(f"memory of 5 versions {few >> 20} MiB, of 50 versions {more >> 20} MiB")


def picture() -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Slopes and steps with a little noise, like a photograph."""
    y, x = np.mgrid[:SIDE, :SIDE]
    grain = np.random.default_rng(0).integers(0, 9, (SIDE, SIDE))
    return np.asarray((x // 5 + y // 9 + 60 * ((x // 90 + y // 70) % 2) + grain) % 256, dtype=np.uint8)


def effects(path: Path) -> None:
    """Each effect, against reading the PNG that it is for."""
    array, top, _ = read_picture(path)

    def once(kind: str) -> None:
        apply_effect(kind, array, top, VALUES[kind], random_stream(b"0123456789abcdef"))

    once("gaussian")  # its table is made once
    read, *others = best(partial(read_picture, path), *(partial(once, kind) for kind in VALUES))
    lines = [Timing("reading a PNG of 1 megapixel", read)]
    lines += [
        Timing(f"{kind} {value:g}", one, read, "reading")
        for (kind, value), one in zip(VALUES.items(), others, strict=True)
    ]
    print_timings(lines, title="effects", unit="ms")


def maker(folder: Path) -> VersionMaker:
    """Versions of noise 10, kept in the folder."""
    variation = Variation((VaryAxis("noise", "gaussian", (10,)),))
    return VersionMaker(variation, {"images": folder, MADE: folder / "made"}, TASKS["label"], TaskRules())


def version(name: str, number: int = 0) -> Case:
    return Case(f"{number}@noise=10", f"{{images}}/{name}", columns={"noise": 10, "original": str(number)})


def make_new(folder: Path, name: str, numbers: Iterator[int]) -> None:
    """The version of the next number: noise of its own, unless it was made before."""
    maker(folder).make(version(name, next(numbers)))


def versions(folder: Path) -> None:
    """A version made, and found again, of a PNG and of a PGM."""
    for suffix in (".png", ".pgm"):
        path = folder / f"picture{suffix}"
        write_image(path, picture())
        made, found, read = best(
            partial(make_new, folder, path.name, iter(range(1, 100))),
            partial(make_new, folder, path.name, repeat(1)),
            partial(read_picture, path),
        )
        lines = [
            Timing(f"a version of a {suffix} file: read, noise, write", made, read, "reading"),
            Timing(f"the same version from the cache ({suffix})", found, read, "reading"),
        ]
        print_timings(lines, title="a version in a run", unit="ms")


def many(count: int) -> None:
    """Make many versions one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        write_image(Path(folder) / "picture.pgm", picture())
        own = maker(Path(folder))
        for number in range(count):
            own.make(version("picture.pgm", number))


if __name__ == "__main__":
    main()
