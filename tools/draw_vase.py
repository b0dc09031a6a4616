"""Draw the picture of `vase` in the documentation: inputs with and without noise, the truth, and three answers.

python -m tools.draw_vase [FILE]
"""

import importlib.util
import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

import harness
from harness.files.images import read_image

ROOT = Path(__file__).parents[1]
ALGORITHMS = ("threshold", "otsu", "smooth")
# Originals, and how much noise; all with their full contrast.
SHOWN = (("05", 0), ("05", 40), ("42", 0), ("42", 40))
HIT, MISSED, SPURIOUS, NOTHING = (255, 255, 255), (86, 180, 233), (213, 94, 0), (40, 40, 40)

Plane = npt.NDArray[Any]


def answer(name: str, path: str) -> Plane:
    """The mask that a bundled algorithm gives."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "interfaces" / name / "interface.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError(name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return np.asarray(module.answer(SimpleNamespace(input=path), getattr(module, "PARAMS", {})))


def coloured(mask: Plane, truth: Plane) -> Plane:
    """White where both agree on the vase, blue where it was missed, orange where something else was marked."""
    colours = np.array([NOTHING, SPURIOUS, MISSED, HIT], dtype=np.uint8)
    return np.asarray(colours[2 * truth.astype(int) + mask])


def draw(path: Path) -> None:
    """A row for each input."""
    from matplotlib.figure import Figure
    from PIL import Image

    test = harness.load_test("vase")
    found = {case.id: case for case in test}
    figure = Figure(figsize=(6.4, 6.9), layout="constrained")
    sheets = figure.subplots(len(SHOWN), 2 + len(ALGORITHMS))
    for row, (original, noise) in zip(sheets, SHOWN, strict=True):
        case = found[f"{original}@contrast=1,noise={noise}"]
        given, truth = test.input_of(case), read_image(test.references.resolve(case.expect)) > 0
        row[0].imshow(read_image(given), cmap="gray", vmin=0, vmax=255, interpolation="nearest")
        row[0].set_ylabel(f"noise {noise}")
        row[1].imshow(truth, cmap="gray", vmin=-0.2, vmax=1, interpolation="nearest")
        for sheet, name in zip(row[2:], ALGORITHMS, strict=True):
            sheet.imshow(coloured(answer(name, given), truth), interpolation="nearest")
        for sheet in row:
            sheet.set(xticks=[], yticks=[])
    for sheet, title in zip(sheets[0], ("input", "truth", *ALGORITHMS), strict=True):
        sheet.set_title(title, fontsize=10)
    page = io.BytesIO()
    figure.savefig(page, format="png", dpi=90)
    Image.open(page).convert("RGB").quantize(48).save(path, optimize=True)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "vase.png")
