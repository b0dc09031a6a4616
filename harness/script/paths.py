"""Paths that a script may name: inside its folder, links followed; everything else is a mistake."""

from pathlib import Path, PurePosixPath

from harness.errors import ScriptError


def inside(folder: Path, name: str) -> Path:
    """The file `name` of `folder`; a ScriptError where it lies elsewhere or is not there."""
    if not name or "\0" in name or "\\" in name:
        raise ScriptError(f"{name!r} is not a file name; write it relative to the folder, with /")
    if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
        raise ScriptError(f"'{name}' leaves the script's folder; put the file beside the script")
    path = folder / name
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError):
        raise ScriptError(f"'{name}' is not there") from None
    if not real.is_relative_to(folder.resolve()):
        raise ScriptError(f"'{name}' is a link that leaves the script's folder; put the file itself there")
    return path
