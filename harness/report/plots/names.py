"""The names in a picture: as they are, or as --label says."""

from harness.errors import UsageError
from harness.options import PictureOptions
from harness.report.text import safe, shortened

# How many names an error lists.
MOST_LISTED = 12


class PictureNames:
    """Remembers which names a picture has, so that a label for another one can be refused."""

    def __init__(self, look: PictureOptions) -> None:
        self._labels = look.label
        self._known: dict[str, None] = {}

    def shown(self, name: str, longest: int = 28) -> str:
        """What --label says, else the name, short enough for a legend."""
        self._known[name] = None
        for word in self._labels:
            if word.startswith(f"{name}="):
                return safe(word[len(name) + 1 :])
        return shortened(name, longest)

    def check(self) -> None:
        """Raise an error for a label whose name is not in the picture."""
        for word in self._labels:
            if not any(word.startswith(f"{name}=") for name in self._known):
                known = ", ".join(safe(name) for name in list(self._known)[:MOST_LISTED])
                raise UsageError(f"--label {word}: write NAME=TEXT, with a name in the picture: {known}")
