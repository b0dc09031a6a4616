"""Draw the picture of `shapes` in the documentation: some images, their objects, and what a detector found."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "test_scripts" / "shapes"
SHOWN = ("003-bright", "012-dim", "024-bright", "029-dim", "052-dim")


def read(archive: zipfile.ZipFile, name: str) -> npt.NDArray[np.uint8]:
    """An image of the archive."""
    content = archive.read(f"{name}.pgm")
    width, height = map(int, content.split(b"\n", 3)[1].split())
    return np.frombuffer(content[-width * height :], np.uint8).reshape(height, width)


def draw(path: Path) -> None:
    """A row for each detector, an image in each column."""
    from matplotlib.figure import Figure
    from PIL import Image

    lines = (FOLDER / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    truth = {case["id"]: case["expect"] for case in map(json.loads, lines)}
    figure = Figure(figsize=(2 * len(SHOWN), 4.3), layout="constrained")
    sheets = figure.subplots(2, len(SHOWN))
    with zipfile.ZipFile(FOLDER / "shapes.zip") as archive:
        for row, algorithm in enumerate(("blobs", "relief")):
            found = answers(ROOT / "transcripts" / "shapes" / f"{algorithm}.jsonl")
            for sheet, name in zip(sheets[row], SHOWN, strict=True):
                # Fewer grey levels make a smaller file.
                sheet.imshow(read(archive, name) // 12, cmap="gray", vmin=0, vmax=17, interpolation="nearest")
                sheet.set(xticks=[], yticks=[])
                for one in truth[name]:
                    box(
                        sheet,
                        one["box"],
                        "#56b4e9" if one.get("ignore") else "#00c060",
                        ":" if one.get("ignore") else "-",
                    )
                for one in found[name]:
                    box(sheet, one[2:], "#ff8c2e", "--")
            sheets[row][0].set_ylabel(algorithm)
    page = io.BytesIO()
    figure.savefig(page, format="png", dpi=75)
    Image.open(page).convert("RGB").save(path, optimize=True)


def box(sheet: Any, corners: list[float], colour: str, style: str) -> None:
    """The outline of a box."""
    x, y, width, height = corners
    x, y = x - 0.5, y - 0.5
    sheet.plot([x, x + width, x + width, x, x], [y, y, y + height, y + height, y], color=colour, ls=style, lw=1.3)


def answers(transcript: Path) -> dict[str, list[list[float]]]:
    """What a run found in each image."""
    records = [json.loads(line) for line in transcript.read_text(encoding="utf-8").splitlines()[1:-1]]
    return {record["id"]: record["boxes"]["found"] for record in records}
