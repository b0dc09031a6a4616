"""Folders that live as long as the program."""

import atexit
import shutil
import tempfile
from pathlib import Path


def temporary_folder() -> Path:
    """A new folder, which is removed when the program ends."""
    folder = Path(tempfile.mkdtemp(prefix="hate-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
