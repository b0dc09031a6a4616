"""Small pictures without chance, and scripts that vary them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.workshop import SCRIPT

Plane = npt.NDArray[Any]

IMAGES = '[data.images]\npath = "images"\n'


def picture(height: int = 20, width: int = 24, *, channels: int = 0) -> Plane:
    """Grey levels from 0 to 255 with steps, slopes and single pixels."""
    y, x = np.mgrid[:height, :width]
    grey = (7 * x + 11 * y + 90 * ((x // 5 + y // 4) % 2)) % 256
    planes = [(grey * (k + 1) + 40 * k) % 256 for k in range(channels)]
    return (np.stack(planes, axis=-1) if channels else grey).astype(np.uint8)


def pgm(plane: Plane, most: int = 255) -> bytes:
    magic = "P5" if plane.ndim == 2 else "P6"
    return f"{magic}\n{plane.shape[1]} {plane.shape[0]}\n{most}\n".encode() + plane.astype(np.uint8).tobytes()


def varied_script(
    folder: Path, vary: str, *, images: Mapping[str, bytes], task: str = "label", rows: str = "", keys: str = ""
) -> Path:
    """A test of pictures with [vary]; by default every picture is a case that expects its own name."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for name, content in images.items():
        (folder / "images" / name).write_bytes(content)
    cases = "\n".join(f"{name.partition('.')[0]},{{images}}/{name},{name}" for name in images)
    (folder / "cases.csv").write_text(rows or f"id,input,expect\n{cases}\n", encoding="utf-8")
    path = folder / "toy.hate.toml"
    path.write_text(SCRIPT.format(task=task, keys=IMAGES, sections=keys + vary), encoding="utf-8")
    return path
