"""Packages of others, as an installer would leave them."""

import os
from pathlib import Path


class Packages:
    """Packages with entry points, as an installer would write them, in a folder on Python's path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def on_path(self, env: dict[str, str]) -> None:
        """Have processes find them, before what is on their path already."""
        # Tests write modules anew; what was compiled of one of the same second and size would be taken for the new one.
        env["PYTHONDONTWRITEBYTECODE"] = "1"
        env["PYTHONPATH"] = os.pathsep.join([str(self.folder), *filter(None, [env.get("PYTHONPATH")])])

    def add(self, package: str, group: str, entry: str, source: str) -> None:
        module = entry.partition("=")[2].partition(":")[0].strip()
        self.write(module, source)
        info = self.folder / f"{package.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[{group}]\n{entry}\n", encoding="utf-8")

    def write(self, module: str, source: str) -> None:
        (self.folder / f"{module}.py").write_text(source, encoding="utf-8")
